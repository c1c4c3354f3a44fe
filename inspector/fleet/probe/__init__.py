"""Many streams of a server, each recorded and audited as it ends: how many arrive damaged, under which load.

    mix = Mix(await asks_of(prompts, [Endpoint.CHAT], side))
    probe = Probe([side], mix, Load(concurrency=8), Budget(requests=500))
    await probe.run()
    print(summary(probe.rows).sentence)

The command `probe` and the Probe page show the same rows (`views`) of the same run.
"""

from inspector.fleet.probe.asks import asks_of
from inspector.fleet.probe.exports import csv_text, junit_text, sarif_text
from inspector.fleet.probe.judging import Result, Row
from inspector.fleet.probe.loads import Budget, Load, Progress, Sweep
from inspector.fleet.probe.mix import Ask, Mix
from inspector.fleet.probe.planning import Plan
from inspector.fleet.probe.prompts import (
    PROMPT_FILE_MIB,
    Prompt,
    prompts_of_bytes,
    prompts_of_file,
    prompts_of_text,
)
from inspector.fleet.probe.reporting import probe_lines, probe_row
from inspector.fleet.probe.running import Probe
from inspector.fleet.probe.sending import Side, side_of
from inspector.fleet.probe.shelf import ProbeShelf
from inspector.fleet.probe.summary import Group, Summary, failure_words, summary

__all__ = [
    "PROMPT_FILE_MIB",
    "Ask",
    "Budget",
    "Group",
    "Load",
    "Mix",
    "Plan",
    "Probe",
    "ProbeShelf",
    "Progress",
    "Prompt",
    "Result",
    "Row",
    "Side",
    "Summary",
    "Sweep",
    "asks_of",
    "csv_text",
    "failure_words",
    "junit_text",
    "probe_lines",
    "probe_row",
    "prompts_of_bytes",
    "prompts_of_file",
    "prompts_of_text",
    "sarif_text",
    "side_of",
    "summary",
]
