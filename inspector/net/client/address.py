"""Where a server is and how it is reached: address, key, headers, TLS, timeouts. No I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import httpx

from inspector.capture.errors import ConnectionFailed, InspectorError
from inspector.capture.replay_only import reject_connection
from inspector.protocol.wire.endpoints import ASKED

_ENDPOINTS: Final = re.compile(rf"(?:{'|'.join(spec.path for spec in ASKED)}|/models)/?$")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
"""What HTTP allows (RFC 9110, 5.5), as far as clients send it."""


class AddressInvalid(ConnectionFailed):
    """Invalid server address; `problem` is the message without the hint at a setting."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem + hint)
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingHints:
    """Advice that names a setting, for error messages; the defaults name options of the command line."""

    key: str = "give the server's key with --api-key"
    silence: str = "allow more time with --timeout"
    certificates: str = "pass its CA file with --ca-file, or accept any certificate with --insecure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One OpenAI-compatible server, as a user writes it.

    `base_url` may lack the scheme, the trailing `/v1`, or carry a whole endpoint's path; see `v1`.
    Raises AddressInvalid for an invalid HTTP address, InspectorError for a key or header that HTTP cannot
    carry, and ConnectionFailed in a process that only replays: all requests to servers need one of these.
    """

    base_url: str = "http://localhost:8000/v1"
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request; never stored."""
    verify: bool | str = True
    """False accepts any TLS certificate; a path names a file of trusted CA certificates."""
    connect_s: float = 5.0
    """Timeout for connecting, in seconds."""
    silence_s: float = 300.0
    """Seconds without data after which a stream counts as stalled."""
    settings: SettingHints = SettingHints()
    """How advice names the settings."""

    def __post_init__(self) -> None:
        reject_connection()
        named = False
        try:
            parts = urlsplit(self.v1)
            named = parts.username is not None
            valid = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
            # Names that no host can have: the client would raise its own errors.
            url = httpx.URL(self.v1)
            valid = valid and bool(url.host) and bool(url.raw_host.decode("ascii").encode("idna"))
        except (ValueError, httpx.InvalidURL):  # also an invalid port, half of an IPv6 address
            valid = False
            named = named or "@" in self.v1
        if not valid or named or any(char.isspace() for char in self.v1):
            address = "an address with a password in it" if named else self.base_url
            problem = f"invalid server address: {address!r}; use the form http://localhost:8000/v1"
            raise AddressInvalid(problem, f" and {self.settings.key}" if named else "")
        if not _HEADER_VALUE.fullmatch(self.api_key):
            raise InspectorError("the API key has a character that HTTP cannot carry; copy the key again")
        for name, value in self.headers.items():
            if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
                raise InspectorError(
                    f"invalid header {name[:40]!r}: name and value must be ASCII, the name without spaces"
                )

    @property
    def v1(self) -> str:
        """The base URL for OpenAI clients; ends in `/v1` unless it has another path."""
        address = self.base_url.strip()
        if not _SCHEME.match(address):
            address = f"http://{address}"
        address = _ENDPOINTS.sub("", address.split("?")[0].split("#")[0]).rstrip("/")
        has_path = address.count("/") > 2
        return address if has_path else f"{address}/v1"

    @property
    def root(self) -> str:
        """The address without `/v1`, where vLLM serves /health, /version and /tokenize."""
        return self.v1.removesuffix("/v1")

    def request_headers(self) -> dict[str, str]:
        """Headers of a plain request, the key among them."""
        bearer = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return {**bearer, **self.headers}
