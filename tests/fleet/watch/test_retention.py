"""Which recordings stay: by what the audit found, by size, by age; and that nothing else is ever removed."""

import os
from pathlib import Path

import pytest

from inspector.fleet.watch import Keep, Retention

NOW_S = 1_800_000_000.0


def recorded(folder: Path, number: int, *, size: int = 1000, age_s: float = 0.0) -> Path:
    """A file that is named as the tap names recordings."""
    path = folder / f"20261122-1200{number:02}-chat-{number:06x}.jsonl"
    path.write_bytes(b"x" * size)
    os.utime(path, (NOW_S - age_s, NOW_S - age_s))
    return path


@pytest.mark.parametrize(
    ("keep", "failing", "stays"),
    [
        (Keep.ALL, False, True),
        (Keep.ALL, True, True),
        (Keep.FAILING, False, False),
        (Keep.FAILING, True, True),
        (Keep.NONE, True, False),
    ],
)
def test_what_the_audit_found_decides(tmp_path: Path, keep: Keep, *, failing: bool, stays: bool) -> None:
    path = recorded(tmp_path, 1)
    assert Retention(tmp_path / "other", keep).decide(path, failing=failing) is stays
    assert path.exists() is stays


def test_the_oldest_give_way_to_what_is_over_the_bound(tmp_path: Path) -> None:
    old = [recorded(tmp_path, number, age_s=100 - number) for number in range(3)]
    retention = Retention(tmp_path, most_bytes=2500, clock=lambda: NOW_S)
    assert [path.exists() for path in old] == [False, True, True]
    new = recorded(tmp_path, 9)
    assert retention.decide(new, failing=True)
    assert [path.exists() for path in old] == [False, False, True]
    assert retention.bytes == 2000


def test_old_recordings_are_removed(tmp_path: Path) -> None:
    old, young = recorded(tmp_path, 1, age_s=3600), recorded(tmp_path, 2, age_s=60)
    Retention(tmp_path, most_s=600, clock=lambda: NOW_S)
    assert not old.exists()
    assert young.exists()


def test_old_recordings_are_removed_when_one_ends_that_is_not_kept(tmp_path: Path) -> None:
    now_s = [NOW_S]
    old = recorded(tmp_path, 1, age_s=60)
    retention = Retention(tmp_path, Keep.FAILING, most_s=600, clock=lambda: now_s[0])
    assert old.exists()
    now_s[0] += 3600
    assert not retention.decide(recorded(tmp_path, 2), failing=False)
    assert not old.exists()


def test_a_recording_larger_than_the_bound_is_not_kept(tmp_path: Path) -> None:
    retention = Retention(tmp_path, Keep.FAILING, most_bytes=10, clock=lambda: NOW_S)
    assert not retention.decide(recorded(tmp_path, 1), failing=True)
    assert retention.bytes == 0


def test_files_of_others_stay(tmp_path: Path) -> None:
    foreign = [tmp_path / name for name in ("notes.jsonl", "20261122-120000-chat-abcdef.jsonl.gz", "a.txt")]
    for path in foreign:
        path.write_bytes(b"x" * 5000)
        os.utime(path, (1, 1))
    Retention(tmp_path, most_bytes=1, most_s=1, clock=lambda: NOW_S)
    assert all(path.exists() for path in foreign)
