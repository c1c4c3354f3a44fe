"""The pytest plugin by its earlier name; it is `harmony_inspector_pytest`, beside the package."""

import sys

import harmony_inspector_pytest

sys.modules[__name__] = harmony_inspector_pytest
