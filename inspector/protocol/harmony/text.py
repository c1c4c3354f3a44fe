"""Text per token, also when a character is split over several tokens.

A token adds bytes. A character belongs to the token that completes it, and the tokens before it have no
text. Bytes that can never become a character are U+FFFD at the token that makes that certain, exactly as
in one decoding of all bytes (Unicode 15, section 3.9, maximal subparts).
"""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Sequence

from inspector.protocol.harmony.vocab import join_bytes, token_bytes

_UTF8 = getincrementaldecoder("utf-8")


def text_of(ids: Iterable[int], *, ended: bool = True) -> str:
    """Text of some tokens together; invalid UTF-8 becomes U+FFFD.

    Without `ended` a character that the last tokens only begin has no text, as it may still be completed.
    """
    return _UTF8("replace").decode(join_bytes(ids), ended)


def texts(ids: Sequence[int], *, ended: bool = True) -> list[str]:
    """Text that each token completes; joined it is `text_of(ids)`.

    Without `ended` a character that the last tokens only begin has no text, as it may still be completed.
    """
    decoder = _UTF8("replace")
    texts = [decoder.decode(token_bytes(token_id)) for token_id in ids]
    if texts and ended:
        texts[-1] += decoder.decode(b"", True)
    return texts
