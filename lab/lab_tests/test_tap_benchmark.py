"""A benchmark through the tap: `vllm bench serve` calls successful what the tap shows to be damaged.

Deselected unless asked for with `-m vllm`; needs `python -m inspector lab install --front-end 0.33.0`.
"""

import json
import os
import subprocess
from math import inf
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from harmony_lab.install import installed
from harmony_lab.model import make_model
from harmony_lab.paths import LabPaths
from harmony_lab.standin.install import FRONT_END, NEWEST_FRONT_END
from inspector.analysis.audit.verdict import Level
from inspector.inspection.inspection import inspect
from inspector.matrix.results import default_root
from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, TOOL
from tests.support.listening import listening
from tests.support.upstreams import tapped

pytestmark = pytest.mark.vllm

REQUESTS = 5


@pytest.mark.parametrize(("model", "level"), [(TOOL, Level.ERROR), (COMPLETE_CHAT, Level.CLEAN)])
def test_a_benchmark_counts_requests_and_the_tap_what_arrived(
    model: str, level: Level, tmp_path: Path
) -> None:
    paths = LabPaths(default_root())
    environment = installed(paths, FRONT_END, NEWEST_FRONT_END)
    assert environment is not None, f"run python -m inspector lab install --front-end {NEWEST_FRONT_END}"
    settings = PlaybackSettings(speed=inf)
    with (
        listening(
            Starlette(routes=playback_routes(lambda: CAPTURES, prefix="", settings=settings))
        ) as server,
        tapped(server, add_token_ids=True) as (address, recorded),
    ):
        # Of the requests that arrive before the tap knows what the server is only one gets the keys.
        first = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        assert httpx.post(f"{address}/v1/chat/completions", json=first).status_code == 200
        command = [
            *(str(environment.python), "-m", "vllm.entrypoints.cli.main", "bench", "serve"),
            *("--backend", "openai-chat", "--base-url", address, "--endpoint", "/v1/chat/completions"),
            *("--model", model, "--tokenizer", str(make_model(paths.models, llama_body=False))),
            *("--dataset-name", "random", "--random-input-len", "8", "--random-output-len", "8"),
            *("--num-prompts", str(REQUESTS), "--disable-tqdm", "--save-result"),
            *("--result-filename", "result.json"),
        ]
        benchmark = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert benchmark.returncode == 0, benchmark.stdout + benchmark.stderr
        captures = [recorded.capture(number) for number in range(1, 1 + REQUESTS)]
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert (result["completed"], result["failed"]) == (REQUESTS, 0)
    assert [inspect(capture).verdict.level for capture in captures] == [level] * REQUESTS
