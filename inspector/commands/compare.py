"""`compare`: two captures by token, several with a reference, or the failure rates of repeated runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from inspector.capture.errors import InspectorError, StoreError
from inspector.capture.formats import clip, count, figure
from inspector.commands.asking import Connection, Request, request_of, server_of
from inspector.commands.options import Command, option
from inspector.commands.progress import in_turn, progress
from inspector.commands.shared import as_json, captures, one_capture
from inspector.commands.terminal import Heading, print_json, say, tell
from inspector.inspection.compare import (
    Comparison,
    Outcome,
    StretchKind,
    compare,
    compare_all,
    diff,
    join,
    significance,
)
from inspector.inspection.inspection import Inspection, inspect
from inspector.net.client.outcome import OutcomeKind
from inspector.net.runs.registry import Registry
from inspector.net.runs.trial import Trial, has_output
from inspector.views.audit_result import AuditResult
from inspector.views.comparison_rows import (
    comparison_row,
    comparison_summary,
    difference_rows,
    repeats_row,
    run_rows,
    timing_rows,
)


class Asked(
    Request,
    Connection,
    title="compare two servers",
    about="temperature is 0 and both seeds are the same unless you set them",
):
    """What `compare` sends, and to which servers."""

    ask: tuple[str, str] | None = option("the two servers, left one first", None, "URL")
    model: tuple[str, ...] = option("from /v1/models: one name, or one for each side", (), "NAME")
    runs: int = option("runs per server", 1, "N")
    out: str | None = option("save the captures in this folder", None, "DIR")


def given_without_ask(options: Asked) -> str | None:
    """The first option that needs --ask; None if there is none."""
    given = {
        "--model": options.model,
        "--runs": options.runs != 1,
        "--out": options.out,
        "--prompt": options.prompt,
        "--messages": options.messages,
        "--tools": options.tools,
    }
    return next((name for name, value in given.items() if value), None)


def asked(options: Asked, servers: tuple[str, str]) -> Trial:
    """Send the requests and wait; Ctrl-C stops them and keeps what has arrived."""
    if not 1 <= len(options.model) <= 2:
        raise InspectorError("--ask needs --model NAME, or two names if the servers use different names")
    if not (options.prompt or options.messages):
        raise InspectorError("--ask needs --prompt TEXT or --messages FILE")
    folder = Path(options.out) if options.out else None
    registry = Registry(folder)
    left, right = (
        (server_of(options, address), request_of(options, model))
        for address, model in zip(servers, (options.model[0], options.model[-1]), strict=True)
    )
    trial = registry.start_trial(left, right, runs=options.runs)
    with progress() as step:
        step(lambda: f"{sum(run.ended.is_set() for run in trial.runs)} of {len(trial.runs)} responses")
        try:
            for run in trial.runs:
                registry.wait(run)
        except KeyboardInterrupt:
            trial.stop()
            for run in trial.runs:
                registry.wait(run, 5.0)
    for run in trial.runs:
        if run.trouble:
            raise StoreError(run.trouble)
    return trial


_EXAMPLE = """examples:
  python -m inspector compare old.jsonl new.jsonl
  python -m inspector compare reference.jsonl a.jsonl b.jsonl c.jsonl
  python -m inspector compare --left old-*.jsonl --right new-*.jsonl
  python -m inspector compare --server-side behind/*.jsonl --client-side before/*.jsonl
  python -m inspector compare --ask http://old:8000/v1 http://new:8000/v1 --model openai/gpt-oss-20b \\
      --prompt "What is the weather in Paris?" --runs 10

exit codes: 0 the same, 1 tokens, delivery or findings differ (repeated runs: the rates differ
significantly), 2 a file cannot be read, a server sent nothing, a run was stopped or it cannot be
determined
"""
_CONTEXT = 24
_DIFFERENCES_SHOWN = 20


class Compare(Asked):
    """Compare captures token by token.

    Two captures: compare generated tokens, delivered text and findings. More than two: compare each with
    the first. --left and --right: compare the failure rates of repeated runs. --server-side and
    --client-side: what a gateway made of each response. --ask: send one prompt to two servers and compare
    the responses.
    """

    files: tuple[str, ...] = option(
        "two captures, or a reference and the captures to compare with it",
        (),
        "FILE",
        positional=True,
        globs=True,
    )
    left: tuple[str, ...] = option("runs of the first side", (), "FILE", globs=True)
    right: tuple[str, ...] = option("runs of the second side", (), "FILE", globs=True)
    server_side: tuple[str, ...] = option(
        "captures of a tap between a gateway and its server; with --client-side", (), "FILE", globs=True
    )
    client_side: tuple[str, ...] = option(
        "captures of a tap between the clients and the gateway: where was text lost?", (), "FILE", globs=True
    )
    json: bool = as_json("one JSON object, or an array for several files")


def run(options: Compare) -> int:
    """Compare and print."""
    if options.ask:
        if options.files or options.left or options.right:
            raise InspectorError("--ask records its own captures; remove the file names")
        return _run_trial(options, options.ask)
    if idle := given_without_ask(options):
        raise InspectorError(f"{idle} is only valid with --ask URL URL")
    if options.left or options.right:
        if options.files or not (options.left and options.right):
            raise InspectorError("repeated runs need --left FILE... and --right FILE..., and no other files")
        return _run_repeats(options)
    if options.server_side or options.client_side:
        if options.files or not (options.server_side and options.client_side):
            raise InspectorError("--server-side FILE... and --client-side FILE... need each other only")
        return _run_hops(options)
    if len(options.files) < 2:
        raise InspectorError("compare needs at least two captures")
    if len(options.files) == 2:
        left, right = map(_inspected, in_turn(options.files))
        return _print_pair(compare(left, right), as_json=options.json)
    reference = _inspected(options.files[0])
    candidates = [inspection for file in in_turn(options.files[1:]) for inspection in _all(file)]
    comparisons = compare_all(reference, candidates)
    if options.json:
        print_json([comparison_row(comparison) for comparison in comparisons])
    else:
        say(_table(reference, comparisons))
    codes = set(map(_pair_code, comparisons))
    return 1 if 1 in codes else max(codes, default=0)


def _inspected(file: str) -> Inspection:
    name, capture = one_capture(file)
    return inspect(capture, name=name)


def _all(file: str) -> Iterator[Inspection]:
    for name, capture in captures(file):
        yield inspect(capture, name=name)


def _run_repeats(options: Compare) -> int:
    left, right = (
        [inspection for file in in_turn(files) for inspection in _all(file)]
        for files in (options.left, options.right)
    )
    return _print_repeats(left, right, as_json=options.json)


def _run_hops(options: Compare) -> int:
    """Join the captures of both sides of a gateway; 1 if it changed a response, 2 if none fit together."""
    left, right = (
        [(name, capture) for file in in_turn(files) for name, capture in captures(file)]
        for files in (options.server_side, options.client_side)
    )
    pairs = list(join([capture for _, capture in left], [capture for _, capture in right]))
    comparisons = [
        compare(
            inspect(left[pair.server_side][1], name=left[pair.server_side][0]),
            inspect(right[pair.client_side][1], name=right[pair.client_side][0]),
            joined_by=pair.by,
        )
        for pair in pairs
    ]
    alone = [
        *(left[place][0] for place in sorted(set(range(len(left))) - {pair.server_side for pair in pairs})),
        *(right[place][0] for place in sorted(set(range(len(right))) - {pair.client_side for pair in pairs})),
    ]
    if options.json:
        print_json([comparison_row(comparison) for comparison in comparisons])
    else:
        say(_hop_lines(comparisons))
    for name in alone:
        tell(f"inspector: {name}: no capture of the other side fits, or several do")
    if not comparisons:
        return 2
    return int(any(not comparison.same for comparison in comparisons))


def _hop_lines(comparisons: list[Comparison]) -> Iterator[str]:
    for comparison in comparisons:
        yield Heading(f"{comparison.left.name} -> {comparison.right.name}")
        yield f"  {comparison.sentence}"
        yield f"  {comparison.why}"
    changed = sum(not comparison.same for comparison in comparisons)
    yield f"{count(len(comparisons), 'response')} passed the gateway; it changed {changed}."


def _run_trial(options: Compare, servers: tuple[str, str]) -> int:
    """Ask two servers; if one sends nothing, say so and print what the other sent."""
    trial = asked(options, servers)
    for trouble in trial.troubles():
        tell(f"inspector: {trouble}")
    left, right = (
        [inspect(run.capture(), name=str(run.path or run.id)) for run in runs]
        for runs in (trial.counted if options.runs > 1 else (trial.left, trial.right))
    )
    answered = all(any(map(has_output, runs)) for runs in (trial.left, trial.right))
    finished = answered and all(run.outcome.kind is not OutcomeKind.STOPPED_BY_USER for run in trial.runs)
    if options.runs > 1:
        code = _print_repeats(left, right, as_json=options.json)
        return code if finished else 2
    if answered:
        code = _print_pair(compare(left[0], right[0]), as_json=options.json)
        return code if finished else 2
    if options.json:
        print_json({"runs": run_rows(left, right)})
    else:  # a side that sent nothing has its own sentence above
        say(
            _run_lines(left if has_output(trial.left[0]) else [], right if has_output(trial.right[0]) else [])
        )
    return 2


def _print_pair(comparison: Comparison, *, as_json: bool) -> int:
    if as_json:
        print_json(comparison_row(comparison))
    else:
        say(_lines(comparison))
    return _pair_code(comparison)


def _pair_code(comparison: Comparison) -> int:
    """1 for a difference, 2 where it cannot be determined whether there is one."""
    if not comparison.same:
        return 1
    return 2 if comparison.outcome is Outcome.UNKNOWN else 0


def _print_repeats(left: list[Inspection], right: list[Inspection], *, as_json: bool) -> int:
    repeats = significance(left, right)
    if as_json:
        print_json(repeats_row(repeats, left, right))
    else:
        say(repeats.sentence)
        for side, unknown in (("left", repeats.left_unknown), ("right", repeats.right_unknown)):
            if unknown:
                say(f"{unknown} of the {side} runs have no evidence and are not counted.")
        say(_run_lines(left, right))
    return int(bool(repeats.more_than_chance))


def _run_lines(left: list[Inspection], right: list[Inspection]) -> Iterator[str]:
    for row in run_rows(left, right):
        yield f"  {row['side']:<5} {row['run']:>2}  {row['result']:<7} {row['capture']}"
        yield f"{'':19}{row['says']}"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield Heading(comparison.sentence)
    yield f"  {comparison.why}"
    yield f"  left   {_side(comparison.left)}"
    yield f"  right  {_side(comparison.right)}"
    counts = comparison.counts
    if counts is not None:
        yield (
            f"  tokens: {counts.equal:,} equal, {counts.only_left:,} only left, "
            f"{counts.only_right:,} only right, {counts.replaced:,} replaced"
        )
    rows = list(difference_rows(comparison))
    for row in rows[:_DIFFERENCES_SHOWN]:
        place = " / ".join(
            f"{side} {_span(row[f'{side}_start'], row[f'{side}_end'])}"
            for side in ("left", "right")
            if row[f"{side}_start"] is not None
        )
        head = f"  {row['what']}{f' ({place})' if place else ''}"
        yield f"{head}: {row['line']}" if row["line"] else head
    if len(rows) > _DIFFERENCES_SHOWN:
        yield f"  and {len(rows) - _DIFFERENCES_SHOWN:,} more differences (--json lists all)"
    for choice in comparison.choices:
        for pair in choice.delivered:
            if pair.equal is False:
                yield f"  delivered {pair.field} ([-only left-] {{+only right+}}):"
                yield f"    {_text_diff(pair.left or '', pair.right or '')}"
    for setting in comparison.settings:
        yield f"  {setting.name}: {_value(setting.left)} | {_value(setting.right)}"
    for row in timing_rows(comparison):
        if row["left"] or row["right"]:
            left, right = (figure(row[side], row["unit"]) for side in ("left", "right"))
            yield f"  {row['figure']}: {left} | {right}"


def _span(start: int, end: int) -> str:
    """Tokens as `audit` numbers them, with the last one."""
    return f"{start:,}" if end - start <= 1 else f"{start:,}–{end - 1:,}"


def _side(inspection: Inspection) -> str:
    reading, tokens = inspection.reading, AuditResult(inspection).tokens.words
    return (
        f"{inspection.name}: {reading.server_label}, {reading.header.endpoint}, {tokens}, "
        f"evidence: {reading.choice.evidence.words}, findings: {len(inspection.findings)}"
    )


def _text_diff(left: str, right: str) -> str:
    pieces = []
    for piece in diff(left, right):
        if piece.lane is StretchKind.SAME:
            text = piece.left
            long = len(text) > 2 * _CONTEXT + 12
            pieces.append(f"{text[:_CONTEXT]} […] {text[-_CONTEXT:]}" if long else text)
            continue
        pieces.append(f"[-{piece.left}-]" if piece.left else "")
        pieces.append(f"{{+{piece.right}+}}" if piece.right else "")
    return "".join(pieces)


def _value(text: str | None) -> str:
    if text is None:
        return "not set"
    return clip(text, 80)


def _table(reference: Inspection, comparisons: list[Comparison]) -> Iterator[str]:
    yield f"reference: {_side(reference)}"
    yield f"{'same':>8} {'differ':>8} {'gone':>5} {'new':>5} {'both':>5}  {'outcome':<31} capture"
    for comparison in comparisons:
        row = comparison_summary(comparison)
        same, differing = (
            "?" if row[key] is None else f"{row[key]:,}" for key in ("tokens_equal", "tokens_differing")
        )
        yield (
            f"{same:>8} {differing:>8} {row['findings_gone']:>5} {row['findings_new']:>5} "
            f"{row['findings_both']:>5}  {comparison.outcome.words:<31} {row['capture']}"
        )
        yield f"{'':37}{row['sentence']}"


COMMAND: Final = Command(Compare, run, _EXAMPLE)
