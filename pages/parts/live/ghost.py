"""What a run will look like, before the first one: the picture of a stream that no server has sent yet."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

import inspector
from inspector import Capture, Endpoint
from inspector.capture.capture import End, Event, Header
from inspector.protocol.harmony.vocab import encode
from inspector.views.strip import strip
from pages.ui.modules import loader
from pages.ui.strip import pack, styles

_STEPS: Final[Sequence[tuple[str, Mapping[str, str]]]] = (
    ("<|channel|>analysis<|message|>", {}),
    ("thinking", {"reasoning": "thinking"}),
    ("<|end|><|start|>assistant<|channel|>final<|message|>", {}),
    ("the", {"content": "the"}),
    (" answer", {"content": " answer"}),
)
"""Tokens of a step, and what a server delivers of them."""

_ghost = st.components.v2.component(
    "inspector_ghost",
    html="""<section class="hi ghost"><figure class="pipeline">
<div class="pipeline-tools"><b>What you will see</b>
<span>above: what the model writes, below: what your client gets</span>
<button data-part="pipeline-ids"></button><button data-part="pipeline-now"></button>
<button data-part="pipeline-fit"></button></div>
<canvas data-part="pipeline" role="img"
 aria-label="An outline of a run: the tokens of the model, each with its ID, fall through your server into
 reasoning and answer."></canvas>
</figure></section>""",
    css=styles(),
    js=loader("parts/live/ghost.js"),
)


def ghost() -> None:
    """Draw the outline of a run, in its height."""
    _ghost(key="live_ghost", data=_content())


@st.cache_resource(show_spinner=False)
def _content() -> bytes:
    chunks = [
        {"choices": [{"index": 0, "delta": delta, "token_ids": encode(text)}]} for text, delta in _STEPS
    ]
    capture = Capture(
        header=Header(endpoint=Endpoint.CHAT),
        events=[Event(json.dumps(chunk)) for chunk in chunks],
        end=End(at_s=None, cut=False),
    )
    payload = strip(inspector.inspect(capture), key="ghost")
    for pipeline in payload["pipelines"]:
        pipeline["server"] = "your server"
    return pack(payload, digest="ghost").content
