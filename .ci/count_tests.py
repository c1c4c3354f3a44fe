"""Counts the tests of a JUnit report: functions first, as one may run for hundreds of rows of data.

    python .ci/count_tests.py REPORT [--all-ran]

With `--all-ran` it fails when a test was skipped, or none ran.
"""

import sys
from xml.etree import ElementTree

path, *options = sys.argv[1:]
cases = list(ElementTree.parse(path).iter("testcase"))  # noqa: S314 -- pytest wrote it
functions = {(case.get("classname"), case.get("name", "").partition("[")[0]) for case in cases}
skipped = [case for case in cases if case.find("skipped") is not None]
sys.stdout.write(f"{len(functions)} test functions, run {len(cases) - len(skipped)} times\n")
if "--all-ran" in options and (skipped or not cases):
    sys.exit(f"these tests did not all run: {len(skipped)} were skipped")
