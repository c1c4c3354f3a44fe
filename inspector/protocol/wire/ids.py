"""Bare lists of token IDs: each event is a JSON list, nothing was delivered."""

from collections.abc import Sequence

from inspector.capture.capture import Event
from inspector.protocol.wire.stream import Stream, loads, token_ids


class IdsReader:
    """Reads lists of IDs into `stream`, as choice 0."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def receive(self, events: Sequence[Event]) -> None:
        """Read some more events."""
        for index, event in enumerate(events, self.stream.events):
            ids = loads(event.data)
            if isinstance(ids, list):
                self.stream.choice(0).tokens.extend(token_ids(ids), index)
            else:
                self.stream.notice("not_json", index, "an event is not a JSON list of token ids")
        self.stream.events += len(events)
