"""Conversations of several turns with tools and reasoning, rendered by the reference library."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from openai_harmony import (
    Author,
    Conversation,
    DeveloperContent,
    Message,
    ReasoningEffort,
    RenderConversationConfig,
    Role,
    SystemContent,
    ToolDescription,
)

from inspector.protocol.harmony.vocab import encoding

__all__ = ["chat_messages", "conversations", "harmony_messages", "rendered", "training"]

_WORDS: Final = (
    *(
        "weather",
        "Paris",
        "the",
        "analysis",
        "of",
        "final",
        "report",
        "<b>bold</b>",
        "Größe",
        "日本語",
        "👋🏽",
    ),
    *(
        "émigré",
        "|",
        "<|x|>",
        "{json}",
        "\n\n-",
        "assistant",
        "commentary",
        "`assistantfinal`",
        "x = 1 << 2;",
    ),
    *("to=someone", "system", "user"),
)
_TOOL: Final = ToolDescription.new(
    "get_weather",
    "Weather of a city",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
_KEEP_ANALYSIS: Final = RenderConversationConfig(auto_drop_analysis=False)


def conversations(count: int, seed: int = 1) -> Iterator[Conversation]:
    """Conversations of one to four turns, the same for the same seed."""
    random = Random(seed)  # noqa: S311 -- test data
    for _ in range(count):
        yield Conversation.from_messages(list(_messages(random)))


def _messages(random: Random) -> Iterator[Message]:
    system = SystemContent.new().with_reasoning_effort(random.choice(list(ReasoningEffort)))
    yield Message.from_role_and_content(Role.SYSTEM, system)
    tools = random.random() < 0.6
    if tools or random.random() < 0.5:
        developer = DeveloperContent.new().with_instructions(_text(random))
        yield Message.from_role_and_content(
            Role.DEVELOPER, developer.with_function_tools([_TOOL]) if tools else developer
        )
    for _ in range(random.randint(1, 4)):
        yield Message.from_role_and_content(Role.USER, _text(random))
        for _ in range(random.randint(0, 2) if tools else 0):
            yield _assistant_message("analysis", _text(random))
            if random.random() < 0.2:
                yield _assistant_message("commentary", _text(random))
            yield (
                _assistant_message("commentary", json.dumps({"city": _text(random)}))
                .with_recipient("functions.get_weather")
                .with_content_type(random.choice(("json", "<|constrain|>json")))
            )
            yield (
                Message.from_author_and_content(Author.new(Role.TOOL, "functions.get_weather"), _text(random))
                .with_recipient("assistant")
                .with_channel("commentary")
            )
        if random.random() < 0.8:
            yield _assistant_message("analysis", _text(random))
        yield _assistant_message("final", _text(random))


def _assistant_message(channel: str, text: str) -> Message:
    return Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel)


def _text(random: Random) -> str:
    return "So: " + " ".join(random.choices(_WORDS, k=random.randint(1, 12)))


def rendered(conversation: Conversation) -> list[int]:
    """As a history: the last answer ends in `<|end|>`."""
    return list(encoding().render_conversation(conversation))


def training(conversation: Conversation) -> list[int]:
    """As a training row: it ends in `<|return|>`; a single turn keeps its reasoning."""
    turns = sum(message.author.role is Role.USER for message in conversation.messages)
    config = _KEEP_ANALYSIS if turns == 1 else None
    return list(encoding().render_conversation_for_training(conversation, config))


def harmony_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """The messages as the library stores them."""
    rows: list[dict[str, Any]] = json.loads(conversation.to_json())["messages"]
    return rows


def chat_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """The same as OpenAI chat messages."""
    messages: list[dict[str, Any]] = []
    thinking = ""
    for number, message in enumerate(conversation.messages):
        text = "".join(getattr(part, "text", "") for part in message.content)
        role = message.author.role
        if role is Role.SYSTEM:
            messages.append({"role": "system", "content": "You are a helpful assistant."})
        elif role is Role.DEVELOPER:
            messages.append({"role": "developer", "content": "Be brief."})
        elif role is Role.USER:
            messages.append({"role": "user", "content": text})
        elif role is Role.TOOL:
            messages.append({"role": "tool", "tool_call_id": f"call_{number - 1}", "content": text})
        elif message.channel == "analysis":
            thinking = text
        elif message.recipient is not None:
            call = {"name": "get_weather", "arguments": text}
            calls = [{"id": f"call_{number}", "type": "function", "function": call}]
            messages.append({"role": "assistant", "content": None, "thinking": thinking, "tool_calls": calls})
            thinking = ""
        elif message.channel == "final":
            messages.append({"role": "assistant", "content": text, "thinking": thinking})
            thinking = ""
    return messages
