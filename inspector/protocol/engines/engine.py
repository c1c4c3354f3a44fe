"""The description of a server, hosted service or gateway; no other code depends on the name of one."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.formats import clip, listed
from inspector.protocol.harmony.contract import STANDARD, Contract
from inspector.protocol.harmony.parser_errors import ParserError, parser_error
from inspector.protocol.wire.endpoints import ASKED, EndpointSpec

VERSION_AT_MOST: Final = 60
"""Characters of a version that are shown: a server may report any text."""

IN_CHOICE: Final = "choices[]."
"""Before the name of a member of a choice."""

_RELEASE = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One server, one front end of a server that has several, one hosted service, or one gateway.

    A row needs a name, a label and what its responses are recognized by. Releases are written as the server
    writes them (`0.13`, `0.10.2`); an empty one means every release.
    """

    name: str
    """Its key in the table."""
    label: str
    """What people call it; a version follows, where it has releases."""
    front_end: str = ""
    """Its name in a sentence, for a server that has several front ends."""
    program: str = ""
    """Its name in `affected` and `fixed_in` of the catalogue of known issues; empty without releases."""
    released_with: str = ""
    """The program that it is a part of, whose releases it has."""
    may_be: frozenset[str] = frozenset()
    """Other programs whose responses look the same."""

    # --- how to recognize it, and its version ---

    version_path: str = "/version"
    """Where it reports its version, as `version` of an object."""
    owners: tuple[str, ...] = ()
    """Values of `owned_by` in its `/v1/models`."""
    hosts: tuple[str, ...] = ()
    """Hosts of its addresses, or the domains that they are in."""
    members: frozenset[str] = frozenset()
    """Members, null or not, that it alone has in its payloads, their choices, messages and errors; types of
    events and comments between them that are its own."""
    models: re.Pattern[str] | None = None
    """How the names of its models begin."""
    fingerprint: re.Pattern[str] | None = None
    """Its `system_fingerprint`; the group `version` is the release."""
    version_lines: tuple[tuple[str, re.Pattern[str]], ...] = ()
    """How its version appears in a log or error text, best first: words for the source, and an expression
    with the group `version`."""
    version_words: tuple[str, ...] = ()
    """A line without any of these words names no version; most lines are not matched further."""
    source_files: Mapping[str, Endpoint] = field(default_factory=dict)
    """Parts of the paths of its own source files, and the endpoint that they serve."""

    named: re.Pattern[str] | None = None
    """Its name as people write it."""
    printed: re.Pattern[str] | None = None
    """What only this server prints, or what starts it, in a text or log."""
    prefix: re.Pattern[str] | None = None
    """What its processes write before a line of a log."""

    package: str = ""
    """The Python package that its tracebacks go through."""

    # --- what it delivers ---

    contract: Contract = STANDARD
    """Which channel it delivers in which field."""
    lacks: Mapping[Endpoint, str] = field(default_factory=dict)
    """What it answers on the endpoints of the table that it does not serve."""
    served_since: Mapping[Endpoint, str] = field(default_factory=dict)
    """First release that serves an endpoint, if that is a later one."""
    reasoning_keys: tuple[str, ...] = ("reasoning",)
    """Names of the reasoning in a chat message, the usual one first."""
    silent: frozenset[Endpoint] = frozenset()
    """Endpoints on which it closes the connection without an error event when its parser fails."""
    parser_error: Callable[[str], ParserError | None] = parser_error
    """Reads its error message; None where it is not from its Harmony parser."""

    # --- token IDs ---

    ids_since: str = ""
    """First release with the request key for token IDs."""
    all_ids_since: Mapping[Endpoint, str] = field(default_factory=dict)
    """First release that sends the IDs of all tokens, if that is a later one."""
    evidence: Mapping[Endpoint, Mapping[str, Any]] | None = None
    """What a streamed request must contain for token IDs; None for the keys of the table of endpoints."""
    evidence_unstreamed: Mapping[Endpoint, Mapping[str, Any]] = field(default_factory=dict)
    """The same without `stream`, where it differs."""
    ids_at: tuple[str, ...] = ()
    """Where a chat chunk or body has token IDs, apart from `choices[].token_ids`, as names of members with
    dots. Those below `choices[]` are all IDs of the choice at once, the others those of the first choice."""
    usage_at: str = ""
    """Where it has its counts, apart from `usage`."""
    logprobs_of_text: bool = False
    """Whether its stream has logprobs only for delivered text, which shows no loss."""
    keys_note: str = ""
    """Whose keys a request for token IDs has, where that is not plain."""
    ids_ignored: str = ""
    """What to do if a request asked for token IDs and the response has none; empty for the usual advice."""
    no_ids: str = ""
    """Why no stream of it has all token IDs, and what to do instead; empty where one can."""

    # --- quirks by release ---

    logprobs_alone_since: str = ""
    """First release that sends a chat chunk for logprobs alone."""
    whole_steps_since: str = ""
    """First release that loses no text when the tokens of one event belong to two messages."""

    # --- hints for whoever runs it ---

    start_hint: str = "Start the server with a gpt-oss model."
    """How to start it with a model, one sentence."""
    tools_hint: str = "Turn on the server's parser for the tool calls of gpt-oss."
    """What to change when tool calls do not arrive, one sentence."""
    tools_question: str = "See the server's log for the reason."
    """What to look at when a request with tools fails for another reason, one sentence."""
    tools_words: tuple[str, ...] = ()
    """Words of its own errors that ask for exactly that."""
    reasoning_hint: str = "Turn on the server's parser for the reasoning of gpt-oss."
    """What to change when the reasoning does not arrive in its field, one sentence."""

    def labelled(self, version: str | None) -> str:
        """Its name with a version, e.g. `vLLM 0.13.0`."""
        if not version:
            return f"{self.label}, version unknown" if self.program else self.label
        return f"{self.label} {clip(version, VERSION_AT_MOST)}"

    def version_of(self, fingerprint: str | None) -> str | None:
        """The version in a `system_fingerprint`; None for another server's."""
        match = self.fingerprint.match(fingerprint or "") if self.fingerprint else None
        return match["version"] if match else None

    @property
    def evidence_members(self) -> tuple[str, ...]:
        """Members that a response has only if its evidence was requested, if that is not `token_ids`."""
        return tuple(path.rpartition(".")[0] for path in self.ids_at if not path.startswith(IN_CHOICE))

    def reached(self, version: str | None, since: str) -> bool | None:
        """Whether a version is at `since` or later; None when the version is not known."""
        first, release = _release(since), _release(version or "")
        if first is None:
            return True
        return None if release is None else release >= first

    def serves(self, endpoint: Endpoint, version: str | None) -> bool:
        """Whether a version serves an endpoint, as far as is known."""
        return (
            endpoint not in self.lacks
            and self.reached(version, self.served_since.get(endpoint, "")) is not False
        )

    def sends_all_ids(self, endpoint: Endpoint, version: str | None) -> bool | None:
        """Whether a version sends the IDs of all tokens; None when the version is not known."""
        return self.reached(version, self.all_ids_since.get(endpoint, ""))

    def keeps_logprobs(self, version: str | None) -> bool:
        """Whether a version sends chunks that have only logprobs; True when the version is not known."""
        return self.reached(version, self.logprobs_alone_since) is not False

    def evidence_request(self, spec: EndpointSpec, *, streamed: bool = True) -> Mapping[str, Any]:
        """What a request must contain for the evidence of an endpoint; empty where nothing helps."""
        if not streamed and spec.endpoint in self.evidence_unstreamed:
            return self.evidence_unstreamed[spec.endpoint]
        if self.evidence is None:
            return {spec.evidence_key: True} if spec.evidence_key else {}
        return self.evidence.get(spec.endpoint, {})

    def is_among(self, programs: Collection[str]) -> bool:
        """Whether programs of the catalogue are this server, or the one that it is a part of."""
        return self.program in programs or self.released_with in programs

    def may_be_among(self, programs: Collection[str]) -> bool:
        """Whether this server is one of the programs, or cannot be told from one of them."""
        return self.is_among(programs) or not self.may_be.isdisjoint(programs)

    def or_newer(self, since: str, version: str | None) -> str:
        """A release or newer, for advice; empty if the server is known to run one."""
        return "" if self.reached(version, since) else f"{self.label} {since} or newer"

    def ids_hint(self, version: str | None = None, *, streamed: bool = True) -> str:
        """How to request token IDs, and where; one sentence."""
        if self.no_ids:
            return self.no_ids
        specs = [
            spec
            for spec in ASKED
            if spec.carries_ids and spec.endpoint not in self.lacks and self.evidence_request(spec)
        ]
        requests = (_members(self.evidence_request(spec, streamed=streamed)) for spec in specs)
        keys = listed(list(dict.fromkeys(requests)), "or")
        places = listed([str(spec.endpoint) for spec in specs])
        note = self.or_newer(self.ids_since, version) or self.keys_note
        return f"To get them, send {keys} ({places}{f', {note}' if note else ''})."

    def asking(self, spec: EndpointSpec, *, streamed: bool = True, version: str | None = None) -> str:
        """What to send for the evidence of an endpoint, one sentence."""
        keys = self.evidence_request(spec, streamed=streamed)
        if not keys:
            return f"Token IDs would show it. {self.ids_hint(version, streamed=streamed)}"
        note = (self._release_for(spec, version) if spec.carries_ids else "") or self.keys_note
        return f"To find out, send `{_members(keys)}` with the request{f' ({note})' if note else ''}."

    def _release_for(self, spec: EndpointSpec, version: str | None) -> str:
        return self.or_newer(self.all_ids_since.get(spec.endpoint, self.ids_since), version)

    def evidence_hint(
        self,
        spec: EndpointSpec,
        *,
        requested: bool = False,
        streamed: bool = True,
        version: str | None = None,
    ) -> str:
        """How to get evidence that is missing, one sentence; `requested` if the request asks for it."""
        if not spec.carries_ids:
            return spec.no_ids
        if self.no_ids:
            return self.no_ids
        if not requested:
            return self.asking(spec, streamed=streamed, version=version)
        keys = _members(self.evidence_request(spec, streamed=streamed))
        release = self._release_for(spec, version)
        if self.ids_ignored:
            return f"The request already has `{keys}`: {self.ids_ignored}"
        where = f"to {release}, and not through" if release else "to the server itself, not through"
        return (
            f"The request already has `{keys}`: send it {where} a proxy that may remove the IDs, "
            "or ask for logprobs."
        )


def _members(request: Mapping[str, Any]) -> str:
    """Members of a JSON object as a sentence quotes them, e.g. `return_token_ids: true`."""
    return ", ".join(f"{key}: {json.dumps(value)}" for key, value in request.items())


def _release(text: str) -> tuple[int, int, int] | None:
    match = _RELEASE.match(text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None
