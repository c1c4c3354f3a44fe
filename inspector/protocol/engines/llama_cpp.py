"""llama.cpp's llama-server, whose Harmony parser is a PEG grammar. Run: build 11669 (Debian's 0.7.0).

- Unstreamed, `verbose` and `return_tokens` bring all token IDs in `__verbose.tokens`. A stream has only the
  IDs in `logprobs`, which it rejects with status 400 where the request has tools.
- Its parser fails with status 500, or an error event without `[DONE]`: "output that does not match the
  expected peg-native format".
- A last <|endoftext|> is a stop token, not text.
- `timings` is in every last chunk and every body (tools/server/server-task.cpp).
- With tools a grammar constrains the tokens from ` to=functions` on.
"""

import re
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.protocol.engines.engine import Engine
from inspector.protocol.harmony.contract import Contract
from inspector.protocol.harmony.violations import ENDOFTEXT

LLAMA_CPP: Final = Engine(
    name="llama-cpp",
    label="llama-server",
    program="llama.cpp",
    owners=("llamacpp",),
    fingerprint=re.compile(r"(?P<version>b\d{3,6}(?:-\w{1,40})?)$"),
    contract=Contract(ends_in_no_text=frozenset({ENDOFTEXT})),
    reasoning_keys=("reasoning_content",),
    evidence={Endpoint.COMPLETIONS: {"verbose": True}},
    evidence_unstreamed={Endpoint.CHAT: {"verbose": True, "return_tokens": True}},
    members=frozenset({"__verbose", "timings"}),
    ids_at=("__verbose.tokens",),
    logprobs_of_text=True,
    no_ids="llama-server streams no token IDs on chat: send the request with stream: false, verbose: true "
    "and return_tokens: true.",
    start_hint="Start llama-server with a model: llama-server -hf ggml-org/gpt-oss-20b-GGUF --jinja.",
    tools_hint="Start llama-server with --jinja.",
    tools_question="Is llama-server started with --jinja?",
    tools_words=("--jinja",),
    reasoning_hint="Start llama-server with --jinja, and without --reasoning-format none.",
)
