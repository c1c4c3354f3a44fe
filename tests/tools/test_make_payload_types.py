"""The JavaScript of the strip is checked against the types that Python has."""

import pytest

from inspector.views import payload
from tools.make_payload_types import TARGET, declarations


def test_the_types_of_the_page_are_those_of_python() -> None:
    assert TARGET.read_text("utf-8") == declarations(), "python -m tools.make_payload_types writes them"


def test_a_type_that_json_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "Entry", set[int])
    with pytest.raises(TypeError, match=r"set\[int\] has no type in JavaScript"):
        declarations()
