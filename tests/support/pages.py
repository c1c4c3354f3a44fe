"""What a page under `AppTest` drew, and captures as files for its upload."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

import inspector
from inspector.capture.capture import render

__all__ = ["as_file", "banner", "drawn", "tables"]


def drawn(app: AppTest, component: str) -> Any:
    """The message of the first of our components of that name."""
    return _drawn(app, component)[0]


def _drawn(app: AppTest, component: str) -> list[Any]:
    protos = [element.proto for element in app.get("bidi_component")]
    return [proto for proto in protos if proto.component_name == f"inspector_{component}"]


def tables(app: AppTest) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table whose rows open, by its label; a row by the names of its columns."""
    data = [json.loads(proto.json)[0] for proto in _drawn(app, "rows")]
    return {
        table["label"]: [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
        for table in data
    }


def banner(app: AppTest) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(drawn(app, "banner").json)[0]
    return payload


def as_file(capture: inspector.Capture) -> bytes:
    return "".join(f"{line}\n" for line in render(capture)).encode()
