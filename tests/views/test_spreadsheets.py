"""CSV that no spreadsheet runs or splits, whatever its separator is."""

import csv
import io

from inspector.views.spreadsheets import csv_text


def test_a_cell_is_one_cell_for_every_separator_and_never_a_formula() -> None:
    values = ["x;=1+1", "a,b", "=1+1", "two\nlines", 'say "x"', "x\t=1"]
    for delimiter in (",", ";", "\t"):
        for value in values:
            text = csv_text(["a"], [{"a": value}])
            rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
            assert rows == [["a"], [f"'{value}" if value.startswith("=") else value]]
