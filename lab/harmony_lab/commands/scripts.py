"""`lab fixtures`, `scripts`: the scripts themselves, and their exchange with other projects."""

import json
from pathlib import Path
from typing import Final

from harmony_lab import reporting
from harmony_lab.commands.options import InLab, lab_command
from harmony_lab.exchange import disagreement, fixture_of, fixtures_of
from harmony_lab.vllm_tests import DATA_FILE, TEST_FILE, write_vllm_tests
from inspector.capture.errors import LabError
from inspector.commands.options import option
from inspector.commands.shared import as_json, write_text
from inspector.commands.terminal import print_json, say
from inspector.matrix import scripts


class Fixtures(InLab):
    """Exchange scripts with CanIToolCall, or export them as tests for a checkout of vLLM."""

    files: tuple[Path, ...] = option(
        "fixtures to read; exit code 1 if one differs", (), "FILE", positional=True
    )
    out: Path | None = option("write the scripts as fixtures", None, "FILE")
    source_url: str | None = option(
        "with --out: where the scripts can be read, for their provenance", None, "URL"
    )
    revision: str | None = option("with --out: commit or release of that source", None, "REV")
    vllm_tests: Path | None = option(
        "write the scripts as a pytest file with data, for a checkout of vLLM 0.24 or newer", None, "DIR"
    )


def _fixtures(options: Fixtures) -> int:
    if not options.files and options.out is None and options.vllm_tests is None:
        raise LabError("nothing to do; pass files of fixtures, --out FILE or --vllm-tests DIR")
    differing = [path for path in options.files if not _agrees(path)]
    if options.out is not None:
        _write_fixtures(options.out, options.source_url or "", options.revision)
    if options.vllm_tests is not None:
        written, total = write_vllm_tests(options.vllm_tests)
        say(f"{options.vllm_tests}: {TEST_FILE}, {DATA_FILE}: {written:,} of {total:,} scripts")
    return int(bool(differing))


def _agrees(path: Path) -> bool:
    """Print where a file of fixtures differs from our reading; False if it does."""
    fixtures, of_other_families = fixtures_of(path)
    disagreements = [(fixture.id, words) for fixture in fixtures if (words := disagreement(fixture))]
    agreeing = len(fixtures) - len(disagreements)
    skipped = f", {of_other_families:,} of other families left out" if of_other_families else ""
    say(f"{path}: {agreeing:,} of {len(fixtures):,} agree with our reading{skipped}")
    say(f"  {fixture_id}: {words}" for fixture_id, words in disagreements)
    return not disagreements


def _write_fixtures(out: Path, source_url: str, revision: str | None) -> None:
    if not source_url.startswith(("http://", "https://")) or not revision:
        raise LabError("--out needs --source-url and --revision: a fixture must say where it comes from")
    rows = [fixture_of(script, source_url=source_url, revision=revision) for script in scripts.load()]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows if row is not None]
    write_text(str(out), "".join(f"{line}\n" for line in lines))
    if str(out) != "-":
        say(f"{out}: {len(lines):,} of {len(rows):,} scripts; the others cannot be expressed")


class Scripts(InLab):
    """List the scripts."""

    json: bool = as_json("the scripts with token IDs as JSON")


def _scripts(options: Scripts) -> int:
    if options.json:
        print_json([reporting.script_row(script) for script in scripts.load()])
    else:
        for script in scripts.load():
            say(f"{script.name:26}{'' if script.well_formed else 'malformed: '}{script.sentence}")
    return 0


FIXTURES: Final = lab_command(Fixtures, _fixtures, "fixtures canitoolcall/fixtures/gpt-oss/*.jsonl")
SCRIPTS: Final = lab_command(Scripts, _scripts, "scripts")
