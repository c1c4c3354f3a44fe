"""`lab fixtures`, `scripts`: the scripts themselves, and their exchange with other projects."""

import json
from argparse import Namespace
from pathlib import Path

from inspector.capture.errors import LabError
from inspector.commands.lab.options import add_json, lab_command
from inspector.commands.shared import write_text
from inspector.commands.terminal import Commands, print_json, say
from inspector.lab import reporting, scripts
from inspector.lab.exchange import disagreement, fixture_of, fixtures_of
from inspector.lab.vllm_tests import DATA_FILE, TEST_FILE, write_vllm_tests


def add_fixtures(commands: Commands) -> None:
    """`lab fixtures`: read fixtures of CanIToolCall, and write the scripts as such or as tests of vLLM."""
    parser = lab_command(
        commands,
        "fixtures",
        _fixtures,
        "exchange scripts with CanIToolCall, or export them as tests for a checkout of vLLM",
        "lab fixtures canitoolcall/fixtures/gpt-oss/*.jsonl",
        environments=False,
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="fixtures to read; exit code 1 if one differs",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the scripts as fixtures")
    parser.add_argument(
        "--source-url", metavar="URL", help="with --out: where the scripts can be read, for their provenance"
    )
    parser.add_argument("--revision", metavar="REV", help="with --out: commit or release of that source")
    parser.add_argument(
        "--vllm-tests",
        type=Path,
        metavar="DIR",
        help="write the scripts as a pytest file with data, for a checkout of vLLM 0.24 or newer",
    )


def _fixtures(arguments: Namespace) -> int:
    if not arguments.files and arguments.out is None and arguments.vllm_tests is None:
        raise LabError("nothing to do; pass files of fixtures, --out FILE or --vllm-tests DIR")
    differing = [path for path in arguments.files if not _agrees(path)]
    if arguments.out is not None:
        _write_fixtures(arguments)
    if arguments.vllm_tests is not None:
        written, total = write_vllm_tests(arguments.vllm_tests)
        say(f"{arguments.vllm_tests}: {TEST_FILE}, {DATA_FILE}: {written:,} of {total:,} scripts")
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


def _write_fixtures(arguments: Namespace) -> None:
    if not (arguments.source_url or "").startswith(("http://", "https://")) or not arguments.revision:
        raise LabError("--out needs --source-url and --revision: a fixture must say where it comes from")
    rows = [
        fixture_of(script, source_url=arguments.source_url, revision=arguments.revision)
        for script in scripts.load()
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows if row is not None]
    write_text(str(arguments.out), "".join(f"{line}\n" for line in lines))
    if str(arguments.out) != "-":
        say(f"{arguments.out}: {len(lines):,} of {len(rows):,} scripts; the others cannot be expressed")


def add_scripts(commands: Commands) -> None:
    """`lab scripts`: list the scripts."""
    parser = lab_command(commands, "scripts", _scripts, "list the scripts", "lab scripts", environments=False)
    add_json(parser, "the scripts with token IDs")


def _scripts(arguments: Namespace) -> int:
    if arguments.json:
        print_json([reporting.script_row(script) for script in scripts.load()])
    else:
        for script in scripts.load():
            say(f"{script.name:26}{'' if script.well_formed else 'malformed: '}{script.sentence}")
    return 0
