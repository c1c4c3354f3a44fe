"""`skill`: the troubleshooting skill for coding agents, printed or put where they look for skills."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from inspector.capture.errors import StoreError
from inspector.capture.formats import listed
from inspector.commands.options import Command, Options, flag, option
from inspector.commands.terminal import print_text, say
from inspector.files.store import APP, replacing

NAME: Final = "gpt-oss-troubleshooting"
SOURCE: Final = APP / "skills" / NAME
FOLDER: Final = ".agents/skills"
"""Where Codex, Cursor, Gemini CLI, Copilot and most others look for the skills of a project."""
_CLAUDE: Final = ".claude/skills"

_EXAMPLE: Final = f"""examples:
  python -m inspector skill --install
  python -m inspector skill --install {_CLAUDE}

{FOLDER} is where Codex, Cursor, Gemini CLI and others look for the skills of a project; Claude Code looks in
{_CLAUDE}, and all of them in the same folder of your home directory for the skills of all projects.
"""


class Skill(Options):
    """Print the skill for coding agents, or install it with its references."""

    install: str | None = option(
        f"write it into FOLDER/{NAME} (default: {FOLDER})", None, "FOLDER", bare=FOLDER
    )
    force: bool = flag("replace files that were changed")


def run(options: Skill) -> int:
    """Print or install."""
    if options.install is None:
        print_text((SOURCE / "SKILL.md").read_text("utf-8"))
    else:
        say(_installed(Path(options.install).expanduser() / NAME, force=options.force))
        if options.install == FOLDER:
            say(f"Claude Code looks in {_CLAUDE}: skill --install {_CLAUDE}")
    return 0


def _installed(target: Path, *, force: bool) -> Iterator[str]:
    """Write the files, none if one was changed; a line for each."""
    contents = {target / path.relative_to(SOURCE): path.read_bytes() for path in sorted(SOURCE.rglob("*.md"))}
    try:
        present = {path: path.read_bytes() for path in contents if path.exists()}
        changed = [str(path) for path, content in present.items() if content != contents[path]]
        if changed and not force:
            raise StoreError(
                f"{listed(changed)} {'is' if len(changed) == 1 else 'are'} not as this release has it: "
                "changed by you, or from another release; --force replaces it"
            )
        for path, content in contents.items():
            if path in present and str(path) not in changed:
                yield f"{path}: unchanged"
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, private=False) as file:
                file.write(content)
            yield f"{path}: {'replaced' if path in present else 'written'}"
    except OSError as error:
        raise StoreError(
            f"{target}: cannot be written ({error.strerror or error}); name another folder"
        ) from error


COMMAND: Final = Command(Skill, run, _EXAMPLE)
