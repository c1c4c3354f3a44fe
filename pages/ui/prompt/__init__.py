"""The prompt of a response as blocks, opened on demand; drawn with `textContent` only."""

import streamlit as st

from inspector.analysis.prompt import FirstDifference, Prompt
from inspector.capture.formats import number
from inspector.views.prompt_blocks import prompt_blocks, prompt_label
from pages.ui.assets import sheet
from pages.ui.modules import loader

__all__ = ["prompt_block", "two_prompts"]

_component = st.components.v2.component(
    "inspector_prompt",
    html='<div class="prompt"></div>',
    css=sheet("prompt/prompt.css"),
    js=loader("ui/prompt/prompt.js"),
)


def prompt_block(prompt: Prompt, *, key: str) -> None:
    """Draw the prompt, collapsed."""
    icon = ":material/warning:" if prompt.differences else ":material/notes:"
    block = st.expander(prompt_label(prompt), icon=icon, on_change="rerun", key=key)
    if block.open:
        with block:
            with_ids = st.toggle("Token IDs", key=f"{key}_ids")
            _component(key=f"{key}_blocks", data=prompt_blocks(prompt, with_ids=with_ids))


def two_prompts(left: Prompt, right: Prompt, first: FirstDifference | None, *, key: str) -> None:
    """Draw two prompts side by side, collapsed, with the first token that differs."""
    sizes = number(len(left.ids)), number(len(right.ids))
    label = f"Prompts: the same {sizes[0]} tokens on both sides"
    if first is not None:
        label = f"Prompts: {sizes[0]} and {sizes[1]} tokens, different from token {number(first.token)} on"
    icon = ":material/notes:" if first is None else ":material/difference:"
    block = st.expander(label, icon=icon, on_change="rerun", key=key)
    if not block.open:
        return
    with block:
        with_ids = st.toggle("Token IDs", key=f"{key}_ids")
        if first is not None:
            st.text(first.sentence)
        token = None if first is None else first.token
        for column, side, prompt in zip(st.columns(2), ("left", "right"), (left, right), strict=True):
            with column:
                st.caption(side)
                blocks = prompt_blocks(prompt, with_ids=with_ids, first=token)
                _component(key=f"{key}_{side}", data=blocks)
