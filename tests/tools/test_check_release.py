"""What a tag lacks is said at once, and a complete one lacks nothing."""

import shutil
from pathlib import Path

from inspector.capture.version import __version__
from tools.check_release import ROOT, missing
from tools.make_addresses import FILES

TAG = f"v{__version__}"
ADDRESS = "https://github.com/some-body/fork"


def test_a_release(tmp_path: Path) -> None:
    for name in ("publishing.toml", "CHANGELOG.md", *FILES):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(f"## {__version__} (unreleased)\n")
    (tmp_path / "publishing.toml").write_text('repository = ""\n')
    assert len(list(missing("v9.9", tmp_path))) == 3
    (tmp_path / "publishing.toml").write_text(f'repository = "{ADDRESS}"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"## {__version__} (2026-12-01)\n")
    assert [words.partition(" ")[0] for words in missing(TAG, tmp_path)] == [*FILES]
    for name, written in FILES.items():
        path = tmp_path / name
        path.write_text(written(path.read_text("utf-8"), ADDRESS), "utf-8")
    assert list(missing(TAG, tmp_path)) == []
