"""The folder of a Space: the image's files, the README with its settings, a Dockerfile that only replays."""

from pathlib import Path

import yaml

from tools.make_space import ROOT, VISITORS, image_files, write_space


def test_a_space(tmp_path: Path) -> None:
    folder = tmp_path / "space"
    write_space(folder)
    top = {name.partition("/")[0] for name in image_files(ROOT)}
    assert {path.name for path in folder.iterdir()} == {*top, "README.md", "Dockerfile", ".dockerignore"}
    dockerfile = (folder / "Dockerfile").read_text("utf-8")
    assert dockerfile.startswith((ROOT / "Dockerfile").read_text("utf-8"))
    assert dockerfile.endswith(VISITORS)
    front = yaml.safe_load((folder / "README.md").read_text("utf-8").split("---")[1])
    assert front["sdk"] == "docker"
    assert (folder / "pages" / "frame.py").is_file()
