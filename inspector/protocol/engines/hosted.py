"""Hosted services, and what their responses are recognized by. None has been tested live.

- Groq: `x_groq` on chunks and bodies, `failed_generation` in errors. "Only present when debug=true in the
  request": `x_groq.debug.output_token_ids`, and the same in the error object; a stream has its counts in
  `x_groq.usage` (groq 1.7.0: `types/chat/chat_completion_chunk.py`, `types/shared/error_object.py`). `debug`
  is not a typed parameter of that library, so it is unknown whether the service accepts it.
- Fireworks: models are called `accounts/fireworks/models/...`. `return_token_ids` brings
  `choices[].token_ids`, as with vLLM, and `raw_output` brings `choices[].raw_output.completion_token_ids`
  (fireworks-ai 1.2.30: `types/chat/chat_completion_chunk.py`, `types/shared/raw_output.py`).
- Together: a delta has the ID of its token, `token_id`; a body has them with `logprobs: 1`, in
  `choices[].logprobs.token_ids` (together 3.1.1: `types/chat/chat_completion_chunk.py`,
  `types/log_probs.py`). Whether the tokens of headers are among them is not documented, so only the count
  shows that they are all.
- Cerebras: `time_info`, on the last chunk and on bodies (cerebras-cloud-sdk 1.91.0:
  `types/chat/chat_completion.py`).
- Cloudflare: models are called `@cf/...`
  (https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility).
- Bedrock: the models are `openai.gpt-oss-20b-1:0` and `openai.gpt-oss-120b-1:0`
  (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html).
"""

import re
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.protocol.engines.engine import Engine


def _hosted(name: str, label: str, **row: Any) -> Engine:
    """A service whose servers only it can change."""
    report = f"Report it to {label} with the ID of the request."
    return Engine(
        name=name,
        label=label,
        start_hint=f"Name a gpt-oss model that {label} serves.",
        tools_hint=report,
        tools_question=report,
        reasoning_hint=report,
        **row,
    )


def _without_ids(name: str, label: str, **row: Any) -> Engine:
    """One whose responses have no token IDs, as far as its documentation says."""
    no_ids = f"{label} documents no way to token IDs: send the prompt to a server that sends them."
    return _hosted(name, label, evidence={}, no_ids=no_ids, **row)


GROQ: Final = _hosted(
    "groq",
    "Groq",
    hosts=("api.groq.com",),
    members=frozenset({"x_groq", "failed_generation"}),
    evidence={Endpoint.CHAT: {"debug": True}},
    ids_at=("x_groq.debug.output_token_ids", "error.debug.output_token_ids"),
    usage_at="x_groq.usage",
    ids_ignored="the service did not send them; its documentation does not promise them.",
)

FIREWORKS: Final = _hosted(
    "fireworks",
    "Fireworks",
    hosts=("api.fireworks.ai",),
    models=re.compile("accounts/fireworks/"),
    members=frozenset({"raw_output"}),
    evidence={endpoint: {"return_token_ids": True} for endpoint in (Endpoint.CHAT, Endpoint.COMPLETIONS)},
    ids_at=("choices[].raw_output.completion_token_ids",),
    reasoning_keys=("reasoning_content",),
)

TOGETHER: Final = _hosted(
    "together",
    "Together",
    hosts=("api.together.ai", "api.together.xyz"),
    members=frozenset({"token_id"}),
    evidence={},
    logprobs_of_text=True,
    no_ids="Together sends the IDs of delivered tokens unasked, without a stream with `logprobs: 1`; no way "
    "to those of headers is documented.",
)

CEREBRAS: Final = _without_ids(
    "cerebras", "Cerebras", hosts=("api.cerebras.ai",), members=frozenset({"time_info"})
)
CLOUDFLARE: Final = _without_ids(
    "cloudflare", "Cloudflare Workers AI", hosts=("api.cloudflare.com",), models=re.compile("@cf/")
)
BEDROCK: Final = _without_ids("bedrock", "Amazon Bedrock", models=re.compile(r"openai\.gpt-oss-"))
