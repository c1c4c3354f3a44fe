"""vLLM's Python front end, the server of most captures.

- Token IDs: `return_token_ids` exists from 0.10.2 (pull request 22587); up to 0.12 chat sends no chunk, and
  so no IDs, for tokens without text of their own (issue 27482, pull request 29074).
- A parser error ends the stream with an error event up to 0.31, on Responses without one; from 0.32 on it is
  ignored.
- Reasoning is `reasoning_content` up to 0.11, both names in 0.12 and 0.13, then `reasoning`.
"""

import re
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.protocol.engines.engine import Engine

_NUMBER: Final = r"v?(?P<version>\d+\.\d+\.\d+[\w.]{0,20})"
_GAP: Final = r"""(?:==|(?:[ _-]?version)?[\s:=|`*"']{1,40})"""
_MEASURED: Final = r"(?:[%/|×]|(?:ms|s|sec|seconds?|min|minutes?|x|times|tok|tokens?|req|requests?|gi?b)\b)"
"""Text after a number that is not a version: a unit, or the next cell of a table."""
_PARSER_FLAGS: Final = "--enable-auto-tool-choice --tool-call-parser openai"

VLLM: Final = Engine(
    name="vllm",
    label="vLLM",
    front_end="vLLM's Python front end",
    program="vllm",
    owners=("vllm",),
    fingerprint=re.compile(r"vllm-(?P<version>[^-]+)"),
    version_lines=(
        ("start-up line", re.compile(rf"vLLM (?:API )?server version {_NUMBER}")),
        ("start-up line", re.compile(rf"[█▄▀]\s+version\s+{_NUMBER}")),
        ("start-up line", re.compile(rf"LLM engine \({_NUMBER}")),
        ("system_fingerprint", re.compile(rf"system_fingerprint.{{1,9}}vllm-{_NUMBER}")),
        ("/version", re.compile(rf'^\s*\{{"version": ?"{_NUMBER}')),
        ("the text", re.compile(rf"(?i)\bvllm{_GAP}{_NUMBER}")),
        ("the text", re.compile(rf"vllm-openai:{_NUMBER}")),
        # A minor release in a sentence, "vLLM 0.33"; gpt-oss runs from 0.10 on.
        ("the text", re.compile(rf"(?i)\bvllm{_GAP}v?(?P<version>0\.[1-4]\d)(?!\.?\w|\s?{_MEASURED})")),
    ),
    version_words=("ersion", "engine (v", "vllm", "vLLM", "VLLM"),
    named=re.compile(r"(?<![a-z])vllm(?![-_]?mlx)(?![a-z])", re.IGNORECASE),
    printed=re.compile(
        r"[\\/]vllm[\\/](?!server|models?\b)"
        r"|\b(?:APIServer|EngineCore|VllmWorker|Worker)(?:_[DPTER]*\d+)*(?: [TPDER]+\d+)? pid="
        r"|vllm api server"
        r"|vllm server version|\bvllm serve\b|\bvllm\.(?:entrypoints|engine|v1|worker|model_executor)\b"
        r"|hosted_?vllm|\bvllm==|llm engine \(v\d|vllm/vllm-openai|\bvllm bench\b|\bvllm\[\d+\]:",
        re.IGNORECASE,
    ),
    prefix=re.compile(r"\((?:APIServer|EngineCore|Worker|VllmWorker|RayWorker)[^()]{0,40} pid=\d"),
    source_files={
        "serving_chat": Endpoint.CHAT,
        "chat_completion/": Endpoint.CHAT,
        "serving_responses": Endpoint.RESPONSES,
        "/responses/": Endpoint.RESPONSES,
        "serving_messages": Endpoint.MESSAGES,
        "/anthropic/": Endpoint.MESSAGES,
    },
    package="vllm",
    served_since={Endpoint.MESSAGES: "0.11.1"},
    reasoning_keys=("reasoning", "reasoning_content"),
    silent=frozenset({Endpoint.RESPONSES}),
    ids_since="0.10.2",
    all_ids_since={Endpoint.CHAT: "0.13"},
    logprobs_alone_since="0.24",
    whole_steps_since="0.18",
    start_hint="Start vLLM with a model: vllm serve openai/gpt-oss-20b.",
    tools_hint=f"Start vLLM with {_PARSER_FLAGS}.",
    tools_question=f"Is vLLM started with {_PARSER_FLAGS}?",
    tools_words=("auto-tool-choice", "tool-call-parser"),
    reasoning_hint="Start vLLM with --reasoning-parser openai_gptoss.",
)
