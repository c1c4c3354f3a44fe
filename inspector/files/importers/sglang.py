"""SGLang's `/generate`: token IDs with facts about them, whole or as a stream.

`{"text": ..., "output_ids": [...], "meta_info": {"id": ..., "completion_tokens": 9, ...}}`. Each event of a
stream has all IDs so far, or with `--incremental-streaming-output` only the new ones. The text is that of
the tokens without the special ones, which no client of Harmony reads, so it is left out.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from inspector.capture.errors import CaptureError
from inspector.capture.json_values import as_int, as_object, as_string

SOURCE: Final = "SGLang /generate"


def is_result(payload: object) -> bool:
    """True for an object of `/generate`."""
    return (
        isinstance(payload, dict)
        and isinstance(payload.get("meta_info"), dict)
        and ("output_ids" in payload or "text" in payload)
    )


def id_of(result: Mapping[str, object]) -> str | None:
    """The ID of its request."""
    return as_string(_facts(result).get("id"))


def ids_of(results: Sequence[Mapping[str, object]], name: str) -> list[int]:
    """The token IDs of the events of a response; raises CaptureError if some of them are missing."""
    parts = [_ids(result, name) for result in results]
    counted = next((total for result in reversed(results) if (total := _count(result)) is not None), None)
    ids = joined(parts)
    matched = _matched(results[-1])
    if counted == len(ids) + 1 and matched is not None and ids[-1:] != [matched]:
        ids.append(matched)  # without `no_stop_trim` the stop token is only named
    if counted is not None and counted != len(ids):
        why = f"{len(ids):,} token IDs, but completion_tokens is {counted:,}: the file lacks some"
        raise CaptureError(name, f"{why}; save the whole output of /generate")
    return ids


def joined(parts: Sequence[list[int]]) -> list[int]:
    """The IDs of parts that have all IDs so far, or only the new ones."""
    so_far = len(parts) < 2 or (
        len(parts[-1]) > len(parts[0]) and all(late[: len(early)] == early for early, late in pairwise(parts))
    )
    return list(parts[-1]) if so_far else [token for part in parts for token in part]


def _ids(result: Mapping[str, object], name: str) -> list[int]:
    ids = result.get("output_ids")
    if ids is None:  # older releases; each entry is [logprob, ID, text]
        entries = _facts(result).get("output_token_logprobs")
        listed = entries if isinstance(entries, list) else []
        ids = [entry[1] if isinstance(entry, list) and len(entry) > 1 else None for entry in listed]
        if not ids:
            why = "has text of SGLang's /generate without token IDs; send the request with return_logprob"
            raise CaptureError(name, why)
    if not isinstance(ids, list) or not all(type(item) is int for item in ids):
        raise CaptureError(name, "output_ids of SGLang has something other than token IDs; save it again")
    return ids


def _count(result: Mapping[str, object]) -> int | None:
    return as_int(_facts(result).get("completion_tokens"))


def _matched(result: Mapping[str, object]) -> int | None:
    return as_int(as_object(_facts(result).get("finish_reason")).get("matched"))


def _facts(result: Mapping[str, object]) -> Mapping[str, object]:
    return as_object(result.get("meta_info"))
