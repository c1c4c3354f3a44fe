"""The Live page without a browser: what stands there for servers that are there, are not, or are none."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspector.lab.process import free_port
from tests.raw_server import page, raw_server

ROOT = Path(__file__).parents[2]
MODELS = '{"object": "list", "data": [{"id": "openai/gpt-oss-20b"}]}'


def shown(address: str) -> AppTest:
    app = AppTest.from_file(ROOT / "pages" / "live.py", default_timeout=60)
    app.session_state["live_address"] = address
    app.run()
    assert not app.exception
    return app


def test_a_server_s_models_are_listed_and_start_is_ready() -> None:
    with raw_server({"/v1/models": lambda _: [page(200, MODELS, "application/json")]}) as server:
        app = shown(server.v1)
    assert app.button(key="live_start").disabled is False
    [models] = [one for one in app.selectbox if one.label == "Model"]
    assert models.options == ["openai/gpt-oss-20b"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"http://127.0.0.1:{free_port()}", "nothing answers at"),
        ("no address", "is no server address"),
        ("http://me:pw@host", "an address with a password in it"),
    ],
)
def test_what_is_wrong_with_an_address_is_said_in_one_sentence(address: str, words: str) -> None:
    app = shown(address)
    [said] = app.error
    assert words in said.value.replace("\\", "")
    assert "pw@" not in said.value.replace("\\", "")
    assert app.button(key="live_start").disabled
