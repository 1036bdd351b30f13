"""One compaction of a conversation, in two halves: before and after the summary is written."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from holdfast.engine.conversation import Conversation
from holdfast.engine.live_log import LiveLog
from holdfast.engine.writing import Written, patched, told
from holdfast.pipeline.compact import Outcome, Plan, Unchanged, finish, plan
from holdfast.pipeline.state import CompactionState
from holdfast.pipeline.trigger import Decision
from holdfast.pipeline.work import Wish
from holdfast.report import Report


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
        here.was_in_vain(counts=decision.due and todo.reason != "cannot")
        return here.reported(work, todo, decision)
    return Run(todo, decision, here.log, here.state)


def end(here: Conversation, run: Run, written: Written | None = None) -> Report:
    """Fold what was planned and return the report; nothing changes where that is not possible."""
    work, decision = run.todo.work, run.decision
    if not run.still_holds(here):
        gone = Unchanged(
            "aborted", "the conversation was compacted, undone or replaced in the meantime",
            here.estimate(),
        )  # fmt: skip
        return here.reported(here.work(work.wish), gone, decision)
    made = written or Written()
    if made.stops:
        here.state = replace(here.state, breaker=made.breaker)
        stays = Unchanged(made.stops, made.detail, run.todo.tokens_before)
        return _kept(here, here.reported(work, stays, decision), made)
    done = finish(run.todo, made.checked)
    if isinstance(done, Outcome):
        if written is not None:
            done = replace(done, state=replace(done.state, breaker=made.breaker))
        here.adopt(done)
    else:
        here.was_in_vain(counts=decision.due and done.reason != "cannot")
    return _kept(here, here.reported(work, done, decision), patched(written, done))


def _kept(here: Conversation, report: Report, written: Written | None) -> Report:
    here.last = told(report, written)
    return here.last
