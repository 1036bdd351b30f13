"""The service: what was taken is durable, a compaction is whole or not there."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from tests.sessions.talking import SMALL, WINDOW, talk

from foldaway import Model, check
from foldaway.errors import LeaseLost, StoreUnavailable, UnknownReference
from foldaway.sessions import SessionOptions, internals
from foldaway.sessions.hooks import Hooks, SessionEvent, SessionField, Switched, current_session
from foldaway.sessions.session import Session
from foldaway.stores.store import Store
from foldaway.stores.values import Lease, NewSession, SessionFilter, SessionInfo


def begun(store: Store, **options: Any) -> Session:
    new = NewSession(dialect="openai-chat", title="Modules", **options.pop("new", {}))
    session = Session(store, **WINDOW, **options, options=SessionOptions(new=new))
    session.append({"role": "system", "content": "You help."}, *talk(0, 20))
    return session


def test_a_session_taken_up_again_shows_the_same_bytes(store: Store) -> None:
    """After appends and a compaction, another process sees what this one sees."""
    session = begun(store)
    report = session.compact(force=True)
    session.append(*talk(20, 2))
    again = Session.open(store, session.id, **WINDOW)
    assert report.status == "compacted"
    assert report.persistence == "in place"
    assert json.dumps(again.messages) == json.dumps(session.messages)
    assert again.info.length == 45
    assert check(again.messages) == []
    for row in report.references:
        assert again.recall(row.ref) == session.recall(row.ref) != []


def test_undo_shows_what_was_there_with_what_came_since(store: Store) -> None:
    """Also in a process that did not make the compaction; and once only."""
    session = begun(store)
    before = session.messages
    session.compact(force=True)
    session.append(*talk(20, 1))
    again = Session.open(store, session.id, **WINDOW)
    assert again.undo()
    assert again.messages == before + talk(20, 1)
    assert not again.undo()
    report = session.compact(force=True)
    assert report.status == "compacted"
    assert report.messages_before == 43


def test_it_compacts_by_itself_when_due_and_not_before(store: Store) -> None:
    """`send` hands over what fits the window, however much was appended."""
    session = Session(
        store, **WINDOW, options=SessionOptions(new=NewSession(dialect="openai-chat"))
    )
    session.append(*talk(0, 2))
    assert session.compact().reason == "below threshold"
    session.append(*talk(2, 30))
    sent: list[int] = []
    session.send(lambda messages: sent.append(len(json.dumps(messages)) // 4))
    assert sent[0] < 8_000
    assert session.info.compactions == 1


def test_rotation_goes_on_under_another_id_and_tells_so(store: Store) -> None:
    """The parent ends, the child carries title, goal and state; hooks and the current id follow."""
    heard: list[Any] = []
    hooks = Hooks(before_compaction=heard.append, event=heard.append, session_switch=heard.append)
    session = begun(store, hooks=hooks, new={"mode": "rotate", "goal": "ship"})
    parent, before = session.id, session.messages
    report = session.compact(force=True)
    assert report.persistence == "child"
    assert session.id != parent
    assert current_session() == session.id
    ended = store.session(parent)
    assert ended.end_reason == "compression"
    assert (session.info.parent_id, session.info.descent) == (parent, "compression")
    assert (session.info.title, session.info.goal) == ("Modules #2", "ship")
    asked, switched, done = heard
    assert asked.id == parent
    assert switched == Switched(parent, session.id, "compression")
    assert isinstance(done, SessionEvent)
    assert (done.kind, done.previous_id, done.report) == ("compacted", parent, report)
    assert done.folded
    assert len(done.folded_ids) == len(done.folded)
    session.append(*talk(20, 1))
    assert Session.open(store, parent, **WINDOW).id == session.id
    assert session.undo()
    assert session.messages == before + talk(20, 1)


class Failing:
    """A store of which one method fails; everything else is the real one's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.method = ""
        self.error: BaseException = MemoryError()

    def __getattr__(self, name: str) -> Any:
        if name == self.method:
            raise self.error
        return getattr(self._store, name)


@pytest.mark.parametrize("mode", ["in-place", "rotate"])
@pytest.mark.parametrize("error", [LeaseLost("x"), KeyboardInterrupt(), MemoryError()])
def test_a_compaction_that_fails_leaves_everything_as_it_was(
    store: Store, mode: str, error: BaseException
) -> None:
    """Also for an interrupt in the middle: the same messages, the same id, and the next attempt
    works."""
    failing: Any = Failing(store)
    session = begun(failing, new={"mode": mode})
    before, name = session.messages, session.id
    failing.method = "commit" if mode == "in-place" else "rotate"
    failing.error = error
    if isinstance(error, LeaseLost):
        assert session.compact(force=True).reason == "aborted"
    else:
        with pytest.raises(type(error)):
            session.compact(force=True)
    failing.method = ""
    assert (session.messages, session.id) == (before, name)
    assert current_session() == name
    assert store.session(name).ended is None
    assert session.compact(force=True).status == "compacted"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_an_append_that_is_cut_off_leaves_what_the_store_holds(
    store: Store, error: BaseException
) -> None:
    """What was not acknowledged is not there, and the session goes on."""
    failing: Any = Failing(store)
    session = begun(failing)
    before = session.messages
    failing.method, failing.error = "append", error
    with pytest.raises(type(error)):
        session.append(*talk(20, 1))
    failing.method = ""
    assert session.messages == before
    session.append(*talk(21, 1))
    assert session.messages == before + talk(21, 1)


def test_somebody_else_who_compacts_is_named_and_nothing_happens(store: Store) -> None:
    """Contention is an answer, not an error."""
    session = begun(store)
    before = session.messages
    lease = store.acquire(session.id, "another host pid 7", 60.0)
    assert isinstance(lease, Lease)
    report = session.compact(force=True)
    assert (report.status, report.reason) == ("unchanged", "already running")
    assert "another host pid 7" in report.detail
    assert session.messages == before
    store.release(lease)
    assert session.compact(force=True).status == "compacted"


def test_leases_that_do_not_work_are_done_without_and_said_once(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """The swap of the view alone then decides who was first."""
    failing: Any = Failing(store)
    session = begun(failing)
    failing.method = "acquire"
    failing.error = StoreUnavailable("leases", "are broken", remedy="none")
    with caplog.at_level(logging.WARNING):
        assert session.compact(force=True).status == "compacted"
        session.append(*talk(20, 20))
        assert session.compact(force=True).status == "compacted"
    assert sum("session.no_lease" in record.message for record in caplog.records) == 1


def test_two_processes_append_and_both_see_everything(store: Store) -> None:
    """What the other one wrote is taken up; nothing is lost or written twice."""
    first = begun(store)
    second = Session.open(store, first.id, **WINDOW)
    first.append(*talk(20, 1))
    second.append(*talk(21, 1))
    first.append(*talk(22, 1))
    assert first.messages[-6:] == talk(20, 3)
    assert store.session(first.id).length == 47


def test_a_request_that_was_too_long_is_compacted_and_sent_once_more(store: Store) -> None:
    """The window is taken from the error; another error comes out as it is."""
    session = begun(store)
    calls: list[int] = []

    def model(messages: list[Any]) -> str:
        calls.append(len(messages))
        if len(calls) == 1:
            raise RuntimeError("prompt is too long: 9000 tokens > 6000 maximum")
        return "fine"

    assert session.send(model) == "fine"
    assert calls[1] < calls[0]
    assert internals(session).engine.settings.context_length == 6_000

    def broken(messages: list[Any]) -> str:
        raise ValueError("something else")

    with pytest.raises(ValueError, match="something else"):
        session.send(broken)


def test_the_system_prompt_is_rendered_at_the_start_and_after_compactions_only(
    store: Store,
) -> None:
    """Between two compactions it stays the same bytes, also after a restart."""
    rendered: list[int] = []

    def system(info: SessionInfo) -> str:
        rendered.append(1)
        return f"You help. Memory {len(rendered)}."

    session = begun(store, system=system)
    assert session.messages[0]["content"] == "You help. Memory 1."
    session.append(*talk(20, 1))
    again = Session.open(store, session.id, **WINDOW, system=system)
    assert again.messages[0]["content"] == "You help. Memory 1."
    again.compact(force=True)
    assert again.messages[0]["content"] == "You help. Memory 2."


def test_branches_subagents_and_resets_have_their_own_way(store: Store) -> None:
    """A branch shares what came before; a subagent and a reset share nothing."""
    session = begun(store)
    branch = session.branch(3, title="other way")
    branch.append(*talk(90, 1))
    assert branch.messages == session.messages[:3] + talk(90, 1)
    helper = session.delegate(title="look it up")
    assert (helper.info.kind, helper.messages) == ("subagent", [])
    fresh = session.switch()
    assert store.session(session.id).end_reason == "reset"
    assert fresh.info.parent_id == session.id
    assert [one.descent for one in store.lineage(session.id)].count("branch") == 1


def test_pins_stay_and_usage_is_kept(store: Store) -> None:
    """A pinned message is there after the compaction; usage counts cached tokens."""
    session = begun(store)
    pinned = session.messages[5]
    session.pin(5, "the rule")
    session.used({"prompt_tokens": 4_000, "completion_tokens": 5,
                  "prompt_tokens_details": {"cached_tokens": 3_000}}, cost=0.01)  # fmt: skip
    session.compact(force=True)
    assert pinned in session.messages
    (row,) = store.usage(session.id)
    assert (row.input_tokens, row.cache_read_tokens, row.output_tokens) == (4_000, 3_000, 5)
    with pytest.raises(UnknownReference):
        session.recall("fa-0000000000")


def test_log_records_carry_the_session() -> None:
    """The field is there for every record, whoever logs."""
    record = logging.LogRecord("x", logging.INFO, "", 0, "m", (), None)
    assert SessionField().filter(record)
    assert record.foldaway_session == current_session()


class ByCharacters:
    """A counter that counts characters."""

    name = "characters"
    is_estimate = False

    def __init__(self) -> None:
        self.asked = 0

    def count(self, text: str) -> int:
        """Return how long a text is."""
        self.asked += 1
        return len(text)


def test_a_resumed_session_is_not_counted_again_by_the_same_counter(store: Store) -> None:
    """What a message costs is kept with the log, under what it was counted by. Another counter
    counts all of it, and from its first message on nothing is known of the whole."""
    messages = talk(0, 6)
    first = ByCharacters()
    session = Session(store, model=Model(counter=first))
    session.append(*messages)
    again = ByCharacters()
    resumed = Session.open(store, session.id, model=Model(counter=again))
    assert again.asked == 0
    sizes = [tokens for _, tokens in internals(resumed).engine.conversation.list_arrived(0)]
    assert sizes == [tokens for _, tokens in internals(session).engine.conversation.list_arrived(0)]
    other = Session.open(store, session.id)
    assert [tokens for _, tokens in internals(other).engine.conversation.list_arrived(0)] != sizes
    other.append({"role": "user", "content": "And now?"})
    last = ByCharacters()
    Session.open(store, session.id, model=Model(counter=last))
    assert last.asked > 0


class TooLong(Exception):
    """What OpenAI's client raises, without the number."""

    status_code = 400
    code = "context_length_exceeded"


def test_a_window_that_nobody_names_is_found_in_a_few_steps(store: Store) -> None:
    """Each time half of what was refused is sent, until it fits or nothing can be folded."""
    session = Session(store, context_length=100_000, policy=SMALL)
    session.append({"role": "system", "content": "You help."}, *talk(0, 60))
    sizes: list[int] = []

    def model(messages: list[Any], window: int = 1_200) -> str:
        sizes.append(len(json.dumps(messages)) // 4)
        if sizes[-1] > window:
            raise TooLong("too long")
        return "fine"

    assert session.send(model) == "fine"
    assert len(sizes) > 2
    with pytest.raises(TooLong):
        session.send(lambda messages: model(messages, 10))
    assert len(sizes) < 20


def test_after_a_reset_both_talks_are_listed_and_the_goal_is_not_carried_over(store: Store) -> None:
    """A new talk is not the next part of the old one."""
    session = begun(store, new={"goal": "ship"})
    fresh = session.switch()
    fresh.append(*talk(50, 1))
    listed = store.sessions(SessionFilter(only_leaves=True)).sessions
    assert {one.id for one in listed} == {session.id, fresh.id}
    assert fresh.info.goal == ""
    assert fresh.info.parent_id == session.id


def test_a_branch_in_the_background_leaves_the_current_session(store: Store) -> None:
    """Its messages go elsewhere, and the log field still names the one that goes on."""
    session = begun(store)
    session.branch(3)
    assert current_session() == session.id


def test_a_broken_lock_of_any_kind_does_not_stop_a_compaction(store: Store) -> None:
    """As a store of another version has it: its method takes other arguments."""
    failing: Any = Failing(store)
    session = begun(failing)
    failing.method, failing.error = "acquire", TypeError("takes 3 arguments")
    assert session.compact(force=True).status == "compacted"


def test_facts_of_a_host_are_kept_with_the_session(store: Store) -> None:
    """By all handles together, also for one that is opened later."""
    first = Session(store, "key")
    first.append({"role": "user", "content": "Look at it."})
    other = Session(store, "key")
    first.change(notes={"one": 1})
    other.change(notes={"two": [2]})
    first.change(notes={"three": "3"})
    assert Session(store, "key").notes == {"one": 1, "two": [2], "three": "3"}
    assert Session(store, "new").notes == {}
