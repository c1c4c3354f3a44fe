"""Commands of the catalogue: each runs as it is printed, and says what its output means."""

import json
import re
import shlex
import subprocess
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.issues.catalogue.commands import explained, runnable
from inspector.issues.catalogue.table import catalogue

PROGRAM = re.compile(r"^(?:curl|python|grep|for|docker|codex|VLLM_\w+=\w+|[\w.-]+ -)")
COMMANDS = sorted(
    {
        (issue.id, text)
        for issue in catalogue()
        for text in (issue.settle, issue.experiment)
        if PROGRAM.match(text)
    }
)


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 40


@pytest.mark.parametrize(("name", "text"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_a_command_runs_as_it_is_and_is_explained(name: str, text: str) -> None:
    command, meaning = explained(runnable(text))
    assert meaning, "what the output means stands behind ` # `"
    assert set(re.findall(r"\$([A-Z]\w*)", command)) <= {"KEY"}
    assert not re.search(r"-d @|\b(?:request|tools|response)\.json\b", command), "a file that nobody has"
    assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0
    for option, body in pairwise(shlex.split(command.replace("'$eos'", "true"))):
        assert option != "-d" or json.loads(body)["model"]


@given(st.text(max_size=60))
def test_a_name_of_a_model_runs_nothing(model: str) -> None:
    text = "curl -s $URL/v1/chat/completions $REQUEST --model $MODEL"
    words = shlex.split(runnable(text, model=model))
    assert len(words) == len(shlex.split(runnable(text)))
    assert words[-1] in {model, "openai/gpt-oss-20b"}


def test_what_is_no_name_of_ours_stays() -> None:
    assert runnable('curl -H "Authorization: Bearer $KEY" $HOME') == (
        'curl -H "Authorization: Bearer $KEY" $HOME'
    )
