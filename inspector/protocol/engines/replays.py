"""The `owned_by` of this program's own server, which replays captures: it names the original server."""

from typing import Final

_PLAYBACK: Final = "playback"
_OF: Final = f"{_PLAYBACK}/"
"""Before the `owned_by` of the server that a capture came from."""


def replayed_from(owned_by: str | None) -> str:
    """The `owned_by` of a replay: it marks the replay and names the server that was recorded."""
    owner = original_owner(owned_by)
    return _PLAYBACK if owner in {None, "", _PLAYBACK} else f"{_OF}{owner}"


def original_owner(owned_by: str | None) -> str | None:
    """The `owned_by` of the server that a response came from first, replayed or not."""
    return None if owned_by is None else owned_by.removeprefix(_OF)


def is_replayed(owned_by: str | None) -> bool:
    """Whether a response was replayed: it belongs to another request than the one that was sent."""
    return owned_by is not None and (owned_by == _PLAYBACK or owned_by.startswith(_OF))
