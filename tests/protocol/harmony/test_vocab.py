import pytest
from openai_harmony import HarmonyError

from inspector.capture.errors import InspectorError
from inspector.protocol.harmony import vocab
from inspector.protocol.harmony.vocab import (
    ASSISTANT,
    MARKERS,
    Marker,
    encode,
    encode_plain,
    join_bytes,
    token_bytes,
)


def test_markers_are_the_vocabularys_own() -> None:
    for marker in Marker:
        assert encode(marker.text) == [marker]
        assert token_bytes(marker) == marker.text.encode()
    assert len(MARKERS) == 7


def test_a_prompt_ends_in_start_and_assistant() -> None:
    assert encode("<|start|>assistant") == [Marker.START, ASSISTANT]


def test_plain_text_that_looks_like_a_marker_stays_text() -> None:
    ids = encode_plain("<|start|>")
    assert MARKERS.isdisjoint(ids)
    assert join_bytes(ids) == b"<|start|>"


def test_half_a_surrogate_is_encoded_as_a_question_mark() -> None:
    assert join_bytes(encode("a\ud800b")) == join_bytes(encode_plain("a\ud800b")) == b"a?b"


def test_ids_outside_the_vocabulary_add_no_bytes() -> None:
    assert [token_bytes(invalid_id) for invalid_id in (-1, 201088, 2**80)] == [b"", b"", b""]


def test_ids_from_outside_do_not_fill_the_memory() -> None:
    table = vocab._BytesTable.fromkeys(range(vocab.VOCABULARY_SIZE), b"x")
    assert table[-1] == b""
    assert len(table) == vocab.VOCABULARY_SIZE


@pytest.mark.parametrize("error", [HarmonyError("no vocabulary"), OSError("no network")])
def test_a_library_without_its_vocabulary_is_told_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def failing(_: object) -> object:
        raise error

    monkeypatch.setattr(vocab, "load_harmony_encoding", failing)
    with pytest.raises(InspectorError, match=rf"cannot be loaded \({error}\); install oss-harmony"):
        vocab.encoding.__wrapped__()
