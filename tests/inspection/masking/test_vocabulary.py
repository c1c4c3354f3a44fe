"""The published vocabulary has what servers and clients send, so that a copy still shows it."""

from collections.abc import Iterator
from typing import Any

import pytest

from inspector.files.store import FIXTURES, load_all
from inspector.inspection.masking.vocabulary import CHOSEN_NAMES, FREE, IDS, KEPT, KEYS, NAMES, WORDED
from inspector.matrix.results import captures_of, every_run
from inspector.protocol.engines import ENGINES, GATEWAYS
from inspector.protocol.engines.replays import replayed_from
from inspector.protocol.wire.endpoints import ASKED
from inspector.protocol.wire.stream import loads

ENUMERATED = KEPT.keys() - NAMES - WORDED - {"code", "summary"}


def unpublished(value: Any, key: str) -> Iterator[str]:
    match value:
        case dict() if key in CHOSEN_NAMES or key == "tools":
            for item in value.values():
                yield from unpublished(item, "schema")
        case dict():
            for name, item in value.items():
                if name not in KEYS:
                    yield f"the name {name} in {key}"
                elif name not in FREE:
                    yield from unpublished(item, name)
        case list():
            for item in value:
                yield from unpublished(item, "schema" if key == "tools" else key)
        case str() if key in ENUMERATED and value and not KEPT[key].match(value):
            yield f"{key}: {value}"
        case _:
            return


@pytest.mark.sweep
def test_all_that_shipped_captures_have_is_published() -> None:
    captures = [capture for path in sorted(FIXTURES.glob("*.jsonl*")) for capture in load_all(path)]
    captures += [capture for run in every_run()[::10] for _, _, capture in captures_of(run)]
    missing = set[str]()
    for capture in captures:
        header = capture.header
        for key in ("model", "server_version", "owned_by", "started_at", "source"):
            missing.update(unpublished(getattr(header, key), key))
        missing.update(unpublished(dict(header.request), "request"))
        for event in capture.events:
            missing.update(unpublished(event.name, "event"))
            missing.update(unpublished(loads(event.data), "response"))
    assert missing == set()


def test_engines_and_endpoints_are_published() -> None:
    owners = [owner for engine in ENGINES for owner in engine.owners]
    assert all(KEPT["owned_by"].match(owner) for owner in [*owners, *map(replayed_from, owners)])
    assert {path for engine in ENGINES for place in engine.ids_at for path in place.split(".")[1:]} <= KEYS
    signs = {member for row in (*ENGINES, *GATEWAYS) for member in row.members}
    assert {sign for sign in signs if sign.isidentifier()} <= KEYS, "a copy still shows whose response it is"
    for spec in ASKED:
        assert all(KEPT["object"].match(name) for name in spec.objects)
        assert all(KEPT["event"].match(name) for name in spec.terminal_types)
        assert KEYS.issuperset([key for key in (spec.evidence_key, spec.envelope, *spec.body_members) if key])
        assert KEYS.issuperset(spec.elsewhere)
    assert FREE | CHOSEN_NAMES | (IDS - {"script"}) | NAMES | WORDED <= KEYS
