"""The report as one HTML file: nothing loaded, opens without a network; its only script plays the picture."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from inspector.analysis.audit import Finding
from inspector.analysis.audit.verdict import Level
from inspector.analysis.metrics import Figures
from inspector.capture.formats import clip_counted, count, figure, fine_duration
from inspector.inspection.compare import Comparison, StretchKind, diff
from inspector.protocol.harmony.text import text_of
from inspector.views.comparison_rows import timing_rows
from inspector.views.report.escape import html_text, masked
from inspector.views.report.facts import LINKS_SHOWN, Facts
from inspector.views.report.player import picture, policy
from inspector.views.rows import finding_words

STYLE: Final = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1d21;--quiet:#5d636e;--line:#d9dce1;--soft:#f4f5f7;
  --reasoning:#7a4fbf;--content:#00805e;--tool:#0b6fb8;--other:#8a6100;--loss:#c4410c;--losstext:#a63508;
  --lossground:#fdeee7;--okground:#e4f4ee}
@media(prefers-color-scheme:dark){:root{--ground:#14161a;--ink:#e8eaed;--quiet:#9aa1ac;--line:#343941;
  --soft:#1d2026;--reasoning:#b497e6;--content:#3fbf97;--tool:#5fb0ea;--other:#d3a544;--loss:#f07a45;
  --losstext:#ff9a6b;--lossground:#3a2117;--okground:#173229}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:24px 20px 60px}
h1{font-size:1.5rem;line-height:1.3;margin:.2em 0 .4em;padding-left:.6em;
  border-left:6px solid var(--quiet);overflow-wrap:anywhere}
h1.error{border-color:var(--loss)}
h1.warning{border-color:var(--other)}
h1.clean{border-color:var(--content)}
h2{font-size:1.1rem;margin:2em 0 .5em}
h3{font-size:.95rem;margin:1.2em 0 .3em;font-family:ui-monospace,monospace}
p,li,dd{overflow-wrap:anywhere}
.quiet,small{color:var(--quiet)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:.6em 0}
dt{color:var(--quiet)}
dd{margin:0;font-variant-numeric:tabular-nums}
pre{background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:10px 12px;
  white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,monospace;unicode-bidi:isolate}
del{background:var(--lossground);color:var(--losstext)}
ins{background:var(--okground);color:var(--content);text-decoration:underline dotted}
.hidden{font:600 .75em ui-monospace,monospace;border:1px solid var(--loss);color:var(--losstext);
  border-radius:3px;padding:0 2px}
.error{color:var(--losstext)}
.warning{color:var(--other)}
h1.error,h1.warning{color:inherit}
.findings li{margin:.5em 0}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);
  overflow-wrap:anywhere;font-variant-numeric:tabular-nums;font-weight:400}
th{color:var(--quiet)}
.hi{--text:var(--ink);--faint:var(--quiet);--line-strong:#b9bec8;--accent:#4457c4;--bar:#2b3449;
  --bar-text:#f2f4f8;--on-hue:var(--ground);--ground-2:var(--soft);--preamble:var(--other);
  --loss-text:var(--losstext)}
@media(prefers-color-scheme:dark){.hi{--line-strong:#4a515e;--accent:#8b9cf5;--bar:#39445e}}
.picture{border:1px solid var(--line);border-radius:8px;padding:12px 14px 4px}
.picture canvas{display:block;width:100%;height:258px;touch-action:pan-y}
.picture .tools{display:flex;flex-wrap:wrap;align-items:center;gap:6px 12px;margin-bottom:6px}
.picture .fill{flex:1}
.picture p{margin:4px 0;min-height:1.5em}
.picture button{font:inherit;color:inherit;background:none;border:1px solid var(--line);border-radius:6px;
  padding:2px 10px;cursor:pointer}
.picture button.link{border:0;padding:0;color:var(--accent);text-decoration:underline}
.picture button.switch{border:0;padding:0;background:none}
.picture button.switch::before{content:'\\2610  '}
.picture button.switch[aria-checked=true]::before{content:'\\2611  '}
.picture [hidden]{display:none}
summary{cursor:pointer;color:var(--quiet)}
figure{margin:.6em 0}
svg{width:100%;height:auto;max-height:160px;background:var(--soft);border-radius:6px}
polyline{fill:none;stroke:var(--tool);stroke-width:2;vector-effect:non-scaling-stroke}
figcaption{color:var(--quiet);font-size:12px}
@media print{main{max-width:none}}
""".strip()


_FINDINGS_SHOWN: Final = 200
_TEXT_SHOWN: Final = 60_000
_SAME_SHOWN: Final = 400
_POINTS: Final = 300


def page(
    facts: Facts,
    strip: Mapping[str, Any],
    arrivals: Sequence[tuple[float, int]],
    against: Comparison | None = None,
) -> str:
    """The whole document; `arrivals` are seconds and tokens so far, event by event."""
    result, known = facts.result, facts.result.inspection.verdict.known
    colour = Level.ERROR if result.silent else result.level
    parts = [
        f"<h1 class='{colour}'>{_text(result.headline_with_prompt)}</h1><p>{_text(result.fault)}</p>",
        f"<p>{_text(known)}</p>" if known else "",
        _environment(facts),
        f"<h2>Tokens and delivery{'' if facts.drawn is None else f' of choice {facts.drawn}'}</h2>",
        picture(strip) if strip["count"] else "<p>The capture contains no tokens and no text.</p>",
        "".join(_findings(result.inspection.findings)),
        "".join(_fields(facts)),
        _timing(result.figures, arrivals),
        "".join(_reproduction(facts)),
        "".join(_issues(facts)),
        "".join(_comparison(against)) if against is not None else "",
        f"<h2>Replay</h2><pre>{_text(chr(10).join(facts.replay))}</pre>",
        f"<details><summary>Request</summary><pre>{_text(facts.request)}</pre></details>"
        if facts.request
        else "",
        "".join(f"<p class='quiet'>Note: {_text(note)}</p>" for note in facts.notes),
    ]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<meta name='referrer' content='no-referrer'><title>{_text(facts.name)}: {result.level}</title>"
        f"<style>{STYLE}</style></head><body><main><p class='quiet'>{_text(facts.name)}</p>"
        f"{''.join(parts)}</main></body></html>\n"
    )


def _text(text: str) -> str:
    return html_text(text)


def _cut(text: str) -> str:
    return clip_counted(text, _TEXT_SHOWN)


def _environment(facts: Facts) -> str:
    rows = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts.environment)
    return f"<dl>{rows}</dl>"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    yield "<h2>Findings</h2>"
    if not findings:
        yield "<p>None.</p>"
        return
    yield "<ol class='findings'>"
    for finding in findings[:_FINDINGS_SHOWN]:
        words = finding_words(finding)
        yield (
            f"<li><strong class='{finding.severity}'>{finding.severity}</strong> "
            f"<b>{_text(words['title'])}</b><br>{_text(_cut(words['line']))}</li>"
        )
    yield "</ol>"
    if len(findings) > _FINDINGS_SHOWN:
        yield f"<p>and {len(findings) - _FINDINGS_SHOWN:,} more.</p>"


def _fields(facts: Facts) -> Iterator[str]:
    yield "<h2>Generated and delivered</h2>"
    for row in facts.fields:
        yield f"<h3>{_text(row.field)}</h3>"
        if row.delivered is None:
            yield "<p class='quiet'>Generated. A list of token IDs has no delivered text.</p>"
            yield f"<pre>{_text(_cut(row.generated or ''))}</pre>"
        elif row.generated is None:
            yield "<p class='quiet'>The generated text is unknown.</p>"
            yield f"<pre>{_text(_cut(row.delivered))}</pre>"
        elif row.state.equal:
            words = f"{row.state.note or 'equal'}, according to {row.evidence.words}."
            yield f"<p class='quiet'>{_text(words[:1].upper() + words[1:])}</p>"
            yield f"<pre>{_text(_cut(row.delivered))}</pre>"
        elif row.state.equal is None:
            yield "<p class='quiet'>Not all of the generated tokens are known.</p>"
            yield f"<pre>{_text(_cut(row.delivered))}</pre>"
        else:
            words = "<del>lost</del>, <ins>not generated for this field</ins>"
            yield f"<p class='quiet'>According to {_text(row.evidence.words)}: {words}.</p>"
            yield f"<pre>{_diff(row.generated, row.delivered)}</pre>"
    if facts.choices_left_out:
        wrong = f", {facts.wrong_left_out:,} of them with findings" if facts.wrong_left_out else ""
        yield f"<p>and {count(facts.choices_left_out, 'more choice')}{wrong}.</p>"


def _diff(left: str, right: str) -> str:
    pieces: list[str] = []
    size = 0
    for piece in diff(left, right):
        if piece.lane is StretchKind.SAME:
            text = piece.left
            if len(text) > 2 * _SAME_SHOWN:
                between = f" … {len(text) - 2 * _SAME_SHOWN:,} characters … "
                text = f"{text[:_SAME_SHOWN]}{between}{text[-_SAME_SHOWN:]}"
            pieces.append(_text(text))
        else:
            pieces.append(f"<del>{_text(_cut(piece.left))}</del>" if piece.left else "")
            pieces.append(f"<ins>{_text(_cut(piece.right))}</ins>" if piece.right else "")
        size += len(pieces[-1])
        if size > 4 * _TEXT_SHOWN:
            pieces.append(" … the rest is omitted")
            break
    return "".join(pieces)


def _timing(metrics: Figures, arrivals: Sequence[tuple[float, int]]) -> str:
    if metrics.first_token_s is None or metrics.last_token_s is None:
        return "<h2>Timing</h2><p>The capture has no arrival times.</p>"
    rows = [
        ("first token", fine_duration(metrics.first_token_s)),
        ("last token", fine_duration(metrics.last_token_s)),
        ("tokens", f"{metrics.tokens:,}"),
        ("gap, median", fine_duration(metrics.gap_p50_s)),
        ("gap, longest", fine_duration(metrics.gap_max_s)),
    ]
    if metrics.tokens_per_s is not None:
        rows.insert(2, ("tokens per second", f"{metrics.tokens_per_s:,.1f}"))
    listed = "".join(f"<dt>{name}</dt><dd class='number'>{value}</dd>" for name, value in rows)
    return f"<h2>Timing</h2><dl>{listed}</dl>{_plot(arrivals)}"


def _plot(arrivals: Sequence[tuple[float, int]]) -> str:
    if len(arrivals) < 2 or arrivals[-1][0] <= arrivals[0][0]:
        return ""
    step = -(-len(arrivals) // _POINTS)
    points = [*arrivals[::step], arrivals[-1]]
    start, end, most = points[0][0], points[-1][0], points[-1][1]
    placed = [(800 * (at - start) / (end - start), 120 - 116 * count / most) for at, count in points]
    # Steps, as tokens arrive by event.
    corners = [f"{placed[0][0]:.1f},{placed[0][1]:.1f}"]
    for (_, before), (x, y) in pairwise(placed):
        corners += [f"{x:.1f},{before:.1f}", f"{x:.1f},{y:.1f}"]
    return (
        "<figure><svg viewBox='0 0 800 124' role='img' aria-label='tokens over time'>"
        f"<polyline points='{' '.join(corners)}'/></svg>"
        f"<figcaption>{most:,} tokens from {fine_duration(start)} to {fine_duration(end)}"
        "</figcaption></figure>"
    )


def _reproduction(facts: Facts) -> Iterator[str]:
    reproduction = facts.reproduction
    if reproduction is None:
        return
    title = "The shortest token list that still fails" if reproduction.shrunk else "Tokens around the finding"
    ids = ", ".join(map(str, reproduction.ids[:2000])) + (" …" if len(reproduction.ids) > 2000 else "")
    yield f"<h2>{title}</h2><pre>{ids}</pre><pre>{_text(text_of(reproduction.ids[:2000]))}</pre>"
    by = "The Harmony library rejects these tokens: " if reproduction.by_parser else ""
    yield f"<p>{by}{_text(_cut(reproduction.says))}</p>"


def _issues(facts: Facts) -> Iterator[str]:
    if not facts.advice:
        return
    yield "<h2>Similar known issues</h2><ul>"
    for advice in facts.advice:
        urls = advice.links[:LINKS_SHOWN]
        links = "".join(f"<br><span class='quiet'>{_text(url)}</span>" for url in urls)
        title = f"<b>{_text(advice.issue.title)}</b> ({_text(advice.issue.id)})"
        steps = "<br>".join(_text(step.text) for step in advice.steps)
        yield f"<li>{title}<br>{steps}{links}</li>"
    yield "</ul>"


def _comparison(against: Comparison) -> Iterator[str]:
    yield f"<h2>Comparison</h2><p><strong>{_text(against.sentence)}</strong></p>"
    yield f"<p>{_text(against.why)}</p>"
    left, right = (_text(_name(side.name)) for side in (against.left, against.right))
    yield f"<p class='quiet'>left: {left}; right: {right}</p>"
    for choice in against.choices:
        for pair in choice.delivered:
            if pair.equal is False:
                yield f"<h3>delivered {_text(pair.field)}</h3>"
                yield "<p class='quiet'><del>only left</del>, <ins>only right</ins></p>"
                yield f"<pre>{_diff(masked(pair.left or ''), masked(pair.right or ''))}</pre>"
    rows = [
        (setting.name, setting.left or "not set", setting.right or "not set") for setting in against.settings
    ]
    rows += [
        (row["figure"], *(figure(row[side], row["unit"]) for side in ("left", "right")))
        for row in timing_rows(against)
        if row["left"] or row["right"]
    ]
    body = "".join(f"<tr><th>{_text(a)}</th><td>{_text(b)}</td><td>{_text(c)}</td></tr>" for a, b, c in rows)
    yield f"<table><tr><th></th><th>left</th><th>right</th></tr>{body}</table>"


def _name(name: str) -> str:
    return name.replace("\\", "/").rsplit("/", 1)[-1]
