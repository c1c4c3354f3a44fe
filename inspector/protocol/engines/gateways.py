"""Proxies between a client and a server that change responses; each is recognized by what it adds.

- LiteLLM puts what its own types lack into `provider_specific_fields` of a choice or message: `stop_reason`
  and `token_ids` of vLLM, `matched_stop` of SGLang (litellm 1.110.2: `types/utils.py`,
  `litellm_core_utils/llm_response_utils/convert_dict_to_response.py`).
- agentic-api puts `conversation_id` into the responses that it stores (agentic-api 0.9.0, recorded); those
  that it does not store pass unchanged. On other endpoints the name is no sign of it.
- OpenRouter names the service behind it in `provider` and its end in `native_finish_reason`, and sends the
  comment `: OPENROUTER PROCESSING` while it waits (https://openrouter.ai/docs/api_reference/streaming,
  https://openrouter.ai/docs/api-reference/overview).
"""

from typing import Final

from inspector.protocol.engines.engine import Engine

LITELLM: Final = Engine(name="litellm", label="LiteLLM", members=frozenset({"provider_specific_fields"}))

AGENTIC_API: Final = Engine(
    name="agentic-api", label="agentic-api", members=frozenset({"response.conversation_id"})
)

OPENROUTER: Final = Engine(
    name="openrouter",
    label="OpenRouter",
    members=frozenset({"provider", "native_finish_reason", "OPENROUTER PROCESSING"}),
)
