"""The address of the repository is in publishing.toml and nowhere else, and no placeholder stands for it."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from inspector.capture.version import __version__
from tools.build_hook import repository, urls
from tools.make_addresses import FILES, in_citation, in_workflow

ROOT = Path(__file__).parents[2]
ADDRESS = "https://github.com/some-body/fork"
PLACEHOLDER = re.compile(r"\b(?:OWNER|YOUR[-_]?(?:NAME|USER|ORG|ACCOUNT))/|<(?:owner|user|org)>/")
OWN = re.compile(r"https://(?:github\.com/[\w.-]+/harmony-inspector|[\w-]+\.github\.io/harmony-inspector)\b")


def test_the_files_have_the_address_of_publishing_toml() -> None:
    address = repository(ROOT)
    stale = [name for name, written in FILES.items() if written(text(name), address) != text(name)]
    assert stale == [], "run `python -m tools.make_addresses`"


def test_an_address_comes_and_goes() -> None:
    for name, written in FILES.items():
        filled = written(text(name), ADDRESS)
        assert "some-body/fork" in filled
        assert written(filled, ADDRESS) == filled
        assert written(filled, "") == written(text(name), "")
    assert f"uses: some-body/fork@v{__version__} # this repository" in in_workflow(
        text("docs/ci.md"), ADDRESS
    )
    citation = yaml.safe_load(in_citation(text("CITATION.cff"), ADDRESS))
    assert (citation["repository-code"], str(citation["version"])) == (ADDRESS, __version__)


@pytest.mark.parametrize("address", ["github.com/some-body/fork", f"{ADDRESS}/", f"{ADDRESS}.git"])
def test_another_form_of_address_is_refused(address: str, tmp_path: Path) -> None:
    (tmp_path / "publishing.toml").write_text(f'repository = "{address}"\n')
    with pytest.raises(ValueError, match="NAME/REPOSITORY"):
        repository(tmp_path)


def test_no_other_file_spells_it_or_a_placeholder() -> None:
    known = {address.rstrip("/") for address in urls(repository(ROOT)).values()}
    places = []
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        if b"\0" not in content and not name.startswith(("fixtures/", "tests/")):
            words = content.decode("utf-8", "replace")
            places += [f"{name}: {match}" for match in PLACEHOLDER.findall(words)]
            places += [f"{name}: {match}" for match in OWN.findall(words) if match not in known]
    assert places == []


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")
