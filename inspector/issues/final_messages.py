"""Messages in the final object of Responses: their headers, and where in a field's text each one ends."""

from collections.abc import Iterator
from typing import Any

from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.capture import Endpoint
from inspector.protocol.wire.final_messages import filled
from inspector.protocol.wire.responses import item_texts


def reported_messages(reading: Reading) -> Iterator[dict[str, str]]:
    """The parts of each message; what is absent, as the tokens of header and stop, is ''.

    From `output_messages` (`enable_response_messages`) where they have roles, else from the items: an
    mcp_call's label is the recipient that the server read.
    """
    final_object = reading.stream.final_object
    if final_object is None or reading.header.endpoint is not Endpoint.RESPONSES:
        return
    whole = filled(_list(final_object.get("output_messages")), _list(final_object.get("output")))
    messages = [message for message in whole if isinstance(message.get("role"), str)]
    for message in messages:
        content = message.get("content")
        body = content if isinstance(content, str) else "".join(_text(part) for part in _list(content))
        yield _parts(message, body)
    if messages:
        return
    for item in _list(final_object.get("output")):
        match item.get("type"):
            case "mcp_call":
                label, name = str(item.get("server_label") or ""), str(item.get("name") or "")
                recipient = label if label == name or not name else f"{label}.{name}"
                yield _parts({"role": "assistant", "recipient": recipient}, str(item.get("arguments") or ""))
            case "function_call":
                recipient = f"functions.{item.get('name')}"
                header = {"role": "assistant", "channel": "commentary", "recipient": recipient}
                yield _parts(header, str(item.get("arguments") or ""), str(item.get("name")))
            case _:
                pass


def final_texts(reading: Reading, choice: ChoiceReading) -> Iterator[tuple[str, str, frozenset[int]]]:
    """Field, final text and the places in it where a message ends."""
    ends: dict[str, list[int]] = {}
    for field, text in item_texts((reading.stream.final_object or {}).get("output")):
        before = ends.setdefault(field, [0])
        before.append(before[-1] + len(text))
    for field, final in choice.finals.items():
        if not field.endswith(".name"):
            yield field, final, frozenset(ends.get(field, ()))


def _parts(message: dict[str, Any], body: str, name: str = "") -> dict[str, str]:
    parts = {part: str(message.get(part) or "") for part in ("role", "channel", "recipient", "content_type")}
    called = parts["recipient"].removeprefix("functions.")
    name = name or str(message.get("name") or "") or called
    return {**parts, "body": body, "name": name, "header": "", "stop": ""}


def _text(part: dict[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _list(value: object) -> list[dict[str, Any]]:
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []
