"""A line as its program printed it, without what terminals, browsers, trackers and log shippers added.

Nothing is looked up and nothing is kept; text that none of this happened to comes back as it is.
"""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final

_COLOUR: Final = re.compile(
    r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|[()][A-Z0-9]|[=>78cM])"
)
_BARE_COLOUR: Final = re.compile(
    r"(?:␛|\\(?:x1b|u001b|033|e))\[[0-9;]{0,20}[mK]|\[(?:0(?:;0)?|39)?m|(?<![\w\[])\[(?:0;)?\d{1,2}(?:;\d{1,3}){0,4}m"
)
"""Colour codes whose escape character was replaced by its name, or was lost."""
_BARE_SIGNS: Final = ("[0m", "[0;", "[39m", "\u241b", "\\x1b", "\\u001b", "\\033", "\\e[")
_ENTITIES: Final = ("&lt;", "&gt;", "&amp;", "&quot;", "&#", "&nbsp;", "&apos;")
_ESCAPES: Final = ("\\n", '\\"', "\\u0", "\\'", "\\\\", "\\<", "\\|", "\\_", "\\x1b", "\\033", "\\e[")
_WIDE: Final = (
    *("\u2018", "\u2019", "\u201c", "\u201d", "\u00ab", "\u00bb", "\u201e", "\u2039", "\u203a", "\uff5c"),
    *("\u00a0", "\u202f", "\u200b", "\ufeff", "\u00ad", "\u241b"),
)
_PLAIN: Final = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u00ab": '"',
        "\u00bb": '"',
        "\u2039": "<",
        "\u203a": ">",
        "\uff5c": "|",
        "\u00a0": " ",
        "\u2007": " ",
        "\u202f": " ",
        "\u200b": "",
        "\u200c": "",
        "\u200d": "",
        "\u00ad": "",
        "\ufeff": "",
        "\x00": "",
    }
)
_UNICODE: Final = re.compile(r"\\u00([0-7][0-9a-fA-F])")
_SLASHES: Final = re.compile(r"\\{1,7}(?=[\"'])")
_MARKDOWN: Final = re.compile(r"\\([<>|_*`\[\]])")
_DOCKER: Final = re.compile(r'\s*\{"log":\s?"(?P<log>.*?)(?:\\n)?",\s?"stream":')
_NEW_LINE: Final = re.compile(r"\\{1,4}r?\\{0,4}n")

_TIME: Final = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_SHIPPED: Final = re.compile(
    r"\s{0,8}(?:"
    r"(?:> ?)+"  # a quotation
    # CRI, Docker, GitHub
    rf"|\[?{_TIME}\]?(?: (?:stdout|stderr) [FP])?(?: \[?(?:stdout|stderr)\]?)?(?=[\s:|]|$):? ?"
    # journald, syslog
    r"|[^\W\d]{3,5}\.? [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})? [\w.-]{1,80} [\w./@-]{1,80}\[\d{1,9}\]: ?"
    r"|\[pod/[^\]\s]{1,200}\] ?"  # kubectl logs --prefix
    r"|[\w.-]{1,60}-\d{1,3}\s{1,20}\| ?"  # docker compose
    r"|\d{1,3}\|[\w.-]{1,40}\s{1,10}\| ?"  # pm2
    r"|\| (?=\s|[A-Z\w.]{1,80}(?:Error|Exception|Group):)"  # an exception group
    r"|\[(?:rank|cuda:|worker)\s?\d{1,4}\]:? ?"  # torchrun
    r"|\[(?:stdout|stderr)\] ?"
    r"|(?:\([\w-]{1,40} pid=\d{1,9}(?:, ip=[\d.:]{1,40})?\)\s?)+"  # Ray and vLLM's own processes
    r"|[\w.-]{1,40}:\d{1,9}:\d{1,9} \[\d{1,3}\] "  # NCCL
    r")"
)
_LAYERS: Final = 6


_IDEOGRAPH: Final = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_TOUCHING: Final = re.compile(
    rf"(?<=[\w>|.)])(?<!{_IDEOGRAPH})(?={_IDEOGRAPH})|(?<={_IDEOGRAPH})(?!{_IDEOGRAPH})(?=[\w<(/])"
)


def apart(content: str) -> str:
    """A text with spaces where letters of Chinese, Japanese and Korean touch others: words end there."""
    return content if content.isascii() else _TOUCHING.sub(" ", content)


def is_altered(text: str) -> bool:
    """Whether a text, of one line or many, has anything that `cleaned` takes back."""
    # Asked of every block of a log: what is rare is looked for first, each in one pass.
    if "\x1b" in text or "\x00" in text or "[0m" in text or "[0;" in text or "[39m" in text:
        return True
    if "\\" in text and any(sign in text for sign in _ESCAPES):
        return True
    if "&" in text and any(sign in text for sign in _ENTITIES):
        return True
    return not text.isascii() and any(sign in text for sign in _WIDE)


def cleaned(line: str) -> str:
    """A line without colours, with plain quotes and brackets, entities and escapes of JSON read."""
    packed = _DOCKER.match(line)
    if packed is not None:
        line = packed["log"]
    line = uncoloured(line)
    if "&" in line:
        line = html.unescape(line)
    if not line.isascii() or "\x00" in line:
        line = line.translate(_PLAIN)
    if "\\" in line:
        line = _UNICODE.sub(lambda match: chr(int(match[1], 16)), line)
        line = _SLASHES.sub("", line)
        line = _MARKDOWN.sub(r"\1", line)
    return line


def uncoloured(line: str) -> str:
    """A line without the terminal's colours."""
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    bare = "[0" in line or "[39m" in line or "\\" in line or "\u241b" in line
    if bare and any(sign in line for sign in _BARE_SIGNS):
        line = _BARE_COLOUR.sub("", line)
    return line


def unshipped(line: str) -> str:
    """A line without what a log shipper, a quotation or a launcher put before it."""
    for _ in range(_LAYERS):
        prefix = _SHIPPED.match(line)
        if prefix is None or not prefix.end():
            break
        line = line[prefix.end() :]
    return line


def segments(line: str) -> Iterable[str]:
    """The lines that a line of JSON holds, their line feeds escaped; only itself where there is none."""
    return _pieces(line) if "\\n" in line else (line,)


def _pieces(line: str) -> Iterator[str]:
    yield from (piece for piece in _NEW_LINE.split(line) if piece.strip())
