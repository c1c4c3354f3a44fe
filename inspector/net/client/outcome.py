"""How a request ended: a code for programs and a sentence for people."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from inspector.capture.errors import ConnectionFailed


class OutcomeKind(StrEnum):
    """How a live request ended."""

    OK = "ok"
    """The stream ended as the protocol says."""
    STOPPED_BY_USER = "stopped by user"
    """Ended on this side: it says nothing about the server."""
    NOT_REACHED = "not reached"
    """No connection, an untrusted certificate, or something that does not speak HTTP."""
    TIMED_OUT = "timed out"
    BROKEN_OFF = "broken off"
    """The connection ended in the middle of the response."""
    REDIRECTED = "redirected"
    """It redirects to another address, which is not followed."""
    UNREADABLE = "unreadable"
    """The response uses a content coding that cannot be read here, or exceeds a bound."""
    KEY_REJECTED = "key rejected"
    NO_MODEL = "no model"
    NO_ENDPOINT = "no endpoint"
    NO_API = "no api"
    """The response does not come from this API."""
    RATE_LIMITED = "rate limited"
    REQUEST_REJECTED = "request rejected"
    SERVER_FAILED = "server failed"
    STREAM_ERROR = "stream error"
    """The server reported an error in the stream."""
    NO_TERMINAL_EVENT = "no terminal event"
    """The response ended properly, but without the event that says that it is complete."""
    CLIENT_FAILED = "client failed"
    """The openai client could not read the stream."""
    FAILED = "failed"
    """Any other failure; the sentence says which."""


class Problem(NamedTuple):
    """What went wrong with a request."""

    kind: OutcomeKind
    sentence: str
    """For a person: what happened and what to do."""
    words: str = ""
    """The server's error message, if it sent one."""


class RequestFailed(ConnectionFailed):
    """A server cannot be reached or rejected a request; `problem` says which."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """How a live request went."""

    kind: OutcomeKind = OutcomeKind.OK
    failure: str = ""
    """One sentence; empty when the stream ended as the protocol says."""
    words: str = ""
    """The server's error message, if it sent one."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the request: what was left out, where the prompt came from."""

    @property
    def failed(self) -> bool:
        """True unless the stream ended as the protocol says."""
        return self.kind is not OutcomeKind.OK

    @classmethod
    def of(cls, problem: Problem | None, notes: tuple[str, ...] = ()) -> "RequestOutcome":
        """The outcome of a request that had a problem, or none."""
        if problem is None:
            return cls(notes=notes)
        return cls(kind=problem.kind, failure=problem.sentence, words=problem.words, notes=notes)

    @classmethod
    def raised(cls, error: Exception, notes: tuple[str, ...] = ()) -> "RequestOutcome":
        """The outcome of a request that an error ended."""
        problem = (
            error.problem if isinstance(error, RequestFailed) else Problem(OutcomeKind.FAILED, str(error))
        )
        return cls.of(problem, notes)

    def same_failure(self, other: "RequestOutcome") -> bool:
        """True when both failed in the same way, with the same words."""
        return self.failed and (self.kind, self.failure) == (other.kind, other.failure)
