"""`python -m harmony_lab.servers.dynamo_process`: Dynamo's HTTP front end and a worker of the lab.

The worker starts the front end as a second process of the same command. They find each other by a folder,
without etcd and NATS. Needs the wheel `ai-dynamo-runtime` with uvloop and pydantic.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import uvloop
from dynamo import llm  # type: ignore[import-not-found]
from dynamo.runtime import DistributedRuntime  # type: ignore[import-not-found]

from harmony_lab.servers.engine import MAX_MODEL_LEN, ScriptedEngine, engine_arguments
from harmony_lab.standin.generation import Finish

ENDPOINT: Final = "lab.backend.generate"

_FINISH: Final = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.ABORT: "cancelled",
    Finish.ERROR: "error",
}


def main() -> int:
    """Read the command line, then serve until the process is stopped."""
    parser = engine_arguments("harmony_lab.servers.dynamo_process")
    parser.add_argument("--tool-call-parser", required=True)
    parser.add_argument("--reasoning-parser", required=True)
    parser.add_argument("--front", action="store_true", help="be the front end, not the worker")
    arguments = parser.parse_args()
    try:
        if arguments.front:
            uvloop.run(_front(arguments.port))
            return 0
        with subprocess.Popen(
            [sys.executable, "-m", "harmony_lab.servers.dynamo_process", "--front", *sys.argv[1:]]
        ):
            uvloop.run(_worker(arguments))
    except KeyboardInterrupt:
        return 130
    return 0


def _runtime() -> Any:
    return DistributedRuntime(asyncio.get_running_loop(), "file", "tcp", event_plane="zmq")


async def _front(port: int) -> None:
    runtime = _runtime()
    arguments = llm.EntrypointArgs(llm.EngineType.Dynamic, http_host="127.0.0.1", http_port=port)
    await llm.run_input(runtime, "http", await llm.make_engine(runtime, arguments))


async def _worker(arguments: Any) -> None:
    scripts = json.loads(arguments.scripts.read_text(encoding="utf-8"))
    worker = _Worker(ScriptedEngine(scripts, arguments.steps, arguments.log))
    endpoint = _runtime().endpoint(ENDPOINT)
    config = llm.ModelRuntimeConfig()
    config.context_length = MAX_MODEL_LEN
    config.tool_call_parser = arguments.tool_call_parser
    config.reasoning_parser = arguments.reasoning_parser
    await llm.register_model(
        llm.ModelInput.Tokens,
        llm.ModelType.Chat | llm.ModelType.Completions,
        endpoint,
        str(arguments.model),
        arguments.name,
        worker_type=llm.WorkerType.Aggregated,
        runtime_config=config,
        kv_cache_block_size=16,
    )
    await endpoint.serve_endpoint(worker.generate)


class _Worker:
    def __init__(self, engine: ScriptedEngine) -> None:
        self._engine = engine

    async def generate(self, request: Mapping[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
        """The steps of one request."""
        stops = request.get("stop_conditions") or {}
        stop_ids = [
            token_id
            for name in ("stop_token_ids", "stop_token_ids_visible", "stop_token_ids_hidden")
            for token_id in stops.get(name) or ()
        ]
        stream = self._engine.start(
            # As the front end names the response.
            f"chatcmpl-{context.id()}",
            request["token_ids"],
            max_tokens=stops.get("max_tokens") or MAX_MODEL_LEN,
            stop_ids=stop_ids,
            ignore_eos=bool(stops.get("ignore_eos")),
            streamed=True,
        )
        end = "aborted by the server"
        try:
            while not context.is_stopped():
                await asyncio.sleep(max(0.0, stream.due - time.monotonic()))
                step = stream.generation.next_step()
                stream.wait()
                output: dict[str, Any] = {"token_ids": list(step.ids)}
                if step.finish is not None:
                    output["finish_reason"] = end = _FINISH[step.finish]
                    yield output
                    return
                yield output
        finally:
            self._engine.ended(stream, end)


if __name__ == "__main__":
    sys.exit(main())
