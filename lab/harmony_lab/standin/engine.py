"""The engine's process: sockets, requests, steps, log. Needs pyzmq and msgspec; run it with `__main__`.

Two modes. `acks`: the next step of a stream is sent when the API server has taken the last one, as
`standin_plugin` reports from inside that process; so steps are never merged. `pace`: a step every few
milliseconds, taken or not; for servers without plugins (Rust), and for load, where all streams step together,
as in the batch of a real engine.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec
import zmq

from harmony_lab.standin.generation import Generation, generation_of
from harmony_lab.standin.layouts import Layouts
from harmony_lab.standin.replies import reply_to
from harmony_lab.standin.steps import Schedule, schedule_of
from inspector.capture.errors import LabError

UNTAKEN_S: Final = 2.0
"""Seconds after which a step counts as not taken by the API server, and the rest is sent without waiting.

Some releases drop a broken stream without a message to the engine. A server that is only slow merges the
rest, which the log shows.
"""

_IDENTITY: Final = (0).to_bytes(2, "little")
_ADD, _ABORT, _UTILITY = b"\x00", b"\x01", b"\x03"
_DEAD: Final = b"ENGINE_CORE_DEAD"
_ANSWERS: Final[Mapping[str, Any]] = {"get_supported_tasks": ["generate"], "is_sleeping": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The options of the process."""

    release: str
    port: int
    """The API server's port for engines."""
    layouts: Layouts
    scripts: Mapping[str, Sequence[Sequence[int]]]
    schedule: Schedule
    log: Path
    acks: Path | None
    """The socket for the plugin's acknowledgements; None for paced steps."""
    pace_ms: float = 2.0
    together: bool = False
    """Whether paced streams step at the same times, in one message."""
    max_model_len: int = 4096
    hello_s: float = 300.0


@dataclass(slots=True)
class _Request:
    generation: Generation
    schedule: str
    """The schedule as text."""
    due: float | None = None
    """When the next step is sent; None until the last one is taken."""
    late: float = 0.0
    """When the last step starts to count as not taken."""
    taken: list[int] = field(default_factory=list)
    """Token counts that the API server took at a time."""
    untaken: bool = False
    """Whether it stopped taking steps."""


class StandinEngine:
    """One engine; `run` returns when its standard input is closed."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._schedule = options.schedule
        self._requests: dict[str, _Request] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder().decode
        self._context = zmq.Context()
        self._poller = zmq.Poller()
        self._outputs: list[zmq.Socket[bytes]] = []
        self._acks: socket.socket | None = None
        self._log: TextIO = options.log.open("a", encoding="utf-8")

    def run(self) -> None:
        """Connect, then serve; raises LabError if no API server answers."""
        inputs = self._connect()
        if self._options.acks:
            self._acks = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._acks.bind(str(self._options.acks))
            self._acks.setblocking(False)
            self._poller.register(self._acks.fileno(), zmq.POLLIN)
        self._poller.register(sys.stdin.fileno(), zmq.POLLIN)
        _print_line(ready=True)
        while True:
            for ready, _ in self._poller.poll(self._timeout_ms()):
                if ready in inputs:
                    self._receive(inputs[inputs.index(ready)])
                elif ready == sys.stdin.fileno():
                    if not self._read_command():
                        return
                else:
                    self._acknowledged()
            self._advance()

    def _connect(self) -> list[Any]:
        """Perform the handshake; returns the sockets for requests."""
        options = self._options
        hello = self._context.socket(zmq.DEALER)
        hello.setsockopt(zmq.IDENTITY, _IDENTITY)
        hello.setsockopt(zmq.LINGER, 0)
        hello.connect(f"tcp://127.0.0.1:{options.port}")
        hello.send(self._encode({"status": "HELLO", "local": False, "headless": True}))
        started = time.monotonic()
        while not hello.poll(500):
            waited = time.monotonic() - started
            if waited > options.hello_s:
                raise LabError(
                    f"the API server of vLLM {options.release} did not answer HELLO within {waited:.0f} s: "
                    "it failed to start (see the end of its log), or its handshake differs; a "
                    "neighbouring release tells the two apart"
                )
            if _orphaned():
                sys.exit(0)
        addresses = self._decode(hello.recv())["addresses"]
        ready = options.layouts.ready_payload(
            max_model_len=options.max_model_len,
            num_gpu_blocks=1024,
            block_size=16,
            dp_stats_address=None,
            dtype="float32",
            vllm_version=options.release,
            world_size=1,
            data_parallel_size=1,
            tensor_parallel_size=1,
            pipeline_parallel_size=1,
            decode_context_parallel_size=1,
            max_num_seqs=1024,
            max_num_batched_tokens=8192,
            instance_id="harmony-lab",
        )
        inputs = []
        for address in addresses["inputs"]:
            requests_socket = self._context.socket(zmq.DEALER)
            requests_socket.setsockopt(zmq.IDENTITY, _IDENTITY)
            requests_socket.connect(address)
            requests_socket.send(self._encode(ready) if ready else b"")
            self._poller.register(requests_socket, zmq.POLLIN)
            inputs.append(requests_socket)
        for address in addresses["outputs"]:
            out = self._context.socket(zmq.PUSH)
            out.setsockopt(zmq.LINGER, 4000)
            out.connect(address)
            self._outputs.append(out)
        status = {"status": "READY", "local": False, "headless": True, "num_gpu_blocks": 1024}
        hello.send(self._encode({**status, "dp_stats_address": None}))
        return inputs

    def _receive(self, ready: Any) -> None:
        kind, *frames = ready.recv_multipart()
        if kind == _ADD:
            self._add(self._decode(frames[0]))
        elif kind == _ABORT:
            for request_id in self._decode(frames[0]):
                if (aborted := self._requests.pop(request_id, None)) is not None:
                    self._write(aborted, "aborted by the API server")
        elif kind == _UTILITY:
            client, call_id, method, *_ = self._decode(frames[0])
            answer = [call_id, None, [None, _ANSWERS.get(method)]]
            row = self._options.layouts.outputs.row(
                engine_index=0, outputs=[], timestamp=time.monotonic(), utility_output=answer
            )
            self._outputs[client].send(self._encode(row))

    def _add(self, row: Sequence[Any]) -> None:
        layout = self._options.layouts.request
        answer = reply_to(layout.value(row, "prompt_token_ids") or (), self._options.scripts)
        schedule = answer.schedule or self._schedule
        generation = generation_of(
            row,
            layout,
            tokens=answer.tokens,
            script=answer.script,
            schedule=schedule,
            max_model_len=self._options.max_model_len,
        )
        due = self._tick(time.monotonic() + generation.wait_ms() / 1000)
        self._requests[generation.request_id] = _Request(generation, schedule.text, due=due)

    def _advance(self) -> None:
        """Send the steps that are due, one message per API server."""
        now = time.monotonic()
        rows: dict[int, list[list[Any]]] = {}
        finished: dict[int, list[str]] = {}
        for request in list(self._requests.values()):
            generation = request.generation
            if request.due is None and now >= request.late:
                if generation.finish is not None:
                    self._close(request)
                    continue
                request.due, request.untaken = now, True
            if request.due is None or now < request.due:
                continue
            if generation.dies():
                self._die()
            step = generation.next_step()
            rows.setdefault(generation.client, []).append(
                self._options.layouts.output.row(
                    request_id=generation.request_id,
                    new_token_ids=step.ids,
                    finish_reason=step.finish,
                    stop_reason=step.stop_reason,
                )
            )
            if step.finish is not None:
                finished.setdefault(generation.client, []).append(generation.request_id)
            if self._acks is None or not generation.streamed or request.untaken:
                paced = generation.streamed and not request.untaken
                wait_ms = generation.wait_ms() + (self._options.pace_ms if paced else 0)
                request.due = self._tick(now + wait_ms / 1000)
                if step.finish is not None:
                    self._close(request)
            else:
                request.due, request.late = None, now + UNTAKEN_S
        for client, outputs in rows.items():
            optional: dict[str, Any] = {"finished_requests": finished[client]} if client in finished else {}
            message = self._options.layouts.outputs.row(
                engine_index=0, outputs=outputs, timestamp=time.monotonic(), **optional
            )
            self._outputs[client].send(self._encode(message))

    def _tick(self, due: float) -> float:
        """When a step is sent: rounded to the common tick if streams step together."""
        pace = self._options.pace_ms / 1000
        return round(due / pace) * pace if self._options.together else due

    def _acknowledged(self) -> None:
        """Read acknowledgements: the API server's request ID, and per choice the tokens that it took."""
        if self._acks is None:
            return
        while True:
            try:
                acknowledgement = json.loads(self._acks.recv(65536))
            except BlockingIOError:
                return
            for choice, size in acknowledgement["taken"]:
                request = self._find(acknowledgement["id"], choice)
                if request is None:
                    continue
                request.taken.append(size)
                if sum(request.taken) < sum(map(len, request.generation.steps)):
                    continue
                if request.generation.finish is not None:
                    self._close(request)
                elif not request.untaken:
                    request.due = time.monotonic() + request.generation.wait_ms() / 1000

    def _find(self, server_id: str, choice: int) -> _Request | None:
        """The request of a choice; the engine's ID may add the choice as prefix, and a suffix."""
        for start in (f"{choice}_{server_id}", server_id):
            if start in self._requests:
                return self._requests[start]
            for request_id, request in self._requests.items():
                if request_id.startswith(f"{start}-"):
                    return request
        return None

    def _close(self, request: _Request) -> None:
        self._requests.pop(request.generation.request_id, None)
        finish = request.generation.finish
        self._write(request, finish.name.lower() if finish is not None else "")

    def _write(self, request: _Request, end: str) -> None:
        """Log a request that has ended."""
        generation = request.generation
        line = {
            "id": generation.request_id,
            "script": generation.script,
            "schedule": request.schedule,
            "streamed": generation.streamed,
            "steps": generation.steps,
            "taken": request.taken if self._acks is not None and generation.streamed else None,
            "end": end,
        }
        self._log.write(json.dumps(line) + "\n")
        self._log.flush()

    def _read_command(self) -> bool:
        """Read one line from standard input; False at its end."""
        line = sys.stdin.readline()
        if not line:
            return False
        command = json.loads(line)
        self._schedule = schedule_of(command["steps"])
        _print_line(steps=self._schedule.text)
        return True

    def _timeout_ms(self) -> float:
        times = [request.late if request.due is None else request.due for request in self._requests.values()]
        return max(0.0, min(times) - time.monotonic()) * 1000 if times else 1000.0

    def _die(self) -> None:
        """Fail as a real engine does: notify the API servers, then exit."""
        for out in self._outputs:
            out.send(_DEAD)
        self._context.destroy(linger=1000)
        sys.stderr.write("the engine died, as the schedule asked\n")
        sys.stderr.flush()
        os._exit(1)


def _print_line(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _orphaned() -> bool:
    """Whether the program that started the engine has ended."""
    return os.getppid() == 1
