"""The examples of docs/adapters.md run."""

import importlib.util
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from inspector.files.store import load
from inspector.inspection.inspection import inspect
from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.builtin import CAPTURES, TOOL
from tests.support.command import ROOT
from tests.support.listening import listening


def test_the_app_of_the_example_records_what_it_passes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=PlaybackSettings(speed=float("inf")))
    with listening(Starlette(routes=routes)) as vllm:
        monkeypatch.setenv("VLLM", vllm)
        monkeypatch.setenv("CAPTURES", str(tmp_path))
        spec = importlib.util.spec_from_file_location("example", ROOT / "examples" / "middleware.py")
        assert spec is not None
        assert spec.loader is not None
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        with listening(example.app) as at:
            body = {"model": TOOL, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
            passed = httpx.post(f"{at}/v1/chat/completions", json=body, timeout=20)
            assert passed.status_code == 200
    [path] = tmp_path.iterdir()
    inspection = inspect(load(path))
    kinds = [finding.kind for finding in inspection.findings]
    assert kinds == [
        "misrouted",
        "dropped",
        "invalid_tool_arguments",
        "unoffered_call",
    ]
