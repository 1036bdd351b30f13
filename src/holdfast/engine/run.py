"""One compaction of a conversation, in two halves: before and after the summary is written."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.compact import Outcome, Plan, Unchanged, finish, plan
from holdfast.compaction.state import CompactionState
from holdfast.compaction.trigger import Decision
from holdfast.compaction.work import Wish
from holdfast.engine.conversation import Conversation
from holdfast.engine.live_log import LiveLog
from holdfast.report import Report
from holdfast.writing.write import Draft, add_draft, count_patched


class Run(Struct, frozen=True):
    """A compaction that was begun: its plan, and what it was begun on."""

    todo: Plan
    decision: Decision
    log: LiveLog
    state: CompactionState

    def still_holds(self, here: Conversation) -> bool:
        """Return whether the conversation only grew since."""
        return here.log is self.log and here.state is self.state


def begin(here: Conversation, wish: Wish, *, force: bool, frozen: bool = False) -> Run | Report:
    """Return what to do, or the report where nothing is; a frozen one does not see what arrives
    while its summary is written.
    """
    decision = here.decide()
    work = here.work(wish, frozen=frozen)
    if not force and not decision.due:
        stays = Unchanged(decision.reason, decision.detail, here.estimate())
        return here.reported(work, stays, decision)
    todo = plan(work)
    if isinstance(todo, Unchanged):
        report = here.reported(work, todo, decision)
        here.was_in_vain(report, counts=decision.due)
        return report
    return Run(todo, decision, here.log, here.state)


class Made(Struct, frozen=True):
    """What came of a run: what was written, and the next view where there is one."""

    written: Draft | None
    done: Outcome | Unchanged


def made_of(run: Run, written: Draft | None = None) -> Made:
    """Return what a run comes to; nothing changes yet, so this may happen beside the agent."""
    if written is not None and written.stops:
        stays = Unchanged(written.stops, written.detail, run.todo.tokens_before)
        return Made(written, stays)
    made = None if written is None else written.done
    done = made or finish(run.todo, None if written is None else written.prose)
    if written is not None and isinstance(done, Outcome):
        done = replace(done, state=_paused(done.state, written))
    return Made(count_patched(written, done), done)


def _paused(state: CompactionState, written: Draft) -> CompactionState:
    native = written.native_breaker
    return replace(
        state,
        breaker=written.breaker,
        native_breaker=state.native_breaker if native is None else native,
    )


def end(here: Conversation, run: Run, made: Made) -> Report:
    """Take in what a run came to, and return the report; where the conversation did more than
    grow since it was begun, nothing changes.
    """
    work, decision, written = run.todo.work, run.decision, made.written
    if not run.still_holds(here):
        gone = Unchanged(
            "aborted", "the conversation was compacted, undone or replaced in the meantime",
            here.estimate(),
        )  # fmt: skip
        return here.reported(here.work(work.wish), gone, decision)
    report = add_draft(here.report_on(work, made.done, decision), written)
    if isinstance(made.done, Outcome):
        here.adopt(made.done, report)
    elif written is not None and written.stops:
        here.state = _paused(here.state, written)
    else:
        here.was_in_vain(report, counts=decision.due)
    here.last = report
    return report
