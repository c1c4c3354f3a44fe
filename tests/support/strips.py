"""Payloads of the token strip, and where a browser is in it."""

import json
from array import array
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page

import inspector
from inspector.files.store import builtin
from inspector.views.strip import strip

LEAK = "chat-tool-call-leak-vllm-0.14.1"


def payload(capture: inspector.Capture, key: str = "one") -> dict[str, Any]:
    """What the strip receives for a capture."""
    inspection = inspector.inspect(capture)
    strip_payload: dict[str, Any] = json.loads(json.dumps(strip(inspection, key=key)))
    return strip_payload


def built_in(name: str) -> dict[str, Any]:
    """What it receives for a built-in capture."""
    capture = inspector.load(next(fixture.path for fixture in builtin() if fixture.name == name))
    return payload(capture, name)


def unpacked(content: bytes) -> dict[str, Any]:
    """A payload from the bytes in which the page sends it."""
    first, second, columns = content.split(b"\n", 2)
    payload: dict[str, Any] = json.loads(second)
    for name, (code, length) in json.loads(first).items():
        column = array(code)
        size = length * column.itemsize
        column.frombytes(columns[:size])
        columns = columns[size:]
        (payload if name == "ids" else payload["events"])[name] = column.tolist()
    assert not columns
    return payload


def selected(page: Page) -> str | None:
    """The chosen cell, as a screen reader is told."""
    return page.locator(".scroller").get_attribute("aria-activedescendant")


def goto(page: Page, address: str) -> Page:
    """Open an address and wait until its strip is drawn."""
    page.goto(address)
    page.wait_for_selector(".hi[data-ready]")
    return page


def query(page: Page) -> dict[str, str]:
    """What the address bar names."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
