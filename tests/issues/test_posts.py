"""Texts with messages, texts about other programs, healthy logs: each gets exactly its answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector.issues.catalogue.issue import Confidence, Issue
from inspector.issues.catalogue.table import catalogue
from inspector.issues.diagnosis import DiagnosisOutcome
from inspector.issues.json_rows import diagnosis_row
from inspector.issues.texts.diagnose import diagnose_text
from tools.score_diagnose import answer_code, score, table

POSTS: list[Mapping[str, Any]] = msgspec.yaml.decode(
    (Path(__file__).parent / "posts.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("post", POSTS, ids=lambda post: post["link"][-40:])
def test_a_text_gets_exactly_its_answer(post: Mapping[str, Any]) -> None:
    diagnosis = diagnose_text(post["text"])
    if post["answer"] == "nothing":
        assert (diagnosis.answers, diagnosis.sides, diagnosis.route) == ((), (), None)
        assert post["kind"] != "healthy" or diagnosis.failures == ()
    else:
        assert answer_code(diagnosis) == post["answer"]


def test_the_texts_are_few_and_of_every_sort() -> None:
    assert len(POSTS) <= 150
    assert {"unknown", "nothing"} < {post["answer"] for post in POSTS}


def test_a_score_has_its_sums_and_names_no_text() -> None:
    lines = table(score(POSTS[:9])).splitlines()
    assert lines[-1].split()[:3] == ["all", "9", "9"]
    assert not any(post["text"][:20] in line for post in POSTS[:9] for line in lines)


TEXTS = [
    pytest.param(issue, text, id=f"{issue.id}-{number}")
    for issue in catalogue()
    for number, text in enumerate((*issue.must_match, *issue.examples))
]


@pytest.mark.parametrize(("issue", "text"), TEXTS)
def test_an_entrys_texts_lead_to_it(issue: Issue, text: str) -> None:
    diagnosis = diagnose_text(text)
    assert answer_code(diagnosis) in {issue.id, *issue.shares_text_with}
    assert issue.id in [answer.issue.id for answer in diagnosis.answers]


@pytest.mark.parametrize(
    ("issue", "text"),
    [
        pytest.param(issue, text, id=f"{issue.id}-{number}")
        for issue in catalogue()
        for number, text in enumerate(issue.must_not_match)
    ],
)
def test_texts_that_look_alike_do_not_lead_to_an_entry(issue: Issue, text: str) -> None:
    assert issue.id not in [answer.issue.id for answer in diagnose_text(text).answers]


MESSAGE = "openai_harmony.HarmonyError: Unexpected token 200002 while expecting start token 200006"
ALTERED = {
    "colours": "\x1b[31mE\x1b[0m: Unexpected token \x1b[1m200002\x1b[0m while expecting start token 200006",
    "colours without their escape": "[31mUnexpected token 200002[0m while expecting start token 200006",
    "a quotation": f"> > {MESSAGE}",
    "a wrapped quotation": "> HarmonyError: Unexpected token 200002\n> while expecting start token 200006",
    "wrapped within a word": "HarmonyError: Unexpected token 2000\n02 while expecting sta\nrt token 200006",
    "lower case": MESSAGE.lower(),
    "Docker's JSON": f'{{"log":"{MESSAGE}\\n","stream":"stderr","time":"2026-01-01T00:00:00Z"}}',
    "Kubernetes": f"2026-01-01T00:00:00.123456789Z stderr F {MESSAGE}",
    "compose": f"vllm-1  | {MESSAGE}",
    "journald": f"Oct 28 20:30:31 host vllm[116]: (APIServer pid=1) ERROR 10-28 20:30:31 [a.py:9] {MESSAGE}",
    "kubectl": f"[pod/vllm-0/server] {MESSAGE}",
    "a JSON traceback": f'{{"error": "Traceback (most recent call last):\\n{MESSAGE}\\n"}}',
    "no-break spaces": MESSAGE.replace(" ", "\u00a0"),
    "cut off": MESSAGE[:-14],
    "cut off with dots": f"{MESSAGE[:-20]}…",
    "cut off early": "Error: Unexpected token 200002 ...",
}


@pytest.mark.parametrize("text", ALTERED.values(), ids=ALTERED)
def test_a_message_is_known_whatever_was_done_to_it(text: str) -> None:
    assert diagnose_text(text).answers[0].issue.id == "return-after-end"


@pytest.mark.parametrize(
    "text",
    [
        "Unknown role: assistant&lt;|channel|&gt;commentary",
        "Unknown role: assistant\\u003c|channel|\\u003ecommentary",
        "Unknown role: assistant\\<|channel|\\>commentary",
        "Unknown role: assistant<｜channel｜>commentary",
    ],
)
def test_special_tokens_are_read_as_they_were(text: str) -> None:
    assert diagnose_text(text).answers[0].issue.id == "unknown-role-duplicated-channel"


def test_what_is_cut_off_is_called_so_and_matches_with_little_confidence() -> None:
    diagnosis = diagnose_text(MESSAGE[:-14])
    assert diagnosis.failures[0].cut
    assert diagnosis.answers[0].match is Confidence.LOW


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("Unexpected token 12606 while expecting start token 200006", Confidence.MEDIUM),
        ('Unexpected token 12606 while expecting start token 200006\n"tools": [', Confidence.HIGH),
        ("Expected 2 output messages (reasoning and final), but got 7.", Confidence.HIGH),
    ],
)
def test_the_confidence_is_that_of_the_match(text: str, match: Confidence) -> None:
    assert diagnose_text(text).answers[0].match is match


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA B200, DGX Spark, Blackwell, mxfp4 marlin",
        "vllm bench serve --model openai/gpt-oss-120b --ignore-eos --async-scheduling --stream-interval 20",
        "I fine-tuned gpt-oss with LoRA and LLaMA-Factory.",
        "generation_config.json, /v1/chat/completions, serving_chat.py",
        'INFO: 10.0.0.1:1 - "POST /v1/responses HTTP/1.1" 200 OK\n'
        'INFO: 10.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    ],
)
def test_words_without_a_failure_blame_nobody(text: str) -> None:
    diagnosis = diagnose_text(text)
    assert diagnosis.outcome is DiagnosisOutcome.NOTHING
    assert diagnosis.sentence == "No known issue matches this text."


@pytest.mark.parametrize(
    "text",
    [
        "IndexError: list index out of range",
        "ERROR:    Exception in ASGI application",
        "KeyError: 'python'",
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "curl: (7) Failed to connect to localhost port 8000: Connection refused",
        "panic: runtime error: index out of range [3] with length 3",
        "Segmentation fault (core dumped)",
        'Traceback (most recent call last):\n  File "/app/x.py", line 3, in <module>\n    main()',
    ],
)
def test_an_error_that_nobody_knows_is_shown_with_what_to_paste_next(text: str) -> None:
    diagnosis = diagnose_text(text)
    assert diagnosis.outcome is DiagnosisOutcome.UNKNOWN
    assert (diagnosis.answers, diagnosis.sides) == ((), ())
    assert "aste" in diagnosis.next_step


@pytest.mark.parametrize(
    ("line", "issue"),
    [
        ("IndexError: list index out of range", "responses-stream-events"),
        ("ERROR:    Exception in ASGI application", "responses-error-cuts-connection"),
        ("KeyError: 'python'", "builtin-tool-without-session"),
    ],
)
def test_a_generic_exception_counts_in_a_frame_of_vllm(line: str, issue: str) -> None:
    frame = (
        'Traceback (most recent call last):\n  File "/x/vllm/entrypoints/openai/serving.py", line 3, in f\n'
    )
    prefixed = line if line.startswith("ERROR") else f"{frame}{line}"
    text = f"(APIServer pid=1) {prefixed}"
    assert issue in [answer.issue.id for answer in diagnose_text(text).answers]


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("gpt-oss:20b in Ollama returns an empty response", "ollama"),
        ("LM Studio shows <|channel|>final in the response of gpt-oss", "lmstudio"),
        ("llama-server -m gpt-oss.gguf --jinja\nerror: Failed to parse input", "llama-cpp"),
        ("python -m sglang.launch_server --model openai/gpt-oss-20b\nValueError: no", "sglang"),
        ("trtllm-serve gpt-oss-120b fails with tool calls", "tensorrt-llm"),
        ("vllm-mlx drops the tool calls of gpt-oss", "vllm-mlx"),
        ("vllm serve openai/gpt-oss-20b\ntorch.OutOfMemoryError: CUDA out of memory.", "engine"),
        ("(EngineCore_DP0 pid=1) ERROR 10-25 13:12:42 [core.py:708] EngineCore failed to start.", "startup"),
        ("(EngineCore_DP0 pid=3) ERROR 02-06 15:01:49 [core.py:902] future.result()", "engine"),
        ("Groq rejects the second turn of gpt-oss: property 'reasoning_content' is unsupported", "hosted"),
        ("gpt-oss:120b on cerebras cloud: property 'messages.1.reasoning' is unsupported", "hosted"),
        ("transformers serve openai/gpt-oss-20b\nRuntimeError: shape mismatch", "transformers"),
        ("--dyn-chat-processor vllm fails for gpt-oss", "dynamo"),
        ("OVMS does not parse the tool calls of gpt-oss", "openvino"),
        ("vllm serve openai/gpt-oss-20b\nRuntimeError: HIP error: invalid device function", "engine"),
        (
            "vllm serve openai/gpt-oss-20b\nRuntimeError: FlashInfer needs ninja to build its kernels",
            "engine",
        ),
        ("vllm, gpt-oss\nAssertionError: mla_gluon requires gfx950 (CDNA4), got gfx942", "engine"),
        ("vllm serve a\nKeyError: 'layers.0.self_attn.qkv_proj.lora_A.weight'", "startup"),
        ("vllm serve a\nOSError: [Errno 98] Address already in use", "startup"),
        ("INFO 11-25 08:17:27 config.py:1020] mp\nRuntimeError: NCCL error: unhandled cuda error", "engine"),
        ("[rank1]:[E ProcessGroupNCCL.cpp:629] Watchdog timeout, vllm serve openai/gpt-oss-120b", "engine"),
        (
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4 (vllm image)",
            "startup",
        ),
        ("llama_sampling_init: failed to parse grammar", "llama-cpp"),
        ('{"error":{"code":400,"type":"exceed_context_size_error","n_ctx":8192}}', "llama-cpp"),
        ("vLLM crashes while loading gpt-oss on my GPU", "startup"),
    ],
)
def test_other_servers_and_start_up_failures_are_routed(text: str, route: str) -> None:
    diagnosis = diagnose_text(text)
    assert diagnosis.outcome is DiagnosisOutcome.ROUTED
    assert diagnosis.route is not None
    assert diagnosis.route.id == route
    assert (diagnosis.answers, diagnosis.sides) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        "litellm.APIError: GroqException - Object of type Message is not JSON serializable",
        "AWS Bedrock: AccessDeniedException when I call Claude",
        "botocore.exceptions.ClientError: GetItem failed: dynamodb.frontend table not found",
        'torch._dynamo.exc.Unsupported: call_function\n  File "/x/torch/_dynamo/symbolic_convert.py", line 1',
        '  File "/x/transformers/generation/utils.py", line 10, in generate\nValueError: no tensors: bert',
        "model.generate(inputs)\nRuntimeError: expected scalar type Half but found Float",
        "The game crashes when loading the map on my GPU",
        "nginx pod is in CrashLoopBackOff",
        "The process exited with code 1 immediately after launch of electron",
        "openvino: RuntimeError: Check 'false' failed at src/inference",
        "KeyError: 'choices' in form = MyForm(request.POST)",
        "messages.17.content.0.type: Expected `thinking`, but found `text`",
        "python train.py\nRuntimeError: CUDA error: device-side assert triggered",
        "train_ddp.py\nRuntimeError: NCCL error: unhandled system error",
        "ninja: build stopped: subcommand failed.\nerror: command 'ninja' failed, building detectron2",
        "ModuleNotFoundError: No module named 'llama_index'",
        "OSError: [Errno 98] Address already in use (gunicorn)",
        "Guided decoding crashes for glm-4-9b with vllm 0.6.5\nRuntimeError: xgrammar: wrong vocabulary",
        "requests.exceptions.ConnectionError: host='openaipublic.blob.core.windows.net' gpt-2/vocab.bpe",
    ],
)
def test_words_that_routes_share_with_other_programs_route_nothing(text: str) -> None:
    diagnosis = diagnose_text(text)
    assert (diagnosis.answers, diagnosis.sides, diagnosis.route) == ((), (), None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("vllm serve a\nValueError: Free memory on device (20.1/23.5 GiB) on startup is less than desired "
         "GPU memory utilization (0.92, 21.6 GiB).", "The model or its KV cache does not fit into memory"),
        ("vllm: error: unrecognized arguments: --tool-server demo", "this release does not know a flag"),
        ("vllm serve a\nOSError: [Errno 98] Address already in use", "another process uses its port"),
        ("vllm serve a\nRuntimeError: NCCL error: unhandled system error", "The GPUs cannot communicate"),
        ("vllm serve a\nOSError: You are trying to access a gated repo.", "The model files cannot be found"),
        ("vllm serve a\nModuleNotFoundError: No module named 'triton_kernels'", "a build tool is missing"),
        ("vllm serve a\nRuntimeError: The NVIDIA driver of your system is too old", "cannot use this GPU"),
        ("vllm serve a\nKeyError: 'layers.3.self_attn.qkv_proj.lora_A.weight'", "does not have the weights"),
        ("(EngineCore_DP0 pid=1) INFO 10-15 08:32:29 [pynccl.py:103] vLLM is using nccl==2.27.3\n"
         "(EngineCore_DP0 pid=1) ERROR 10-15 08:32:29 [core.py:708] EngineCore failed to start.",
         "The server does not start; this is not a Harmony problem."),
        ("(EngineCore_DP0 pid=1) ERROR 02-08 15:03:46 [dump_input.py:72] Dumping input data for V1 LLM "
         "engine with config: quantization=mxfp4", "The server's engine failed on the device"),
    ],
)  # fmt: skip
def test_a_start_up_failure_is_named_as_exactly_as_its_error_allows(text: str, sentence: str) -> None:
    diagnosis = diagnose_text(text)
    assert sentence in diagnosis.sentence
    assert "not a Harmony problem" in diagnosis.sentence
    assert diagnosis.route is not None
    assert diagnosis.next_step == diagnosis.route.steps[0]


def test_a_traceback_of_a_notebook_is_a_failure() -> None:
    diagnosis = diagnose_text(
        "HTTPStatusError                           Traceback (most recent call last)\n"
        "File ~/venv/lib/python3.11/site-packages/httpx/_models.py:829, in Response.raise_for_status(self)\n"
    )
    assert diagnosis.outcome is DiagnosisOutcome.UNKNOWN
    assert diagnosis.next_step == "The message is cut off: paste the traceback down to its last line."


def test_a_message_of_the_harmony_library_is_known_whatever_the_server() -> None:
    diagnosis = diagnose_text("sglang\nUnexpected token 200005 while expecting start token 200006")
    assert diagnosis.answers[0].issue.id == "parser-reused"


def test_no_step_asks_for_a_release_that_the_server_has_reached() -> None:
    row = diagnosis_row("x", diagnose_text(f"vLLM API server version 0.32.0\n{MESSAGE}"))
    steps = [step for answer in row["answers"] for step in answer["steps"]]
    assert steps
    assert not [step for step in steps if step.startswith("Upgrade to vLLM 0.32.0")]
