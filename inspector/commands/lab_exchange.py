"""`lab fixtures`: scripts and fixtures of other projects."""

import json
from argparse import Namespace

from inspector.capture.errors import LabError
from inspector.commands.shared import say, write_text
from inspector.lab import scripts
from inspector.lab.exchange import disagreement, fixture_of, fixtures_of
from inspector.lab.vllm_tests import DATA_FILE, TEST_FILE, write_vllm_tests


def fixtures_command(arguments: Namespace) -> int:
    """Read fixtures of CanIToolCall, and write the scripts as such or as tests of vLLM."""
    if not arguments.files and arguments.out is None and arguments.vllm_tests is None:
        raise LabError("nothing to do; pass files of fixtures, --out FILE or --vllm-tests DIR")
    differs = 0
    for path in arguments.files:
        found, others = fixtures_of(path)
        told = [(one, disagreement(one)) for one in found]
        differing = [(one, words) for one, words in told if words]
        differs += len(differing)
        left = f", {others:,} of other families left out" if others else ""
        say(f"{path}: {len(found) - len(differing):,} of {len(found):,} agree with our reading{left}")
        for one, words in differing:
            say(f"  {one.id}: {words}")
    if arguments.out is not None:
        if not (arguments.source_url or "").startswith(("http://", "https://")) or not arguments.revision:
            raise LabError("--out needs --source-url and --revision: a fixture must say where it comes from")
        rows = [
            fixture_of(one, source_url=arguments.source_url, revision=arguments.revision)
            for one in scripts.load()
        ]
        kept = [json.dumps(row, ensure_ascii=False) for row in rows if row is not None]
        write_text(str(arguments.out), "".join(f"{line}\n" for line in kept))
        if str(arguments.out) != "-":
            say(f"{arguments.out}: {len(kept):,} of {len(rows):,} scripts; the others cannot be expressed")
    if arguments.vllm_tests is not None:
        written, known = write_vllm_tests(arguments.vllm_tests)
        say(f"{arguments.vllm_tests}: {TEST_FILE}, {DATA_FILE}: {written:,} of {known:,} scripts")
    return int(differs > 0)
