"""The rules of `lint` and the causes of `rollout` in the docs are those in the code."""

from tests.support.command import ROOT
from tools.make_rules import causes_table, rules_table


def test_the_tables_in_the_docs_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    for name, table in (("rules", rules_table()), ("causes", causes_table())):
        shown = text.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0].strip()
        assert shown == table, "python -m tools.make_rules prints the tables"
