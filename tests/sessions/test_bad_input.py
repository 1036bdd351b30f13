"""What cannot be taken is refused in words, or goes through as it came; nothing is half written."""

from __future__ import annotations

import asyncio
import operator
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sessions.test_follow import WINDOW, WORDS, spoken, talk
from tests.testing.rows import each_row

from foldaway import Model, Policy, check, compress, open_memory, reduce
from foldaway.errors import InvalidSetting, NotReadable, StoreUnavailable
from foldaway.sessions import Chat, Inbox, SessionOptions
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store


@each_row("wrong", [
    "hello", 42, None, {"foo": 1}, b"7", {"role": None, "content": "x"}, {"role": "bogus"},
    {"role": "user", "content": 5},
])  # fmt: skip
def test_what_is_no_message_is_refused_by_name_before_anything_is_written(wrong: Any) -> None:
    """And a list that is no list, a request with two of them, and a request that is none."""
    session = Session()
    with pytest.raises(NotReadable, match=r"no message|not readable|message"):
        session.append({"role": "user", "content": "hi"}, wrong)
    assert not session.id
    with pytest.raises(NotReadable, match="belongs under 'parts'"):
        Session(options=SessionOptions(provider="gemini")).append({"role": "user", "content": "hi"})
    for given_wrong in ("hello", 42, {"role": "user"}):
        with pytest.raises(NotReadable, match="list"):
            session.follow(given_wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotReadable, match="2 lists"):
        session.follow(request={"messages": talk(1), "contents": talk(1)})


@each_row("setting", [
    {"key": 7}, {"policy": {"threshold": 0.5}}, {"context_length": "8000"},
    {"context_length": 8e3}, {"model": 7}, {"redact": "x"}, {"tools": "x"}, {"system": 7},
    {"hooks": {}}, {"options": {"on_error": "pass"}}, {"store": 5}, {"store": object()},
    {"summarizer": 5}, {"summarizer": print}, {"tools": [print]},
])  # fmt: skip
def test_a_setting_that_cannot_be_is_refused_by_its_name(setting: Any) -> None:
    """When the session is opened, whatever it is called with; a dict says how to write it."""
    with pytest.raises(InvalidSetting, match=next(iter(setting))):
        Session(**setting)
    wrong: Any = "ignore"
    with pytest.raises(InvalidSetting, match="on_error"):
        SessionOptions(on_error=wrong)
    a_dict: Any = {"threshold": 0.5}
    with pytest.raises(InvalidSetting, match=r"write policy=Policy\(\*\*"):
        Session(policy=a_dict)


def test_a_session_is_shown_by_its_id_and_key() -> None:
    """And by nothing that was said."""
    session = Session(key="parser")
    assert repr(session) == "<Session not begun, key 'parser'>"
    session.append({"role": "user", "content": "hi"})
    assert repr(session) == f"<Session {session.id}, key 'parser'>"
    assert "hi" not in repr(session).split(session.id)[1]


def test_what_cannot_be_asked_of_a_session_is_refused_by_its_name() -> None:
    """A wish that there is not, and a usage that nobody can read."""
    wrong: Any = "always"
    with pytest.raises(InvalidSetting, match="when"):
        Session().follow(talk(1), when=wrong)
    for usage in ("x", 1.5, [1], {"foo": 1}):
        with pytest.raises(InvalidSetting, match="usage"):
            Session().used(usage)
    Session().used(None)


_Wrong: Any = 5
_TEXT: Any = "5"


def _call_wrong(method: str, *given: Any, **named: Any) -> Callable[[], object]:
    session = Session(context_length=8_000)
    session.append(*talk(2))
    return lambda: getattr(session, method)(*given, **named)


@each_row("name, call", [
    ("policy", lambda: compress([], policy={"threshold": 0.5})),  # pyright: ignore
    ("options", lambda: compress([], options={"focus": "x"})),  # pyright: ignore
    ("model", lambda: compress([], model=_Wrong)),
    ("context_length", lambda: compress([], context_length=_TEXT)),
    ("target_tokens", lambda: compress([], target_tokens=_TEXT)),
    ("text", lambda: reduce(_Wrong)),
    ("budget_tokens", lambda: reduce("x", budget_tokens=_TEXT)),
    ("where", lambda: open_store(_Wrong)),
    ("store", lambda: open_memory(_TEXT)),
    ("store", lambda: Inbox(_TEXT, "chat")),
    ("store", lambda: Chat(_TEXT, _Wrong)),
    ("message", lambda: Inbox(open_store(":memory:"), "chat").put(_Wrong)),
    ("threshold", lambda: Policy(threshold=_TEXT)),
    ("name", lambda: Model(_Wrong)),
    ("context_length", lambda: Model("m", context_length=_TEXT)),
    ("new", lambda: SessionOptions(new={"title": "x"})),  # pyright: ignore
    ("clock", lambda: SessionOptions(clock=_Wrong)),
    ("session_id", lambda: Session.open(":memory:", _Wrong)),
    ("keep_last", _call_wrong("compact", keep_last="2", force=True)),
    ("target_tokens", _call_wrong("preview", target_tokens="2")),
    ("focus", _call_wrong("compact", focus=5, force=True)),
    ("position", _call_wrong("pin", "0")),
    ("reference", _call_wrong("recall", 5)),
    ("call", _call_wrong("send", "client")),
    ("error", _call_wrong("recover", "too long")),
    ("task", _call_wrong("delegate", 5)),
    ("budget", _call_wrong("delegate", "x", budget="5")),
    ("child", _call_wrong("take_result", "id", "x")),
    ("title", _call_wrong("change", title=5)),
])  # fmt: skip
def test_a_wrong_argument_is_refused_by_its_name(name: str, call: Callable[[], object]) -> None:
    """Not by an error from inside, and the sentence says what is wanted."""
    with pytest.raises(InvalidSetting, match="it must be ") as refused:
        call()
    assert refused.value.name == name


def test_a_client_that_awaits_is_not_sent_with_send() -> None:
    """Nor the other way round: each is told the other."""
    session = Session()
    session.append(*talk(1))

    async def ask(**_: object) -> dict[str, str]:
        return {"role": "assistant", "content": "x"}

    with pytest.raises(InvalidSetting, match=r"asend\(\)"):
        session.send(ask)
    wrong: Any = dict
    with pytest.raises(InvalidSetting, match=r"send\(\)"):
        asyncio.run(session.asend(wrong))


def test_a_key_of_another_wire_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Nobody else's session is written to."""
    Session(tmp_path, "k").append(*talk(1))
    with pytest.raises(InvalidSetting, match="openai-chat"):
        Session(tmp_path, "k").follow(
            request={"model": "m", "max_tokens": 9, "messages": spoken("anthropic", 3)}
        )
    assert Session(tmp_path, "k").info.length == 4


class Broken:
    """A store that went away between two calls."""

    def __init__(self, store: Any) -> None:
        self._store, self.is_gone = store, False

    def __getattr__(self, name: str) -> Any:
        if self.is_gone and name in ("append", "read", "create", "newest_leaf", "add_usage"):
            raise StoreUnavailable("s.db", "the disk is full", remedy="free some room")
        return getattr(self._store, name)


def test_a_host_may_ask_for_its_own_list_if_the_session_fails() -> None:
    """The reason is said; without that wish it is raised, and the next call goes on."""
    whole = talk(4)
    for on_error in ("raise", "pass"):
        store: Any = Broken(open_store(":memory:"))
        session = Session(store, "k", **WINDOW, options=SessionOptions(on_error=on_error))
        session.follow(whole[:8])
        store.is_gone = True
        if on_error == "raise":
            with pytest.raises(StoreUnavailable):
                session.follow(whole)
        else:
            found = session.follow(whole)
            assert found.messages == whole
            assert "disk is full" in found.error
        store.is_gone = False
        assert session.follow(whole).course == "continues"
        assert session.info.length == len(whole)


def fails(_message: Any) -> str:
    raise ZeroDivisionError("of the host")


@each_row("wrong", [None, 7, "text", object(), {"content": object()}])
def test_a_list_that_cannot_be_read_goes_through_if_the_host_asked_for_that(wrong: Any) -> None:
    """Its own objects, with the reason; a function of the host that raises is no other."""
    whole = [*talk(1), wrong]
    found = Session(options=SessionOptions(on_error="pass")).follow(whole)
    assert all(map(operator.is_, found.messages, whole))
    assert len(found.messages) == len(whole)
    assert found.error.startswith("NotReadable: ")
    found = Session(options=SessionOptions(on_error="pass", same=fails)).follow(talk(1))
    assert (found.messages, found.error) == (talk(1), "ZeroDivisionError: of the host")
    with pytest.raises(ZeroDivisionError):
        Session(options=SessionOptions(same=fails)).follow(talk(1))


@pytest.mark.parametrize("count", [1, 15])
@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses"])
def test_a_log_that_could_be_of_any_wire_format_is_read_as_what_comes(
    dialect: str, count: int, tmp_path: Path
) -> None:
    """A talk that begins with plain words shows its format only with its first call."""
    said = [{"role": role, "content": f"{number} {WORDS}"}
            for number in range(count) for role in ("user", "assistant")]  # fmt: skip
    whole = [*said, *spoken(dialect, 3)]
    session = Session(tmp_path, "k", **WINDOW)
    session.follow(said)
    assert session.info.dialect == "openai-chat"
    found = session.follow(whole)
    assert (found.course, session.info.dialect) == ("continues", dialect)
    assert (session.info.length, check(found.messages, dialect=dialect)) == (len(whole), [])
    assert Session(tmp_path, "k", **WINDOW).follow(whole).messages == found.messages
    fed = Session()
    fed.append(*said)
    fed.append(*spoken(dialect, 1))
    assert fed.info.dialect == dialect


@pytest.mark.parametrize("request_given", [
    b"{", b"[1, 2]", b'{"model": "m"}', {"messages": [], "contents": []}, {"messages": "hi"},
    {"messages": [{"role": "user", "content": "hi"}, 7]}, b'{"messages": [null]}', b"7",
])  # fmt: skip
def test_a_request_that_cannot_be_read_goes_through_if_the_host_asked_for_that(
    request_given: Any,
) -> None:
    """Its own object, with the reason; otherwise the error names the place."""
    with pytest.raises(NotReadable):
        Session().follow(request=request_given)
    session = Session(options=SessionOptions(on_error="pass"))
    found = session.follow(request=request_given)
    assert found.body is request_given
    assert found.error.startswith("NotReadable: ")
    assert not session.id
    with pytest.raises(NotReadable, match="list"):
        session.follow(42)  # pyright: ignore[reportArgumentType]


def remove(home: Path) -> None:
    shutil.rmtree(home)


def move(home: Path) -> None:
    home.rename(home.with_name("elsewhere"))


@pytest.mark.parametrize("go", [remove, move])
def test_a_store_whose_file_went_away_is_noticed(
    tmp_path: Path, go: Callable[[Path], None]
) -> None:
    """Nothing is written to a file that nobody will find again; one that is put back goes on."""
    home, whole = tmp_path / "home", talk(8)
    session, passing = (
        Session(home, "a", **WINDOW, options=SessionOptions(on_error="raise")),
        Session(home, "b", **WINDOW, options=SessionOptions(on_error="pass")),
    )
    for one in (session, passing):
        one.follow(whole[:8])
    go(home)
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        session.follow(whole)
    found = passing.follow(whole)
    assert (found.messages, "removed" in found.error) == (whole, True)
    if go is move:
        home.with_name("elsewhere").rename(home)
        assert session.follow(whole).course == "continues"
        assert Session(home, "a").info.length == len(whole)


FULL = """
import json, resource, signal, sys
from pathlib import Path
from foldaway.errors import StoreUnavailable
from foldaway import Session, SessionOptions
words = "and the words that fill a window go on and on " * 12
whole = [{"role": role, "content": f"{n} {words}"} for n in range(120)
         for role in ("user", "assistant")]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for on_error in ("raise", "pass"):
    home = Path(sys.argv[1], on_error)
    session = Session(home, "k", options=SessionOptions(on_error=on_error))
    session.follow(whole[:8])
    most = max(path.stat().st_size for path in home.rglob("*") if path.is_file())
    resource.setrlimit(resource.RLIMIT_FSIZE, (most + 2_000, resource.RLIM_INFINITY))
    for stop in range(16, len(whole), 8):
        try:
            found = session.follow(whole[:stop])
        except StoreUnavailable as error:
            print(error)
            break
        if found.error:
            assert found.messages == whole[:stop]
            print(found.error)
            break
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    kept = Session(home, "k")
    rows = [json.loads(row.body) for row in kept.store.read(kept.id)]
    assert rows == whole[: stop - 8], len(rows)
    assert session.follow(whole[:stop]).course == "continues"
    assert session.info.length == stop
"""


def printed_by(script: str, *arguments: str) -> str:
    """Return what a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_leaves_what_was_written_before(tmp_path: Path) -> None:
    """The error of the system comes out, or the host's list; the log is whole, and goes on when
    there is room again."""
    assert printed_by(FULL, str(tmp_path)).count("not full") == 2


HUGE = """
import json, resource, sys, time
from foldaway.sessions.session import Session
from tests.sessions.test_follow import WINDOW, talk
place, text = int(sys.argv[2]), sys.argv[3]
whole = talk(6)
whole[place]["content"] = text * (50_000_000 // len(text))
session, start = Session(sys.argv[1], "k", **WINDOW), time.process_time()
found = session.follow(whole)
again = session.follow(request=json.dumps({"model": "m", "messages": whole}).encode())
seconds = time.process_time() - start
assert (found.course, again.course, again.messages) == ("new", "same", found.messages)
assert (len(json.dumps(found.messages)) < 100_000) == (place == -2)
assert session.recall(f"m{len(whole) + place}") == [whole[place]]
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="needs the memory of a process in KiB")
@pytest.mark.parametrize("place", [-2, -4], ids=["result", "ask"])
@pytest.mark.parametrize("text", ["x", "some words of a log, a line of it\n"])
def test_a_message_of_50_megabytes_is_taken(tmp_path: Path, place: int, text: str) -> None:
    """In less than 30 s of CPU and 1.5 GB: a result is folded, a user's words stay as they are."""
    seconds, megabytes = printed_by(HUGE, str(tmp_path), str(place), text).split()
    assert float(seconds) < 30
    assert int(megabytes) < 1_500


def test_a_role_that_no_provider_knows_is_refused_by_its_name() -> None:
    """Before anything is written, with the roles that there are."""
    session = Session()
    with pytest.raises(NotReadable, match="'human'; write system"):
        session.append({"role": "human", "content": "Hello."})
    assert session.id == ""
