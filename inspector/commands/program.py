"""Commands by name, in groups: which one the command line names, and help for all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.commands.options import Command
from inspector.commands.terminal import Help, Parser, nearest


@dataclass(frozen=True)
class Program:
    """Commands by name; only the one that runs is loaded."""

    description: str
    groups: Mapping[str, Mapping[str, str]]
    """Title to name to purpose."""
    load: Callable[[str], "Command[Any] | Program"]
    epilog: str
    version: str = ""
    others: Callable[[], Mapping[str, str]] = dict
    """Commands of other distributions, name to purpose; looked up for help and for unknown names."""

    @property
    def names(self) -> list[str]:
        """All commands, in the order of the help."""
        return [name for commands in self.groups.values() for name in commands]

    def __call__(self, prog: str, words: Sequence[str]) -> int:  # noqa: RET503 -- an error does not return
        """Run the command that the first word names; exits with 2 if it names none."""
        first = next(iter(words), "-")
        if first in self.names or first in self.others():
            return self.load(first)(f"{prog} {first}", words[1:])
        parser = self.parser(prog)
        if first.startswith("-"):
            parser.parse_args(words)
            parser.error("name a command; --help lists them")
        near = nearest(first, self.names)
        if near is None:
            parser.error(f"no command {first!r} (choose from {', '.join(self.names)})")
        self.load(near).parser(f"{prog} {near}").error(f"no command {first!r}; did you mean {near}?")

    def parser(self, prog: str) -> Parser:
        """A parser that shows the commands, without their options."""
        parser = Parser(prog=prog)
        parser.usage = f"%(prog)s [-h]{' [--version]' if self.version else ''} COMMAND ..."
        parser.description, parser.epilog = self.description, self.epilog
        parser.formatter_class = Help
        if self.version:
            parser.add_argument("--version", action="version", version=self.version)
        others = self.others()
        for title, commands in (
            *self.groups.items(),
            *([("of other distributions", others)] if others else ()),
        ):
            group = parser.add_argument_group(title)
            for name, purpose in commands.items():
                group.add_argument(name, nargs="?", help=purpose)
        return parser
