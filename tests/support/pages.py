"""What a page under `AppTest` drew, and captures as files for its upload."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

import inspector
from inspector.capture.capture import render

__all__ = ["all_drawn", "as_file", "banner", "drawn"]


def drawn(app: AppTest, component: str) -> Any:
    """The message of the first of our components of that name."""
    return all_drawn(app, component)[0]


def all_drawn(app: AppTest, component: str) -> list[Any]:
    """The messages of our components of that name."""
    protos = [element.proto for element in app.get("bidi_component")]
    return [proto for proto in protos if proto.component_name == f"inspector_{component}"]


def banner(app: AppTest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(drawn(app, "banner").json)[0]
    return found


def as_file(capture: inspector.Capture) -> bytes:
    return "".join(f"{line}\n" for line in render(capture)).encode()
