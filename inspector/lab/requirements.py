"""What a CPU wheel of vLLM asks for, in a form that PyPI can serve. Reads wheels, installs nothing."""

import re
import zipfile
from collections.abc import Iterable
from email.parser import Parser
from pathlib import Path
from typing import Final

DROPPED: Final = frozenset({"torchvision", "torchaudio", "torchcodec", "triton", "triton-cpu"})
"""Requirements that break here: built for another torch, and importing transformers then fails."""

BOUNDS: Final = {
    "mcp": ("<2", [0, 30]),
    "openai": ("<3", [0, 24]),
    "transformers": ("<5", [0, 24]),
    "setuptools": ("<81", [0, 24]),
}
"""Upper bounds for requirements that a wheel leaves open, and the release from which none is needed.

Later majors came after the older releases. With mcp 2 a `--tool-server` ends vLLM to 0.29 with `'Tool' object
has no attribute 'inputSchema'`; 0.30 asks for mcp 2 itself.
"""

GPU_ONLY: Final = frozenset(
    {
        *DROPPED,
        "cuda-python",
        "cupy-cuda12x",
        "fastsafetensors",
        "flashinfer-cubin",
        "flashinfer-python",
        "helion",
        "nixl",
        "numba",
        "quack-kernels",
        "ray",
        "runai-model-streamer",
        "tilelang",
        "tokenspeed-mla",
        "torch",
        "xformers",
    }
)
"""Requirements of an official wheel that its API server does not use. torch is asked for separately."""

GPU_PREFIXES: Final = ("nvidia-", "flashinfer", "cuda-", "humming-")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def plain_requirements(requirements: Iterable[str], *, version: str) -> list[str]:
    """The requirements of a CPU wheel as PyPI can serve them.

    `version` is the release, for upper bounds that those from before a new major need.
    """
    release = [int(part) for part in re.findall(r"\d+", version)[:2]]
    kept: list[str] = []
    for line in requirements:
        requirement, _, marker = line.partition(";")
        found = _NAME.match(requirement.strip())
        if not found or found[0].lower().replace("_", "-") in DROPPED or "extra ==" in marker:
            continue
        name = found[0].lower().replace("_", "-")
        requirement = requirement.strip().replace("+cpu", "")
        if name == "torch" and "x86_64" not in marker and marker:
            # The same torch once more, for platforms whose build has no suffix.
            marker = f"{marker} and platform_machine != 'x86_64'"
        bound, without_from = BOUNDS.get(name, ("", []))
        if release < without_from and "<" not in requirement and "==" not in requirement:
            requirement = f"{requirement}{',' if '>' in requirement else ''}{bound}"
        kept.append(f"{requirement};{marker}" if marker else requirement)
    if not any(line.startswith("mcp") for line in kept):
        kept.append(f"mcp{BOUNDS['mcp'][0]}")  # vLLM to 0.12 leaves it out; the lab's tool servers need it
    return kept


def front_end_requirements(requirements: Iterable[str], *, version: str) -> tuple[list[str], list[str]]:
    """The requirements that an official wheel's API server needs, and the names of those left out."""
    needed: list[str] = []
    left_out: set[str] = set(GPU_ONLY - {"torch"})
    for line in plain_requirements(requirements, version=version):
        found = _NAME.match(line)
        name = found[0].lower().replace("_", "-") if found else ""
        if name in GPU_ONLY or name.startswith(GPU_PREFIXES):
            left_out.add(name)
        else:
            needed.append(line)
    return needed, sorted(left_out - {"torch"})


def requirements_of(wheel: Path) -> list[str]:
    """The `Requires-Dist` lines of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode("utf-8")
    return [str(value) for value in Parser().parsestr(text).get_all("Requires-Dist") or []]
