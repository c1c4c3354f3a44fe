"""What the lab calls in Dynamo's Python bindings, checked in a wheel's stubs without importing them."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from inspector.capture.errors import LabError

STUBS: Final = "dynamo/_core.pyi"

CALLS: Final[Mapping[str, Sequence[str]]] = {
    "DistributedRuntime.__new__": ("event_loop", "discovery_backend", "request_plane", "event_plane"),
    "EntrypointArgs.__init__": ("engine_type", "http_host", "http_port"),
    "Endpoint.serve_endpoint": ("handler",),
    "make_engine": ("distributed_runtime", "args"),
    "register_model": (
        *("model_input", "model_type", "endpoint", "model_path", "model_name"),
        *("worker_type", "kv_cache_block_size", "runtime_config"),
    ),
    "run_input": ("distributed_runtime", "input", "engine_config"),
}
"""Calls, with the arguments that the lab gives."""


def check_dynamo(folder: Path, *, release: str) -> None:
    """Raise LabError that names the first call that a release does not have as the lab makes it."""
    try:
        tree = ast.parse((folder / STUBS).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise _refused(
            release, f"{STUBS} cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from error
    arguments = {
        f"{prefix}{node.name}": {name.arg for name in (*node.args.args, *node.args.kwonlyargs)}
        for prefix, body in [("", tree.body), *_classes(tree)]
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for call, names in CALLS.items():
        if missing := [name for name in names if name not in arguments.get(call, set())]:
            raise _refused(release, f"{call} has no argument {missing[0]}")


def _classes(tree: ast.Module) -> list[tuple[str, list[ast.stmt]]]:
    return [(f"{node.name}.", node.body) for node in tree.body if isinstance(node, ast.ClassDef)]


def _refused(release: str, why: str) -> LabError:
    return LabError(
        f"Dynamo {release}: {why}; its front end is not started as the lab starts it (tested: 1.4.2 to 1.6.1)"
    )
