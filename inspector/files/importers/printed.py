"""What Python prints: chunks, events and responses of client libraries, `RequestOutput`, tensors of IDs.

The text is parsed (`ast`) and never evaluated. An expression may stand anywhere in a line, as behind a log's
prefix; what is between expressions is ignored. A printout that Python abbreviated is rejected.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from inspector.capture.bounds import CAPTURES, over
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.capture.errors import CaptureError
from inspector.capture.json_values import as_int, as_string
from inspector.files.importers.ids import ids_in
from inspector.files.importers.importer import Content, Importer
from inspector.files.importers.sglang import joined
from inspector.files.importers.values import Responses, holds_response
from inspector.protocol.harmony.vocab import Marker

_Key = int | tuple[str | int | None, int | None]
"""What tells apart the responses of a file: its place, or request and choice."""

_SEARCHED: Final = 2**16
_LOOKED: Final = 8
"""How many expressions are parsed to recognize a file."""
_EXPRESSION: Final = 4 * 2**20
"""Characters of one expression, as Python's parser takes some hundred bytes for each."""
_NAME: Final = r"[A-Za-z_][\w.]{0,80}(?:\[[\w., ]{1,80}\])?"
"""Also that of a generic class, such as `ParsedResponse[NoneType]`."""
_LABEL: Final = r"(?i:[\w .]{0,40}(?:ids|tokens?)[\w .]{0,20}[=:])\s*"
_BEGINS: Final = re.compile(
    rf"\s*(?:(?:[\w.]{{1,40}} ?[=:]\s*)?(?:\[\s*)?(?:{_NAME}\(|{{\s*')|{_LABEL}[\[(])".encode()
)
_LABEL_AT_MOST: Final = 100
_LABELLED: Final = re.compile(rf"(?:^|\n)\s*{_LABEL}\Z")
_INSIDE: Final = re.compile(r"\b(?!prompt)\w{0,40}token_ids ?[=:] ?\Z")
"""The name of a list in the middle of a line."""
_NAMED: Final = re.compile(
    rb"\b(?:ChatCompletion(?:Chunk)?|Completion|ModelResponse(?:Stream)?|RequestOutput|(?:Response|Raw)\w{0,60}Event"
    rb"|(?:Parsed)?Message)"
    rb"(?:\[[\w., ]{1,80}\])?\(\w+=|\bout=\{'"  # the last is SGLang's log (--log-requests)
    rb"|\b(?!prompt)\w{0,40}token_ids ?[=:] ?\[\s*[0-9]"
)
_OPEN: Final = re.compile(rf"{_NAME}\(|(?:[A-Za-z_][\w.]{{0,80}})?[\[({{]")
_TOKEN: Final = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|[\[({]|[\])}]", re.DOTALL)
_OBJECT: Final = re.compile(rf"\s*(?:{_NAME}\(\w+=|{{)")
_NUMBERS: Final = re.compile(r"\[\s*(?:\w+\.)*u?int\d*\(")
_ELLIPSIS: Final = re.compile(rb"[\s\[(0-9,;+-]*\.\.\.[\s\])0-9,;.+-]*")
_RELEVANT: Final = re.compile(r"chat\.completion|text_completion|type='response\.|token_ids=")
_ENDS: Final = frozenset({Marker.RETURN, Marker.CALL})
_CUT: Final = "The last value is truncated; all before it was read."
_STEPS: Final = "{:,} printed lists are read as the steps of one completion."
_WRAPS: Final = "print the list itself (.tolist(), repr) and save it again"


class _Abbreviated(ValueError):
    """A `...` stands for values that were not printed."""


def sniff(content: Content) -> bool:
    """True where one of the first expressions is a response or token IDs."""
    if content.is_numeric or (content.begins_as_json and content.json_error is None):
        return False
    if _ELLIPSIS.fullmatch(content.data) is not None:
        return True
    at = 0
    if _BEGINS.match(content.data) is None:
        named = _NAMED.search(content.data, 0, _SEARCHED)
        if named is None or content.nul_at >= 0:
            return False
        at = named.start()
    head = content.data[at : at + _EXPRESSION].decode("utf-8", "ignore")
    for text, labelled in islice(_expressions(head, []), _LOOKED):
        try:
            value = _value(text)
        except _Abbreviated:
            return True
        except ValueError:
            continue
        if holds_response([value]) or _outputs(value, labelled=labelled) or _batch(value):
            return True
    return False


def read(content: Content) -> list[Capture]:
    """The responses, or the lists of IDs; raises CaptureError for abbreviated and damaged expressions."""
    notes: list[str] = []
    abbreviated = f"the printout is abbreviated (...), so tokens are missing; {_WRAPS}"
    if _ELLIPSIS.fullmatch(content.data) is not None:
        raise CaptureError(content.name, abbreviated)
    responses = Responses(content.name, "Python text")
    lists: dict[_Key, tuple[list[int] | None, list[list[int]]]] = {}
    step = -1
    for number, (text, labelled) in enumerate(_expressions(content.data.decode("utf-8", "replace"), notes)):
        try:
            value = _value(text)
        except _Abbreviated as error:
            raise CaptureError(content.name, abbreviated) from error
        except ValueError as error:
            if _RELEVANT.search(text) is None:
                continue
            why = f"value {number + 1:,} is no Python literal ({error}); {_WRAPS}"
            raise CaptureError(content.name, why) from error
        if holds_response([value]):
            responses.add(value)
            continue
        if size := _batch(value):
            why = f"holds {size:,} lists of token IDs, perhaps with padding; print one of them"
            raise CaptureError(content.name, why)
        for key, prompt, ids in _outputs(value, labelled=labelled):
            if key is None and text.startswith("["):
                steps = lists[step][1] if step in lists else []
                step = step if _continues(steps, ids) else number
                key = step  # noqa: PLW2901
            lists.setdefault(number if key is None else key, (prompt, []))[1].append(ids)
            if len(lists) > CAPTURES:
                raise CaptureError(content.name, over(CAPTURES, "lists of token IDs"))
    captures = responses.captures() + [
        _ids(prompt, parts, steps=isinstance(key, int) and len(parts) > 1)
        for key, (prompt, parts) in lists.items()
    ]
    if not captures:
        raise content.unsupported("no printed value is a response or a list of token IDs")
    captures[-1] = replace(captures[-1], notes=(*captures[-1].notes, *notes))
    return captures


def _continues(steps: Sequence[list[int]], ids: list[int]) -> bool:
    """Whether a list is of the completion of those before: it begins with the last, or goes on after it."""
    so_far = [0, 0, *(token for step in steps[-2:] for token in step[-2:])]
    if not steps or not ids:
        return False
    if len(ids) > len(steps[-1]) and ids[: len(steps[-1])] == steps[-1]:
        return True
    if ids[0] == Marker.START or so_far[-1] in _ENDS:
        return so_far[-1] == Marker.END
    return ids[0] != Marker.CHANNEL or so_far[-2] == Marker.START


def _ids(prompt: list[int] | None, parts: list[list[int]], *, steps: bool) -> Capture:
    request = {"prompt": prompt} if prompt else {}
    header = Header(endpoint=Endpoint.TOKENS, request=request, source="token IDs printed by Python")
    notes = (_STEPS.format(len(parts)),) if steps else ()
    return Capture(header=header, events=[Event(json.dumps(joined(parts)))], notes=notes)


def _outputs(value: object, *, labelled: bool) -> list[tuple[_Key | None, list[int] | None, list[int]]]:
    """Lists of IDs with what tells apart the responses of a file, and the IDs of the prompt."""
    if isinstance(value, Mapping) and isinstance(outputs := value.get("outputs"), list):
        prompt, request = ids_in(value.get("prompt_token_ids")), value.get("request_id")
        name = as_string(request) or as_int(request)
        return [
            ((name, as_int(output.get("index"))), prompt, ids)
            for output in outputs
            if isinstance(output, dict) and (ids := ids_in(output)) is not None
        ]
    ids = ids_in(value) if labelled or isinstance(value, Mapping) else None
    return [] if ids is None else [(None, None, ids)]


def _batch(value: object) -> int:
    """How many lists of IDs a tensor of two dimensions has; 0 for anything else."""
    rows = value if isinstance(value, list) and len(value) > 1 else []
    return len(rows) if rows and all(isinstance(row, list) and ids_in(row) is not None for row in rows) else 0


def _expressions(text: str, notes: list[str]) -> Iterator[tuple[str, bool]]:
    """Everything in brackets, and whether it has a name; lists of objects are taken apart."""
    at = 0
    while (opened := _OPEN.search(text, at)) is not None:
        if opened[0] == "[" and _OBJECT.match(text, opened.end()) is not None:
            at = opened.end()
            continue
        end = _closed(text, opened.end())
        if end < 0:
            if _RELEVANT.search(text, opened.start()) is not None or opened[0] == "[":
                notes.append(_CUT)
            return
        expression = text[opened.start() : end]
        before = text[max(opened.start() - _LABEL_AT_MOST, 0) : opened.start()]
        named = len(opened[0]) > 1 or _NUMBERS.match(expression) is not None
        yield expression, named or any(label.search(before) for label in (_LABELLED, _INSIDE))
        at = end


def _closed(text: str, at: int) -> int:
    """The end of what was opened before a place; -1 where it is not closed."""
    depth = 1
    for token in _TOKEN.finditer(text, at):
        if token[0] in "[({":
            depth += 1
        elif token[0] in "])}":
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def _value(text: str) -> object:
    """A literal, or an object as a dict of its fields; raises ValueError for anything else."""
    if len(text) > _EXPRESSION:
        raise ValueError(f"longer than {_EXPRESSION // 2**20} MiB")
    try:
        return _read(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise ValueError(error.msg) from error
    except (RecursionError, MemoryError) as error:
        raise ValueError("nested too deeply") from error


def _read(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=value):
            if value is Ellipsis:
                raise _Abbreviated
            return value if isinstance(value, str | int | float | None) else repr(value)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_read(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {str(_read(key)): _read(value) for key, value in pairs if key is not None}
        case ast.Call(args=arguments, keywords=named):
            if not arguments:
                return {keyword.arg: _read(keyword.value) for keyword in named if keyword.arg}
            positional = [_read(argument) for argument in arguments]  # tensor([..]), array('l', [..])
            return next((value for value in positional if isinstance(value, list)), positional[0])
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name  # `finish_reason=stop`, `device=cuda`
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    raise ValueError(f"{type(node).__name__} is not a value")


PRINTED: Final = Importer(
    name="printed",
    label="printed Python values",
    files=(
        "what Python prints: chunks, events and responses of client libraries, `RequestOutput` of vLLM, "
        "lists, arrays and tensors of token IDs"
    ),
    becomes=(
        "the same as JSON with the same values; token IDs as a `tokens` capture. The text is parsed and "
        "never evaluated"
    ),
    suffixes=(".txt", ".log"),
    begins=_BEGINS.pattern.removeprefix(rb"\s*"),
    by_lines=True,
    sniff=sniff,
    read=read,
)
