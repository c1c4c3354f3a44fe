"""The order and the defaults of vLLM's messages, read from the release's own source without importing it.

The structs that API server and engine exchange are arrays: a field is known by its place, and places move
between releases. The wheel's `vllm/v1/engine/__init__.py` says them.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.capture.errors import LabError

SOURCE: Final = "vllm/v1/engine/__init__.py"
"""The file, inside a wheel."""

_NEEDED: Final[Mapping[str, Sequence[str]]] = {
    "EngineCoreRequest": ("request_id", "prompt_token_ids", "sampling_params"),
    "EngineCoreOutput": ("request_id", "new_token_ids", "finish_reason", "stop_reason"),
    "EngineCoreOutputs": ("engine_index", "outputs", "timestamp", "utility_output"),
}
"""Structs and their fields without which the engine cannot serve."""

_READY: Final = "EngineCoreReadyResponse"

_EMPTY: Final[Mapping[str, Any]] = {"int": 0, "float": 0.0, "str": "", "bool": False}


@dataclass(frozen=True, slots=True)
class Layout:
    """One struct: the fields in their order, with the annotation and the default of each."""

    name: str
    fields: Mapping[str, tuple[str, Any]]

    def place(self, field: str) -> int | None:
        """The place of a field; None where the release has no such field."""
        return next((place for place, name in enumerate(self.fields) if name == field), None)

    def value(self, row: Sequence[Any], field: str) -> Any:
        """A field of a row that came; the default where the row ends before it or there is no such field."""
        place = self.place(field)
        if place is None:
            return None
        if place < len(row):
            return row[place]
        default = self.fields[field][1]
        return None if default is _MISSING else default

    def row(self, **values: Any) -> list[Any]:
        """A row with these values, as long as it must be, with defaults between them."""
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
    """None in releases whose ready message is empty."""

    def ready_payload(self, **known: Any) -> dict[str, Any]:
        """The engine's ready message: what is known, defaults, and empty values for the rest."""
        if self.ready is None:
            return {}
        payload: dict[str, Any] = {}
        for name, (annotation, default) in self.ready.fields.items():
            if name in known:
                payload[name] = known[name]
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
    """A field has no default."""


_MISSING: Final = _Missing()


def layouts_of(source: str, *, release: str) -> Layouts:
    """Read the layouts of one release; raises LabError when a struct or a field is not where it was."""
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
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            fields[one.target.id] = (ast.unparse(one.annotation), _default(one.value))
    return Layout(node.name, fields)


def _default(node: ast.expr | None) -> Any:
    if node is None:
        return _MISSING
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None  # made by a call: no field that the engine sends has such a default
