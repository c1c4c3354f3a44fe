"""A plugin of vLLM that counts gpt-oss responses whose text its Harmony parser drops without an error.

vLLM 0.32.0 and 0.33.0 catch the exceptions of the Harmony parser (`HarmonyParser.process_chunk`): the status
is 200, and the rejected text is gone. This module gives that parser a tally, reads it when a response ends,
and counts on vLLM's own `/metrics`. It changes no response. Where it does not recognise the release, it logs
one line and does nothing.
"""

import functools
import importlib
import inspect
import logging
import multiprocessing
import weakref
from collections.abc import Callable
from typing import Any, Final

from openai_harmony import HarmonyError, Role, StreamableParser
from prometheus_client import Counter

# A child of vLLM's logger, so that its handler and level apply.
_LOGGER: Final = logging.getLogger("vllm.harmony_witness")

_FIRST_SPECIAL: Final = 199998
_END_OF_TEXT, _RETURN, _START, _END, _MESSAGE, _CALL = 199999, 200002, 200006, 200007, 200008, 200012
_CLOSING: Final = frozenset({_END_OF_TEXT, _RETURN, _END, _CALL})
_CHANNELS: Final = frozenset({"analysis", "commentary", "final"})

_KEPT_REJECTED: Final = 64
"""Rejected text tokens that are kept until the response ends; from these on, it is lost text for certain."""

CHAT: Final = "chat"
RESPONSES: Final = "responses"
LOST: Final = "lost"
MISFILED: Final = "misfiled"


class Tally(StreamableParser):  # type: ignore[misc]  # the package has no py.typed marker
    """The Harmony parser of one turn, with what it rejected and where it put the bodies that it accepted.

    Constant memory, and a few comparisons per token. The defaults are on the class, since a parser that vLLM
    made is turned into a tally.
    """

    errors = 0
    """Exceptions of single tokens."""
    counted = 0
    """Those of them that are in the metric."""
    errors_at_end = 0
    """Exceptions at the end of the turn, inside a header; vLLM then delivers the raw markup as the answer."""
    rejected: tuple[int, ...] = ()
    """The first rejected tokens that are text."""
    rejected_body = False
    """Text was rejected behind a rejected `<|message|>`, so it is that of a body."""
    unknown_channel = False
    """A body without a recipient on a channel that Harmony does not have."""
    foreign_role = False
    """A body of another role than the assistant."""
    marker_recipient = False
    """A body whose recipient begins with a marker, as the parser took a start of a message for one."""
    swallowed_end = False
    """A header that contains the end of the message before it."""
    swallowed_header = False
    """A body that contains the header of the next message."""
    call_without_recipient = False
    """A body that ends in `<|call|>` and has no recipient."""
    empty_call = False
    """A call of a function without arguments."""

    _after_rejected_header = False
    _in_body = False
    _started_in_body = False
    _no_recipient = False
    _function = False
    _body_is_empty = True
    _flags: tuple[str, ...] = ()
    """What is true as soon as the body has text."""

    def process(self, token: int) -> StreamableParser:
        """Pass one token on; note its fate."""
        try:
            self._inner.process(
                token
            )  # what `super().process` calls: half of the witness's cost would be that call
        except HarmonyError:
            self.errors += 1
            if token == _MESSAGE:
                self._after_rejected_header = True
            elif token < _FIRST_SPECIAL:
                self.rejected_body |= self._after_rejected_header
                if len(self.rejected) < _KEPT_REJECTED:
                    self.rejected += (token,)
            raise
        if token >= _FIRST_SPECIAL:
            self._mark(token)
        elif self._in_body:
            self._body_is_empty = False
            if self._flags:
                for flag in self._flags:
                    setattr(self, flag, True)
                self._flags = ()
        return self

    def process_eos(self) -> StreamableParser:
        """End the turn; note whether it ended inside a header."""
        try:
            return super().process_eos()
        except HarmonyError:
            self.errors_at_end += 1
            raise

    def _mark(self, token: int) -> None:
        if not self._in_body:
            if token == _MESSAGE:
                self._open()
            elif token == _START:
                self._after_rejected_header = False
        elif token in _CLOSING:
            self._in_body = False
            if token == _CALL and self._no_recipient:
                self.call_without_recipient = True
            if self._function and self._body_is_empty:
                self.empty_call = True
        elif token == _START:
            self._started_in_body = True
        elif token == _MESSAGE and self._started_in_body:
            self.swallowed_header = True

    def _open(self) -> None:
        self._in_body = self._body_is_empty = True
        self._started_in_body = False
        recipient = self.current_recipient or ""
        # As vLLM does: older versions of openai_harmony read a content type as a recipient.
        plain = recipient.partition("<|constrain|>")[0].rstrip()
        self._no_recipient = not plain
        self._function = plain.startswith("functions.")
        flags = []
        if not plain and self.current_channel not in _CHANNELS:
            flags.append("unknown_channel")
        if self.current_role is not Role.ASSISTANT:
            flags.append("foreign_role")
        if plain.startswith("<|"):
            flags.append("marker_recipient")
        if "<|end|>" in plain:
            flags.append("swallowed_end")
        self._flags = tuple(flags)

    def verdict(self, *, endpoint: str, streamed: bool, decode: Callable[[list[int]], str]) -> str:
        """What became of the text of this turn: `lost`, `misfiled`, or empty if all of it was delivered.

        A rejected punctuation mark or space between messages is no loss.
        """
        if self.rejected_body or len(self.rejected) >= _KEPT_REJECTED:
            return LOST
        if self.rejected and any(map(str.isalnum, decode(list(self.rejected)))):
            return LOST
        if endpoint == RESPONSES:
            # For an unknown channel the server reports an error.
            if self.marker_recipient or self.foreign_role or (streamed and self.empty_call):
                return LOST
        elif self.unknown_channel or (self.foreign_role and not streamed):
            return LOST
        if self.errors_at_end or self.swallowed_end or self.swallowed_header or self.call_without_recipient:
            return MISFILED
        return ""


class Witness:
    """The counters, and the hooks that read a tally."""

    def __init__(self) -> None:
        self._errors = Counter(
            "harmony_witness_parser_errors",
            "Exceptions of the Harmony parser that the server swallowed.",
            ["endpoint", "stage"],
        )
        self._damaged = Counter(
            "harmony_witness_damaged_responses",
            "Finished responses whose text came in no delta (lost) or in another field (misfiled), no error.",
            ["endpoint", "kind"],
        )
        for endpoint in (CHAT, RESPONSES):
            for stage in ("token", "end"):
                self._errors.labels(endpoint, stage)
            for kind in (LOST, MISFILED):
                self._damaged.labels(endpoint, kind)
        self._unknown: set[str] = set()
        self._ids: dict[int, tuple[weakref.ref[Any], str]] = {}
        """The ID that the client gets, by the request's identity; an entry goes with its request."""

    def unknown_parser(self, kind: type) -> None:
        """Say once that responses of this parser are not counted."""
        if kind.__name__ in self._unknown:
            return
        self._unknown.add(kind.__name__)
        _LOGGER.warning("harmony witness: counts nothing, as it does not know the parser %s", kind.__name__)

    def name(self, request: Any, request_id: str) -> None:
        """Remember the ID that the client gets."""
        key = id(request)
        self._ids[key] = (weakref.ref(request, lambda _: self._ids.pop(key, None)), request_id)

    def swallowed(self, parser: Any, tally: Tally) -> None:
        """Count the exceptions of a chunk, none of which reached the parser's caller."""
        endpoint, _, _ = self._owner(parser)
        self._errors.labels(endpoint, "token").inc(tally.errors - tally.counted)
        tally.counted = tally.errors

    def finished(self, parser: Any, tally: Tally) -> None:
        """Count a response whose turn has ended; at most once, though it may have several turns."""
        endpoint, streamed, request_id = self._owner(parser)
        if tally.errors_at_end:
            self._errors.labels(endpoint, "end").inc(tally.errors_at_end)
        verdict = tally.verdict(
            endpoint=endpoint, streamed=streamed, decode=lambda ids: str(parser.model_tokenizer.decode(ids))
        )
        errors = tally.errors + tally.errors_at_end
        if verdict and not getattr(parser, "_witness_damaged", False):
            parser._witness_damaged = True
            self._damaged.labels(endpoint, verdict).inc()
        if verdict or errors:
            _LOGGER.warning(
                "harmony witness: %s (%s): %s; the parser swallowed %d errors",
                request_id,
                endpoint,
                {LOST: "text was lost", MISFILED: "text is in another field"}.get(
                    verdict, "no text was lost"
                ),
                errors,
            )

    def _owner(self, parser: Any) -> tuple[str, bool, str]:
        request = getattr(parser, "_witness_request", None)
        endpoint = RESPONSES if type(request).__name__ == "ResponsesRequest" else CHAT
        _, request_id = self._ids.get(id(request), (None, ""))
        return (
            endpoint,
            bool(getattr(request, "stream", False)),
            request_id or str(getattr(request, "request_id", "a request without an ID")),
        )


def install() -> None:
    """The plugin's entry point: hook the Harmony parser of this process, or say in one line why not."""
    if multiprocessing.current_process().name.startswith(("EngineCore", "Worker", "VllmWorker")):
        return  # only API servers parse
    try:
        _install()
    except Exception as error:  # whatever it is, the server must start
        _LOGGER.warning(
            "harmony witness: does nothing, as it does not recognise this vLLM (%s: %s)",
            type(error).__name__,
            error,
        )


def _install() -> None:
    harmony = importlib.import_module("vllm.parser.harmony")
    parser_class = harmony.HarmonyParser
    if getattr(parser_class, "_witnessed", False):
        return
    context_class = importlib.import_module("vllm.entrypoints.openai.responses.context").HarmonyContext
    chat_class = importlib.import_module("vllm.entrypoints.openai.chat_completion.serving").OpenAIServingChat
    for function, needed in (
        (harmony.get_streamable_parser_for_assistant, set()),
        (parser_class.process_chunk, {"token_ids"}),
        (parser_class.flush, set()),
        (parser_class.parse, {"request"}),
        (parser_class.parse_delta, {"request"}),
        (context_class.__init__, {"response_parser", "request"}),
        (chat_class.chat_completion_stream_generator, {"request", "request_id"}),
        (chat_class.chat_completion_full_generator, {"request", "request_id"}),
    ):
        if missing := needed - set(inspect.signature(function).parameters):
            raise TypeError(f"{function.__qualname__} has no {', '.join(sorted(missing))}")
    if not hasattr(parser_class, "_harmony_parser"):
        raise TypeError("HarmonyParser has no _harmony_parser")
    _hook(Witness(), harmony, context_class, chat_class)
    parser_class._witnessed = True


def _hook(witness: Witness, harmony: Any, context_class: Any, chat_class: Any) -> None:
    parser_class, make_parser = harmony.HarmonyParser, harmony.get_streamable_parser_for_assistant
    process_chunk, flush = parser_class.process_chunk, parser_class.flush

    @functools.wraps(make_parser)
    def make_tally(*words: Any, **options: Any) -> Any:
        parser = make_parser(*words, **options)
        if type(parser) is StreamableParser and hasattr(parser, "_inner"):
            parser.__class__ = Tally
        else:
            witness.unknown_parser(type(parser))
        return parser

    @functools.wraps(process_chunk)
    def witnessed_chunk(self: Any, *words: Any, **options: Any) -> Any:
        result = process_chunk(self, *words, **options)
        tally = self._parser
        if type(tally) is Tally and tally.errors > tally.counted:
            _guard(witness.swallowed, self, tally)
        return result

    @functools.wraps(flush)
    def witnessed_flush(self: Any, *words: Any, **options: Any) -> Any:
        tally = self._parser
        result = flush(self, *words, **options)
        if isinstance(tally, Tally):
            _guard(witness.finished, self, tally)
        return result

    harmony.get_streamable_parser_for_assistant = make_tally
    parser_class.process_chunk, parser_class.flush = witnessed_chunk, witnessed_flush
    for name in ("parse", "parse_delta"):
        setattr(parser_class, name, _with_request(getattr(parser_class, name)))
    context_class.__init__ = _with_context(context_class.__init__)
    for name in ("chat_completion_stream_generator", "chat_completion_full_generator"):
        setattr(chat_class, name, _with_id(witness, getattr(chat_class, name)))


def _guard(observe: Callable[..., None], *values: Any) -> None:
    try:
        observe(*values)
    except Exception as error:  # a fault of the witness is never one of the response
        _LOGGER.warning("harmony witness: did not count a response (%s: %s)", type(error).__name__, error)


def _with_request(parse: Any) -> Any:
    """`parse` or `parse_delta`, whose request the parser keeps."""
    place = list(inspect.signature(parse).parameters).index("request")

    @functools.wraps(parse)
    def witnessed(*words: Any, **options: Any) -> Any:
        words[0]._witness_request = words[place] if len(words) > place else options.get("request")
        return parse(*words, **options)

    return witnessed


def _with_context(initialize: Any) -> Any:
    """The constructor of the Responses context, which hands its parser chunks without the request."""
    signature = inspect.signature(initialize)

    @functools.wraps(initialize)
    def witnessed(*words: Any, **options: Any) -> None:
        initialize(*words, **options)
        given = signature.bind(*words, **options).arguments
        if (parser := given.get("response_parser")) is not None:
            parser._witness_request = given.get("request")

    return witnessed


def _with_id(witness: Witness, generate: Any) -> Any:
    """A generator of chat responses, called once per request with the ID that the client gets."""
    signature = inspect.signature(generate)

    @functools.wraps(generate)
    def witnessed(*words: Any, **options: Any) -> Any:
        given = signature.bind(*words, **options).arguments
        _guard(witness.name, given["request"], given["request_id"])
        return generate(*words, **options)

    return witnessed
