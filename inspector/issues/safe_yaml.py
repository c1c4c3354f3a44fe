"""YAML read by PyYAML's safe loader, the one in C where it was built: pages wait for these files."""

from typing import Any, Final

import yaml

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str) -> Any:
    """The value of a YAML text; yaml.YAMLError for what is none. Nothing in it is ever executed."""
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 -- both loaders are the safe ones
