"""What is found on a server is what the texts hold, no more and no less."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from foldaway.search.query import parse_query
from foldaway.search.values import Filters, Query, Term, Wanted
from foldaway.search.words import has_term, stem, words_of
from foldaway.stores.open import open_store
from foldaway.stores.postgres.index import MORE, fold_case, lexemes, pairs
from foldaway.stores.postgres.matching import PostgresIndex
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

Said = Callable[[str], NewMessage]
PIECES = (
    "run", "running", "Runs", "happy", "happiness", "nationalizations", "national", "the", "foo",
    "foo_bar.py", "bar", "src/foldaway/x.py", "#10896", "E0425", "e0425x", "1099ed", "1099",
    "naïve", "NAIVE", "Straße", "日本語", "本", "テスト", "が", "数据库连接", "한국어", "it's", "%",
    "_", "\\", "a\u0301", "🙂", "'", "&|!():*", "x" * 600,
)  # fmt: skip
SEPARATORS = (" ", "", "_", ".", "\n", "-", "/")
texts = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(SEPARATORS)), min_size=1, max_size=6
).map(lambda pairs: "".join(piece + separator for piece, separator in pairs))


@pytest.fixture
def store(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    made = open_store(postgres_url, tenant=request.node.name)
    yield made
    made.close()


def has(text: str, term: Term) -> bool:
    """A word is had by its stem, whether its accents are seen as part of their letters or not."""
    if has_term(text, term):
        return True
    stems = [stem(word) for word in term.words]
    return term.kind == "word" and len(stems) == 1 and stems[0] in map(stem, words_of(text))


def found(store: Store, session_id: str, query: Query) -> list[int]:
    wanted = Wanted(query=query, filters=Filters(sessions=(session_id,)))
    tenant = store._database.tenant

    def work(tx) -> list[int]:
        index = PostgresIndex(tx, tenant, wanted)
        ids = index.having(query.terms, 1000, oldest=False).ids
        assert ids == sorted(ids, reverse=True)
        assert index.having(query.terms, 1000, oldest=True).ids == ids[::-1]
        return sorted(row.position for row in index.rows(ids))

    return store._database.read(work)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    logs=st.lists(texts, min_size=1, max_size=8),
    query=texts,
    cut=st.tuples(*[st.integers(0, 9)] * 2),
)
@example(logs=["see #10896", "see #108961", "a#10896"], query="#10896", cut=(0, 0))
@example(logs=["a\u0301"], query="\u0301", cut=(0, 0))
@example(logs=["がrun", "ca\u0301mara"], query="run", cut=(0, 0))
@example(logs=["がrun", "ca\u0301mara"], query="camara", cut=(0, 0))
@example(logs=["x" * 600], query="x" * 599, cut=(0, 0))
@example(logs=["1099ed", "1099"], query=".1099", cut=(0, 0))
def test_what_holds_every_term_is_found_and_nothing_else(
    store: Store, said: Said, logs: list[str], query: str, cut: tuple[int, int]
) -> None:
    """For any texts and any query: exactly the messages that hold all of its terms."""
    session = store.create(NewSession(dialect="x"))
    store.append(session.id, [said(text) for text in logs])
    read = parse_query(query[cut[0] : len(query) - cut[1]] or query)
    kept = [
        position
        for position, text in enumerate(logs)
        if all(has(text, term) for term in read.terms)
        and not any(has(text, term) for term in read.without)
    ]
    assert found(store, session.id, read) == kept


def test_a_query_in_any_script_or_syntax_is_only_a_query(store: Store, said: Said) -> None:
    """Operators of the server's own query language mean nothing in a query."""
    session = store.create(NewSession(dialect="x"))
    store.append(session.id, [said("plain words")])
    for text in ("a & b", "!x | (", "':*'", "\\", "%s ? %", "words:*", "plain <-> words", "''"):
        store.match(Wanted(query=parse_query(text)), most=5)
    assert found(store, session.id, parse_query("words")) == [0]


def test_a_message_with_more_words_than_an_index_holds_is_found_by_each(
    store: Store, said: Said
) -> None:
    """What does not fit is looked up in the text."""
    words = [f"{number:x}".rjust(80, "ж") for number in range(6_000)]
    assert MORE in lexemes("t", " ".join(words))
    session = store.create(NewSession(dialect="x"))
    store.append(session.id, [said(" ".join(words)), said(words[-1])])
    for word in (words[0], words[3_000]):
        assert found(store, session.id, parse_query(word)) == [0]
    assert found(store, session.id, parse_query(words[-1])) == [0, 1]
    assert found(store, session.id, parse_query(f"{words[-1]} -{words[0]}")) == [1]


def test_a_text_with_nul_and_half_a_pair_is_stored_and_found(store: Store) -> None:
    """PostgreSQL takes neither; the body keeps both, the index is clean."""
    body = b'"a\\u0000b \xed\xa0\x80"'
    session = store.create(NewSession(dialect="x", title="nul \0", goal="half \ud800"))
    message = NewMessage(body=body, role="user\0", text="alpha\0beta \ud800 gamma", key="k\0\ud800")
    store.append(session.id, [message])
    assert store.append(session.id, [message]) == range(1, 1)
    assert store.read(session.id)[0].body == body
    for word in ("alpha", "beta", "gamma"):
        assert found(store, session.id, parse_query(word)) == [0]
    strange = Term(kind="substring", text="a\ufffd", words=("a",))
    store.match(Wanted(query=Query(terms=(strange,)), filters=Filters(roles=("\0\ud800",))), most=1)


@given(st.text(), st.text(), st.text())
def test_a_piece_of_a_text_is_a_piece_of_its_folded_text(one: str, two: str, three: str) -> None:
    """So that a substring can be looked for in folded texts."""
    assert fold_case(one + two + three) == fold_case(one) + fold_case(two) + fold_case(three)


@given(st.text(alphabet="日本語テストa "))
def test_every_two_characters_side_by_side_are_indexed(text: str) -> None:
    """In scripts without blanks, where a person looks for what stands within a run."""
    seen = set(pairs(text))
    for at in range(len(text) - 1):
        if "a" not in text[at : at + 2] and " " not in text[at : at + 2]:
            assert text[at : at + 2] in seen
    for char in set(text) - set("a "):
        assert any(pair.startswith(char) for pair in seen)
