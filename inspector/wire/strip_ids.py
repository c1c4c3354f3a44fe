"""What a server would have sent to a client that did not ask for token ids; bytes kept wherever possible.

vLLM 0.10.2 to 0.32 passes `token_ids=None` to the payload's constructor, so without
`return_token_ids` the key is there and null. A chunk of a chat stream that delivers nothing is sent
only because its token ids were asked for. (vLLM's chat serving code, the note on `return_token_ids`.)
"""

import json
import re
from typing import Final

__all__ = ["without_token_ids"]

# A quote inside a JSON string is escaped, so neither pattern can match text of the model.
_IDS: Final = re.compile(r'("(?:prompt_)?token_ids"):\s*\[[\d,\s]*\]')
_NOTHING: Final = re.compile(r'"delta":\s*\{(?:\s*"\w+":\s*null\s*,?)*\s*\}')


def without_token_ids(text: str, *, keeps_logprobs: bool = True) -> str | None:
    """A chat or completions payload without its token ids; None when it would not have been sent.

    Text without ids comes back as it is. `keeps_logprobs` says whether the server sends a chunk that
    holds logprobs and nothing else, as 0.32 does; 0.23 and before do not.
    """
    if "token_ids" not in text:
        return text
    if _NOTHING.search(text) and _delivers_nothing(text, keeps_logprobs):
        return None
    return _IDS.sub(r"\1:null", text)


def _delivers_nothing(text: str, keeps_logprobs: bool) -> bool:
    try:
        choices = json.loads(text)["choices"]
        return bool(choices) and all(
            isinstance(choice["token_ids"], list)
            and choice["finish_reason"] is None
            and not any(value is not None for value in choice["delta"].values())
            and not (keeps_logprobs and choice.get("logprobs"))
            for choice in choices
        )
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False
