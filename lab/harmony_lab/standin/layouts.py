"""The field order and defaults of vLLM's messages, parsed from the release's source without importing it.

API server and engine exchange structs as arrays: a field is identified by its position, which changes between
releases. The structs are in the wheel's `vllm/v1/engine/__init__.py`.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.capture.errors import LabError

SOURCE: Final = "vllm/v1/engine/__init__.py"
"""The path inside a wheel."""

_NEEDED: Final[Mapping[str, Sequence[str]]] = {
    "EngineCoreRequest": ("request_id", "prompt_token_ids", "sampling_params"),
    "EngineCoreOutput": ("request_id", "new_token_ids", "finish_reason", "stop_reason"),
    "EngineCoreOutputs": ("engine_index", "outputs", "timestamp", "utility_output"),
}
"""Structs and fields that the engine needs."""

_READY: Final = "EngineCoreReadyResponse"

_EMPTY: Final[Mapping[str, Any]] = {"int": 0, "float": 0.0, "str": "", "bool": False}


@dataclass(frozen=True, slots=True)
class Layout:
    """One struct: its fields in order, with annotation and default."""

    name: str
    fields: Mapping[str, tuple[str, Any]]

    def place(self, field: str) -> int | None:
        """The position of a field; None if the release has no such field."""
        return next((place for place, name in enumerate(self.fields) if name == field), None)

    def value(self, row: Sequence[Any], field: str) -> Any:
        """A field of a received row; its default if the row is shorter, None if there is no such field."""
        place = self.place(field)
        if place is None:
            return None
        if place < len(row):
            return row[place]
        default = self.fields[field][1]
        return None if default is _MISSING else default

    def row(self, **values: Any) -> list[Any]:
        """The shortest row with these values, with defaults between them."""
        last = max(place for name in values if (place := self.place(name)) is not None)
        names = list(self.fields)[: last + 1]
        return [values.get(name, self.fields[name][1]) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layouts:
    """The messages of one release."""

    request: Layout
    output: Layout
    outputs: Layout
    ready: Layout | None
    """None for releases with an empty ready message."""

    def ready_payload(self, **values: Any) -> dict[str, Any]:
        """The engine's ready message: `values`, then defaults, then empty values."""
        if self.ready is None:
            return {}
        payload: dict[str, Any] = {}
        for name, (annotation, default) in self.ready.fields.items():
            if name in values:
                payload[name] = values[name]
            elif default is not _MISSING:
                payload[name] = default
            elif "None" in annotation:
                payload[name] = None
            elif annotation in _EMPTY:
                payload[name] = _EMPTY[annotation]
            else:
                raise LabError(f"{_READY}.{name} is a {annotation}: the stand-in has no value for it")
        return payload


class _Missing:
    """Type of the mark for fields without default."""


_MISSING: Final = _Missing()


def layouts_of(source: str, *, release: str) -> Layouts:
    """Read the layouts of one release; raises LabError if a needed struct or field is missing."""
    try:
        classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    except SyntaxError as error:
        raise LabError(f"vLLM {release}: {SOURCE} cannot be read: {error}") from error
    read = {name: _layout(node) for name, node in classes.items() if name in {*_NEEDED, _READY}}
    for name, fields in _NEEDED.items():
        missing = [field for field in fields if name not in read or read[name].place(field) is None]
        if missing:
            raise LabError(
                f"vLLM {release}: {SOURCE} has no {name}.{missing[0]}; its protocol is not the one that the "
                "stand-in speaks (vLLM 0.10.2 to 0.33.0)"
            )
    return Layouts(
        request=read["EngineCoreRequest"],
        output=read["EngineCoreOutput"],
        outputs=read["EngineCoreOutputs"],
        ready=read.get(_READY),
    )


def _layout(node: ast.ClassDef) -> Layout:
    fields: dict[str, tuple[str, Any]] = {}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            fields[statement.target.id] = (ast.unparse(statement.annotation), _default(statement.value))
    return Layout(node.name, fields)


def _default(node: ast.expr | None) -> Any:
    if node is None:
        return _MISSING
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None  # a default made by a call; no field that the engine sends has one
