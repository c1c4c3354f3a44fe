"""CSV, JUnit and SARIF, read back by other programs' readers; hostile text stays text."""

import csv
import io
import json
from xml.etree import ElementTree

from inspector.fleet.probe import Result, csv_text, junit_text, sarif_text
from inspector.fleet.probe.exports import COLUMNS
from tests.support.probes import row, rows

SCRIPT = "<script>alert(1)</script>"
HOSTILE = "</failure>]]> \x00\x1b[31m & <b>=1+1 \ud800"


def test_csv_has_a_line_per_request_and_no_formulas() -> None:
    probe_rows = [*rows(ok=1, damaged=1), row(2, prompt='=HYPERLINK("x")', sentence="a\nb,c")]
    read = list(csv.DictReader(io.StringIO(csv_text(probe_rows))))
    assert list(read[0]) == list(COLUMNS)
    assert [record["result"] for record in read] == ["ok", "damaged", "ok"]
    assert [record["request"] for record in read] == ["1", "2", "3"]
    assert read[1]["kinds"] == "dropped"
    assert read[2]["prompt"] == '\'=HYPERLINK("x")'
    assert read[2]["sentence"] == "a\nb,c"


def test_junit_counts_what_test_reports_count() -> None:
    probe_rows = [
        *rows(ok=2, damaged=1, failed=1, unknown=1),
        row(9, Result.DAMAGED, prompt=HOSTILE, sentence=HOSTILE),
    ]
    suites = ElementTree.fromstring(junit_text(probe_rows))  # noqa: S314 -- our own text
    [suite] = suites
    assert suite.attrib | {"time": ""} == {
        "name": "chat",
        "tests": "6",
        "failures": "2",
        "errors": "1",
        "skipped": "1",
        "time": "",
    }
    assert [[inner.tag for inner in case] for case in suite] == [
        [],
        [],
        ["failure"],
        ["error"],
        ["skipped"],
        ["failure"],
    ]
    assert "</failure>]]> " in suite[5][0].attrib["message"]


def test_text_from_a_model_is_never_markup() -> None:
    probe_rows = [row(0, Result.DAMAGED, sentence=word, prompt=word) for word in (HOSTILE, SCRIPT)]
    ElementTree.fromstring(junit_text(probe_rows))  # noqa: S314 -- our own text
    assert len(list(csv.reader(io.StringIO(csv_text(probe_rows))))) == 3
    json.loads(sarif_text(probe_rows))
