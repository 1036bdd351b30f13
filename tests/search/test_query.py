"""Any text is a query."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.search.query import MOST_TERMS, parse_query
from foldaway.search.values import Filters

syntax = st.sampled_from((
    '"', "''", "*", "-", "(", ")", "NEAR(", " OR ", " AND ", " NOT ", ":", "^", "+", "{", "}",
    "text:", "role:", "role:tool ", "since:", "until:2026-13-40", "session:", 'source:"', "\x00",
    "\ud800", "文", "ab", "foo_bar.py", "#1", " ", "\n", "'s", "é", "\u0301", "👩‍👩‍👧", "\x1b[31m",
))  # fmt: skip
queries = st.lists(syntax | st.text(st.characters(), max_size=12), max_size=40).map("".join)


@given(queries)
def test_every_text_is_a_query(text: str) -> None:
    """Nothing raises, there are at most 32 terms, and none is empty or has NUL or surrogates."""
    query = parse_query(text)
    assert len(query.terms) + len(query.without) <= MOST_TERMS
    for term in (*query.terms, *query.without):
        assert term.text
        assert "\x00" not in term.text
        term.text.encode()
    assert parse_query(text) == query


@each_row(
    ("text", "kind", "expected"),
    [
        ("timeout", "word", "timeout"),
        ("Größe", "word", "Größe"),
        ("10896", "word", "10896"),
        ("(timeout),", "word", "timeout"),
        ("Caroline's", "word", "Caroline"),
        ("follow-up", "phrase", "follow-up"),
        ("don't", "phrase", "don't"),
        ('"connection  refused"', "phrase", "connection  refused"),
        ("“connection refused”", "phrase", "connection refused"),
        ('"unclosed words', "phrase", "unclosed words"),
        ('"->"', "substring", "->"),
        ("conf*", "prefix", "conf"),
        ("src/ma*", "prefix", "src/ma"),
        ("foo_bar.py", "substring", "foo_bar.py"),
        ("foo_bar.py.", "substring", "foo_bar.py"),
        ("#10896", "substring", "#10896"),
        ("E0308", "substring", "E0308"),
        ("src/a/b.rs:12", "substring", "src/a/b.rs:12"),
        (".gitignore", "substring", ".gitignore"),
        ("--force", "substring", "--force"),
        ("配置", "substring", "配置"),
        ("配置。", "substring", "配置"),
        ("서버를", "substring", "서버를"),
        ("src/文件.py", "substring", "src/文件.py"),
    ],
)
def test_a_term_is_read_as_it_is_meant(text: str, kind: str, expected: str) -> None:
    """Letters are a word; punctuation or digits within make a substring, quotes a phrase."""
    [term] = parse_query(text).terms
    assert (term.kind, term.text) == (kind, expected)


def test_scripts_without_blanks_are_parted_from_words() -> None:
    """`Python语言` is a word and a run of characters."""
    assert [term.text for term in parse_query("Python语言。").terms] == ["Python", "语言"]


def test_what_is_not_wanted_has_a_dash() -> None:
    """A dash before a word or a quote; alone or doubled it is text."""
    query = parse_query('cache -redis -"in memory" -foo.py --force a - b')
    assert [term.text for term in query.without] == ["redis", "in memory", "foo.py"]
    assert "--force" in [term.text for term in query.terms]


def test_filters_can_be_typed() -> None:
    """Filters leave the text; a date alone means the whole day, in UTC."""
    query = parse_query(
        'error role:tool source:"claude code" tool:Bash session:2026 since:2026-01-02'
        " until:2026-01-03"
    )
    assert [term.text for term in query.terms] == ["error"]
    assert query.filters == Filters(
        roles=("tool",), sources=("claude code",), tools=("Bash",), sessions=("2026",),
        since=datetime(2026, 1, 2, tzinfo=UTC).timestamp(),
        until=datetime(2026, 1, 4, tzinfo=UTC).timestamp(),
    )  # fmt: skip


@each_row("text", ["since:yesterday", "role:nobody", "until:2026-02-31", "xrole:tool"])
def test_what_cannot_be_a_filter_is_text(text: str) -> None:
    """A filter that means nothing is looked for as it stands."""
    query = parse_query(text)
    assert query.filters == Filters()
    assert [term.text for term in query.terms] == [text]


@each_row(
    ("text", "small"),
    [
        ("When did Caroline go to the support group?", {"When", "did", "go", "to", "the"}),
        ("Wo ist die Datei mit dem Passwort?", {"Wo", "ist", "die", "mit", "dem"}),
        ("¿Dónde está el archivo?", {"Dónde", "está", "el"}),
        ("die hard", set()),
        ("foo - bar", {"-"}),
    ],
)
def test_small_words_are_told_by_the_language_of_the_query(text: str, small: set[str]) -> None:
    """The language with most small words among the terms decides."""
    assert {term.text for term in parse_query(text).terms if term.small} == small


@each_row("piece", ['"', "- ", "a:", '-"', "role:", "a'", "(", "a", "*", "a.", "中"])
def test_reading_is_linear(piece: str) -> None:
    """A query of 50 MB costs what its first characters cost."""
    start = time.process_time()
    parse_query(piece * (50_000_000 // len(piece)))
    assert time.process_time() - start < 1
