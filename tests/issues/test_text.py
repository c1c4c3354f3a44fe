"""Error text, client output and logs lead to the right cause first."""

import gzip
import json
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.issues.catalogue.issue import Side
from inspector.issues.catalogue.table import catalogue
from inspector.issues.catalogue.versions import Range
from inspector.issues.diagnosis import DiagnosisOutcome
from inspector.issues.ranking import Because
from inspector.issues.texts.diagnose import diagnose_text

LOGS = Path(__file__).parent.parent.parent / "fixtures" / "logs"


def log(version: str) -> str:
    return gzip.decompress((LOGS / f"vllm-{version}.log.gz").read_bytes()).decode("utf-8")


def first(text: str) -> str:
    return diagnose_text(text).answers[0].issue.id


def test_an_example_leads_to_its_entry_or_to_the_likelier_one_of_the_same_text() -> None:
    astray = []
    for issue in catalogue():
        for example in issue.examples:
            answers = [answer.issue.id for answer in diagnose_text(example).answers]
            if issue.id not in answers or answers[0] not in {issue.id, *issue.shares_text_with}:
                astray.append((issue.id, example, answers))
    assert astray == []


def test_an_entry_with_a_text_of_its_own_has_an_example_of_it() -> None:
    assert [issue.id for issue in catalogue() if issue.patterns and not issue.examples] == []


SEEDS = [
    pytest.param(
        "$ vllm bench serve --model openai/gpt-oss-120b --ignore-eos --random-output-len 512\n"
        "openai.InternalServerError: Error code: 500 - {'error': {'message': "
        "'Unexpected token 200002 while expecting start token 200006', 'code': 500}}",
        "ignore-eos",
        Side.CLIENT,
        id="under a benchmark",
    ),
    pytest.param(
        "Merged the LoRA that I trained with LLaMA-Factory into gpt-oss-20b and serve it with vLLM 0.11.0:\n"
        "openai_harmony.HarmonyError: Unexpected token 200002 while expecting start token 200006",
        "llamafactory-end-return",
        Side.TEMPLATE,
        id="after a fine-tune",
    ),
    pytest.param(
        'data: {"error": {"message": "Unexpected token 12606 while expecting start token 200006", '
        '"type": "BadRequestError", "code": 400}}\nrequest: {"tools": [{"type": "function"}]}',
        "stale-generation-config",
        Side.FILES,
        id="12606 with tools",
    ),
    pytest.param(
        "openai_harmony.HarmonyError: Unknown role: assistantary",
        "unknown-role-assistantary",
        Side.SERVER,
        id="assistantary",
    ),
]


@pytest.mark.parametrize(("text", "issue", "side"), SEEDS)
def test_the_trackers_questions_lead_to_cause_and_side(text: str, issue: str, side: Side) -> None:
    diagnosis = diagnose_text(text)
    assert diagnosis.answers[0].issue.id == issue
    assert diagnosis.sides[0] is side
    assert f"the {side}" in diagnosis.sentence.partition(". ")[0]


def test_a_harmony_error_in_a_clients_output_comes_from_the_server() -> None:
    (note,) = diagnose_text("openai_harmony.HarmonyError: Unknown role: final").notes
    assert note.startswith("openai_harmony.HarmonyError comes from the server")


def test_a_crash_at_the_start_is_not_said_to_come_from_a_server() -> None:
    text = "HarmonyError: error downloading or loading vocab file: failed to download or load vocab file"
    diagnosis = diagnose_text(f"openai_harmony.{text}")
    assert diagnosis.answers[0].issue.id == "vocab-download"
    assert diagnosis.notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected token 0 while expecting start token 200006",
        'unexpected tokens remaining in message header: Some("!!!!!!!!!!!!!!")',
    ],
)
def test_a_run_of_token_0_is_the_kernels_fault_and_not_the_models(text: str) -> None:
    diagnosis = diagnose_text(f"gpt-oss-120b, vLLM on one GB10 board, temperature 0:\nHarmonyError: {text}")
    assert diagnosis.answers[0].issue.id == "wrong-kernel-garbage"
    assert diagnosis.sides == (Side.CONFIGURATION,)


def test_a_crash_of_a_client_whose_answers_hit_the_token_limit_names_the_limit() -> None:
    lines = [
        "TypeError: expected string or bytes-like object, got 'NoneType'",
        "412 of 485 answers hit the token cap",
    ]
    crash, limit = (
        diagnose_text(f"gpt-oss-20b on vLLM\n{text}") for text in ("\n".join(lines), "\n".join(lines[::-1]))
    )
    assert limit.answers[0].issue.id == "truncated-by-max-tokens"
    assert crash.answers[1].issue.id == "truncated-by-max-tokens"
    assert "truncated-by-max-tokens" in crash.next_step


def test_no_step_holds_for_one_server_where_the_text_holds_for_all() -> None:
    steps = [(issue, step.text) for issue in catalogue() for step in issue.steps]
    wrong = [issue.id for issue, step in steps if issue.any_server and step.startswith("Start vLLM")]
    wrong += [
        issue.id for issue, step in steps if "chat wire format" in step
    ]  # Codex removed it in February 2026
    assert wrong == []


def test_a_traceback_through_a_parser_of_ones_own_is_told_apart() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/parse.py", line 12, in <module>\n'
        "    parser.process(token)\n"
        '  File "/usr/lib/python3/dist-packages/openai_harmony/__init__.py", line 637, in process\n'
        "    self._inner.process(token)\n"
        "openai_harmony.HarmonyError: Unexpected token 200005 while expecting start token 200006\n"
    )
    diagnosis = diagnose_text(text)
    assert diagnosis.answers[0].issue.id == "parser-reused"
    assert "not through vLLM" in diagnosis.notes[0]


def test_the_first_error_of_a_text_comes_before_what_follows_from_it() -> None:
    text = (
        'openai_harmony.HarmonyError: unexpected tokens remaining in message header: Some("to=functions.f")\n'
        + "openai_harmony.HarmonyError: Unexpected token 12083 while expecting start token 200006\n" * 5
    )
    diagnosis = diagnose_text(text)
    assert diagnosis.answers[0].issue.id == "duplicate-recipient"
    follow_on = diagnosis.failures[1]
    assert "secondary-error-cascade" in [answer.issue.id for answer in follow_on.answers]


def test_an_unknown_failure_is_called_unknown_with_the_closest_entries_where_the_text_is_about_ours() -> None:
    error = "RuntimeError: Unknown roll of the dice: snake eyes"
    unrelated, about_gpt_oss = diagnose_text(error), diagnose_text(f"gpt-oss-20b: {error}")
    assert unrelated.sentence.startswith("Unknown: no known issue produces “RuntimeError: Unknown roll")
    assert (unrelated.sides, unrelated.answers) == ((), ())
    assert "Nothing in this text is from vLLM or gpt-oss" in unrelated.next_step
    assert (len(unrelated.closest), len(about_gpt_oss.closest)) == (0, 3)


@pytest.mark.parametrize("text", ["", "All is well.", "INFO 11-20 22:47:22 [x.py:1] Error rates are fine"])
def test_text_without_a_failure_has_no_answer(text: str) -> None:
    diagnosis = diagnose_text(text)
    assert diagnosis.answers == ()
    assert diagnosis.sentence == "No known issue matches this text."
    assert diagnosis.outcome is DiagnosisOutcome.NOTHING
    assert diagnosis.next_step.startswith("Paste ")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("INFO 11-20 22:47:28 [api_server.py:1351] vLLM API server version 0.13.0", "0.13.0"),
        ("INFO 11-20 22:47:28 [api_utils.py:340] vLLM server version 0.32.0, serving model x", "0.32.0"),
        (" ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.31.0", "0.31.0"),
        ("[core.py:93] Initializing a V1 LLM engine (v0.14.1) with config: model='x'", "0.14.1"),
        ('{"choices": [], "system_fingerprint": "vllm-0.32.0-tp1-abc"}', "0.32.0"),
        ('{"version": "0.18.0"}', "0.18.0"),
        ("vllm==0.11.2", "0.11.2"),
        ("image: vllm/vllm-openai:v0.10.2", "0.10.2"),
    ],
)
def test_the_version_is_read_from_the_evidence(line: str, version: str) -> None:
    text = f"{line}\nopenai_harmony.HarmonyError: Unexpected token 200002 while expecting start token 200006"
    diagnosis = diagnose_text(text)
    assert diagnosis.version == version
    kinds = {reason.because for reason in diagnosis.answers[0].reasons}
    assert (Because.INSIDE in kinds) is (version != "0.32.0")


def test_a_traceback_tells_the_release_by_file_and_line() -> None:
    text = log("0.13.0")
    start = text.index("Error in chat completion stream generator")
    excerpt = text[text.rindex("\n", 0, start) : text.index("while expecting start token 200006", start) + 34]
    diagnosis = diagnose_text(excerpt)
    assert diagnosis.version == "0.13.0"
    assert "serving_chat.py:741" in diagnosis.versions[0].source


def test_the_release_decides_between_entries_of_one_message() -> None:
    text = "Unknown recipient: None"
    old, new = diagnose_text(f"vllm==0.12.0\n{text}"), diagnose_text(f"vllm==0.20.0\n{text}")
    assert Because.INSIDE in {reason.because for reason in old.answers[0].reasons}
    assert Because.OUTSIDE in {reason.because for reason in new.answers[0].reasons}


@pytest.mark.parametrize("version", ["0.13.0", "0.14.1"])
def test_a_real_log_is_counted_by_message(version: str) -> None:
    diagnosis = diagnose_text(log(version))
    counted = {failure.message: failure.count for failure in diagnosis.failures}
    assert diagnosis.version == version
    assert counted == {
        "Unexpected token 12606 while expecting start token 200006": 4,
        "Unexpected token 200002 while expecting start token 200006": 2,
        "Unknown role: assistantary": 2,
        'unexpected tokens remaining in message header: Some("extra")': 2,
        "channel marker present but no channel value found in header": 2,
        "Unexpected token 200007 while expecting start token 200006": 2,
        "KeyError: 'python'": 1,
        "Exception in ASGI application": 8,
        "Error in chat completion stream generator": 7,
    }
    assert diagnosis.requests == dict.fromkeys(
        ("/v1/chat/completions", "/v1/responses", "/v1/completions"), 22
    )
    assert all(failure.answers for failure in diagnosis.failures)


def test_the_lines_around_a_failure_are_kept_for_its_first_occurrences() -> None:
    failure = diagnose_text(log("0.13.0")).failures[0]
    assert len(failure.around) == 3
    for lines in failure.around:
        assert any('File "' in line for line in lines)
        assert any(failure.message in line for line in lines)


def access_log(requests: int, failing: int) -> Iterator[str]:
    failures = 0
    for number in range(requests):
        minute = number * 60 // requests
        yield f"(APIServer pid=1) INFO 11-20 22:{minute:02}:01 [loggers.py:248] Engine 000"
        yield '(APIServer pid=1) INFO:     127.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
        if failures * requests < failing * number:
            failures += 1
            yield (
                f"(APIServer pid=1) ERROR 11-20 22:{minute:02}:01 [serving_chat.py:1305] "
                "openai_harmony.HarmonyError: Unexpected token 200002 while expecting start token 200006"
            )


def test_on_nearly_every_answer_the_template_is_suspected_on_few_the_model() -> None:
    often, seldom = diagnose_text(access_log(600, 580)), diagnose_text(access_log(2000, 4))
    assert often.answers[0].issue.id == "llamafactory-end-return"
    assert seldom.answers[0].issue.id == "return-after-end"
    words = [reason.words for reason in seldom.answers[0].reasons if reason.because is Because.RATE]
    assert words == ["4 of 2,000 requests to chat and Responses (0.2%) have it"]


def test_failures_and_requests_are_counted_by_the_minute() -> None:
    diagnosis = diagnose_text(access_log(120, 60))
    minutes = {count.time for count in diagnosis.timeline}
    assert len(minutes) == 60
    assert sum(count.times for count in diagnosis.timeline if count.name == "requests") == 120


def test_lines_and_text_give_the_same_diagnosis() -> None:
    text = log("0.13.0")
    assert diagnose_text(text) == diagnose_text(iter(text.splitlines(keepends=True)))


def test_many_different_messages_are_bounded() -> None:
    lines = (f"ValueError: unheard of {number}" for number in range(5000))
    diagnosis = diagnose_text(lines)
    assert len(diagnosis.failures) <= 300
    assert "4,700 more failures have different texts and are not listed." in diagnosis.notes


def test_an_endless_line_does_no_harm() -> None:
    diagnosis = diagnose_text(["Unknown role: assistantary " + "x" * 10_000_000])
    assert diagnosis.answers[0].issue.id == "unknown-role-assistantary"


@given(st.text(max_size=400))
def test_any_text_is_diagnosed(text: str) -> None:
    diagnosis = diagnose_text(text)
    assert diagnosis.sentence
    assert diagnose_text(text.splitlines(keepends=True)) == diagnosis


HOSTILE = [
    '"content": "' * 700,
    '"name": "' + "a" * 8000,
    "unexpected tokens remaining in message header: Some(" + '"<|constrain|>' * 500,
    "Unexpected token " * 480,
    "<|channel|>analysis<|message|>" * 270,
    "delta " * 1300,
    'File "' * 1300,
    "-11 22:" * 1100,
    "Error" * 1600,
    "a.b" * 2700 + "Error",
]


@pytest.mark.slow
@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:20])
def test_a_hostile_line_takes_no_time(line: str) -> None:
    diagnose_text(repeat(line, 50))


MESSAGES = {
    "return-after-end": "Unexpected token 200002 while expecting start token 200006",
    "unknown-role-assistantary": "Unknown role: assistantary",
    "duplicate-recipient": 'unexpected tokens remaining in message header: Some("to=functions.f")',
    "tool-server-mcp-2": "'Tool' object has no attribute 'inputSchema'",
}
AROUND = {
    "table": "| case | server | result |\n|---|---|---|\n| tools | 0.13.0 | 500 `{}` |",
    "quotation": "> The log says “{}” and nothing else.",
    "title with a status": "[Bug]: 500 Internal Server Error when streaming\n\n{}",
    "indented traceback": '  Traceback (most recent call last):\n    File "/a/b.py", line 3, in f\n  {}',
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("issue", MESSAGES)
def test_a_message_is_found_wherever_it_stands(issue: str, around: str) -> None:
    assert first(around.format(MESSAGES[issue])) == issue


@pytest.mark.parametrize("issue", MESSAGES)
def test_a_message_is_found_in_json_however_often_it_is_escaped(issue: str) -> None:
    content = MESSAGES[issue]
    for _ in range(3):
        content = json.dumps({"error": {"message": content, "code": 500}})
        assert first(content) == issue


@pytest.mark.parametrize(
    ("quoted", "issue"),
    [
        ("to=functions.f", "duplicate-recipient"),
        ('"to=functions.f"', "duplicate-recipient"),
        ("!!!!!!!!", "wrong-kernel-garbage"),
        ("", "header-leftover-generic"),
        ("...", "header-leftover-generic"),
        ("<the words>", "header-leftover-generic"),
        ('["to=functions.f", "<|constrain|>json"]', "constrain-garbage"),
    ],
)
def test_a_header_is_known_without_the_brackets_that_the_parser_prints(quoted: str, issue: str) -> None:
    assert first(f"unexpected tokens remaining in message header: {quoted}") == issue


def test_a_message_of_the_parser_comes_before_the_crash_of_a_client() -> None:
    crash = "TypeError: 'NoneType' object is not subscriptable"
    text = f"gpt-oss on vLLM\n{crash}\nopenai_harmony.HarmonyError: {MESSAGES['return-after-end']}"
    assert first(text) == "return-after-end"


@pytest.mark.parametrize(
    ("named", "route"),
    [
        ("llama-server -m gpt-oss-20b.gguf", "llama-cpp"),
        ("gpt-oss-120b on Groq", "hosted"),
        ("ollama run gpt-oss:20b", "ollama"),
    ],
)
def test_a_program_that_the_text_names_comes_before_a_message_of_any_client(named: str, route: str) -> None:
    diagnosis = diagnose_text(f"{named}\nopenai.InternalServerError: Error code: 500")
    assert diagnosis.route is not None
    assert diagnosis.route.id == route
    assert diagnosis.answers == ()


STAMP = "(EngineCore pid=7) WARNING 09-03 14:02:{:02} [layerwise.py:268]"
REJECTED = (
    "(APIServer pid=1) ERROR 09-03 14:{}:01 [serving.py:9] HarmonyError: "
    "Unexpected token {} while expecting start token 200006"
)
RELOADED = [f"{STAMP.format(number)} OAIAttention: Failed to load weights" for number in range(4)]
GARBAGE = [REJECTED.format(minute, 1000 + minute) for minute in range(10, 40)]


def test_weights_that_were_not_loaded_come_before_the_errors_of_the_parser_after_it() -> None:
    assert first("\n".join([*RELOADED, *GARBAGE])) == "weights-not-loaded"
    assert first("\n".join([*RELOADED, *GARBAGE[:1] * 30])) == "weights-not-loaded"


def test_a_message_that_comes_more_often_than_requests_has_no_share() -> None:
    request = '(APIServer pid=1) INFO:     127.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    diagnosis = diagnose_text("\n".join([*RELOADED * 3, *[request] * 6, GARBAGE[0]]))
    assert [failure.share for failure in diagnosis.failures] == [None, 1 / 6]


def test_a_warning_after_the_errors_of_the_parser_is_not_their_cause() -> None:
    assert first("\n".join([*GARBAGE[:1] * 30, *RELOADED])) != "weights-not-loaded"


def unfinished_headers(requests: int, unfinished: int, *, started_with: str = "") -> str:
    at = "(APIServer pid=1) WARNING 08-14 09:00:{:02} [harmony.py:142]"
    warning = f"{at} Harmony parser ended in a non-terminal state"
    request = '(APIServer pid=1) INFO:     127.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    lines = [started_with]
    for number in range(requests):
        lines += [warning.format(number % 60)] * (number < unfinished) + [request]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("requests", "unfinished", "issue"),
    [
        (9, 9, "grammar-blocks-harmony"),
        (60, 40, "grammar-blocks-harmony"),
        (4, 4, "unfinished-header-as-content"),  # too few to say
        (9, 2, "unfinished-header-as-content"),
        (300, 3, "unfinished-header-as-content"),
    ],
)
def test_a_warning_of_most_requests_is_a_setting_also_where_their_status_is_200(
    requests: int, unfinished: int, issue: str
) -> None:
    assert first(unfinished_headers(requests, unfinished)) == issue


@pytest.mark.parametrize(
    ("started_with", "issue"),
    [
        ("vLLM API server version 0.28.0, VLLM_ENFORCE_STRICT_TOOL_CALLING=1, tools", "strict-tool-grammar"),
        (
            "vLLM API server version 0.30.0, VLLM_ENFORCE_STRICT_TOOL_CALLING=1, tools",
            "grammar-blocks-harmony",
        ),
        (
            "vLLM API server version 0.28.0, 'enable_in_reasoning': True, response_format=",
            "grammar-blocks-harmony",
        ),
    ],
)
def test_of_the_settings_that_constrain_the_header_the_text_names_one(started_with: str, issue: str) -> None:
    assert first(unfinished_headers(12, 12, started_with=started_with)) == issue


def test_drafting_is_suspected_where_the_text_says_that_it_is_on() -> None:
    error = "openai_harmony.HarmonyError: message header did not contain a role"
    assert first(error) == "header-without-role"
    assert (
        first(f'--speculative-config \'{{"method": "eagle3"}}\'\n{error}') == "speculative-decoding-corrupts"
    )


@pytest.mark.parametrize(
    ("text", "sentence", "step"),
    [
        (
            "my agent gets empty tool calls on vLLM 0.33",
            "Not your version: ",
            "Check the server's flags first",
        ),
        ("vLLM 0.33.0: message.tool_calls is [] and content is empty", "Not your version: ", "Check the ser"),
        ("empty tool calls on 0.33", "Not your version: vLLM 0.33.0 delivers all 25 ", "Check the server's"),
        ("vLLM 0.12.0, gpt-oss: no tool calls in chat", "Perhaps your version: ", "Upgrade to vLLM 0.24.0"),
        ("no tool calls in chat, vLLM 0.9.2", "No known issue matches", "Paste the error line"),
        ("empty tool calls with temperature 0.33", "No known issue matches", "Paste the error line"),
    ],
)
def test_what_the_matrix_says_of_a_release_is_said(text: str, sentence: str, step: str) -> None:
    diagnosis = diagnose_text(text)
    assert diagnosis.sentence.startswith(sentence)
    assert diagnosis.next_step.startswith(step)
    assert diagnosis.outcome is DiagnosisOutcome.NOTHING


@pytest.mark.parametrize("text", ["empty tool calls on 0.33", "vLLM 0.33.0: message.tool_calls is []"])
def test_what_is_close_agrees_with_a_release_that_is_cleared(text: str) -> None:
    near = diagnose_text(text).closest
    assert near[0].id == "tool-parser-flags-missing"
    assert all(issue.sides[0] is not Side.SERVER for issue in near)


def test_a_version_leaves_out_the_closest_entries_of_other_releases() -> None:
    text = "gpt-oss-20b on vLLM {}: my tool calls arrive with empty arguments"
    old, new = diagnose_text(text.format("0.13.0")), diagnose_text(text.format("0.33.0"))
    assert old.closest[0].id == "stream-interval-tool-arguments"
    assert len(new.closest) == 3
    assert all("0.33.0" in issue.affected.get("vllm", Range(">=0.1")) for issue in new.closest)


def test_a_message_of_llama_cpp_that_is_cut_off_stays_with_its_server() -> None:
    cut = diagnose_text("llama-server -m gpt-oss.gguf\nerror: Failed to parse input at pos 31: <|chan")
    assert cut.outcome is DiagnosisOutcome.ROUTED
    assert first("error: Failed to parse input at pos 31: <|channel|>analysis to=functions.f code") == (
        "llama-cpp-analysis-call"
    )


def test_another_server_with_a_schema_has_the_step_that_leaves_it_out() -> None:
    plain, with_schema = (
        diagnose_text(f"LM Studio, gpt-oss-20b{words}: the answer has gaps").next_step
        for words in ("", " with a json_schema")
    )
    assert "without response_format" in with_schema
    assert "response_format" not in plain


def test_dynamo_is_recognized_by_its_name_beside_the_model() -> None:
    named, unnamed = (
        diagnose_text(f"{words} loses the answer of gpt-oss").route for words in ("Dynamo", "torch dynamo")
    )
    assert (named.id if named else None, unnamed) == ("dynamo", None)
