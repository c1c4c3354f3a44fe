"""The folder that makes vLLM load the lab's two plugins: on PYTHONPATH, with nothing installed."""

import shutil
from pathlib import Path
from typing import Final

from inspector.lab.paths import LabPaths

_MODULE: Final = Path(__file__).parents[1] / "standalone" / "standin_plugin.py"

_ENTRY_POINTS: Final = """\
[vllm.platform_plugins]
harmony_lab = standin_plugin:platform

[vllm.general_plugins]
harmony_lab = standin_plugin:observe
"""


def plugin_folder(paths: LabPaths) -> Path:
    """Write the plugin's module and its metadata, replacing earlier ones; returns the folder."""
    folder = paths.root / "plugin"
    metadata = folder / "harmony_lab_plugin-1.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: harmony-lab-plugin\nVersion: 1\n", "utf-8"
    )
    (metadata / "entry_points.txt").write_text(_ENTRY_POINTS, encoding="utf-8")
    shutil.copyfile(_MODULE, folder / _MODULE.name)
    return folder
