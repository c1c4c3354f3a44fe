"""What several tests of the lab share."""

__all__ = ["SLICE", "SOURCE"]

SLICE = [
    "plain",
    "preamble_final",
    "emoji",
    "cjk",
    "tool_call",
    "two_calls_by_end",
    "call_on_analysis",
    "cut_in_answer",
    "stop_at_call",
    "return_after_end",
    "text_after_end",
    "assistantary",
    "missing_start",
    "turn_python",
    "turn_python_unstreamed",
]
"""Scripts that tests with a real server ask for."""

SOURCE = """
import a_module_that_is_not_there
class EngineCoreRequest(Struct, array_like=True):
    request_id: str
    prompt_token_ids: list[int] | None
    sampling_params: SamplingParams | None
    eos_token_id: int | None
    client_index: int = 0
class EngineCoreOutput(Struct):
    request_id: str
    new_token_ids: list[int]
    new_logprobs: LogprobsLists | None = None
    finish_reason: FinishReason | None = None
    stop_reason: int | str | None = None
    num_cached_tokens: int = 0
class EngineCoreOutputs(Struct):
    engine_index: int = 0
    outputs: list[EngineCoreOutput] = []
    timestamp: float = 0.0
    utility_output: UtilityOutput | None = None
"""
"""Messages between API server and engine, as a release declares them; much shortened."""
