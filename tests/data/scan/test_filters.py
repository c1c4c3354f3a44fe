"""Filters: an SQL expression of known columns, or words; no text reaches anything but the rows."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.data.scan import FilterError, Library, summarise
from inspector.data.scan.columns import Table
from inspector.data.scan.filters import condition
from inspector.files.store import FIXTURES
from tests.support.archives import rows_in, scanned
from tests.support.builtin import CAPTURES


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scan")
    scanned(folder, FIXTURES / "*.jsonl", FIXTURES / "logs")
    return folder


@pytest.fixture(scope="module")
def library(out: Path) -> Iterator[Library]:
    with Library(out) as library:
        yield library


def matching(library: Library, text: str) -> set[str]:
    return {row["id"] for row in library.rows(text, limit=1000)}


def amount(library: Library, text: str) -> int:
    return len(matching(library, text))


def test_questions_about_findings(library: Library, out: Path) -> None:
    findings = rows_in(out, Table.FINDINGS)
    all_captures = amount(library, "")
    dropped, misrouted = amount(library, "kind = 'dropped'"), amount(library, "kind = 'misrouted'")
    with_both = amount(library, "finding(kind = 'dropped') AND finding(kind = 'misrouted')")
    assert 0 < with_both <= min(dropped, misrouted) < all_captures
    assert amount(library, "kind = 'dropped' OR kind = 'misrouted'") == dropped + misrouted - with_both
    assert amount(library, "kind = 'dropped' AND kind = 'misrouted'") == 0
    assert amount(library, "NOT finding(kind = 'dropped')") == all_captures - dropped
    assert matching(library, "NOT kind = 'dropped'") == {
        row["capture"] for row in findings if row["kind"] != "dropped"
    }
    assert matching(library, "kind = 'dropped' AND channel = 'final'") == {
        row["capture"] for row in findings if (row["kind"], row["channel"]) == ("dropped", "final")
    }
    assert library.is_expression("tokens >= null")
    assert amount(library, "tokens >= null") == 0
    assert amount(library, "findings = 0 OR kind = 'dropped'") == dropped + amount(library, "kind IS NULL")


@pytest.mark.parametrize(
    ("old", "sql"),
    [
        ('kind == "dropped" and tokens > 5', "kind = 'dropped' AND tokens > 5"),
        ('not (version == "0.14.1")', "NOT version = '0.14.1'"),
        ("cause == null", "cause IS NULL"),
        ("cause != null", "cause IS NOT NULL"),
        ('version in ("0.13.0", "it\'s")', "version IN ('0.13.0')"),
        ('model != "a \\" b"', "model <> 'a \" b'"),
    ],
)
def test_old_filters_keep_their_meaning(old: str, sql: str, library: Library) -> None:
    assert matching(library, old) == matching(library, sql) != set()


def test_versions_are_compared_by_their_numbers(library: Library) -> None:
    assert matching(library, "version < '0.14'") == matching(library, "version = '0.13.0'") != set()
    assert matching(library, "'0.9' < version") == matching(library, "version IS NOT NULL")
    assert matching(library, "version BETWEEN '0.9' AND '0.13.0'") == matching(library, "version < '0.14'")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("knd = 1", "no column knd; did you mean kind?"),
        ("capture = 1", "no column capture"),
        ("kind = dropped", "no column dropped; texts need quotes"),
        ("kind IN ('droped')", "kind is never 'droped'; did you mean dropped?"),
        ("kind = 'no API field'", "did you mean unserved?"),
        ("endpoint = '/v1/chat/completions'", "did you mean chat?"),
        ("startswith(name, 'x')", "no function startswith; did you mean starts_with?"),
        ("tokens > 'x'", "Could not convert string 'x'"),
        ("tokens LIKE 'x'", "No function matches"),
        ("tokens > 9223372036854775807 + 1", "Overflow"),
        ("started_at > 'noon'", "invalid timestamp"),
        ("finding(finding(kind = 'dropped'))", "without another finding"),
        ("mentions(name)", "mentions takes one text"),
        ("mentions('tool', 'call')", "mentions takes one text"),
        ("x" * 5000, "longer than 2,000 characters"),
    ],
)
def test_an_error_names_what_is_wrong_and_what_was_meant(text: str, sentence: str, library: Library) -> None:
    with pytest.raises(FilterError) as rejected:
        library.counts(text)
    assert str(rejected.value).startswith("the filter does not work: ")
    assert sentence in str(rejected.value)


REJECTED = (
    "(SELECT count(*) FROM read_csv('/etc/passwd')) > 1",
    "EXISTS (SELECT 1 FROM read_text('/etc/passwd'))",
    "EXISTS (FROM 'captures.parquet')",
    "tokens IN (WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r)",
    "(SELECT count(*) FROM range(1000000000000)) > 1",
    "tokens = ANY ([1])",
    "getenv('HOME') = 'x'",
    "current_setting('allowed_directories') = 'x'",
    "repeat('a', 10000000000) = 'x'",
    "lower(repeat('a', 3000000000)) = 'x'",
    "len(range(10000000000)) > 1",
    "CASE WHEN tokens > 5 THEN NULL::INT[100000] END IS NULL",
    "(SELECT count(*) FROM duckdb_secrets()) > 1",
    "write_log('x') IS NULL",
    "name || name = 'x'",
    "name ~ '(a*)*b'",
    "name LIKE '%e_%e_%e_%e_%e_%z'",
    "name LIKE path",
    "name LIKE 'a' ESCAPE 'b'",
    "tokens::INT[100000] IS NULL",
    "CASE WHEN true THEN true END",
    "tokens = ?",
    "tokens = $1",
    "name = 'a' COLLATE nocase",
    "count(*) > 1",
    "row_number() OVER () = 1",
    "random() < 0.5",
    "COLUMNS(*) > 5",
    "[x FOR x IN [1]] = [1]",
)

WORDS = (
    "tokens > 1; DROP TABLE captures",
    "tokens > 1; SELECT 1",
    "1 = 1) OR (1 = 1",
    "1 = 1)) OR ((1 = 1",
    "true) UNION SELECT id FROM captures WHERE (true",
    "1 = 1 */ OR /* true",
    "SELECT id FROM captures",
    "FROM captures",
    "COPY captures TO '/tmp/x.csv'",
    "ATTACH '/tmp/x.db' AS x",
    "PRAGMA version",
    "SET enable_external_access = true",
    "1 = 1 UNION SELECT 1",
    "tokens > 1 FROM captures",
    "tokens > 1 LIMIT 1",
    "DISTINCT tokens > 1",
    "tokens > 1 AS x",
    "1 = 1 /* x",
    "' OR 1=1 --",
    "'); COPY captures TO '/tmp/x.csv'; --",
    "(" * 300,
    "tokens >",
    "it's",
    "tool-call-leak",
    "tokens",
    "500",
    "0.14.1",
    "reasoning and tool",
    "\\",
    "\x00",
    "\ud800",
)


@pytest.mark.parametrize("text", REJECTED)
def test_a_hostile_expression_is_rejected(text: str, library: Library) -> None:
    with pytest.raises(FilterError):
        library.counts(text)


@pytest.mark.parametrize("text", WORDS)
def test_what_is_no_single_expression_is_searched_as_words(text: str, library: Library) -> None:
    assert not library.is_expression(text)
    assert summarise(library, text).sentence.endswith("The filter is searched as words.")


def test_a_comment_or_a_last_semicolon_changes_nothing(library: Library) -> None:
    for text in ("tokens > 5 -- )", "tokens > 5;", "(tokens > 5) /* x */"):
        assert matching(library, text) == matching(library, "tokens > 5")


def test_what_is_nested_deeply_is_answered_or_rejected(library: Library) -> None:
    for text in ("NOT " * 400 + "tokens > 5", "(" * 300 + "1=1" + ")" * 300, "1" + "+1" * 900 + " > 5"):
        try:
            library.counts(text)
        except FilterError:
            continue


@pytest.mark.slow
def test_a_query_has_a_limit_of_time_and_of_memory(library: Library) -> None:
    with pytest.raises(FilterError, match="no answer in"):
        library._rows("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", seconds=0.2)
    with pytest.raises(FilterError, match="1GB of memory"):
        library._rows("SELECT list(range) FROM range(1000000000)")
    assert library.counts().captures == len(CAPTURES) - 1  # one is compressed


@pytest.mark.parametrize(
    "text", ["tokens % 0 = 1", "abs(DISTINCT tokens) > 1", "tokens % (events - events) = 1"]
)
def test_what_the_database_rejects_while_it_runs_is_a_fault_of_the_filter(
    text: str, library: Library
) -> None:
    with pytest.raises(FilterError) as rejected:
        library.counts(text)
    assert "scan again" not in str(rejected.value)
    assert "\n" not in str(rejected.value)
    assert library.counts().captures


def test_the_questions_of_a_page_share_one_budget_of_time(library: Library) -> None:
    slow = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
    with library.within(0.3):
        assert library.counts().captures
        with pytest.raises(FilterError, match="no answer in"), library.within(60):
            library._rows(slow)
        with pytest.raises(FilterError, match="no answer in"):
            library.counts()
    assert library.counts().captures


def test_words_are_searched_in_captures_and_findings(library: Library) -> None:
    assert matching(library, "TOOL  leak call") == matching(library, "mentions('tool call leak')") != set()
    assert matching(library, "dropped") >= matching(library, "kind = 'dropped'") != set()
    assert matching(library, "vllm nowhere-at-all") == set()


@pytest.mark.parametrize(
    ("words", "narrower"),
    [
        (" ", "kind = 'misrouted'"),
        ("kind = 'dropped'", "kind = 'dropped' AND finding(kind = 'misrouted')"),
        ("tokens > 5 OR tokens < 2", "(tokens > 5 OR tokens < 2) AND finding(kind = 'misrouted')"),
        ("tokens > 5;", "tokens > 5 AND finding(kind = 'misrouted')"),
        ("vllm", "mentions('vllm') AND finding(kind = 'misrouted')"),
    ],
)
def test_a_group_narrows_any_filter(words: str, narrower: str, library: Library) -> None:
    assert library.narrowed(words, "kind", "misrouted") == narrower
    assert library.narrowed(narrower, "kind", "misrouted") == narrower
    assert (
        matching(library, narrower)
        == matching(library, words) & matching(library, "kind = 'misrouted'")
        != set()
    )


def test_groups_without_a_value_narrow_too(library: Library) -> None:
    assert library.narrowed("", "version", None) == "version IS NULL"
    for by in ("version", "cause", "channel", "finding_cause"):
        for group in library.groups(by):
            counts = library.counts(library.narrowed("", by, group.value))
            assert counts == group.counts, (by, group.value)


FRAGMENTS = (
    "kind = 'dropped' AND OR NOT ( ) tokens > 5 IN , NULL finding( mentions( ' \" version \\ - 1e9 == ; -- "
    "/* SELECT FROM captures LIKE '%' BETWEEN lower( IS CASE [ ] { } $1 ? * :: ||"
)


any_text = st.text(max_size=60) | st.lists(st.sampled_from(FRAGMENTS.split())).map(" ".join)


@given(text=any_text)
def test_any_text_has_an_answer_or_a_filter_error(text: str, library: Library) -> None:
    try:
        counts = library.counts(text)
    except FilterError:
        return
    whole = library.counts()
    assert counts.captures + counts.unread <= whole.captures + whole.unread


@given(text=any_text.filter(str.strip))
def test_any_text_stays_in_its_parentheses(text: str, library: Library) -> None:
    try:
        sql = condition(text, library._rows)
    except FilterError:
        return
    query = ["SELECT 1 FROM captures c WHERE ", sql, " AND after"]
    [[tree]] = library._rows("SELECT json_serialize_sql(?)", ["".join(query)])
    [statement] = json.loads(tree)["statements"]
    parts = statement["node"].pop("where_clause")["children"]
    assert [part["class"] for part in parts] == ["SUBQUERY", "COLUMN_REF"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('{folder}/../x')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT getenv('HOME')",
        "SELECT * FROM in_python",
        "COPY captures TO '/tmp/x.csv'",
        "ATTACH '/tmp/x.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
    ],
)
def test_the_connection_reaches_nothing_but_its_folder(statement: str, library: Library) -> None:
    in_python = rows_in(library.folder)
    assert in_python
    with pytest.raises(FilterError):
        library._rows(statement.format(folder=library.folder))
