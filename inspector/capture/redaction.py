"""Removes secrets from requests and headers before anything is written; all else stays as it is.

Names decide: keys inside messages are not searched for, and nothing is guessed from values.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_SECRETS: Final = frozenset(
    {
        "accesstoken",
        "apikey",
        "apisecret",
        "apitoken",
        "auth",
        "authorization",
        "authtoken",
        "bearer",
        "bearertoken",
        "cachesalt",
        "clientsecret",
        "cookie",
        "cookies",
        "credentials",
        "hftoken",
        "idtoken",
        "openaiapikey",
        "passwd",
        "password",
        "privatekey",
        "proxyauthorization",
        "refreshtoken",
        "secret",
        "sessiontoken",
        "setcookie",
        "token",
        "xapikey",
        "xauthtoken",
    }
)
"""Keys that are dropped, in lower case without what separates words: `api_key` and `API-Key` are `apikey`.

`cache_salt`: vLLM asks to keep it secret.
"""

_ENDS_AS_SECRET: Final = re.compile(
    r"(?:access|account|api|auth|encryption|license|master|private|secret|service|session|shared|signing"
    r"|storage|subscription)keys?"
    r"|(?:access|api|auth|bearer|bot|client|csrf|github|gitlab|hf|id|jwt|oauth|refresh|sas|security|service|session|slack"
    r"|user|xsrf)token"
    r"|secrets?|passwords?|passwd|passphrases?|credentials?"
)
"""The same with words before, e.g. `service_api_key`, `aws_secret_access_key`, `db_pass_word`, or several.

Not several tokens: `session_tokens` is a count.
"""

_WORD_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")
"""Where a word of a name ends: before a capital, and at any character but a letter or digit."""
_NUMBER: Final = "0123456789_-. "
"""What ends the name of one of several, `api_key_2`."""
_WORDS_AT_MOST: Final = 4
"""Of those at the end of a name; `pass_word` and `pass_phrase` are two words too."""
_IN_QUERY: Final = frozenset(("code", "key", "sig", "signature"))
"""Names that are secrets in a query only: `?key=` is how some servers take theirs."""

_HEADER: Final = re.compile("auth|cookie|credential|key|passphr|passw|secret|session|signature|token", re.I)
"""What a name under `headers` sounds like when it may carry a secret, e.g. X-Goog-Api-Key."""

_FREE_NAMES: Final = frozenset(("properties", "patternproperties", "$defs", "definitions"))
"""Under these keys of a JSON schema stand chosen names: a tool may have a parameter `token`."""

_NAME_AT_MOST: Final = 200
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.I)
_USER: Final = re.compile(r"(?<=://)[^/?#@\s]*@")
_QUERY: Final = re.compile(r"(?<=[?&])([^=&#\s]+)=[^&#\s]*&?")


def redact(body: Any, *, headers: bool = False) -> Any:
    """A copy of a request body, which may be any JSON, or of `headers`, without what names a secret.

    Dropped are such keys at any depth, any name under a key `headers` that sounds like one, and user,
    password and such keys in values that are URLs.
    """
    pending: list[tuple[Any, Any, str]] = []
    copy = _copied(body, "headers" if headers else "", pending)
    while pending:  # no recursion: a body may be nested as deeply as JSON can be read
        source, target, under = pending.pop()
        if isinstance(source, Mapping):
            for key, value in source.items():
                if not _is_secret(str(key), value, under):
                    target[key] = _copied(value, str(key).lower(), pending)
        else:
            target.extend([_copied(item, under, pending) for item in source])
    return copy


def _copied(value: Any, under: str, pending: list[tuple[Any, Any, str]]) -> Any:
    """The value, a container as an empty one to be filled later."""
    if isinstance(value, str):
        return _URL.sub(_clean_url, value) if "://" in value and _URL.fullmatch(value) else value
    if isinstance(value, Mapping):
        pending.append((value, copied := dict[str, Any](), under))
        return copied
    if isinstance(value, list | tuple):
        pending.append((value, items := list[Any](), under))
        return items
    return value


def _is_secret(key: str, value: object, under: str) -> bool:
    if under in _FREE_NAMES or value is None or isinstance(value, bool):
        return False
    if under.endswith("headers"):
        return _HEADER.search(key) is not None
    return _is_secret_name(key)


def _is_secret_name(key: str) -> bool:
    """Whether a name, in any way of writing it (`accessToken`, `access-token`), is one of a secret."""
    name = key.rstrip(_NUMBER) if len(key) <= _NAME_AT_MOST else ""
    words = [word.lower() for word in _WORD_BREAK.split(name) if word]
    if "".join(words) in _SECRETS:
        return True
    ends = ("".join(words[-word_count:]) for word_count in range(1, _WORDS_AT_MOST + 1))
    return any(_ENDS_AS_SECRET.fullmatch(end) for end in ends)


def is_secret_parameter(name: str) -> bool:
    """Whether a parameter of a URL's query carries a secret by its name."""
    plain = name.lower()
    return plain in _IN_QUERY or plain.endswith(("-signature", "-credential")) or _is_secret_name(name)


def _clean_url(match: re.Match[str]) -> str:
    def drop(part: re.Match[str]) -> str:
        return "" if is_secret_parameter(part[1]) else part[0]

    cleaned = _QUERY.sub(drop, _USER.sub("", match[0]))
    return match[0] if cleaned == match[0] else cleaned.rstrip("?&")
