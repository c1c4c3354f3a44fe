"""The timeline's figure: as many tokens as there are, each channel's own, in ms or s."""

import pytest

import inspector
from pages.ui.charts import timeline
from tests.support.streams import chat

STEPS = [
    ("<|channel|>analysis<|message|>", {}),
    ("Need", {"reasoning": "Need"}),
    ("<|end|><|start|>assistant<|channel|>final<|message|>", {}),
    ("Hi there", {"content": "Hi there"}),
    ("<|return|>", {}),
]


def figure(gap_s: float = 0.01, with_ids: bool = True) -> tuple[dict[str, int], str]:
    inspection = inspector.inspect(chat(STEPS, gap_s=gap_s, with_ids=with_ids))
    drawn = timeline(f"{gap_s} {with_ids}", 0, "light", inspection)
    assert drawn is not None
    ends = {trace.name: trace.y[-1] for trace in drawn.data if trace.type == "scatter"}
    return ends, drawn.layout.xaxis2.title.text


def test_each_channel_ends_at_its_number_of_tokens() -> None:
    ends, unit = figure()
    assert ends == {"analysis": 1, "final": 2, "framing": 10}
    assert unit == "time since the request, ms"


def test_a_long_stream_is_told_in_seconds() -> None:
    assert figure(gap_s=20.0)[1] == "time since the request, s"


def test_without_token_ids_the_deltas_are_counted_by_field() -> None:
    assert figure(with_ids=False)[0] == {"reasoning": 1, "content": 1}


def test_without_times_there_is_no_figure() -> None:
    capture = inspector.loads(b"[200005, 17196, 200008, 12194, 200002]", "ids.json")
    assert timeline("no times", 0, "light", inspector.inspect(capture)) is None


@pytest.mark.slow
def test_a_long_stream_is_drawn_with_few_points() -> None:
    steps = [("<|channel|>final<|message|>", {}), *[(" a", {"content": " a"})] * 20_000, ("<|return|>", {})]
    drawn = timeline("long", 0, "dark", inspector.inspect(chat(steps, gap_s=0.001)))
    assert drawn is not None
    assert max(len(trace.x) for trace in drawn.data) < 3200
    final = next(trace for trace in drawn.data if trace.name == "final")
    assert final.y[-1] == 20_000
