"""What was asked and of whom, side by side: only what differs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from inspector.analysis.prompt import PromptPlace, first_difference, known_ids
from inspector.analysis.reading import Reading
from inspector.capture.formats import clip, count

_ROWS_AT_MOST: Final = 200
_DEPTH_AT_MOST: Final = 6
_SHOWN: Final = 400


class Setting(NamedTuple):
    """One setting that differs, as short text; None where a side lacks it."""

    name: str
    left: str | None
    right: str | None


def differing(left: Reading, right: Reading) -> tuple[Setting, ...]:
    """Settings that differ: version, endpoint, model, request (by path), prompt ids, status."""
    left_settings, right_settings = dict(_settings(left)), dict(_settings(right))
    rows = [
        Setting(name, _short(left_settings.get(name)), _short(right_settings.get(name)))
        for name in {**left_settings, **right_settings}
        if left_settings.get(name) != right_settings.get(name)
    ]
    prompts = _prompt_row(known_ids(left), known_ids(right))
    if prompts is not None:
        rows.append(prompts)
    return tuple(rows[:_ROWS_AT_MOST])


def _settings(reading: Reading) -> Iterator[tuple[str, object]]:
    yield "version", reading.server_version
    yield "endpoint", str(reading.header.endpoint)
    yield "model", reading.model
    if reading.header.status is not None:
        yield "status", reading.header.status
    skipped = {"model"}
    if known_ids(reading) is not None and reading.spec.raw:
        skipped.add("prompt")
    for key, value in reading.header.request.items():
        if key not in skipped:
            yield from _leaves(f"request.{key}", value, 0)


def _leaves(path: str, value: object, depth: int) -> Iterator[tuple[str, object]]:
    if depth < _DEPTH_AT_MOST and isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item, depth + 1)
    elif (
        depth < _DEPTH_AT_MOST and isinstance(value, list) and any(isinstance(i, dict | list) for i in value)
    ):
        for number, item in enumerate(value):
            yield from _leaves(f"{path}[{number}]", item, depth + 1)
    else:
        yield path, value


def _prompt_row(left: list[int] | None, right: list[int] | None) -> Setting | None:
    if left is None or right is None or (first := first_difference(left, right)) is None:
        return None  # unknown on one side is no difference
    return Setting(
        "prompt ids",
        *(
            f"{count(len(ids), 'ID')}, first difference at {first.token:,}{_inside(place)}"
            for ids, place in ((left, first.left), (right, first.right))
        ),
    )


def _inside(place: PromptPlace) -> str:
    return f", in {place.where}: “{place.text}”" if place.where else ""


def _short(value: Any) -> str | None:
    if value is None:
        return None
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        text = "a value that is nested too deeply to show"
    return clip(text, _SHOWN)
