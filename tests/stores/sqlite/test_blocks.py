"""The indexes of a file in blocks: whatever is asked, it is as if there were one."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.testing.rows import each_row

from foldaway.search import Sort, Wanted, parse_query
from foldaway.stores.open import open_store
from foldaway.stores.sqlite.database import open_sqlite
from foldaway.stores.sqlite.matching import SqliteIndex
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

WORDS = (
    "zebra", "compile", "compiler", "src/foo_bar.py", "#10896", "连接错误", "的", "straße", "error",
)  # fmt: skip
QUERIES = (
    "zebra", "error compile", '"compile error"', "comp*", "foo_bar", "#108", "连接", "的", "e",
    "zebra -error", "zebra OR 的", "in:s3 zebra", "nothing",
)  # fmt: skip
SORTS: tuple[Sort, ...] = ("relevance", "newest", "oldest")
MORE = 200
"""Messages after which the index of words has followed, whatever they are."""


def ask(path: Path, sql: str) -> list[tuple[int, ...]]:
    with closing(apsw.Connection(str(path))) as file:
        return list(file.execute(sql))


def misplaced(path: Path) -> list[tuple[str, int]]:
    """Return what an index lacks, what is in the wrong block, and what is no longer there."""
    (words,), (trigrams,) = ask(
        path, "SELECT value FROM meta WHERE name LIKE '%r%s' ORDER BY name DESC"
    )
    starts = ask(path, "SELECT number, start FROM blocks ORDER BY number")
    wrong: list[tuple[str, int]] = []
    for index, last in (("words", words), ("trigrams", trigrams)):
        wanted = {row[0] for row in ask(path, f"SELECT id FROM messages WHERE id <= {last}")}
        ends = [*(start for _, start in starts[1:]), last + 1]
        for (number, start), end in zip(starts, ends, strict=True):
            name = f"{index}_{number}"
            there = {row[0] for row in ask(path, f"SELECT id FROM {name}_docsize")}
            wrong += [(name, one) for one in there ^ {one for one in wanted if start <= one < end}]
    return wrong


def open_small(path: Path, size: int) -> Store:
    """Return a store whose blocks have so many ids."""
    store = open_store(path)
    ask(path, f"UPDATE meta SET value = {size} WHERE name = 'block'")
    return store


def said(text: str) -> NewMessage:
    return NewMessage(body=text.encode(), role="user", text=text, time=1.0)


def fill(store: Store, name: str, texts: list[str]) -> None:
    store.create(NewSession(dialect="x", id=name), messages=[said(text) for text in texts])


def found(store: Store, query: str, sort: Sort, most: int) -> list[tuple[str, int, float]]:
    wanted = Wanted(query=parse_query(query), sort=sort, lineages=most == 5)
    return [(one.session_id, one.position, one.score) for one in store.match(wanted, most=most)]


@pytest.mark.parametrize("seed", range(3))
def test_blocks_are_searched_as_one_index(tmp_path: Path, seed: int) -> None:
    """Also after deletions, with ids that are given out again, if the index of substrings lags, and
    if the first block was large, as that of an older version is.
    """
    with (
        open_small(tmp_path / "many.db", 1_000 if seed == 2 else 70) as many,
        open_store(tmp_path / "one.db") as one,
    ):
        for store in (many, one):
            chance = random.Random(seed)
            for number in range(9):
                texts = [" ".join(chance.sample(WORDS, 3)) for _ in range(chance.randrange(90))]
                fill(store, f"s{number}", texts)
                if number == 4:
                    store.complete_index(130)
                    if store is many:
                        ask(tmp_path / "many.db", "UPDATE meta SET value = 40 WHERE name = 'block'")
                if number in (5, 8):
                    store.erase(["s1", "s5"] if number == 5 else ["s8"])
                    fill(store, f"after{number}", ["zebra", "的", "compile error"] * 30)
            if seed:
                store.complete_index()
            assert store.health(deep=True).problems == ()
        assert misplaced(tmp_path / "many.db") == []
        assert len(ask(tmp_path / "many.db", "SELECT number FROM blocks")) > 3
        assert len(ask(tmp_path / "one.db", "SELECT number FROM blocks")) == 1
        different = [
            (query, sort, most)
            for query in QUERIES
            for sort in SORTS
            for most in (1, 5, 1_000)
            if found(many, query, sort, most) != found(one, query, sort, most)
        ]
        assert different == []
        assert found(many, "zebra", "newest", 5) != []


def leaves(path: Path, number: int) -> list[tuple[int, ...]]:
    return ask(path, f"SELECT id FROM words_{number}_data ORDER BY id")


def test_a_deletion_merges_only_the_blocks_that_it_touched(tmp_path: Path) -> None:
    """Others stay as they are, in however many pieces."""
    path = tmp_path / "one.db"
    with open_small(path, 300) as store:
        for number in range(12):
            fill(store, f"s{number}", [f"zebra word{number}x{at}" for at in range(100)])
        before = {number: leaves(path, number) for number in (1, 2, 3)}
        store.erase(["s7"], vacuum=False)
        touched = [number for (number,) in ask(path, "SELECT number FROM blocks WHERE deleted")]
        store.leave_no_trace()
        after = {number: leaves(path, number) for number in before}
        assert 0 < len(set(touched) - {0}) < len(before)
        assert [number for number in before if before[number] != after[number]] == [
            number for number in before if number in touched
        ]
        assert ask(path, "SELECT number FROM blocks WHERE deleted") == []


@each_row("again", [False, True])
def test_no_byte_is_left_in_any_block(
    tmp_path_factory: pytest.TempPathFactory, again: bool
) -> None:
    """Also if the process went before it merged, and the next deletion is of another block."""
    path = tmp_path_factory.mktemp("store") / "one.db"
    word = "xylophonequux"
    with open_small(path, 80) as store:
        fill(store, "first", ["something else"] * MORE)
        fill(store, "going", [f"{word}{at}" for at in range(MORE)])
        fill(store, "last", ["more"] * MORE)
        store.complete_index()
        store.erase(["going"], vacuum=not again)
    if again:
        with open_store(path) as store:
            store.erase(["last"])
    for one in path.parent.iterdir():
        held = one.read_bytes()
        assert [at for at in range(len(word) - 5) if word[at : at + 6].encode() in held] == []


def test_of_a_common_word_the_newest_or_oldest_are_taken(tmp_path: Path) -> None:
    """Whatever block they are in."""
    path = tmp_path / "one.db"
    with open_small(path, 50) as store:
        for number in range(3):
            fill(store, f"s{number}", ["zebra"] * 100)
    wanted = Wanted(query=parse_query("zebra"))
    ((tenant,),) = ask(path, "SELECT DISTINCT tenant FROM messages")
    with closing(open_sqlite(str(path))) as database:
        newest, oldest = (
            database.read(
                lambda tx, oldest=oldest: (
                    SqliteIndex(tx, str(tenant), wanted)
                    .having(wanted.query.terms, 70, oldest=oldest)
                    .ids
                )
            )
            for oldest in (False, True)
        )
    assert (newest, oldest) == (list(range(300, 230, -1)), list(range(1, 71)))


def test_a_check_after_a_deletion_finds_nothing_wrong(tmp_path: Path) -> None:
    """Although the process looked into the index before it was merged."""
    with open_store(tmp_path / "one.db") as store:
        fill(store, "going", ["zebra"] * MORE)
        store.complete_index()
        assert store.health(deep=True).problems == ()
        store.erase(["going"], vacuum=False)
        assert store.health(deep=True).problems == ()
        fill(store, "after", ["zebra"] * MORE)
        assert store.health().problems == ()
