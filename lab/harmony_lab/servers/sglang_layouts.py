"""What SGLang's scheduler and its Rust server exchange, read from a wheel's sources without importing them.

The server is a compiled module; the scheduler calls it from `sglang/srt/rust_server`. Arguments, field orders
and the width of the token IDs change between releases, so they are read with `ast`, and a release whose calls
are not understood is refused.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inspector.capture.errors import LabError

CONFIG: Final = "rust_server/config.py"
SERVER: Final = "rust_server/server.py"
REQUESTS: Final = "managers/io_struct.py"
SAMPLING: Final = "sampling/sampling_params.py"

KNOWN_COLUMNS: Final = (
    "rids",
    "finish_reasons",
    "prompt_tokens",
    "tok_lens",
    "cached_tokens",
    "reasoning_tokens",
)
"""The columns of a step's header that the lab fills."""

_NEEDED: Final[Mapping[str, Sequence[str]]] = {
    "TokenizedGenerateReqInput": ("rid", "sampling_params", "return_logprob", "stream"),
    "SamplingParams": ("max_new_tokens", "stop_token_ids", "ignore_eos"),
}

_CALLS: Final = frozenset(
    {"wait_request", "recv_requests", "push_decode_result_batch", "push_control_result"}
)
"""Methods of the server that the scheduler calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangLayouts:
    """The calls of one release."""

    server_args: tuple[str, ...]
    model_config: tuple[str, ...]
    pairs: bool
    """Whether `limit_mm_data_per_request` is a list of pairs, not a mapping."""
    port_offset: bool
    """Whether the server takes an argument of this name."""
    request: tuple[str, ...]
    """Fields of a request, after its tag."""
    sampling: tuple[str, ...]
    columns: int
    """Number of columns of a step's header, the first ones of KNOWN_COLUMNS."""
    wide_ids: bool
    """Whether token IDs have eight bytes, not four."""
    buffers: bool
    """Whether a request comes with buffers of its own, not with its part of one for all."""


def sglang_layouts(folder: Path, *, release: str) -> SglangLayouts:
    """Read the layouts from `sglang/srt`; raises LabError that names the first call not understood."""
    config, server, requests, sampling = (
        _parse(folder / name, name, release) for name in (CONFIG, SERVER, REQUESTS, SAMPLING)
    )
    arguments = _keywords(config, "ServerArgs", release)
    limit = arguments.get("limit_mm_data_per_request")
    push = next((node for node in _functions(server) if node.name == "push_generation"), None)
    if push is None:
        raise _refused(release, "RustServer.push_generation is missing")
    called = {node.attr for node in ast.walk(server) if isinstance(node, ast.Attribute)}
    if missing := sorted(_CALLS - called):
        raise _refused(release, f"the scheduler does not call {missing[0]}")
    if not ({"buffers", "header"} <= called or {"headers", "lengths", "data"} <= called):
        raise _refused(release, "requests come neither with buffers nor as one batch")
    return SglangLayouts(
        server_args=tuple(arguments),
        model_config=tuple(_keywords(config, "ModelConfig", release)),
        pairs=isinstance(limit, ast.Call) and _name(limit.func) == "list",
        port_offset="port_offset" in _keywords(server, "Server", release),
        request=_needed(
            "TokenizedGenerateReqInput", _fields(requests, "BaseReq", "TokenizedGenerateReqInput"), release
        ),
        sampling=_needed("SamplingParams", _fields(sampling, "SamplingParams"), release),
        columns=_columns(push, release),
        wide_ids=_wide_ids(push, release),
        buffers={"buffers", "header"} <= called,
    )


def field(row: Sequence[Any], fields: Sequence[str], name: str, default: Any = None) -> Any:
    """A field of a received row; the default if the row is shorter."""
    place = fields.index(name)
    return row[place] if place < len(row) else default


def _refused(release: str, why: str) -> LabError:
    return LabError(
        f"SGLang {release}: {why}; its Rust server is not called as the lab calls it "
        "(tested: 0.5.19 to 0.5.23)"
    )


def _parse(path: Path, name: str, release: str) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise _refused(
            release, f"sglang/srt/{name} cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from error


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _keywords(tree: ast.AST, function: str, release: str) -> dict[str, ast.expr]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == function)
    call = next((call for call in calls if call.keywords), None)
    if call is None:
        raise _refused(release, f"{function}(...) is not called with keywords")
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def _fields(tree: ast.Module, *classes: str) -> tuple[str, ...]:
    by_name = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return tuple(
        statement.target.id
        for name in classes
        if name in by_name
        for statement in by_name[name].body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    )


def _needed(name: str, fields: tuple[str, ...], release: str) -> tuple[str, ...]:
    if missing := [field_name for field_name in _NEEDED[name] if field_name not in fields]:
        raise _refused(release, f"{name} has no field {missing[0]}")
    return fields


def _assigned(function: ast.FunctionDef, name: str) -> ast.expr | None:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and [_name(target) for target in node.targets] == [name]:
            return node.value
    return None


def _columns(push: ast.FunctionDef, release: str) -> int:
    columns = _assigned(push, "header_cols")
    names = tuple(_name(column) for column in columns.elts) if isinstance(columns, ast.List) else ()
    if len(names) < 4 or names != KNOWN_COLUMNS[: len(names)]:
        raise _refused(release, f"a step's header has the columns {', '.join(names) or 'of no list'}")
    return len(names)


def _wide_ids(push: ast.FunctionDef, release: str) -> bool:
    ids = _assigned(push, "flat_ids")
    if isinstance(ids, ast.Call) and ids.args:
        if _name(ids.func) == "array" and isinstance(ids.args[0], ast.Constant) and ids.args[0].value == "i":
            return False
        joined = ids.args[0]
        if _name(ids.func) == "join" and isinstance(joined, ast.Call) and _name(joined.func) == "map":
            return True
    raise _refused(release, "the width of the token IDs in a step is not recognised")
