"""Sends many requests to a server and audits each response as it ends: how many are damaged, at which load.

    mix = Mix(await probe_requests(prompts, [Endpoint.CHAT], target))
    probe = Probe([target], mix, ProbeLoad(concurrency=8), Budget(requests=500))
    await probe.run()
    print(summary(probe.rows).sentence)

The command `probe` and the Probe page show the same rows (`views`) of the same run.
"""

from inspector.fleet.probe.exports import EXPORTS, csv_text, junit_text, sarif_text
from inspector.fleet.probe.loads import Budget, ProbeLoad, ProbeProgress, Sweep
from inspector.fleet.probe.mix import Mix, ProbeRequest
from inspector.fleet.probe.planning import Plan, probe_requests
from inspector.fleet.probe.prompts import (
    BUILT_IN,
    PROMPT_FILE_MIB,
    ProbePrompt,
    prompts_of_bytes,
    prompts_of_file,
    prompts_of_text,
)
from inspector.fleet.probe.reporting import probe_lines, probe_row
from inspector.fleet.probe.rows import ProbeRow, Result
from inspector.fleet.probe.runner import Probe
from inspector.fleet.probe.sender import Target, target_of
from inspector.fleet.probe.shelf import ProbeShelf
from inspector.fleet.probe.summary import ProbeCause, ProbeSummary, RequestGroup, failure_words, summary

__all__ = [
    "BUILT_IN",
    "EXPORTS",
    "PROMPT_FILE_MIB",
    "Budget",
    "Mix",
    "Plan",
    "Probe",
    "ProbeCause",
    "ProbeLoad",
    "ProbeProgress",
    "ProbePrompt",
    "ProbeRequest",
    "ProbeRow",
    "ProbeShelf",
    "ProbeSummary",
    "RequestGroup",
    "Result",
    "Sweep",
    "Target",
    "csv_text",
    "failure_words",
    "junit_text",
    "probe_lines",
    "probe_requests",
    "probe_row",
    "prompts_of_bytes",
    "prompts_of_file",
    "prompts_of_text",
    "sarif_text",
    "summary",
    "target_of",
]
