"""Why tokens differ, as far as two requests show: model, prompt, sampling, or none of them."""

from collections.abc import Sequence
from typing import Final

from inspector.analysis.prompt import first_difference, known_ids
from inspector.analysis.reading import Reading
from inspector.capture.formats import listed
from inspector.inspection.compare.settings import Setting

_SAMPLING: Final = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "n",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "logit_bias",
        "stop",
        "stop_token_ids",
        "ignore_eos",
        "min_tokens",
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "bad_words",
        "allowed_token_ids",
    }
)
_PROMPT: Final = frozenset(
    {
        "messages",
        "input",
        "prompt",
        "instructions",
        "tools",
        "tool_choice",
        "reasoning",
        "reasoning_effort",
        "include_reasoning",
        "chat_template",
        "chat_template_kwargs",
        "documents",
        "previous_response_id",
        "response_format",
    }
)


def cause(left: Reading, right: Reading, settings: Sequence[Setting]) -> str:
    """One or two sentences on what differs before the first token, the strongest reason first."""
    model = next((setting for setting in settings if setting.name == "model"), None)
    if model is not None and model.left is not None and model.right is not None:
        return f"The models differ: {model.left} and {model.right}."
    requests_known = left.header.request and right.header.request  # unknown on one side is no difference
    keys = [
        _key(setting.name) for setting in settings if requests_known and setting.name.startswith("request.")
    ]
    keys = list(dict.fromkeys(keys))
    prompt = [key for key in keys if key in _PROMPT]
    left_ids, right_ids = known_ids(left), known_ids(right)
    prompts_known = left_ids is not None and right_ids is not None
    if prompt:
        return f"The requests differ in {listed(prompt)}."
    if (
        left_ids is not None
        and right_ids is not None
        and (first := first_difference(left_ids, right_ids)) is not None
    ):
        sentence = (
            "The requests are the same, but the prompt token IDs differ: check template and system message."
        )
        return f"{sentence} {first.sentence}"
    template = (
        " The prompt token IDs are the same, so the template is not the cause." if prompts_known else ""
    )
    sampling = [key for key in keys if key in _SAMPLING]
    if sampling:
        return f"The requests use different sampling parameters ({listed(sampling)}).{template}"
    if not requests_known:
        return f"A capture lacks its request, so sampling, template or model may differ.{template}"
    temperature = left.header.request.get("temperature")
    if temperature == 0 and type(temperature) in {int, float}:
        return (
            "The requests are the same and greedy (temperature 0), so the model files, the template or the "
            f"numerics of the two servers differ.{template}"
        )
    sampled_at = "the default temperature" if temperature is None else f"temperature {temperature}"
    return (
        f"The requests are the same and sample at {sampled_at}, which explains the difference. "
        f"Use temperature 0 to compare the servers.{template}"
    )


def _key(name: str) -> str:
    return name.split(".")[1].partition("[")[0]
