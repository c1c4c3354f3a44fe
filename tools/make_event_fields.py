"""Which fields each event of a stream must have: `python -m tools.make_event_fields`.

From the types of the installed `openai` and `anthropic`, which are generated from the specifications of both.
Chunks of chat have no type; `ping` is in Anthropic's documentation only.
"""

import json
import sys
from pathlib import Path
from typing import Any, get_args

from anthropic.types import Message, RawMessageStreamEvent
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel

from inspector.protocol.wire.event_checks import FIELDS_FILE


def event_fields() -> dict[str, list[str]]:
    """Type of an event to its required fields."""
    fields = {"": _required(ChatCompletionChunk), "message_start.message": _required(Message), "ping": []}
    for union in (ResponseStreamEvent, RawMessageStreamEvent):
        models: Any = get_args(get_args(union)[0])
        for model in models:
            for name in get_args(model.model_fields["type"].annotation):
                fields[name] = _required(model)
    return dict(sorted(fields.items()))


def _required(model: type[BaseModel]) -> list[str]:
    return sorted(
        name for name, field in model.model_fields.items() if field.is_required() and name != "type"
    )


def main(path: Path = FIELDS_FILE) -> int:
    """Write the file."""
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in event_fields().items())
    path.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
