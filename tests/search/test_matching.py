"""What a search finds in a real SQLite file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from foldaway.search.query import parse_query
from foldaway.search.text import clean
from foldaway.search.values import Filters, Match, Sort, Wanted
from foldaway.stores.bodies import pack
from foldaway.stores.database import MessageRow, Statements, Value
from foldaway.stores.sqlite.database import SqliteDatabase, open_sqlite

ANY = Filters()


class Said(Struct, frozen=True, kw_only=True):
    """A message of a small store; those of one session stand in their order."""

    text: str
    session: str = "one"
    role: str = "user"
    tools: str = ""
    time: float = 0.0
    generated: bool = False
    kind: str = "main"
    source: str = "here"
    root: str = ""


class Store(Struct, frozen=True):
    """Messages that can be searched."""

    database: SqliteDatabase
    said: Sequence[Said]

    def find(
        self,
        text: str,
        *,
        most: int = 1_000,
        filters: Filters = ANY,
        kinds: tuple[str, ...] = ("main",),
        without_roots: tuple[str, ...] = (),
        generated: bool = False,
        sort: Sort = "relevance",
    ) -> list[Match]:
        """Return what a query finds."""
        wanted = Wanted(
            query=parse_query(text), filters=filters, kinds=kinds, without_roots=without_roots,
            generated=generated, sort=sort,
        )  # fmt: skip
        return self.database.match(wanted, most)

    def texts(self, text: str) -> list[str]:
        """Return the texts that a query finds."""
        return [match.text for match in self.find(text)]


Fill: TypeAlias = Callable[[Sequence[Said] | Sequence[str]], Store]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Fill]:
    """Return a function that makes a store of messages, both indexes complete.

    What it was given before is gone then: one file serves all examples of a law.
    """
    database = open_sqlite(str(tmp_path / "store.db"))

    def fill(messages: Sequence[Said] | Sequence[str]) -> Store:
        store = write(database, messages)
        database.complete_index(None)
        return store

    yield fill
    database.close()


def write(database: SqliteDatabase, messages: Sequence[Said] | Sequence[str]) -> Store:
    """Replace all messages; the substring index lacks them."""
    said = [Said(text=text) if isinstance(text, str) else text for text in messages]

    def replace(tx: Statements) -> None:
        for [key] in tx.rows("SELECT key FROM sessions"):
            database.remove_messages(tx, key)
        tx.run("DELETE FROM sessions")
        _write(database, tx, said)

    database.write(replace)
    return Store(database, said)


def _write(database: SqliteDatabase, statements: Statements, said: Sequence[Said]) -> None:
    keys: dict[str, int] = {}
    lengths: dict[str, int] = {}
    for message in said:
        if message.session not in keys:
            keys[message.session] = len(keys) + 1
            _session(statements, keys[message.session], database.tenant, message)
        [body] = database.put_bodies(statements, [pack(message.text.encode(), message.text)])
        position = lengths.get(message.session, 0)
        lengths[message.session] = position + 1
        row = MessageRow(
            body=body, role=message.role, tools=message.tools, time=message.time, key="",
            tokens=0, generated=int(message.generated), text=message.text,
        )  # fmt: skip
        database.put_messages(statements, keys[message.session], position, [row])


def _session(statements: Statements, key: int, tenant: str, message: Said) -> None:
    blank: dict[str, Value] = {"INTEGER": 0, "REAL": 0.0, "TEXT": "", "BLOB": b""}
    row = {column[1]: blank[column[2]] for column in statements.rows("PRAGMA table_info(sessions)")}
    row.update(
        key=key, tenant=tenant, id=message.session, root=message.root or message.session,
        kind=message.kind, source=message.source,
    )  # fmt: skip
    statements.run(
        f"INSERT INTO sessions ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
        list(row.values()),
    )


again = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
pieces = st.sampled_from((
    "error", "errors", "Connection", "refused", "foo_bar.py", "src/a/b.rs:12", "#10896", "E0308",
    "the", "配置文件", "中", "서버를", "Größe", "don't", "painted", "a", "\n", "--force", "x" * 40,
    "naïve", "ﬁ", "İstanbul", "ΣΑΣ", "ß", "👩‍👩‍👧", "it's", "C++", '"quoted"', "50%", "_", "\u0301",
))  # fmt: skip
texts = st.lists(pieces | st.text(st.characters(), max_size=8), min_size=1, max_size=12).map(
    lambda parts: clean(" ".join(parts))
)
stores = st.lists(texts, min_size=1, max_size=6, unique=True)


@again
@given(stores, st.data())
def test_every_substring_in_quotes_finds_its_message(
    filled: Fill, said: list[str], data: st.DataObject
) -> None:
    """Three characters or more, from anywhere in the text, whatever they are."""
    store = filled(said)
    text = data.draw(st.sampled_from(said))
    start = data.draw(st.integers(0, max(len(text) - 3, 0)))
    piece = text[start : start + data.draw(st.integers(3, 40))]
    if len(piece) < 3 or not piece.strip() or '"' in piece:
        return
    assert text in store.texts(f'"{piece}"')


@again
@given(stores)
@example(["0\ua7f5"])
@example(["0\u00b5"])
@example(["0\u017f"])
def test_every_word_finds_its_message(filled: Fill, said: list[str]) -> None:
    """Each that stands between blanks, be it a word, a name or a number of any script."""
    store = filled(said)
    for text in said:
        for word in [word for word in text.split() if word.isalnum()][:12]:
            assert text in store.texts(word), word


@again
@given(stores)
def test_every_character_without_blanks_finds_its_message(filled: Fill, said: list[str]) -> None:
    """One or two characters of Chinese, Japanese or Korean are enough, also at the very end."""
    store = filled([*said, "结束", "文"])
    for text, wanted in (("结束", "束"), ("结束", "结束"), ("文", "文")):
        assert text in store.texts(wanted)
    for text in said:
        for run in ("配置", "置文", "中", "서버", "를"):
            if run in text:
                assert text in store.texts(run)


def test_no_query_is_an_error(filled: Fill) -> None:
    """Three thousand strings of FTS5's syntax and of anything else: none raises."""
    store = filled(["an error in foo_bar.py", "连接 refused", "NEAR AND OR NOT"])
    fragments = [
        '"', "'", "*", "-", "(", ")", "NEAR(", " OR ", " AND ", " NOT ", ":", "^", "+", "{", "}",
        "text:", "words:", "role:tool ", "since:2026-01-01 ", "\x00", "\ud800", "文", "error", " ",
        "foo_bar.py", ",", "%", "_", "\\", ";--", "rowid", "\u0301", "NULL", "x" * 300, "é", "\n",
    ]  # fmt: skip
    dice = random.Random(7)
    for _ in range(3_000):
        text = "".join(dice.choices(fragments, k=dice.randint(1, 12)))
        assert len(store.find(text, most=5)) <= 5


@again
@given(stores, st.lists(pieces, min_size=1, max_size=4).map(" ".join), st.integers(0, 63))
def test_filters_only_remove(filled: Fill, said: list[str], query: str, filters: int) -> None:
    """What a narrower search finds, the wider one finds too, and it passes the filter."""
    rows = [
        Said(
            text=text, session=("one", "two")[number % 2], role=("user", "tool")[number // 2 % 2],
            time=float(number), source=("here", "there")[number % 2],
            tools='["Bash"]' if number % 3 else "",
        )
        for number, text in enumerate(said)
    ]  # fmt: skip
    store = filled(rows)
    narrow = Filters(
        roles=("tool",) if filters & 1 else (), sessions=("on",) if filters & 2 else (),
        since=2.0 if filters & 4 else None, until=4.0 if filters & 8 else None,
        sources=("HERE",) if filters & 16 else (), tools=("bash",) if filters & 32 else (),
    )  # fmt: skip
    wide = {(match.session_id, match.position) for match in store.find(query)}
    for match in store.find(query, filters=narrow):
        assert (match.session_id, match.position) in wide
        assert not filters & 1 or match.role == "tool"
        assert not filters & 2 or match.session_id == "one"
        assert not filters & 4 or match.time >= 2
        assert not filters & 8 or match.time < 4


@again
@given(stores, st.lists(pieces, min_size=1, max_size=4).map(" ".join))
def test_the_same_search_gives_the_same(filled: Fill, said: list[str], query: str) -> None:
    """Order and scores included, with both indexes or before the second is there."""
    store = filled(said)
    assert store.find(query) == store.find(query)


@pytest.mark.parametrize(
    "query", ["refused", "connecting refused", '"was refused"', "ref*", "-was"]
)
def test_what_the_words_lack_is_found_like_the_rest(tmp_path: Path, query: str) -> None:
    """The index of words takes messages in batches; a search finds the same before and after."""
    database = open_sqlite(str(tmp_path / "late.db"))
    said = [f"connection {n} was refused" if n % 3 else f"{n} is well" for n in range(150)]
    store = write(database, said)

    def lacking() -> int:
        return database.read(
            lambda tx: len(
                tx.rows("SELECT id FROM messages EXCEPT SELECT rowid FROM words_0_docsize")
            )
        )

    assert 0 < lacking() < 64
    before = {(match.position, match.text) for match in store.find(query)}
    database.complete_index(None)
    assert lacking() == 0
    assert {(match.position, match.text) for match in store.find(query)} == before
    assert len(before) > 40
    database.close()


def test_what_the_words_lack_is_removed_like_the_rest(tmp_path: Path) -> None:
    """Ids are given out again after a removal, and no word of the removed message is found."""
    database = open_sqlite(str(tmp_path / "late.db"))
    write(database, ["a pear"] * 70)
    store = write(database, ["an apple"] * 70)
    for _ in range(2):
        assert store.texts("pear") == []
        assert len(store.texts("apple")) == 70
        database.complete_index(None)
    database.close()


def test_what_the_trigrams_lack_is_found(tmp_path: Path) -> None:
    """A read-only store cannot complete its index, and misses nothing."""
    with_index = open_sqlite(str(tmp_path / "late.db"))
    store = write(with_index, ["see foo_bar.py", "配置", "other"])
    assert with_index.read(with_index.unindexed) == 3
    reader = open_sqlite(with_index.where, read_only=True)
    for query, text in (("oo_bar.p", "see foo_bar.py"), ("配", "配置"), ('"her"', "other")):
        found = reader.match(Wanted(query=parse_query(query)), 5)
        assert [match.text for match in found] == [text]
    reader.close()
    assert store.texts("oo_bar.p") == ["see foo_bar.py"]
    assert with_index.read(with_index.unindexed) == 0
    with_index.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("connecting", {"connection refused", "refused the connections"}),
        ('"connection refused"', {"connection refused"}),
        ('"nection ref"', {"connection refused"}),
        ("conn*", {"connection refused", "refused the connections"}),
        ("foo_bar.py", {"edit src/foo_bar.py:12", "FOO_BAR.PYC"}),
        ("foo_bar.py -src/", {"FOO_BAR.PYC"}),
        ("refused -connections", set()),
        ('refused -"the connections"', {"connection refused"}),
        ("runni*", {"running late"}),
        ("la*", {"running late"}),
        ("late.", {"running late"}),
        ("late connection", {"running late", "connection refused", "refused the connections"}),
        ('"late" connection', {"running late"}),
        ('"ning la"', {"running late"}),
        ('"onnection ref" nect*', {"connection refused"}),
        ('"dit src" foo_bar.py', {"edit src/foo_bar.py:12"}),
        ("cafe", {"Café"}),
    ],
)
def test_a_query_finds_what_it_says(filled: Fill, query: str, expected: set[str]) -> None:
    """Stems, phrases, beginnings, substrings and what is not wanted."""
    store = filled([
        "connection refused", "edit src/foo_bar.py:12", "FOO_BAR.PYC", "running late",
        "refused the connections", "Café",
    ])  # fmt: skip
    assert set(store.texts(query)) == expected


def test_a_rare_word_beside_a_common_name_is_found(filled: Fill) -> None:
    """More messages have the name than are looked at; the one with the word too is the oldest."""
    rows = ["the zebra is in main_loop.py", *(f"main_loop.py line {n}" for n in range(2_100))]
    rows[1:1] = [f"zebra {n}" for n in range(150)]
    assert filled(rows).texts("zebra main_loop.py")[0] == "the zebra is in main_loop.py"


def test_all_terms_come_before_some(filled: Fill) -> None:
    """For keywords: a message that has both is ahead of those with more of one."""
    store = filled(["lease lease lease lease", "fence fence fence", "a lease with a fence", "none"])
    assert store.texts("lease fence")[0] == "a lease with a fence"


def test_a_question_finds_the_answer_beside_it(filled: Fill) -> None:
    """An answer that shares no word with the question is found through the one before it."""
    talk = [f"We talked about the weather on day {day}." for day in range(30)]
    talk[10:10] = ["Which port does the staging proxy listen on?", "8443, since last week."]
    found = filled(talk).find("What port does our staging proxy use?", most=2)
    assert [match.position for match in found] == [10, 11]


def test_a_sentence_without_blanks_is_found_by_its_pieces(filled: Fill) -> None:
    """Nobody parts the words of a Chinese question; two characters at a time do."""
    store = filled(["数据库在北京", "配置文件放在 etc 里", "天气很好"])
    assert store.texts("配置文件在哪里？")[0] == "配置文件放在 etc 里"


def test_sentences_do_not_hide_what_was_quoted(filled: Fill) -> None:
    """What stood in quotes is in every hit, neighbours or not."""
    store = filled(["the lease is lost", "nothing here", "what lease was it"])
    assert set(store.texts('what was the "lease"')) == {"the lease is lost", "what lease was it"}


def test_kinds_roots_and_generated_messages_are_left_out(filled: Fill) -> None:
    """Subagents, the lineage that is talking, and summaries of other agents only on request."""
    store = filled([
        Said(text="needle main", session="a"),
        Said(text="needle sub", session="b", kind="subagent"),
        Said(text="needle live", session="c", root="r"),
        Said(text="needle summary", session="a", generated=True),
    ])  # fmt: skip
    assert {match.text for match in store.find("needle")} == {"needle main", "needle live"}
    found = store.find("needle", kinds=(), generated=True, without_roots=("r",))
    assert {match.text for match in found} == {"needle main", "needle sub", "needle summary"}


def test_what_a_session_shares_belongs_to_it(filled: Fill) -> None:
    """A filter on a child finds the messages of its parent, up to where it left."""
    store = filled([
        Said(text=f"needle {number}", session="parent") for number in range(4)
    ] + [Said(text="needle own", session="child", root="parent")])  # fmt: skip
    store.database.write(
        lambda tx: tx.run("INSERT INTO segments VALUES (?, 2, 1, 0, 2)", (store.database.tenant,))
    )
    found = store.find("needle", filters=Filters(sessions=("child",)))
    assert {match.text for match in found} == {"needle 0", "needle 1", "needle own"}


def test_sorting_by_time(filled: Fill) -> None:
    """Newest and oldest go by the time of the message, not by when it was stored."""
    said = [Said(text=f"needle {time}", time=float(time)) for time in (5, 1, 9, 3)]
    store = filled(said)
    assert [match.time for match in store.find("needle", sort="newest")] == [9, 5, 3, 1]
    assert [match.time for match in store.find("needle", sort="oldest")] == [1, 3, 5, 9]


def test_of_equals_the_newer_comes_first(filled: Fill) -> None:
    """Recency decides between the same words, and does not turn over a clear difference."""
    month = 30 * 86_400.0
    store = filled([
        Said(text="the lease expired", session="a", time=0.0),
        Said(text="the lease expired", session="b", time=month * 6),
        Said(text="lease " + "and other words " * 30, session="c", time=month * 12),
    ])  # fmt: skip
    assert [match.session_id for match in store.find("lease expired")] == ["b", "a", "c"]


def test_filters_alone_list_the_newest(filled: Fill) -> None:
    """A query without words shows what passes its filters."""
    store = filled([Said(text="a", role="tool", time=1.0), Said(text="b", role="user", time=2.0),
                    Said(text="c", role="tool", time=3.0)])  # fmt: skip
    assert store.texts("role:tool") == ["c", "a"]
    assert store.texts("") == ["c", "b", "a"]
