"""The requirements of vLLM wheels, rewritten so that PyPI can serve them on a CPU."""

import re
import zipfile
from collections.abc import Iterable
from email.parser import Parser
from pathlib import Path
from typing import Final

DROPPED: Final = frozenset({"torchvision", "torchaudio", "torchcodec", "triton", "triton-cpu"})
"""Requirements that are built for another torch, which makes the import of transformers fail."""

BOUNDS: Final = {
    "mcp": ("<2", [0, 30]),
    "openai": ("<3", [0, 24]),
    "transformers": ("<5", [0, 24]),
    "setuptools": ("<81", [0, 24]),
}
"""Upper bounds for requirements without one, and the first release that does not need the bound.

Older releases fail with later major versions: with mcp 2, a `--tool-server` ends vLLM up to 0.29 with `'Tool'
object has no attribute 'inputSchema'`; 0.30 requires mcp 2.
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
"""Requirements of an official wheel that its API server does not use; torch is installed separately."""

GPU_PREFIXES: Final = ("nvidia-", "flashinfer", "cuda-", "humming-")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def plain_requirements(requirements: Iterable[str], *, version: str) -> list[str]:
    """The requirements of a CPU wheel of release `version`, without local versions and with upper bounds."""
    release = [int(part) for part in re.findall(r"\d+", version)[:2]]
    plain: list[str] = []
    for line in requirements:
        requirement, _, marker = line.partition(";")
        match = _NAME.match(requirement.strip())
        if not match or match[0].lower().replace("_", "-") in DROPPED or "extra ==" in marker:
            continue
        name = match[0].lower().replace("_", "-")
        requirement = requirement.strip().replace("+cpu", "")
        if name == "torch" and "x86_64" not in marker and marker:
            # The same torch again, for platforms whose build has no suffix.
            marker = f"{marker} and platform_machine != 'x86_64'"
        bound, without_from = BOUNDS.get(name, ("", []))
        if release < without_from and "<" not in requirement and "==" not in requirement:
            requirement = f"{requirement}{',' if '>' in requirement else ''}{bound}"
        plain.append(f"{requirement};{marker}" if marker else requirement)
    if not any(line.startswith("mcp") for line in plain):
        plain.append(f"mcp{BOUNDS['mcp'][0]}")  # missing in vLLM up to 0.12; the lab's tool servers need it
    return plain


def front_end_requirements(requirements: Iterable[str], *, version: str) -> tuple[list[str], list[str]]:
    """The requirements that an official wheel's API server needs, and the names of those left out."""
    distributions: list[str] = []
    left_out: set[str] = set(GPU_ONLY - {"torch"})
    for line in plain_requirements(requirements, version=version):
        match = _NAME.match(line)
        name = match[0].lower().replace("_", "-") if match else ""
        if name in GPU_ONLY or name.startswith(GPU_PREFIXES):
            left_out.add(name)
        else:
            distributions.append(line)
    return distributions, sorted(left_out - {"torch"})


def requirements_of(wheel: Path) -> list[str]:
    """The `Requires-Dist` lines of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode("utf-8")
    return [str(value) for value in Parser().parsestr(text).get_all("Requires-Dist") or []]
