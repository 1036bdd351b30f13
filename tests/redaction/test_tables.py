"""Columns of secrets below their heading."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.redaction.structures import match_table
from foldaway.redaction.text import MatchResult

KEYED = Redactor(RedactionPolicy(key="test"))
SECRETS = ("s3cr3tpw27", "Reach!task99", "mF9B5f41JqM8Zq2T")

words = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=6)


@given(
    st.sampled_from([",", ";", "\t", " | "]),
    st.lists(words, min_size=1, max_size=4),
    st.integers(0, 4),
    st.lists(st.sampled_from(SECRETS), min_size=1, max_size=6),
)
def test_a_column_of_passwords_is_hidden_and_the_others_stay(
    sign: str, names: list[str], column: int, secrets: list[str]
) -> None:
    """Every cell of the column goes, no other does, and a second time changes nothing."""
    column = min(column, len(names))
    cells = ["x" + name for name in names]
    rows = [[*cells[:column], secret, *cells[column:]] for secret in secrets]
    heading = [*cells[:column], "password", *cells[column:]]
    text = "\n".join(sign.join(row) for row in [heading, *rows]) + "\n"
    done = KEYED(text)
    assert not any(secret in done for secret in SECRETS)
    assert done.count("[redacted:password:") == len(secrets)
    assert done.count(cells[0]) == text.count(cells[0])
    assert KEYED(done) == done


@each_row("line_end", ["\r\n", "\x1e", "\x85", "\u2028", "\u2029"])
@each_row("row_end", ["\n", ""])
@each_row("quote", ["", '"'])
def test_a_heading_may_end_in_any_line_separator(line_end: str, row_end: str, quote: str) -> None:
    """NEL, LS and PS end a heading as a line break does, whatever ends its rows."""
    heading, row = (quote + f"{quote},{quote}".join(cells) + quote for cells in (
        ("user", "password"), ("bob", "s3cr3tpw27"),
    ))  # fmt: skip
    done = KEYED(heading + line_end + row + (row_end or line_end))
    assert "s3cr3tpw27" not in done
    assert done.startswith(heading + line_end + quote + "bob")


@each_row(
    "text",
    [
        "| user | password |\n|------|----------|\n| admin | s3cr3tpw27 |\n",
        "+----+-----------+\n| id | api_token |\n+----+-----------+\n|  1 | s3cr3tpw27 |\n",
        ' id | password\n----+----------\n  1 | s3cr3tpw27\n(1 row)\n',
        'name,"password"\r\n"Roe, Jane","s3cr3tpw27"\r\n',
        "\x0c| user | password |\n|---|---|\n| bob | s3cr3tpw27 |\n",
        "Access key ID,Secret access key\nAKIA" + "3XQ7JH5LM2N4PR6T,s3cr3tpw27\n",
    ],
)  # fmt: skip
def test_tables_of_many_tools_are_read(text: str) -> None:
    """Markdown, the clients of databases, quoted CSV, what a console exports."""
    done = KEYED(text)
    assert "s3cr3tpw27" not in done
    assert KEYED(done) == done


@each_row(
    "text",
    [
        "| password | string | The user's password |\n| token | str2 | required |\n",
        "user,password,\nhost2name,port3number,\n\nother,s3cr3tpw27,x\n",
        "f(user, password, 12)\ng(name, s3cr3tpw27, 13)\n",
        "import token,tokenize\nx.y2z3,q4w5e6\n",
        "name,password_hint\nbob,s3cr3tpw27\n",
        "a,password\nbob,changeme,s3cr3tpw27\n",
        "a,password\n",
    ],
)
def test_what_is_no_table_of_secrets_stays(text: str) -> None:
    """Code, tables about passwords, rows of another length and what stands after a blank line."""
    assert KEYED(text) == text


def test_a_table_is_read_as_far_as_a_stream_looks_back() -> None:
    """A stream and a whole text hide the same rows."""
    text = b"user,password\n" + b"bob,s3cr3tpw27\n" * 3000
    stream = KEYED.stream()
    pieces = [text[at : at + 1000] for at in range(0, len(text), 1000)]
    streamed = b"".join([*map(stream.feed, pieces), stream.finish()])
    assert streamed.decode() == KEYED(text.decode())
    assert streamed.count(b"redacted") > 500


def test_a_heading_without_an_end_costs_no_more_in_a_longer_text(
    assert_proportion: Callable[..., None],
) -> None:
    """What is read of a line is bounded, so a text of one long line takes no longer per try."""

    def tried(size: int) -> None:
        data = b"a;password," + b"x" * size
        for _ in range(1_000):
            assert match_table(data, 2, 10, 0) == MatchResult([], 0)

    short, long = partial(tried, 10_000), partial(tried, 10_000_000)
    assert_proportion(short, long, times=20, plus=0.05)
