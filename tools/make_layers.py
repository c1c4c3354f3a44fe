"""The folders of docs/layers.toml: `python -m tools.make_layers` prints the table of docs/architecture.md."""

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent.parent / "docs" / "layers.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
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


def layers() -> tuple[Layer, ...]:
    """All layers, lowest first."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["layer"]
    return tuple(
        Layer(
            name=row["name"],
            modules=tuple(row.get("modules", ())),
            what=row["what"],
            pure=row.get("pure", False),
        )
        for row in rows
    )


def table() -> str:
    """The layers as a Markdown table."""
    lines = ["| folder | what is in it |", "|---|---|"]
    for layer in layers():
        name = f"`{layer.name}/`" if layer.name != "top" else " ".join(f"`{name}`" for name in layer.beside)
        lines.append(f"| {name} | {layer.what} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
