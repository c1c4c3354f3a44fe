"""The folders of docs/layers.toml: `python -m tools.make_layers` prints the table of docs/architecture.md."""

import sys
from pathlib import Path

from inspector.files.tables import Row, read_table

FILE = Path(__file__).parent.parent / "docs" / "layers.toml"


class Layer(Row, frozen=True, kw_only=True):
    """A folder of `inspector`; the last one, `top`, is what lies beside the folders."""

    name: str
    what: str
    modules: tuple[str, ...] = ()
    """In the order in which they may import each other; empty where any order without a circle is allowed."""
    pure: bool = False
    """True where only the standard library, openai_harmony and msgspec are imported."""

    @property
    def beside(self) -> tuple[str, ...]:
        """The modules as the docs name them."""
        return tuple(module for module in self.modules if not module.startswith("__"))


class _Layers(Row, frozen=True):
    pages: tuple[str, ...]
    layer: tuple[Layer, ...]


def layers() -> tuple[Layer, ...]:
    """All layers, lowest first."""
    return read_table(FILE, _Layers).layer


def folders_of_pages() -> tuple[str, ...]:
    """The layers that the pages import from, beside the library."""
    return read_table(FILE, _Layers).pages


def table() -> str:
    """The layers as a Markdown table."""
    lines = ["| folder | what is in it |", "|---|---|"]
    for layer in layers():
        name = f"`{layer.name}/`" if layer.name != "top" else " ".join(f"`{name}`" for name in layer.beside)
        lines.append(f"| {name} | {layer.what} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
