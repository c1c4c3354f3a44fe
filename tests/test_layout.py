"""The tests mirror the code: a folder for each package, and nothing in a test module that others need."""

from pathlib import Path

from tests.support.source import imports

ROOT = Path(__file__).parent.parent
TESTS = Path(__file__).parent
PACKAGES = {path.parent.name for path in (ROOT / "inspector").glob("*/__init__.py")}

OUTSIDE_INSPECTOR = {
    "bench": "mirrors bench/",
    "browser": "drives the whole app in Chromium",
    "pages": "mirrors pages/",
    "support": "helpers that several tests share, no tests",
    "tools": "mirrors tools/",
}


def test_every_package_has_a_folder_of_tests_and_every_folder_a_package() -> None:
    folders = {path.parent.name for path in TESTS.glob("*/__init__.py")}
    assert folders == PACKAGES | set(OUTSIDE_INSPECTOR)
    without = [name for name in folders - {"support"} if not list((TESTS / name).rglob("test_*.py"))]
    assert without == [], "folders without a test"


def test_tests_at_the_top_are_of_modules_at_the_top_or_of_the_repository() -> None:
    of_the_repository = {
        *("action", "architecture", "docs", "image", "layout", "publishing", "pytest_plugin", "surface"),
        "workflows",
    }
    modules = {path.stem for path in (ROOT / "inspector").glob("*.py")}
    tested = {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}
    assert tested - modules == of_the_repository


def test_folders_inside_a_package_are_mirrored() -> None:
    inside = {path.relative_to(TESTS).parent for path in TESTS.glob("*/*/__init__.py")}
    packages = {
        path.relative_to(ROOT / "inspector").parent for path in (ROOT / "inspector").glob("*/*/__init__.py")
    }
    outside = {path for path in inside if path.parts[0] in OUTSIDE_INSPECTOR}
    assert inside - outside <= packages


def test_no_test_module_imports_another() -> None:
    offenders = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in TESTS.rglob("*.py")
        for name in imports(path)
        if name.startswith("tests.") and ".test_" in name
    ]
    assert offenders == []
