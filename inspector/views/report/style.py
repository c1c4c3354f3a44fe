"""The style sheet of the HTML report: light and dark, on screen and on paper."""

from typing import Final

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
.picture [hidden]{display:none}
summary{cursor:pointer;color:var(--quiet)}
figure{margin:.6em 0}
svg{width:100%;height:auto;max-height:160px;background:var(--soft);border-radius:6px}
polyline{fill:none;stroke:var(--tool);stroke-width:2;vector-effect:non-scaling-stroke}
figcaption{color:var(--quiet);font-size:12px}
@media print{main{max-width:none}}
""".strip()
