"""Object stores and other remote places, through fsspec: listed and opened by URL."""

import re
from tempfile import TemporaryFile
from typing import IO, Any, Final

from inspector.capture.errors import InspectorError, StoreError
from inspector.capture.replay_only import reject_connection

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_KEYED: Final = re.compile(r"://[^/]*@|[?&](?:[^=&]*(?:signature|token|key|sig))=", re.IGNORECASE)
_STAMPS: Final = (
    "ETag",
    "etag",
    "md5Hash",
    "content_md5",
    "checksum",
    "mtime",
    "LastModified",
    "Last-Modified",
    "last_modified",
    "updated",
    "created",
)
"""What file systems call what changes with the content, best first."""
_WEB: Final = ("http://", "https://")
_STEP: Final = 2**20
_MAGIC: Final = re.compile(r"[*?\[]")


def is_url(place: str) -> bool:
    """Whether a place is a URL rather than a path."""
    return _URL.match(place) is not None


def open_url(url: str) -> IO[bytes]:
    """A remote file, open for reading and seeking; raises InspectorError."""
    system, path = _system(url)
    try:
        file: IO[bytes] = system.open(path, "rb")
    except FileNotFoundError as error:
        raise StoreError(f"{url}: no such object; check the name") from error
    except Exception as error:  # each object store has errors of its own
        raise StoreError(
            f"{url}: cannot be opened ({_words(error)}); check the URL and your access"
        ) from error
    return file


def download(url: str, limit_bytes: int) -> IO[bytes]:
    """A remote file as a temporary one, for a server that sends files from their start only.

    Raises InspectorError, also for a file beyond the limit.
    """
    system, path = _system(url)
    streamed = {"block_size": 0} if url.startswith(_WEB) else {}
    copy = TemporaryFile()  # noqa: SIM115 -- kept
    try:
        with system.open(path, "rb", **streamed) as file:
            while piece := file.read(_STEP):
                if copy.tell() + len(piece) > limit_bytes:
                    raise StoreError(
                        f"{url}: the server sends no parts of a file, and the archive is larger than "
                        f"{limit_bytes // 2**20} MiB; download it, and scan the file"
                    )
                copy.write(piece)
    except InspectorError:
        copy.close()
        raise
    except Exception as error:  # each object store has errors of its own
        copy.close()
        raise StoreError(f"{url}: cannot be read ({_words(error)}); check the URL and your access") from error
    return copy


def remote_files(url: str) -> tuple[list[tuple[str, int, str]], bool]:
    """The files below a URL or matched by its wildcards: URL, size and stamp; and whether it is one file.

    Raises InspectorError.
    """
    if _KEYED.search(url):
        raise InspectorError(
            "the URL contains a key or password, which would be stored in every row; set credentials in the "
            "environment instead"
        )
    if "::" in url:
        raise InspectorError(f"{url}: chained URLs are not supported; pass the archive or folder itself")
    system, path = _system(url)
    try:
        if _MAGIC.search(path):
            infos, single = system.glob(path, detail=True), False
        else:
            info = system.info(path)
            # A web server tells no folder from a file; the URL of one ends in a slash.
            single = info.get("type") == "file" and not url.endswith("/")
            infos = {info["name"]: info} if single else system.find(path, detail=True)
    except FileNotFoundError as error:
        raise StoreError(f"{url}: no such object; check the name") from error
    except Exception as error:  # each object store has errors of its own
        raise StoreError(
            f"{url}: cannot be listed ({_words(error)}); check the URL and your access"
        ) from error
    files = [
        (str(system.unstrip_protocol(name)), int(info.get("size") or 0), _stamp(info))
        for name, info in infos.items()
        if info.get("type") == "file"
    ]
    return files, single


def _stamp(info: dict[str, Any]) -> str:
    return next((str(info[key]) for key in _STAMPS if info.get(key) is not None), "")


def _system(url: str) -> tuple[Any, str]:
    reject_connection()
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 -- an extra
    except ImportError as error:
        raise InspectorError(
            'remote places need the extra `scan`: pip install "harmony-inspector[scan]"'
            ", in a checkout pip install -r requirements.txt"
        ) from error
    try:
        system, path = url_to_fs(url)
    except ImportError as error:
        raise InspectorError(f"{url}: {_words(error)}") from error
    except Exception as error:  # each object store has errors of its own
        raise InspectorError(f"{url}: cannot be opened ({_words(error)}); check the URL") from error
    return system, str(path)


def _words(error: Exception) -> str:
    return " ".join(str(error).split()).removesuffix(".") or type(error).__name__
