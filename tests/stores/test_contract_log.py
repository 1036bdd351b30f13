"""Logs: what is appended comes back, once, in order, byte for byte."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldaway._core.report import Reference
from foldaway.errors import Conflict, UnknownSession
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, SessionFilter

PER_EXAMPLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def said(text: str, **fields: object) -> NewMessage:
    body = b'{"role":"user","content":"' + text.encode() + b'"}'
    return NewMessage(**{"body": body, "role": "user", "text": text, **fields})  # pyright: ignore


def new_session(store: Store, **fields: object) -> str:
    return store.create(NewSession(**{"dialect": "openai-chat", **fields})).id  # pyright: ignore


def bodies(store: Store, session_id: str) -> list[bytes]:
    return [message.body for message in store.read(session_id)]


def test_references_are_given_out_without_messages_too(store: Store) -> None:
    """So that what is there can be named elsewhere; the log stays as it is."""
    session_id = new_session(store)
    store.append(session_id, [said("a"), said("b")])
    whole = Reference("fa-0123456789", (0, 2), "other")
    for _ in range(2):
        assert store.append(session_id, (), references=(whole,)) == range(2, 2)
    assert [place.reference for place in store.places(whole.ref)] == [whole]
    assert store.session(session_id).length == 2


def test_what_is_appended_comes_back_whole_and_in_order(store: Store) -> None:
    """A message comes back with every field that it was given."""
    session_id = new_session(store)
    given_ = NewMessage(
        body=b'{"a": 1}',
        role="assistant",
        text="a",
        tools=("read_file", 'odd "name"'),
        time=12.5,
        key="k1",
        tokens=7,
        generated=True,
    )
    assert store.append(session_id, [given_, said("b")]) == range(2)
    first, second = store.read(session_id)
    assert (first.position, first.body, first.role) == (0, given_.body, "assistant")
    assert (first.tools, first.time, first.key) == (given_.tools, 12.5, "k1")
    assert (first.tokens, first.generated, first.owner_id) == (7, True, session_id)
    assert second.position == 1
    assert second.time > 1_600_000_000
    assert store.session(session_id).length == 2
    assert store.session(session_id).tokens == 7


@pytest.mark.parametrize(("start", "stop"), [(0, None), (2, 5), (3, 4), (6, None), (4, 4)])
def test_an_outline_is_what_a_read_gives_without_bodies(
    store: Store, start: int, stop: int | None
) -> None:
    """Position, role, tools, time, tokens, mark and owner, also of what a branch shares; sums of
    tokens are those of the same messages.
    """
    parent = new_session(store)
    store.append(parent, [
        said(str(at), role=role, tools=tools, time=float(at), tokens=at, generated=at == 1)
        for at, (role, tools) in enumerate([
            ("user", ()), ("assistant", ()), ("assistant", ("bash", 'odd "name"')),
            ("tool", ("bash",)),
        ])
    ])  # fmt: skip
    branch = store.create(NewSession(dialect="openai-chat"), parent_id=parent, descent="branch",
                          at=3).id  # fmt: skip
    store.append(branch, [said("own", time=9.0), said("more", time=9.5, tools=("bash",))])
    assert [
        (row.position, row.role, row.tools, row.time, row.tokens, row.generated, row.owner_id)
        for row in store.outline(branch, start, stop)
    ] == [
        (row.position, row.role, row.tools, row.time, row.tokens, row.generated, row.owner_id)
        for row in store.read(branch, start, stop)
    ]
    assert {row.owner_id for row in store.outline(branch)} == {parent, branch}
    found, expected = Counter[tuple[str, bool, bool]](), Counter[tuple[str, bool, bool]]()
    for one in store.sums(branch, [(start, 5 if stop is None else stop)]):
        found[one.role, one.has_tools, one.generated] += one.tokens
    for row in store.outline(branch, start, stop):
        expected[row.role, bool(row.tools), row.generated] += row.tokens
    assert found == expected


@PER_EXAMPLE
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=3000),
            st.builds(
                lambda a, n, b: a + b"QUJD" * n + b,
                st.binary(max_size=5),
                st.integers(200, 800),
                st.binary(max_size=2000),
            ),
            st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
        ),
        max_size=6,
    ),
    st.text(max_size=50),
)
def test_any_bytes_come_back_byte_for_byte(store: Store, given_: list[bytes], text: str) -> None:
    """No body is changed by being stored: not torn UTF-8, not NUL, not long runs of base64."""
    session_id = new_session(store)
    store.append(session_id, [NewMessage(body=body, role="user", text=text) for body in given_])
    assert bodies(store, session_id) == given_


@pytest.mark.parametrize("text", ["\0", "\ud800", "a\udfffb\0c", "\x1b[31m", "é" * 1000])
def test_no_text_is_refused(store: Store, text: str) -> None:
    """Names and words may hold what a database cannot; they are escaped, not refused."""
    new = NewSession(dialect=text, title=text, goal=text, model=text, source=text, source_id=text)
    session_id = store.create(new).id
    message = NewMessage(body=b"x", role=text, text=text, key=f"k{text}", tools=(text,))
    assert store.append(session_id, [message]) == range(1)
    assert store.append(session_id, [message]) == range(1, 1)
    store.pin(session_id, 0, text)
    assert store.find(text).id == session_id
    assert store.acquire(session_id, text, 1.0)
    assert not store.sessions(SessionFilter(text="never" + text)).sessions


def test_a_key_is_appended_once(store: Store) -> None:
    """A second append of a key is passed over, within one call and later; what is new is kept."""
    session_id = new_session(store)
    first = [said("a", key="1"), said("b", key="2"), said("a again", key="1")]
    assert store.append(session_id, first) == range(2)
    assert store.append(session_id, first) == range(2, 2)
    assert store.append(session_id, [said("b", key="2"), said("c", key="3")]) == range(2, 3)
    assert store.append(session_id, [said("d"), said("d")]) == range(3, 5)
    assert store.keys(session_id) == {"1", "2", "3"}
    assert len(store.read(session_id)) == 5


def test_many_keys_at_once_are_known_again(store: Store) -> None:
    """More keys than one statement holds."""
    session_id = new_session(store)
    many = [said(str(number), key=f"k{number}") for number in range(1300)]
    assert store.append(session_id, many) == range(1300)
    assert store.append(session_id, [*many, said("last", key="last")]) == range(1300, 1301)


def test_an_append_that_expects_another_length_changes_nothing(store: Store) -> None:
    """`expect` is the length that the caller believes; all or none."""
    session_id = new_session(store)
    store.append(session_id, [said("a", key="1")], expect=0)
    with pytest.raises(Conflict):
        store.append(session_id, [said("b"), said("c")], expect=0)
    assert len(store.read(session_id)) == 1
    assert store.append(session_id, [said("a", key="1")], expect=0) == range(1, 1)


def test_a_range_of_a_log_is_read(store: Store) -> None:
    """`start` and `stop` are positions; beyond the end there is nothing."""
    session_id = new_session(store)
    store.append(session_id, [said(str(number)) for number in range(10)])
    assert [message.position for message in store.read(session_id, 3, 6)] == [3, 4, 5]
    assert [message.position for message in store.read(session_id, 8, 99)] == [8, 9]
    assert store.read(session_id, 10) == []
    assert store.read(session_id, 5, 5) == []


def test_the_first_words_of_the_user_are_kept_for_lists(store: Store) -> None:
    """Not what another agent's compaction wrote, at most 200 characters, on one line."""
    session_id = new_session(store)
    store.append(session_id, [said("system words", role="system")])
    store.append(
        session_id, [said("a summary", generated=True), said("please\n fix  " + "x" * 300)]
    )
    store.append(session_id, [said("later")])
    ask = store.session(session_id).first_ask
    assert ask.startswith("please fix xxx")
    assert len(ask) == 200


def test_a_session_is_as_new_as_its_newest_message(store: Store) -> None:
    """What is imported keeps its time; an older message does not make it older."""
    session_id = new_session(store, started=1000.0)
    assert store.session(session_id).updated == 1000.0
    store.append(session_id, [said("a", time=2000.0), said("b", time=1500.0)])
    assert store.session(session_id).updated == 2000.0


def test_nothing_is_known_of_a_session_that_is_not_there(store: Store) -> None:
    """Every method names it."""
    for call in (
        lambda: store.append("no", [said("a")]),
        lambda: store.read("no"),
        lambda: store.keys("no"),
        lambda: store.session("no"),
        lambda: store.find("no"),
        lambda: store.find(""),
        lambda: store.lineage("no"),
        lambda: store.newest_leaf("no"),
        lambda: store.change("no", title="x"),
        lambda: store.end("no", "x"),
        lambda: store.reopen("no"),
        lambda: store.view("no"),
        lambda: store.views("no"),
        lambda: store.undo("no"),
        lambda: store.state("no"),
        lambda: store.save_state("no", b""),
        lambda: store.pins("no"),
        lambda: store.pin("no", 0),
        lambda: store.usage("no"),
        lambda: store.outline("no"),
        lambda: store.acquire("no", "me", 1.0),
        lambda: store.erase(["no"]),
        lambda: store.places("r", session_id="no"),
        lambda: store.create(NewSession(dialect="x"), parent_id="no", descent="branch"),
    ):
        with pytest.raises(UnknownSession, match="no session"):
            call()


def test_an_image_that_comes_again_is_stored_once(store: Store) -> None:
    """A run of base64 costs its room once, whatever message it stands in."""
    session_id = new_session(store)
    image = b"".join(bytes(f"{number:09x}Zz+/", "ascii") for number in range(40_000))
    for number in range(5):
        before, after = f'{{"n":{number},"data":"'.encode(), b'"}'
        store.append(session_id, [NewMessage(body=before + image + after, role="user")])
        store.close()  # so that nothing is counted twice, in the file and in the log of writes
        if number == 0:
            once = store.health().stored_bytes
    assert store.health().stored_bytes < once + len(image) // 4
    assert bodies(store, session_id)[4] == b'{"n":4,"data":"' + image + b'"}'
