"""`tokens`: one row per token."""

from typing import Any, Final

from inspector.analysis.audit.missing_ids import ids_hint
from inspector.analysis.audit.rejection import UnsentKind
from inspector.analysis.audit.stream_checks import transmission_of
from inspector.analysis.audit.wording import unsent_words
from inspector.analysis.prompt import difference_sentence, prompt_of
from inspector.analysis.reading import Reading, read
from inspector.capture.errors import InspectorError
from inspector.capture.formats import count
from inspector.commands.options import Command, Options, flag, option
from inspector.commands.progress import progress
from inspector.commands.shared import capture_files, one_capture
from inspector.commands.terminal import Heading, print_json, say
from inspector.protocol.harmony.text import text_of
from inspector.views.prompt_rows import prompt_token_rows
from inspector.views.rows import token_rows

_NOTE = (
    "reconstructed from the final object: its messages take as many tokens as the server counted. ? stands "
    "where several spellings fit"
)

_EXAMPLE = """example:
  python -m inspector tokens chat-tool-call-leak-vllm-0.14.1
  python -m inspector tokens --prompt chat-raw-harmony-in-history-vllm-0.32.0

exit codes: 0 printed, 2 the file cannot be read or contains no token IDs
"""


class Tokens(Options):
    """Print index, ID, text, state, message, channel, event and arrival time of each token."""

    file: str = capture_files()
    json: bool = flag("print a JSON array of objects")
    choice: int = option("which completion, if the request asked for several (default: 0)", 0, "N")
    prompt: bool = flag("print the tokens of the prompt, and how it differs from the request")


def run(options: Tokens) -> int:
    """Print the tokens."""
    with progress() as step:
        step(options.file)
        name, capture = one_capture(options.file)
        reading = read(capture)
    if options.prompt:
        return _prompt(name, reading, as_json=options.json)
    choice = next((candidate for candidate in reading.choices if candidate.index == options.choice), None)
    if choice is None:
        raise InspectorError(
            f"{name}: no choice {options.choice}; it has {len(reading.choices)}, counted from 0"
        )
    rows = list(token_rows(reading, choice))
    if options.json:
        print_json(rows)
        return 0
    if not rows:
        none = f"{reading.spec.label.capitalize()} has none. "
        why = "" if reading.spec.carries_ids else none
        raise InspectorError(f"{name}: no token IDs. {why}{ids_hint(reading)}")
    say(
        Heading(
            f"{'index':>7} {'id':>7} {'arrival ms':>10} {'event':>6} {'message':>7} "
            f"{'channel':<11} {'state':<8} text"
        )
    )
    say(map(_line, rows))
    if choice.rebuilt is not None:
        say(_NOTE)
    stopped = transmission_of(reading, {}).rejection
    if stopped is not None and stopped.choice == choice.index:
        words = unsent_words(stopped)
        for kind in stopped.unsent:
            token_id = stopped.token_id if kind is UnsentKind.TOKEN else None
            text = stopped.error.quoted if token_id is None else text_of([token_id])
            cell_text = "" if kind is UnsentKind.GAP else text
            say(f"{'not sent':>7} {'' if token_id is None else token_id:>6} {cell_text}  ({words[kind]})")
    return 0


def _line(row: dict[str, Any]) -> str:
    arrival = "" if row["arrival_s"] is None else f"{row['arrival_s'] * 1000:.1f}"
    text = row["text"] if row["text"] else f"({row['bytes'] or 'not in the vocabulary'})"
    cells = [row[key] if row[key] is not None else "" for key in ("event", "message", "channel")]
    token_id = "?" if row["id"] is None else row["id"]
    return (
        f"{row['index']:>7} {token_id:>7} {arrival:>10} {cells[0]:>6} {cells[1]:>7} {cells[2]:<11} "
        f"{row['state']:<8} {text}"
    )


def _prompt(name: str, reading: Reading, *, as_json: bool) -> int:
    prompt = prompt_of(reading)
    if prompt is None:
        raise InspectorError(f"{name}: no token IDs of the prompt. {ids_hint(reading)}")
    if as_json:
        print_json(list(prompt_token_rows(prompt)))
        return 0
    say(f"{count(len(prompt.ids), 'token')}, {count(len(prompt.messages), 'message')}. {prompt.sentence}")
    for difference in prompt.differences[1:]:
        say(f"{difference.severity}: {difference_sentence(difference)}")
    say(Heading(f"{'index':>7} {'id':>7} {'message':>7} {'channel':<11} {'state':<8} text"))
    for row in prompt_token_rows(prompt):
        text = row["text"] or f"({row['bytes'] or 'not in the vocabulary'})"
        say(
            f"{row['index']:>7} {row['id']:>7} {row['message']:>7} {row['channel'] or '':<11} "
            f"{row['state']:<8} {text}"
        )
    return 0


COMMAND: Final = Command(Tokens, run, _EXAMPLE)
