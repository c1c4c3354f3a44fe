"""`python -m tools.make_payload_types` writes the types of inspector/views/payload.py for the JavaScript.

`--check` only compares.
"""

import ast
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from inspector.views import payload

__all__ = ["declarations"]

TARGET = Path(__file__).parent.parent / "pages" / "ui" / "strip" / "model" / "payload.d.ts"
_HEAD = "// Written by `python -m tools.make_payload_types` from inspector/views/payload.py.\n"
_WIDTH = 110
_PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", NoneType: "null"}


def declarations() -> str:
    """The types as TypeScript declares them, with their docstrings."""
    docs = _docs()
    parts = [_HEAD]
    names = sorted(payload.__all__, key=lambda name: list(docs).index(name))
    for name in names:
        declared_type = getattr(payload, name)
        parts.append(_comment(docs[name][""]))
        if is_typeddict(declared_type):
            hints = get_type_hints(declared_type, include_extras=True)
            parts.append(f"export interface {name} {{\n")
            for key, hint in hints.items():
                parts.append(_comment(docs[name].get(key, ""), "  "))
                optional = key in declared_type.__optional_keys__
                shown = _type(get_args(hint)[0] if get_origin(hint) is NotRequired else hint)
                parts.append(f"  {key}{'?' if optional else ''}: {shown};\n")
            parts.append("}\n\n")
        else:
            declared = f"export type {name} = {_type(declared_type, alias=False)};\n\n"
            if len(declared) - 2 > _WIDTH:  # as biome writes a long union
                declared = (
                    declared.replace(" = ", "\n  | ").replace('" | "', '"\n  | "').replace("\n", " =\n", 1)
                )
            parts.append(declared)
    return "".join(parts).rstrip("\n") + "\n"


def _type(hint: Any, *, alias: bool = True) -> str:
    if alias and (name := _alias(hint)) is not None:
        return name
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_typeddict(hint):
        return str(hint.__name__)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{literal}"' for literal in args)
    if origin in {Union, UnionType}:
        return " | ".join(_type(member) for member in args)
    if origin is list:
        inner = _type(args[0])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(_type(item) for item in args)}]"
    if origin is dict and args[0] is str:
        return f"Record<string, {_type(args[1])}>"
    raise TypeError(f"{hint} has no type in JavaScript: add it to {__name__}")


def _alias(hint: Any) -> str | None:
    """The name of a type alias of the module."""
    for name in payload.__all__:
        alias = getattr(payload, name)
        if not is_typeddict(alias) and alias == hint:
            return name
    return None


def _comment(text: str, indent: str = "") -> str:
    return f"{indent}/** {text.replace('None', 'null')} */\n" if text else ""


def _docs() -> dict[str, dict[str, str]]:
    """Docstrings of each type, in the order of the module: its own under "", then those of its keys."""
    tree = ast.parse(Path(payload.__file__).read_text("utf-8"))
    docs: dict[str, dict[str, str]] = {}
    for node, text in _documented(tree.body):
        if isinstance(node, ast.ClassDef):
            inherited = [docs.get(ast.unparse(base), {}) for base in node.bases]
            own = " ".join(cleandoc(ast.get_docstring(node) or "").split())
            docs[node.name] = {key: doc for base in inherited for key, doc in base.items()} | {"": own}
            for item, doc in _documented(node.body):
                if isinstance(item, ast.AnnAssign):
                    docs[node.name][ast.unparse(item.target)] = doc
        elif isinstance(node, ast.AnnAssign):
            docs[ast.unparse(node.target)] = {"": text}
    return docs


def _documented(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Statements with the string that stands below each; empty where none does."""
    for node, following in zip(body, [*body[1:], None], strict=True):
        docstring = following.value if isinstance(following, ast.Expr) else None
        text = str(docstring.value) if isinstance(docstring, ast.Constant) else ""
        yield node, " ".join(text.split())


def main() -> int:
    """Write the file; 1 when it was not up to date."""
    before = TARGET.read_text("utf-8") if TARGET.exists() else ""
    after = declarations()
    if "--check" not in sys.argv and after != before:
        TARGET.write_text(after, "utf-8")
    return int(after != before)


if __name__ == "__main__":
    sys.exit(main())
