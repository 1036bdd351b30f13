"""Search as an oracle: no answer of a tool tells anything about a text that it does not show."""

from __future__ import annotations

import json
import re
import string
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.dialects.loading import dialect_named
from foldaway.sessions.finding import Show, recall_from
from foldaway.sessions.hiding import redactor_of
from foldaway.sessions.rows import new_message
from foldaway.sessions.tools import Library, answer
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession

PASSWORD = "wombatzephyr7"
LETTERS = string.ascii_lowercase + string.digits
TAG = re.compile(r"\[redacted:([a-z-]+):[0-9a-f]+\]")


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def called(**arguments: str) -> dict[str, Any]:
    function = {"name": "connect", "arguments": json.dumps(arguments)}
    call = {"id": "c1", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def keep(store: Store, name: str, *messages: dict[str, Any]) -> None:
    store.create(NewSession(dialect="openai-chat", id=name, started=1.0))
    decoded = dialect_named("openai-chat").decode(list(messages), 0)
    store.append(name, [new_message(one, 1, time=float(at)) for at, one in enumerate(decoded)])


def keep_secret(store: Store, secret: str) -> None:
    """Two sessions; the first holds the secret in a message, a command and a call."""
    keep(
        store, "one",
        said("user", "please connect to the database"),
        said("assistant", f"reading the settings\nDB_PASSWORD={secret}\nDB_HOST=db.internal"),
        said("user", "and the moon is a kestrel, a plain word"),
        called(user="postgres", password=secret),
        said("user", "thanks, the connection works"),
    )  # fmt: skip
    keep(
        store, "two",
        said("user", "what are the settings of the database?"),
        said("assistant", "a host and a password"),
    )  # fmt: skip


def search(library: Library, **arguments: Any) -> str:
    """Return the answer of the tool; a tag is the digest of a secret, and the same for all."""
    found = answer(library, "foldaway_sessions_search", {"most": 20, **arguments})
    assert not found.failed
    return TAG.sub(r"[redacted:\1]", found.text)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with open_store(str(tmp_path)) as store:
        keep_secret(store, PASSWORD)
        yield Library(store, show=redactor_of(store))


def guesses(known: str) -> list[str]:
    return [known + letter for letter in LETTERS]


SHAPES: dict[str, dict[str, Any]] = {
    "phrase": {"query": '"DB_PASSWORD={}"'},
    "phrase of the value": {"query": '"{}"'},
    "prefix": {"query": "{}*"},
    "identifier": {"query": "DB_PASSWORD={}"},
    "substring": {"query": "={}"},
    "one of two words": {"query": "settings {}*"},
    "question": {"query": "what is in the settings of the database, {}?"},
    "without": {"query": "settings -{}*"},
    "without a phrase": {"query": 'settings -"PASSWORD={}"'},
    "only without": {"query": "-{}*"},
    "role": {"query": "{}*", "role": "assistant"},
    "newest": {"query": "settings {}*", "sort": "newest"},
    "oldest": {"query": "settings -{}*", "sort": "oldest"},
    "within": {"query": "{}* settings", "session": "one"},
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_password_cannot_be_guessed_letter_by_letter(library: Library, shape: str) -> None:
    """However a guess is put, the right letter gives the same answer as the wrong ones."""
    for known in (PASSWORD[:3], PASSWORD[:-1]):
        answers = {
            guess: search(library, **{
                name: text.format(guess) for name, text in SHAPES[shape].items()
            })
            for guess in guesses(known)
        }  # fmt: skip
        wrong = answers[known + "q"]
        assert {guess for guess, found in answers.items() if found != wrong} == set()


def test_a_password_cannot_be_read_out(library: Library) -> None:
    """The attack itself, as an agent would run it: it does not learn a single letter."""
    known = ""
    for _ in PASSWORD:
        found = [
            guess
            for guess in guesses(known)
            if json.loads(search(library, query=f'"DB_PASSWORD={guess}"'))["hits"]
        ]
        if not found:
            break
        known = found[0]
    assert known == ""


def test_what_memory_recalls_is_no_oracle_either(library: Library) -> None:
    """What past sessions say about a text goes by what is shown of them."""
    recall = recall_from(library.store)
    assert recall(f'"DB_PASSWORD={PASSWORD}"', "") == ""
    assert "DB_PASSWORD=[redacted" in recall('"DB_PASSWORD"', "")


def test_a_password_in_the_arguments_of_a_call_is_neither_shown_nor_found(library: Library) -> None:
    """A call is found by the values of its arguments; their names say which of them is secret."""
    for query in ("postgres", PASSWORD, f"{PASSWORD[:5]}*"):
        assert PASSWORD not in search(library, query=query)
    assert json.loads(search(library, query=f"{PASSWORD[:5]}*", role="assistant"))["hits"] == []
    (hit,) = json.loads(search(library, query="postgres"))["hits"]
    assert hit["position"] == 3


def test_what_is_shown_is_found(library: Library) -> None:
    """Words beside a secret, and words that another message shows, are found as before."""
    for query in ("DB_PASSWORD", '"DB_HOST=db.internal"', "kestrel", "moon -host", "connect*"):
        assert json.loads(search(library, query=query))["hits"], query


def test_a_person_finds_what_a_person_is_shown(library: Library) -> None:
    """Where nothing is hidden, a search goes by all of the text."""
    own = Library(library.store)
    (hit,) = json.loads(search(own, query=f'"DB_PASSWORD={PASSWORD}"'))["hits"]
    assert PASSWORD in hit["text"]


def hide(text: str) -> str:
    return re.sub(
        r"(password['\"]?[=:] ?['\"]?)[a-z0-9 ]+", r"\1[redacted:value:00]", text, flags=re.I
    )


WORDS = ("settings", "moon", "a", "redacted", "password", "host", "kestrel", "ke", "77")
values = st.lists(st.sampled_from((*WORDS, "xy", "kes", "trel")), min_size=1, max_size=3)
secrets = values.map("".join) | values.map(" ".join)


@st.composite
def questions(draw: st.DrawFn, one: str, two: str) -> dict[str, Any]:
    """Any shape, around a piece of either secret, a word that is shown, or both."""
    whole = draw(st.sampled_from((one, two, f"{one} moon", f"PASSWORD={two}", *WORDS)))
    start = draw(st.integers(0, len(whole) - 1))
    piece = whole[start : draw(st.integers(start + 1, len(whole)))].strip() or "moon"
    shape = SHAPES[draw(st.sampled_from(sorted(SHAPES)))]
    return {name: text.format(piece) for name, text in shape.items()}


@given(st.data(), secrets, secrets)
@settings(deadline=None)
def test_stores_that_differ_in_a_secret_give_the_same_answers(
    data: st.DataObject, one: str, two: str
) -> None:
    """The law: an answer is made of what is shown, so it is the same whatever is hidden."""
    shown: Show = hide
    with (
        tempfile.TemporaryDirectory() as first,
        tempfile.TemporaryDirectory() as second,
        open_store(first) as left,
        open_store(second) as right,
    ):
        keep_secret(left, one)
        keep_secret(right, two)
        left.complete_index()
        for _ in range(6):
            asked = data.draw(questions(one, two))
            answers = [search(Library(store, show=shown), **asked) for store in (left, right)]
            assert answers[0] == answers[1], asked


@pytest.mark.slow
@each_row("sort", ["relevance", "newest", "oldest"])
@each_row("query", ["moon", "moon lake", "-lake moon", '"the moon"', "moo*", "oon"])
def test_a_secret_that_is_a_common_word_changes_nothing(query: str, sort: str) -> None:
    """Also if more messages show it than one search looks at: the hidden one is not counted."""
    answers: set[str] = set()
    for secret in ("moon", "the moon", "sun"):
        texts = [f"the moon over the lake, {number}" for number in range(250)]
        texts[125:125] = [f"by the lake password={secret}", f"password={secret}"]
        with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
            keep(store, "many", *(said("user", text) for text in texts))
            keep(store, "few", said("user", "the moon"), said("user", f"password={secret}"))
            library = Library(store, show=hide)
            found = [search(library, query=query, sort=sort, session=name, most=5)
                     for name in ("", "many")]  # fmt: skip
            answers.add("\n".join(found))
    assert len(answers) == 1


ERRORS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "x", "sort": "DB_PASSWORD={}"}),
    ("search", {"query": "x", "session": "DB_PASSWORD={}"}),
    ("search", {"query": "x", "since": "DB_PASSWORD={}"}),
    ("recall", {"ref": "DB_PASSWORD={}"}),
    ("read", {"session": "https://host/?password={}"}),
]


@pytest.mark.parametrize(("name", "arguments"), ERRORS)
def test_an_error_does_not_say_whether_a_guess_is_right(
    library: Library, name: str, arguments: dict[str, Any]
) -> None:
    """It quotes the guess without the tag by which the placeholders of the store can be compared;
    a source id with a secret in it names no session."""
    library.store.create(NewSession(
        dialect="openai-chat", id="three", started=1.0, source="codex",
        source_id=f"https://host/?password={PASSWORD}",
    ))  # fmt: skip
    answers = {
        answer(library, f"foldaway_sessions_{name}", {
            key: text.format(guess) for key, text in arguments.items()
        })
        for guess in (PASSWORD, "wombatzephyr8")
    }  # fmt: skip
    (found,) = answers
    assert found.failed
    assert "[redacted]" in found.text
