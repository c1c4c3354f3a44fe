"""What a correct server delivers for some tokens, by our own parser."""

from collections.abc import Sequence

from inspector.capture.deltas import CONTENT, REASONING
from inspector.protocol.harmony.contract import expect
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Transcript


class OwnReading:
    """The texts and calls of an output."""

    def __init__(self, ids: Sequence[int]) -> None:
        transcript = Transcript()
        transcript.receive(HarmonyTracker(None).receive(ids), len(ids))
        contract = expect(transcript)
        self.reasoning = contract.text(REASONING, ids)
        self.content = contract.text(CONTENT, ids)
        self.calls = [
            (call.name, text_of(ids[call.segment.start : call.segment.end])) for call in contract.calls
        ]
