"""A person's and a project's words: taken out everywhere, and nothing else with them."""

from __future__ import annotations

import hashlib
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sessions.talking import WINDOW, talk

import foldaway
from foldaway.errors import InvalidSetting
from foldaway.memory.files.provider import FilesProvider
from foldaway.memory.provider import MemoryProvider
from foldaway.sessions import SessionOptions
from foldaway.sessions.erased_words import ERASED
from foldaway.sessions.erasing import erase_words
from foldaway.sessions.inbox import Inbox
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession

PER_EXAMPLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
SECRET = "xylophonequuxberlin"
ADDRESS = f"My address is 17 {SECRET} Road, and please always keep it to yourself."
_NUMBERS = itertools.count()


def said(text: Any, name: str = "", role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text, **({"name": name} if name else {})}


def shared_chat(store: Store, key: str = "group:1", *more: Any, secret: str = SECRET) -> Session:
    """Begin a conversation of two persons that is long enough to be compacted, in which only one
    message says what must always be: a summary has room for that.
    """
    session = Session(store, key, **WINDOW)
    turns = [said(one["content"].replace("at most", "about"), role=one["role"])
             for one in talk(0, 26)]  # fmt: skip
    session.append(said("You help.", role="system"), *turns[:16])
    session.append(said(ADDRESS.replace(SECRET, secret), "alice"), said("Noted.", role="assistant"))
    session.append(*turns[16:], *more)
    return session


def bodies(store: Store, session_id: str) -> list[bytes]:
    return [row.body for row in store.read(session_id)]


def found_on_disk(home: Any, request: pytest.FixtureRequest, words: Sequence[str]) -> list[str]:
    """Return the files of the store that have one of the words, or six bytes of it in a row."""
    if home.backend == "sqlite":
        files = [path for path in Path(home.where).iterdir() if path.is_file()]
    else:
        with psycopg.connect(home.where, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        server = request.getfixturevalue("server")
        files = [path for path in (server.folder / "data" / "base").rglob("*") if path.is_file()]
    pieces = {word[at : at + 6].encode() for word in words for at in range(len(word) - 5)}
    return [str(path) for path in files if any(piece in path.read_bytes() for piece in pieces)]


def test_a_persons_messages_say_that_they_were_erased(home: Any, request: Any) -> None:
    """In a shared conversation, with all that quotes them; everything else is byte for byte as it
    was, and no file has the words.
    """
    store, secret = home.open(), fresh_word()
    session = shared_chat(store, secret=secret)
    before = bodies(store, session.id)
    session.compact(force=True)
    store.complete_index()
    branch = store.create(store.session(session.id).branch("x"), parent_id=session.id,
                          descent="branch")  # fmt: skip
    done = erase_words(store, person="alice")
    assert [(one.position, one.why) for one in done.messages] == [(17, "author")]
    assert done.proof is not None
    assert (done.proof.left, done.proof.words, done.proof.lines) == ((), 0, 1)
    after = bodies(store, session.id)
    assert json.loads(after[17]) == {"role": "user", "content": ERASED}
    assert after[:17] + after[18:] == before[:17] + before[18:]
    assert bodies(store, branch.id) == after
    again = Session(store, "group:1", **WINDOW)
    assert not foldaway.check(again.messages)
    assert not any(secret in json.dumps(one) for one in again.messages)
    assert found_on_disk(home, request, [secret]) == []
    assert store.health(deep=True).problems == ()
    assert erase_words(store, person="alice").messages == ()


def test_summaries_and_what_was_learnt_go_with_the_words(home: Any, request: Any) -> None:
    """Before, the view, its state and the files have them; afterwards none does, and the session is
    compacted again from what is left.
    """
    store, secret = home.open(), fresh_word()
    session = shared_chat(store, secret=secret)
    session.compact(force=True)
    view = store.view(session.id)
    assert view is not None
    assert secret in view.items.decode()
    assert found_on_disk(home, request, [secret]) != []
    done = erase_words(store, words=[secret.upper()])
    assert (done.views, [one.why for one in done.messages]) == (1, ["words"])
    shown = store.view(session.id)
    assert shown is not None
    assert (shown.reason, shown.number, shown.state) == ("erasure", 2, b"")
    again = Session(store, "group:1", **WINDOW)
    assert len(again.messages) == store.session(session.id).length
    assert again.compact(force=True).status == "compacted"
    assert not foldaway.check(again.messages)
    assert found_on_disk(home, request, [secret]) == []


def test_a_view_from_before_the_words_stays(store: Store) -> None:
    """The newest one that cannot quote them is shown, and an undo still goes back behind it."""
    session = Session(store, "k", **WINDOW)
    session.append(said("You help.", role="system"), *talk(0, 20))
    session.compact(force=True)
    early = session.messages
    session.append(said(ADDRESS, "alice"), *talk(20, 20))
    session.compact(force=True)
    done = erase_words(store, person="alice")
    assert (done.views, len(done.messages)) == (1, 1)
    again = Session(store, "k", **WINDOW)
    assert again.messages[: len(early)] == early
    assert again.undo()
    assert len(again.messages) == store.session(again.id).length
    assert not again.undo()


def test_a_short_line_takes_no_names_with_it(store: Store) -> None:
    """A title that is what the person said goes; one that only has the same word stays."""
    for key, title in (("a", "Projects"), ("b", "Projects of bob")):
        new = NewSession(dialect="openai-chat", id=key, title=title, cwd="/home/bob/projects")
        session = Session(store, options=SessionOptions(new=new))
        session.append(said("projects", "alice"), said("List the projects.", "bob"))
    done = erase_words(store, person="alice")
    assert [(one.session, one.position) for one in done.messages] == [("a", 0), ("b", 0)]
    assert [store.session(key).title for key in ("a", "b")] == ["", "Projects of bob"]
    assert store.session("a").cwd == "/home/bob/projects"
    assert json.loads(bodies(store, "a")[1])["content"] == "List the projects."


def test_whoever_quotes_a_line_is_erased_with_it(store: Store) -> None:
    """In the same conversation and its branches; in another one it stays, and is named."""
    quote = said(f"You said: {ADDRESS} Is that right?", role="assistant")
    session = shared_chat(store, "group:1", quote, said("ok"))
    other = shared_chat(store, "group:2")
    store.erase([other.id])
    other = Session(store, "group:2", **WINDOW)
    other.append(said(ADDRESS))
    done = erase_words(store, person="alice")
    whys = {one.position: one.why for one in done.messages}
    length = store.session(session.id).length
    assert whys == {17: "author", length - 2: "quote"}
    assert done.proof is not None
    assert done.proof.left == ()
    assert done.proof.shared_places == (f"session {other.id}, m0",)


def test_a_persons_own_conversations_go_whole(store: Store) -> None:
    """By the key that the host gave, with all that came from them; nobody else's changes."""
    mine = Session(store, "telegram:42", **WINDOW)
    mine.append(said(ADDRESS), *talk(0, 2))
    child = store.create(NewSession(dialect="openai-chat"), parent_id=mine.id, descent="delegation")
    other = Session(store, "telegram:4", **WINDOW)
    other.append(*talk(0, 3))
    before = bodies(store, other.id)
    plan = erase_words(store, person="telegram:42", dry_run=True)
    assert (set(plan.sessions), plan.whole_messages, plan.is_done) == (
        {mine.id, child.id},
        5,
        False,
    )
    done = erase_words(store, person="telegram:42")
    assert (done.sessions, done.whole_messages) == (plan.sessions, 5)
    assert done.proof is not None
    assert done.proof.left == ()
    assert bodies(store, other.id) == before
    assert store.health().sessions == 1


def test_a_project_goes_with_the_folders_inside_it(home: Any, request: Any, tmp_path: Path) -> None:
    """And with what came from its sessions; a folder whose name only begins alike stays."""
    store = home.open()
    for name, folder in (("a", "work"), ("b", "work/sub"), ("c", "workshop")):
        new = NewSession(dialect="openai-chat", id=name, cwd=str(tmp_path / folder))
        session = Session(store, **WINDOW, options=SessionOptions(new=new))
        session.append(said(f"The {SECRET} of {name} is broken, and needs to be mended."))
    done = erase_words(store, project=tmp_path / "work")
    assert done.sessions == ("a", "b")
    assert done.proof is not None
    assert (done.proof.left, done.proof.lines) == ((), 2)
    assert [one.id for one in store.lineage("c")] == ["c"]
    (left,) = bodies(store, "c")
    assert SECRET in left.decode()


DEEP = json.dumps({"path": "a", "text": json.dumps({"who": "Zo\u00eb  Quux\nBerlin"})})
SPELLINGS: list[dict[str, Any]] = [
    said("I am ZOË QUUX\nBERLIN, hello."),
    said("zoe\u0308 quux berlin"),
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "write", "arguments": DEEP}}]},
    {"role": "tool", "tool_call_id": "c", "content": r"wrote Zo\u00EB Quux\tBerlin"},
    said([{"type": "text", "text": "x"}, {"type": "text", "text": "zoë quux  berlin"}]),
]  # fmt: skip


def test_words_are_found_however_they_are_written(store: Store) -> None:
    """Letter case, composed letters, blanks, and JSON in JSON; what is valid stays valid."""
    frame = b'{"system": "You serve Zo\\u00eb Quux Berlin", "n": 1}'
    new = NewSession(
        dialect="openai-chat", id="s", title="About Zoë Quux Berlin", goal="ask zoë quux berlin",
        cwd="/home/zoë quux berlin", frame=frame,
    )  # fmt: skip
    store.create(new)
    session = Session.open(store, "s")
    session.append(said("Hello."), *SPELLINGS[:2], *SPELLINGS[2:4], SPELLINGS[4])
    session.pin(0, "zoë quux berlin asked")
    done = erase_words(store, words=["Zoë Quux Berlin"])
    assert [one.position for one in done.messages] == [1, 2, 3, 4, 5]
    assert done.proof is not None
    assert done.proof.left == ()
    info = store.session("s")
    assert (info.title, info.goal, info.cwd) == ("", "", "")
    assert json.loads(info.frame)["system"] == f"You serve {ERASED}"
    assert json.loads(info.frame)["n"] == 1
    assert [pin.note for pin in store.pins("s")] == [""]
    again = Session.open(store, "s")
    assert not foldaway.check(again.messages)
    assert again.messages[3]["tool_calls"][0]["function"] == {"name": "write", "arguments": "{}"}


def test_a_system_prompt_loses_only_the_words(store: Store) -> None:
    """An agent works by the rest of it."""
    session = Session(store, "k")
    session.append(
        said(f"You help {SECRET.title()} in /home/{SECRET}.", role="system"), said("Hi.")
    )
    erase_words(store, words=[SECRET])
    first, second = Session(store, "k").messages
    assert first == said(f"You help {ERASED} in /home/{ERASED}.", role="system")
    assert second == said("Hi.")


WIRES: dict[str, list[Any]] = {
    "anthropic": [
        {"role": "user", "content": [{"type": "text", "text": SECRET}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": SECRET, "signature": "sig"},
            {"type": "text", "text": SECRET},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"path": SECRET}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": SECRET},
            {"type": "image", "source": {"type": "url", "url": f"https://x/{SECRET}.png"}}]},
        {"role": "assistant", "content": "Done."},
    ],
    "openai-responses": [
        {"role": "user", "content": SECRET},
        {"type": "function_call", "call_id": "t", "name": "read",
         "arguments": json.dumps({"path": SECRET})},
        {"type": "function_call_output", "call_id": "t", "output": SECRET},
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": SECRET, "annotations": []}]},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": SECRET}]},
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"path": SECRET}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "read", "response": {"output": SECRET}}}]},
        {"role": "model", "parts": [{"text": "Done."}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("dialect", WIRES)
def test_a_request_stays_valid_in_every_wire_format(store: Store, dialect: str) -> None:
    """Calls and results keep each other; nothing else of a message is left."""
    session = Session(store, options=SessionOptions(new=NewSession(dialect=dialect, id="k")))
    session.append(*WIRES[dialect])
    assert not foldaway.check(session.messages, dialect=dialect)
    done = erase_words(store, words=[SECRET])
    assert done.proof is not None
    assert done.proof.left == ()
    shown = Session.open(store, "k").messages
    assert len(shown) == len(WIRES[dialect])
    assert SECRET not in json.dumps(shown)
    assert not foldaway.check(shown, dialect=dialect)


def test_a_handle_that_has_the_words_in_memory_cannot_bring_them_back(
    home: Any, request: Any
) -> None:
    """Neither by a compaction, nor by what it learnt, nor by an undo; its next message is kept."""
    store, secret = home.open(), fresh_word()
    stale = shared_chat(store, secret=secret)
    compacted = Session(store, "group:1", **WINDOW)
    compacted.compact(force=True)
    erase_words(store, person="alice")
    stale.append(said("And another thing."))
    stale.compact(force=True)
    compacted.used({"prompt_tokens": 7_000, "completion_tokens": 1})
    compacted.compact()
    compacted.append(said("One more."))
    shown = json.dumps(Session(store, "group:1", **WINDOW).messages)
    assert secret not in shown
    assert "One more." in shown
    store.leave_no_trace()
    assert found_on_disk(home, request, [secret]) == []


def test_nothing_is_changed_in_a_dry_run(store: Store, tmp_path: Path) -> None:
    """And it says what the deed says."""
    memory = FilesProvider(tmp_path / "memory")
    memory.files["user"].add(f"Lives at {SECRET} Road", "tool")
    session = shared_chat(store)
    session.compact(force=True)
    before = (bodies(store, session.id), store.views(session.id), memory.files["user"].text())
    asked: Any = {"person": "alice", "words": [SECRET], "memories": [memory]}
    plan = erase_words(store, **asked, dry_run=True)
    after = (bodies(store, session.id), store.views(session.id), memory.files["user"].text())
    assert (before, plan.is_done, plan.proof) == (after, False, None)
    done = erase_words(store, **asked)
    assert (done.messages, done.notes, done.touched) == (plan.messages, 1, plan.touched)


class CannotForget(MemoryProvider):
    """A memory that only takes."""

    name = "elsewhere"


class FailsToForget(CannotForget):
    """A memory whose server is gone."""

    name = "gone"

    def forget(self, holds: Callable[[str], bool], *, dry_run: bool = False) -> int:
        """Fail."""
        raise ConnectionError


def test_memory_forgets_in_every_version(store: Store, tmp_path: Path) -> None:
    """Also what was removed before; other notes and their history stay, and who cannot is named."""
    folder = tmp_path / "memory"
    memory = FilesProvider(folder)
    file = memory.files["memory"]
    file.add("Prefers tea", "tool")
    file.add(f"Lives at {SECRET} Road", "tool")
    file.add("Likes cats", "tool")
    file.remove(SECRET, "cli")
    memory.files["user"].add(f"{SECRET}: a heading", "tool")
    done = erase_words(
        store, words=[SECRET], memories=[memory, CannotForget(), FailsToForget()], also=[folder]
    )
    assert (done.notes, done.cannot_forget) == (2, ("elsewhere", "gone"))
    assert done.proof is not None
    assert done.proof.left == ()
    assert [one.text for one in file.entries()] == ["Prefers tea", "Likes cats"]
    assert [one.added for one in file.history()] == [("Prefers tea",), (), ("Likes cats",), ()]
    for path in folder.iterdir():
        assert SECRET.encode() not in path.read_bytes()
    assert all(SECRET not in file.version(number) for number in range(1, 5))
    file.add("Another one", "tool")
    assert [one.text for one in file.entries()][-1] == "Another one"
    assert memory.files["user"].entries() == ()


def test_what_is_left_is_named(home: Any, tmp_path: Path) -> None:
    """A backup, a file that JSON escapes, a body that nobody uses; nothing is said to be proven."""
    store = home.open()
    session = shared_chat(store)
    backup, export = tmp_path / "backup.db", tmp_path / "export.json"
    store.backup(str(backup))
    export.write_text(json.dumps({"text": f"{SECRET} Größe"}))
    done = erase_words(store, words=[SECRET, "berlin größe"], also=[backup, export])
    assert done.proof is not None
    places = done.proof.left
    assert any(place.startswith(f"{backup}: session {session.id}, m17") for place in places)
    assert f"{export}: 2 of them as bytes" in places
    with pytest.raises(InvalidSetting, match="exists"):
        erase_words(store, words=[SECRET], also=[tmp_path / "nothing"])


def test_whoever_still_reads_the_old_state_keeps_it_on_the_disk(home: Any) -> None:
    """Then it is not proven; when the reader has ended, the same call proves it."""
    store, secret = home.open(), fresh_word()
    shared_chat(store, secret=secret)
    if home.backend == "sqlite":
        reader: Any = apsw.Connection(f"{home.where}/default.db")
        reader.execute("BEGIN; SELECT count(*) FROM messages").fetchall()
    else:
        reader = psycopg.connect(home.where)
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT 1")
    with closing(reader):
        done = erase_words(store, words=[secret])
        assert done.proof is not None
        assert done.proof.left != ()
    again = erase_words(store, words=[secret])
    assert again.proof is not None
    assert again.proof.left == ()


@pytest.mark.parametrize("words", [["ab"], ["  "], [""]])
def test_words_that_are_everywhere_are_refused(store: Store, words: list[str]) -> None:
    """Before anything is looked at."""
    with pytest.raises(InvalidSetting):
        erase_words(store, words=words)
    with pytest.raises(InvalidSetting):
        erase_words(store)


# The law


def fresh_word() -> str:
    """Return a word that no other example has."""
    digits = hashlib.sha256(f"word {next(_NUMBERS)}".encode()).hexdigest()[:14]
    return "".join("bcdfghjklmnpqrstvwxz"[int(one, 16)] for one in digits)


class Conversation:
    """A lineage that grows by random steps, and where a person spoke in it."""

    def __init__(self, store: Store, key: str, mode: Any) -> None:
        new = NewSession(dialect="openai-chat", source_id=key, mode=mode)
        self.store = store
        self.session = Session(store, **WINDOW, options=SessionOptions(new=new))
        self.session.append(said("You help.", role="system"))
        self.words: list[str] = []
        self.names = [self.session.id]
        self.calls = itertools.count()

    def step(self, what: str) -> None:
        """Do one thing."""
        session = self.session
        match what:
            case "alice":
                word = fresh_word()
                self.words.append(word)
                text = f"Please always use {word} here, and never delete {word}.txt again."
                session.append(said(text, "alice"), said("I will.", role="assistant"))
            case "bob":
                answer = said(f"Yes, {fresh_word()}. " + "and " * 60, role="assistant")
                session.append(said(f"And {fresh_word()}? " + "so " * 60, "bob"), answer)
            case "tool":
                name = f"call{next(self.calls)}"
                call = {
                    "name": "read_file",
                    "arguments": json.dumps({"path": f"{fresh_word()}.py"}),
                }
                session.append(
                    said("Look.", "bob"),
                    {"role": "assistant", "content": None,
                     "tool_calls": [{"id": name, "type": "function", "function": call}]},
                    {"role": "tool", "tool_call_id": name, "content": "line\n" * 80},
                    said("I see.", role="assistant"),
                )  # fmt: skip
            case "compact":
                session.compact(force=True)
            case "undo":
                session.undo()
            case "pin":
                session.pin(store_length(self.store, session) - 1, "kept")
            case _:
                info = self.store.session(session.id)
                made = self.store.create(info.branch(), parent_id=info.id, descent="branch")
                self.session = Session.open(self.store, made.id, **WINDOW)
        self.names.append(self.session.id)


def store_length(store: Store, session: Session) -> int:
    return store.session(session.id).length


STEPS = st.lists(
    st.sampled_from(["alice", "bob", "bob", "tool", "compact", "branch", "undo", "pin"]),
    min_size=6, max_size=16,
)  # fmt: skip


def logs_of(store: Store, names: Iterable[str]) -> dict[str, list[bytes]]:
    return {name: bodies(store, name) for name in dict.fromkeys(names)}


def is_alice(body: bytes) -> bool:
    return json.loads(body).get("name") == "alice"


@PER_EXAMPLE
@given(steps=STEPS, mode=st.sampled_from(["in-place", "rotate"]), indexed=st.booleans())
def test_after_an_erasure_no_byte_is_left_and_nothing_else_is_gone(
    home: Any, request: pytest.FixtureRequest, steps: list[str], mode: str, indexed: bool
) -> None:
    """Whatever was compacted, branched, undone and pinned: the person's words are in no file, every
    other message is byte for byte as it was, other references lead where they led, every request is
    valid, and the store is well.
    """
    store = home.open()
    talked = Conversation(store, f"group {next(_NUMBERS)}", mode)
    for step in ("alice", *steps):
        talked.step(step)
    if indexed:
        store.complete_index()
    names = [one.id for one in store.lineage(talked.session.id)]
    before = logs_of(store, names)
    references = {name: store.references(name) for name in names}
    done = erase_words(store, person="alice")
    assert done.proof is not None
    assert done.proof.left == ()
    after = logs_of(store, names)
    for name in names:
        for old, new in zip(before[name], after[name], strict=True):
            assert new == old or (is_alice(old) and json.loads(new)["content"] == ERASED)
        assert not any(map(is_alice, after[name]))
        assert store.references(name) == references[name]
        session = Session.open(store, name, **WINDOW)
        assert not foldaway.check(session.messages)
        for reference in references[name]:
            told = session.recall(reference.ref)
            span = after[name][reference.start : reference.stop]
            assert told == [json.loads(one) for one in span]
    store.close()
    assert found_on_disk(home, request, talked.words) == []
    assert store.health(deep=True).problems == ()
    assert erase_words(store, person="alice").messages == ()


# Killed in the middle

ERASING = """
import sys
from foldaway.sessions.erasing import erase_words
from foldaway.stores.open import open_store

store = open_store(sys.argv[1], tenant=sys.argv[2])
told = 0

def tell(what, done, total):
    global told
    if what == sys.argv[3]:
        told += 1
        if told == int(sys.argv[4]):
            print("here", flush=True)
            sys.stdin.read()

erase_words(store, person="alice", tell=tell)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "number"),
    [
        ("looking", 1),
        ("erasing", 1),
        ("erasing", 3),
        ("writing the files anew", 1),
        ("checking", 1),
    ],
)
def test_what_a_killed_erasure_left_the_next_one_does(
    home: Any, request: Any, what: str, number: int
) -> None:
    """A conversation is erased whole or not at all, the store is well, and the second run ends with
    no byte of the words.
    """
    store, secret = home.open(), fresh_word()
    sessions = [shared_chat(store, f"group:{number}", secret=secret) for number in range(4)]
    for session in sessions:
        session.compact(force=True)
    store.close()
    process = subprocess.Popen(
        [sys.executable, "-c", ERASING, home.where, home.tenant, what, str(number)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdin, process.stdout:
        assert process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert store.health(deep=True).problems == ()
    for session in sessions:
        view = store.view(session.id)
        assert view is not None
        is_old = secret in bodies(store, session.id)[17].decode()
        assert is_old == (secret in view.items.decode())
    done = erase_words(store, person="alice")
    assert done.proof is not None
    assert done.proof.left == ()
    store.close()
    assert found_on_disk(home, request, [secret]) == []


def test_what_waits_in_an_inbox_goes_too(store: Store) -> None:
    """With the conversation of its key; in a shared one by its author, and its turn still comes."""
    for key in ("telegram:42", "group:1"):
        inbox = Inbox(store, key)
        inbox.put(said(ADDRESS, "alice"))
        inbox.put(said("Hello, everybody.", "bob"))
    Session(store, "telegram:42").append(said(ADDRESS))
    done = erase_words(store, person="telegram:42")
    assert len(done.sessions) == 2
    done = erase_words(store, person="alice", words=[SECRET])
    assert [(one.position, one.why) for one in done.messages] == [(0, "author")]
    assert done.proof is not None
    assert done.proof.left == ()
    assert Inbox(store, "group:1").waiting() == 2
    session = Session(store, "group:1")
    for turn in Inbox(store, "group:1").turns():
        turn.take(session)
    assert SECRET not in json.dumps(session.messages)
    assert "Hello, everybody." in json.dumps(session.messages)


def test_what_an_inbox_joined_under_another_name_goes_too(home: Any, request: Any) -> None:
    """Messages that wait together become one, under the name of the first author."""
    store, secret = home.open(), fresh_word()
    inbox, session = Inbox(store, "group:9"), Session(store, "group:9")
    session.append(said("Good morning, everybody.", "bob"), said("Hello.", role="assistant"))
    inbox.put(said("What is for lunch?", "bob"))
    inbox.put(said(f"I want {secret}.", "alice"))
    for turn in inbox.turns():
        turn.take(session)
    assert secret in json.dumps(session.messages)
    done = erase_words(store, person="alice")
    assert sorted((one.position, one.why) for one in done.messages) == [(1, "author"), (2, "quote")]
    first, _, last = Session(store, "group:9").messages
    assert (first["name"], last["content"]) == ("bob", ERASED)
    store.close()
    assert found_on_disk(home, request, [secret]) == []


def test_a_backup_that_was_cut_short_is_looked_into(tmp_path: Path) -> None:
    """What a killed backup left beside the store has the words, packed or not."""
    with open_store(tmp_path) as store:
        session = Session(store, "k")
        session.append(said(f"{SECRET} " + "and so on " * 200))
        draft = tmp_path / ".foldaway-x.backup"
        store.backup(str(draft))
        done = erase_words(store, words=[SECRET])
    assert done.proof is not None
    assert f"{draft}: session {session.id}, m0" in done.proof.left
