"""What the commands print about the built-in captures and some texts, kept in files.

`python -m tests.support.golden` writes the files again; the difference shows what a change says otherwise.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from inspector.files.store import builtin
from tests.support.command import ROOT, inspector

__all__ = ["FOLDER", "NAMES", "file", "printed"]

FOLDER: Final = ROOT / "tests" / "commands" / "golden"
_CAPTURES: Final = {row.name: row.path.relative_to(ROOT).as_posix() for row in builtin()}
_TOOL: Final = _CAPTURES["chat-tool-call-leak-vllm-0.14.1"]
_COMPLETE: Final = _CAPTURES["chat-whole-vllm-0.14.1"]
_OTHER_FILES: Final = {
    "several files": [
        ["audit", _TOOL, _COMPLETE],
        ["report", _TOOL, "--against", _COMPLETE, "--html", "-"],
        ["compare", _TOOL, _COMPLETE],
        ["compare", _COMPLETE, _CAPTURES["responses-whole-vllm-0.14.1"]],
    ],
    "logs": [
        ["diagnose", "fixtures/logs/vllm-0.13.0.log.gz"],
        ["diagnose", "fixtures/logs/vllm-0.14.1.log.gz", "--all"],
    ],
    "data": [
        ["lint", "fixtures/lint/evaluation-of-raw-harmony.jsonl"],
        ["lint", "fixtures/lint/evaluation-of-transcripts.jsonl"],
        ["rollout", "fixtures/rollout/tool-loops.jsonl"],
    ],
}
_NOTEBOOK: Final = """HarmonyError                              Traceback (most recent call last)
Cell In[7], line 3
      1 parser = openai_harmony.StreamableParser(encoding, role=Role.ASSISTANT)
      2 for token in tokens:
----> 3     parser.process(token)

HarmonyError: Unexpected token 200005 while expecting start token 200006
"""
_POSTS: Final = ROOT / "tests" / "issues" / "posts.yaml"
NAMES: Final = (*_CAPTURES, *_OTHER_FILES, "texts")

_ELSEWHERE: Final = (
    r"(?s)<style>.*?</style>",
    r"(?s)<script.*?</script>",
    r"<meta [^>]*>",
    r"(?s)<figure class='hi picture'>.*?</figure>",
    r"(?s)<details><summary>Request</summary>.*?</details>\n?",
)
"""Of a report: what its own tests check, and what is no text."""


def file(name: str) -> Path:
    """The file that has what was printed."""
    return FOLDER / f"{name.replace(' ', '-')}.txt"


def printed(name: str) -> str:
    """What the commands of one file print now."""
    if name == "texts":
        return "".join(f"# {link}\n{_run(['diagnose', '--around'], text)}" for link, text in _texts())
    return "".join(map(_run, _commands(name)))


def _commands(name: str) -> list[list[str]]:
    if name in _OTHER_FILES:
        return _OTHER_FILES[name]
    path = _CAPTURES[name]
    if "-long-" in name:
        return [["audit", path], ["diagnose", path]]
    return [
        ["audit", "--all", path],
        ["diagnose", "--all", path],
        ["report", path, "--markdown", "-"],
        ["report", path, "--html", "-"],
    ]


def _run(words: list[str], text: str = "") -> str:
    completed = inspector(*words, stdin=text.encode())
    printed = (completed.stdout + completed.stderr).decode()
    if "report" in words:
        for pattern in _ELSEWHERE:
            printed = re.sub(pattern, "", printed)
    if "--html" in words:
        printed = re.sub(r"(?=<(?:h\d|p|dt|li|tr|pre|figcaption|polyline)\b)", "\n", printed)
    printed = re.sub(r"(harmony-inspector|oss-harmony) \d[\w.]*", r"\1 *", printed)  # of this environment
    return f"$ inspector {' '.join(words)}\n{printed}exit code {completed.returncode}\n\n"


def _texts() -> Iterator[tuple[str, str]]:
    """A traceback of a notebook, one that was cut, and the first two texts of each kind of post."""
    yield "a notebook", _NOTEBOOK
    yield "a notebook, cut", _NOTEBOOK.partition("\n\n")[0]
    count_by_kind: dict[str, int] = {}
    for post in _posts():
        count_by_kind[post["kind"]] = count_by_kind.get(post["kind"], 0) + 1
        if count_by_kind[post["kind"]] <= 2:
            yield post["link"], post["text"]


@cache
def _posts() -> list[dict[str, Any]]:
    posts: list[dict[str, Any]] = yaml.safe_load(_POSTS.read_text("utf-8"))
    return posts


def _main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for name in NAMES:
        file(name).write_text(printed(name), "utf-8")


if __name__ == "__main__":
    _main()
