"""What the scripts' file says, held against the judge and against our own tracker."""

from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from openai_harmony import HarmonyError, Role, StreamableParser

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.capture.errors import LabError
from inspector.matrix.scripts import STOPS, Script, load, named, tokens_of
from inspector.protocol.harmony import vocab

SCRIPTS = [script for script in load() if script.stream]
WELL_FORMED = [script for script in SCRIPTS if script.well_formed]
CATALOGUES = sorted((Path(__file__).parents[2] / "inspector").rglob("known_issues.yaml"))

# Streams that the judge takes, and in which it still does not see what the model meant: the text of a
# message under a wrong role, recipient or channel, swallowed by a header or a body, or beside any message.
MISREAD = {
    "json_answer",
    "end_of_text",
    "assistantary_tool",
    "no_channel",
    "unknown_channel",
    "constrain_function",
    "refusal_alone",
    "missing_message_quiet",
    "prompt_tail",
    "missing_end",
    "doubled_message",
    "channel_in_body",
    "half_character",
    "half_character_at_end",
}


def judged(ids: tuple[int, ...]) -> StreamableParser | None:
    parser = StreamableParser(vocab.encoding(), role=Role.ASSISTANT)
    try:
        for token_id in ids:
            parser.process(token_id)
    except HarmonyError:
        return None
    return parser


def names(scripts: Iterable[Script]) -> list[str]:
    return [script.name for script in scripts]


def test_reference_parser_accepts_exactly_well_formed_scripts() -> None:
    wrong = (script for script in SCRIPTS if all(map(judged, script.turns)) is not script.well_formed)
    assert names(wrong) == []


def test_tracker_rejects_what_the_reference_parser_rejects() -> None:
    empty = Capture(header=Header(endpoint=Endpoint.TOKENS), events=())

    def refused(turn: tuple[int, ...]) -> bool:
        return bool(read(empty, truth=turn).choice.transcript.rejected_runs)

    wrong = [
        (script.name, number)
        for script in SCRIPTS
        for number, turn in enumerate(script.turns)
        if refused(turn) is not (judged(turn) is None)
    ]
    assert wrong == []


def test_expectations_of_well_formed_scripts_follow_from_tokens() -> None:
    single_turn = [script for script in WELL_FORMED if len(script.turns) == 1 and script.name not in MISREAD]
    assert len(single_turn) >= 20
    expected, found = {}, {}
    for script in single_turn:
        expect = script.expect
        expected[script.name] = (
            *(
                "".join(piece.text for piece in pieces if piece.required)
                for pieces in (expect.reasoning, expect.content)
            ),
            [tuple(call) for call in expect.tool_calls],
        )
        empty = Capture(header=Header(endpoint=Endpoint.CHAT), events=())
        generated = read(empty, truth=script.sampled).choice.generated()
        assert generated is not None
        calls = [(call.name, call.arguments) for call in generated.tool_calls]
        found[script.name] = (generated.reasoning, generated.content, calls)
    assert found == expected


def test_every_expected_text_is_among_the_tokens() -> None:
    missing = []
    for script in SCRIPTS:
        text = vocab.join_bytes(script.sampled).decode("utf-8", "replace")
        pieces = [*script.expect.reasoning, *script.expect.content]
        texts = [piece.text for piece in pieces if piece.required] + [script.expect.stray]
        texts += [call.arguments for call in script.expect.tool_calls]
        missing += [(script.name, piece) for piece in texts if piece not in text]
    assert missing == []


def test_scripts_end_in_a_stop_token_or_by_budget() -> None:
    def ends(script: Script) -> bool:
        if "max_tokens" not in script.request:
            return all(turn[-1] in STOPS for turn in script.turns) or script.stops_early
        if script.expect.finish == "length":
            return bool(len(script.sampled) == script.request["max_tokens"] < len(script.turns[0]))
        return True

    assert names(script for script in SCRIPTS if not ends(script)) == []


def test_stops_early_marks_scripts_with_an_early_stop() -> None:
    def stopped(script: Script) -> bool:
        cut = script.expect.finish == "length"
        return len(script.turns) == 1 and len(script.sampled) < len(script.turns[0]) and not cut

    assert names(script for script in SCRIPTS if stopped(script) is not script.stops_early) == []


def test_scripts_are_distinct() -> None:
    assert len(SCRIPTS) >= 40
    assert len({script.turns for script in SCRIPTS if not script.request}) == len(
        [script for script in SCRIPTS if not script.request]
    )


def test_server_side_tool_scripts_have_an_unstreamed_twin() -> None:
    names = {script.name for script in load()}
    assert all(f"{script.name}_unstreamed" in names for script in SCRIPTS if script.built_in)


def test_issues_of_scripts_are_in_the_catalogue() -> None:
    [file] = CATALOGUES
    catalogue = {entry["id"] for entry in yaml.safe_load(file.read_text(encoding="utf-8"))}
    assert {issue for script in SCRIPTS for issue in script.issues} <= catalogue


def test_tokens_of_insertions() -> None:
    assert tokens_of("<|start|>assistant<#815>") == (200006, 173781, 815)
    assert 200007 not in tokens_of("<plain:<|end|>>")
    assert vocab.join_bytes(tokens_of("<plain:<|end|>>, <count:3>")) == b"<|end|>, 1 2 3"


def test_named_rejects_an_unknown_script() -> None:
    with pytest.raises(LabError, match="no script named nonsense; 'lab scripts' lists them"):
        named(["plain", "nonsense"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "Expected `array`"),
        ("- name: [", "while parsing"),
        ("- {name: a, nonsense: 1}", "unknown field `nonsense` - at `a`"),
        ("- name: A b", "matching regex .* at `A b.name`"),
        ("- {name: a, text: [x]}", "required field `sentence` - at `a`"),
        (
            "- {name: a, sentence: S., class: text, well_formed: true, expect: {}}",
            "has `text` or `turns` - at `a`",
        ),
        ("- 5", r"Expected `object`, got `int` - at `\$\[0\]`"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "scripts.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(LabError, match=words):
        load(file)
