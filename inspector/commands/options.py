"""Commands and their options: a frozen dataclass for each command, from which argparse gets its parser.

A field is an option of its name (`keep_bytes` is `--keep-bytes`). Its type says how many words it takes and
what they are, its default what holds without it. Options that commands share are in base classes, and those
of a base with a title are a group of the help.
"""

from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    _ActionsContainer,
)
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum
from glob import glob, has_magic
from inspect import get_annotations, getdoc
from os import environ
from os.path import exists
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    TypedDict,
    TypeVar,
    Union,
    Unpack,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from inspector.commands.terminal import ColorWhen, Help, Parser, use_color

T = TypeVar("T")
P = TypeVar("P", bound=ArgumentParser)


@dataclass(frozen=True)
class Value:
    """How a word is read, and what the help calls it; `parse` raises ArgumentTypeError."""

    parse: Callable[[str], Any]
    metavar: str


def whole(what: str, least: int, most: int, metavar: str = "N") -> Value:
    """A whole number within bounds."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= 9 and least <= int(text) <= most):
            raise ArgumentTypeError(f"invalid {what}: {text[:40]!r} (expected {least} to {most})")
        return int(text)

    return Value(parse, metavar)


class Details(TypedDict, total=False):
    """What else can be said of a field."""

    positional: bool
    """It is given by its place instead of its name."""
    also: str
    """An older spelling, which is accepted and not shown."""
    choices: Sequence[str]
    """The allowed words, where the type does not say them."""
    bare: object
    """The value of the option without a word."""
    repeatable: bool
    """Each value has an option of its own; otherwise one option has several words."""
    one_of: str
    """Options with the same text here exclude each other."""
    environment: str
    """The variable that has the value where the option is not given."""
    globs: bool
    """Its words are files, and globs that no shell has expanded: in quotes, or on Windows."""


def option(help: str, default: T, metavar: str | None = None, **details: Unpack[Details]) -> T:  # noqa: A002
    """A field that need not be given; `SUPPRESS` as its help hides it."""
    return field(default=default, metadata={"help": help, "metavar": metavar, **details})


def flag(help: str, **details: Unpack[Details]) -> bool:  # noqa: A002
    """A field that is true where its option is given."""
    return option(help, False, **details)


def required(help: str, metavar: str | None = None, **details: Unpack[Details]) -> Any:  # noqa: A002
    """A field that must be given, or be in the environment."""
    return field(metadata={"help": help, "metavar": metavar, **details})


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option, flag, required))
@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a command, or a group that commands share; each subclass is a frozen dataclass."""

    title: ClassVar[str] = ""
    about: ClassVar[str] = ""
    needs: ClassVar[Sequence[str]] = ()
    """Texts of `one_of`: one of these options must be given."""

    color: ColorWhen = option(
        "auto (default: on a terminal, unless NO_COLOR or FORCE_COLOR is set), always or never",
        "auto",
        "WHEN",
    )

    def __init_subclass__(cls, title: str = "", about: str = "", needs: Sequence[str] = ()) -> None:
        cls.title, cls.about, cls.needs = title, about, needs
        dataclass(frozen=True, kw_only=True)(cls)


O = TypeVar("O", bound=Options)  # noqa: E741 -- options


@dataclass(frozen=True)
class Command(Generic[O]):
    """A command: its options, whose docstring says what it does, and the function that does it."""

    options: type[O]
    run: Callable[[O], int]
    epilog: str

    def parser(self, prog: str) -> Parser:
        """A parser of the words after `prog`."""
        return self.filled(Parser(prog=prog))

    def filled(self, parser: P) -> P:
        """A parser with the help and the options of this command."""
        parser.description, parser.epilog = getdoc(self.options), self.epilog
        parser.formatter_class = Help
        exclusive: dict[str, _ActionsContainer] = {}
        for group, group_fields in _groups(self.options):
            place = parser.add_argument_group(group.title, group.about or None) if group.title else parser
            for entry, kind in group_fields:
                one_of = entry.metadata.get("one_of")
                if one_of is not None and one_of not in exclusive:
                    needed = one_of in self.options.needs and not _from_environment(entry)
                    exclusive[one_of] = place.add_mutually_exclusive_group(required=needed)
                _add(place if one_of is None else exclusive[one_of], entry, kind)
        return parser

    def parsed(self, prog: str, words: Sequence[str]) -> O:
        """The options in the words; exits with 2 and the usage of this command where they are wrong."""
        given = vars(self.parser(prog).parse_args(words))
        values: dict[str, Any] = {}
        for entry, kind in (pair for _, group_fields in _groups(self.options) for pair in group_fields):
            if entry.name in given:
                words_given = (
                    _globbed(given[entry.name]) if entry.metadata.get("globs") else given[entry.name]
                )
                values[entry.name] = _typed(kind, words_given)
            elif variable := _from_environment(entry):
                values[entry.name] = variable
        return self.options(**values)

    def __call__(self, prog: str, words: Sequence[str]) -> int:
        """Run with these words; the exit code."""
        options = self.parsed(prog, words)
        use_color(options.color)
        return self.run(options)


def _groups(options: type[Options]) -> Iterator[tuple[type[Options], list[tuple[Field[Any], Any]]]]:
    """The fields of the command itself with their types, those of each base, and those of all commands."""
    hints = get_type_hints(options, include_extras=True)
    left = {entry.name: entry for entry in fields(options)}
    for group in dict.fromkeys((options, *options.__bases__, Options)):
        classes = (group,) if group in (options, Options) else group.__mro__[: group.__mro__.index(Options)]
        names = [name for part in classes for name in get_annotations(part) if name in left]
        yield group, [(left.pop(name), hints[name]) for name in dict.fromkeys(names)]


def _from_environment(entry: Field[Any]) -> str:
    return environ.get(entry.metadata.get("environment", ""), "")


def _add(container: _ActionsContainer, entry: Field[Any], kind: Any) -> None:
    """Add the argument of a field to a parser, or to a group of one."""
    details, parts = entry.metadata, _parts(kind)
    needed = entry.default is MISSING and not _from_environment(entry)
    how: dict[str, Any] = {"default": SUPPRESS, "help": _help(details["help"], entry.default)}
    how |= {"action": "store_true"} if _plain(kind) is bool else _word(kind, details)
    if details.get("positional"):
        if parts or not needed:
            how["nargs"] = "?" if not parts else "+" if needed else "*"
        container.add_argument(entry.name, **how)
        return
    if "bare" in details:
        how |= {"nargs": "?", "const": details["bare"]}
    if details.get("repeatable"):
        how["action"], parts = "append", _parts(parts[0])
    if parts:
        how["nargs"] = "+" if Ellipsis in parts else len(parts)
    if needed and "one_of" not in details:
        how["required"] = True
    shown = container.add_argument(f"--{entry.name.replace('_', '-')}", **how)
    if "also" in details:
        container._option_string_actions[details["also"]] = shown  # argparse itself has no hidden aliases


def _help(text: str, default: Any) -> str:
    """The help, with the default unless the text has it."""
    if text is SUPPRESS or "default" in text or default in (MISSING, None, False, "", ()):
        return text
    words = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{text} (default: {words})" if text else f"default: {words}"


def _word(kind: Any, details: Mapping[str, Any]) -> dict[str, Any]:
    """What argparse needs to read each word of a field."""
    value = _value(kind)
    how: dict[str, Any] = {"metavar": details["metavar"] or (value and value.metavar)}
    plain = _plain(kind)
    while parts := _parts(plain):
        plain = _plain(parts[0])
    if value is not None:
        return how | {"type": value.parse}
    if choices := details.get("choices") or _choices(plain):
        return how | {"choices": list(choices)}
    return how if plain is str else how | {"type": plain}


def _choices(plain: Any) -> Sequence[str]:
    if get_origin(plain) is Literal:
        return get_args(plain)
    return [member.value for member in plain] if issubclass(plain, Enum) else ()


def _globbed(files: Sequence[str]) -> Iterator[str]:
    """Files, with those that match in the place of a glob; one that nothing matches stays."""
    for file in files:
        matching = [] if exists(file) or not has_magic(file) else sorted(glob(file, recursive=True))
        yield from matching or [file]


def _typed(kind: Any, value: Any) -> Any:
    """What argparse has read, as the type says."""
    plain = _plain(kind)
    if parts := _parts(plain):
        return tuple(_typed(parts[0], part) for part in value)
    return plain(value) if isinstance(plain, type) and issubclass(plain, Enum) else value


def _value(kind: Any) -> Value | None:
    """The `Value` among the annotations of a type or of a part of it; None without one."""
    own = (note for note in getattr(kind, "__metadata__", ()) if isinstance(note, Value))
    return next(own, None) or next(filter(None, map(_value, get_args(kind))), None)


def _plain(kind: Any) -> Any:
    """A type without None and without what is annotated."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return _plain(next(part for part in get_args(kind) if part is not NoneType))
    return kind


def _parts(kind: Any) -> tuple[Any, ...]:
    """The types of a tuple's members; empty for other types."""
    plain = _plain(kind)
    return get_args(plain) if get_origin(plain) is tuple else ()
