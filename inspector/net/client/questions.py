"""Prompts that test whether a server delivers what its model generates: some reasoning, a tool call."""

from typing import Any, Final

PROMPT: Final = "Think briefly, then answer in one short sentence: what is 17 times 3?"
TOOL_PROMPT: Final = (
    "Call the function get_weather for Paris now. Do not answer in words: a call is the only correct answer."
)
WEATHER: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
