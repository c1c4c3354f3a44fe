"""`python -m harmony_lab.servers.sglang_process`: SGLang's Rust server with scripts for a scheduler.

The compiled server runs as threads of this process, as it runs inside SGLang's scheduler. This process takes
the requests and pushes one frame for each step. Needs msgspec and numpy, and no other part of SGLang.
"""

import importlib.util
import json
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from harmony_lab.servers.engine import MAX_MODEL_LEN, ScriptedEngine, ScriptedStream, engine_arguments
from harmony_lab.servers.sglang_layouts import SglangLayouts, field, sglang_layouts
from harmony_lab.standin.generation import Finish
from inspector.capture.errors import LabError
from inspector.protocol.harmony import vocab

_MODULE: Final = "sglang.srt.rust_extensions._server"

_EXTRA_COLUMNS: Final = 12
"""Header columns of log probabilities and hidden states; the first has the counts of the output's."""

_IDLE_MS: Final = 250
_BUSY_MS: Final = 1

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


def main() -> int:
    """Read the command line, then serve until the process is stopped."""
    parser = engine_arguments("harmony_lab.servers.sglang_process")
    parser.add_argument("--tool-call-parser", required=True)
    parser.add_argument("--reasoning-parser", required=True)
    arguments = parser.parse_args()
    try:
        layouts = sglang_layouts(arguments.folder / "sglang" / "srt", release=arguments.release)
        extension = load_extension(arguments.folder)
        values = server_values(
            extension,
            layouts,
            model=str(arguments.model),
            name=arguments.name,
            port=arguments.port,
            release=arguments.release,
            tool_call_parser=arguments.tool_call_parser,
            reasoning_parser=arguments.reasoning_parser,
        )
        place = {"port_offset": 0} if layouts.port_offset else {}
        server = extension.Server(extension.ServerArgs(**values), cores=None, **place)
        scripts = json.loads(arguments.scripts.read_text(encoding="utf-8"))
        Scheduler(server, layouts, ScriptedEngine(scripts, arguments.steps, arguments.log)).run()
    except (LabError, OSError, ValueError, TypeError, ImportError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def load_extension(folder: Path) -> ModuleType:
    """The compiled server; raises LabError if the wheel has none for this Python."""
    pattern = f"_server.cpython-{sys.version_info.major}{sys.version_info.minor}-*.so"
    path = next((folder / "sglang" / "srt" / "rust_extensions").glob(pattern), None)
    spec = None if path is None else importlib.util.spec_from_file_location(_MODULE, path)
    if spec is None or spec.loader is None:
        raise LabError(f"{folder}: the wheel has no Rust server for Python {sys.version.split()[0]}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def server_values(
    extension: Any,
    layouts: SglangLayouts,
    *,
    model: str,
    name: str,
    port: int,
    release: str,
    tool_call_parser: str,
    reasoning_parser: str,
) -> dict[str, Any]:
    """The arguments of the server; raises LabError for a release that needs one without a value here."""
    model_values = {
        "context_len": MAX_MODEL_LEN,
        "vocab_size": vocab.VOCABULARY_SIZE,
        "is_multimodal": False,
        "model_type": "gpt_oss",
        "default_sampling_params": extension.DefaultSamplingParams(),
    }
    model_config = extension.ModelConfig(**_chosen(model_values, layouts.model_config, release))
    values = {
        "model_path": model,
        "served_model_name": name,
        "tokenizer_path": model,
        "revision": None,
        "load_format": "auto",
        "weight_version": "default",
        "hicache_storage_backend": None,
        "hicache_storage_backend_extra_config": None,
        "hicache_storage_prefetch_policy": "best_effort",
        "hicache_write_policy": "write_through",
        "host": "127.0.0.1",
        "port": port,
        "grpc_port": None,
        "log_level": "info",
        "log_level_http": None,
        "chat_template": None,
        "default_chat_template_kwargs": "{}",
        "tool_call_parser": tool_call_parser,
        "reasoning_parser": reasoning_parser,
        "stream_response_default_include_usage": False,
        "tokenizer_worker_num": 1,
        "detokenizer_worker_num": 1,
        "skip_tokenizer_init": False,
        "skip_server_warmup": True,
        "health_generate_headers": {},
        "default_priority_value": None,
        "enable_request_header_overrides": False,
        "incremental_streaming_output": False,
        "disaggregation_mode": extension.DisaggregationMode.Null,
        "model_config": model_config,
        "preferred_sampling_params": None,
        "default_max_new_tokens": 128,
        "lora_ids": {},
        "enable_strict_thinking": False,
        "limit_mm_data_per_request": [] if layouts.pairs else {},
        "allow_auto_truncate": False,
        "enable_return_hidden_states": False,
        "num_reserved_tokens": 0,
        "tokenizer_model_max_length": MAX_MODEL_LEN,
        "version": release,
        "max_total_num_tokens": 1 << 20,
        "deployment_info": "{}",
        "launch_server_info": "{}",
        "load_snapshot_path": None,
        "load_snapshot_dp_size": 0,
        "load_snapshot_dp_rank": 0,
        "accelerator": "",
        "num_accelerators": 1,
        "metrics": None,
    }
    return _chosen(values, layouts.server_args, release)


def _chosen(values: dict[str, Any], names: Sequence[str], release: str) -> dict[str, Any]:
    if unknown := [name for name in names if name not in values]:
        raise LabError(f"SGLang {release}: the lab has no value for the server's argument {unknown[0]}")
    return {name: values[name] for name in names}


class Scheduler:
    """Takes the server's requests and pushes their steps."""

    def __init__(self, server: Any, layouts: SglangLayouts, engine: ScriptedEngine) -> None:
        self._server, self._layouts, self._engine = server, layouts, engine
        self._streams: dict[str, ScriptedStream] = {}
        self._prompts: dict[str, int] = {}

    def run(self) -> None:
        """Serve without end."""
        while True:
            self._server.wait_request(_BUSY_MS if self._streams else _IDLE_MS)
            for header, ids in self._received():
                self._receive(_decode(header), ids)
            self._advance()

    def _received(self) -> Iterator[tuple[bytes, Sequence[int]]]:
        received = self._server.recv_requests(256)
        if self._layouts.buffers:
            for request in received:
                ids = dict(request.buffers).get("input_ids")
                yield request.header, () if ids is None else ids.tolist()
            return
        at = 0
        data = array("q", bytes(received.data))
        for header, length in zip(received.headers, received.lengths, strict=True):
            yield header, data[at : at + length]
            at += length

    def _receive(self, message: Sequence[Any], prompt_ids: Sequence[int]) -> None:
        tag, *row = message
        request_id = row[0] if row else None
        if tag == "TokenizedGenerateReqInput":
            fields, params = self._layouts.request, self._layouts.sampling
            sampling = field(row, fields, "sampling_params")
            self._prompts[str(request_id)] = len(prompt_ids)
            self._streams[str(request_id)] = self._engine.start(
                str(request_id),
                prompt_ids,
                max_tokens=field(sampling, params, "max_new_tokens") or MAX_MODEL_LEN,
                stop_ids=field(sampling, params, "stop_token_ids") or (),
                ignore_eos=bool(field(sampling, params, "ignore_eos")),
                streamed=bool(field(row, fields, "stream")),
                logprobs=bool(field(row, fields, "return_logprob")),
            )
        elif tag == "AbortReq":
            if (stream := self._streams.pop(str(request_id), None)) is not None:
                self._engine.ended(stream, "aborted by the server")
        elif request_id is not None:
            self._server.push_control_result(request_id, _encode({}))

    def _advance(self) -> None:
        """Push the steps that are due as one frame; an unstreamed request gets one frame at its end."""
        rows: list[tuple[ScriptedStream, list[int], Any]] = []
        now = time.monotonic()
        for request_id, stream in list(self._streams.items()):
            if now < stream.due:
                continue
            step = stream.generation.next_step()
            stream.wait()
            if step.finish is not None:
                del self._streams[request_id]
            if stream.streamed:
                rows.append((stream, list(step.ids), _reason(step.finish, step.stop_reason, step.ids)))
            elif step.finish is not None:
                ids = [token_id for ids in stream.generation.steps for token_id in ids]
                rows.append((stream, ids, _reason(step.finish, step.stop_reason, ids)))
        if rows:
            self._push(rows)
        for stream, _, reason in rows:
            if reason is not None:
                self._engine.ended(stream, reason["type"])

    def _push(self, rows: Sequence[tuple[ScriptedStream, list[int], Any]]) -> None:
        ids = [token_id for _, step, _ in rows for token_id in step]
        names = [stream.generation.request_id for stream, _, _ in rows]
        lengths = [len(step) for _, step, _ in rows]
        header: list[Any] = [
            names,
            [reason for _, _, reason in rows],
            [self._prompts[name] for name in names],
            lengths,
            [0] * len(rows),
            [0] * len(rows),
        ][: self._layouts.columns]
        data = [array("q" if self._layouts.wide_ids else "i", ids).tobytes()]
        if any(stream.logprobs for stream, _, _ in rows):
            counts = [length if rows[place][0].logprobs else 0 for place, length in enumerate(lengths)]
            wanted = [token_id for stream, step, _ in rows if stream.logprobs for token_id in step]
            header += [counts, *([] for _ in range(_EXTRA_COLUMNS - 1))]
            data += [array("f", [0.0] * len(wanted)).tobytes(), array("i", wanted).tobytes()]
        self._server.push_decode_result_batch(_encode(header), data)


def _reason(finish: Finish | None, stop_reason: int | None, ids: Sequence[int]) -> dict[str, Any] | None:
    match finish:
        case None:
            return None
        case Finish.STOP:
            return {"type": "stop", "matched": stop_reason}
        case Finish.LENGTH:
            return {"type": "length", "length": len(ids)}
        case _:
            return {"type": "abort", "message": "ended by the lab's schedule"}


if __name__ == "__main__":
    sys.exit(main())
