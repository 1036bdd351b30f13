"""START HERE: plan() → one await → finish(), the whole story of a compaction on one screen.

`plan` measures, decides the partition and takes the facts; `finish` turns a plan and, where there
is one, a model's prose into the next view. Both are pure. Sync, async, background, batch and
gateway drivers are a few lines each around these two functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import LEAST_SAVING, Category, Reference
from foldaway.compaction.assemble import Assembled, Problem, assemble, verify
from foldaway.compaction.choose import Skipped, beyond_window, choose
from foldaway.compaction.join import Joined, joined, lasting
from foldaway.compaction.measure import Costs, by_category, compared
from foldaway.compaction.partition import Selection, newest_requests
from foldaway.compaction.room import least_summary, summary_room
from foldaway.compaction.thinking import is_looping, is_stuck, keeps_stale
from foldaway.compaction.work import CompactionInput, CompactionState, Options, terms_in_parts
from foldaway.facts import Summary
from foldaway.facts.ledger import Around, Fact, FactKind, Ledger, summarize, update
from foldaway.transcript import Message, ToolResult, View, is_ask

_STATE: frozenset[FactKind] = frozenset({"file", "place", "command", "test", "todo"})
"""Facts that give the current state, in any message."""
_MOST_SPARE = 0.5
"""Of the size; chosen: what stands in gaps takes less, or what must stay is too much for it."""
_LEAST_STEP = 0.05
"""Of the size: how much more stays free at least, if one choice was too large."""
_CLEARLY_SMALLER = 0.95
"""Nearer than this a sample is too coarse to say which of two is smaller."""


class Plan(Struct, frozen=True):
    """What would be done, before it is done: open to inspection, nothing changed yet."""

    work: CompactionInput
    choice: Selection
    ledger: Ledger
    """The facts of all that is folded."""
    told: Ledger
    """The same with what the tail shows no more, and with the state at its end."""
    tokens_before: int
    alone: Plan | Skipped | None = None
    """If somebody is asked: what is done if they fail, as if nobody had been asked."""
    headless: Plan | Skipped | None = None
    """If the provider is asked: what its item stands for, which may be the head too."""
    spare: int = 0
    """Of a size that was asked for, what was not given away: what stands in gaps is known last."""

    def ledger_summary(self) -> Summary:
        """Return the summary that the ledger makes: a model is shown it, and adds to it."""
        return summarize(self.told, _around(self))


class Compaction(Struct, frozen=True):
    """The next view and state, the messages that the model now sees, and what was done."""

    view: View
    state: CompactionState
    messages: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    summary_tokens: int
    new_references: tuple[Reference, ...]
    boundary: tuple[int, int]
    floor_tokens: int
    categories: tuple[Category, ...]
    known_faults: tuple[str, ...]
    """Rules that what was given breaks already, and the result too."""
    added: int = 0
    """Entries of a model in the summary that name something, all of it in the log."""
    summary_text: str = ""
    """The summary in its frame, also where a provider's own item stands in its place."""


def plan(work: CompactionInput, spare: int = 0) -> Plan | Skipped:
    """Return what to fold, or why nothing can be; `spare` tokens of the size stay free.

    What an answer or a failure of somebody who is asked leads to is planned now: later the log may
    have grown.
    """
    made = _planned(work, spare)
    if isinstance(made, Skipped) or work.writer == "ledger":
        return made
    made = replace(made, alone=_planned(replace(work, writer="ledger"), spare))
    if work.writer == "model":
        return made
    options = replace(work.options, keeps_head=False)
    return replace(made, headless=_planned(replace(work, options=options), spare))


def _planned(work: CompactionInput, spare: int) -> Plan | Skipped:
    if work.options.keeps_turn and is_stuck(work):
        work = replace(work, options=replace(work.options, keeps_turn=False))
    choice = choose(work, spare)
    if isinstance(choice, Skipped):
        return choice
    stop = choice.partition.tail_start
    ledger = work.index.ledger(stop, work.state.ledger, work.state.ledgered)
    told = update(ledger, _hidden(work, choice, stop))
    return Plan(work, choice, ledger, told, choice.tokens_before, spare=spare)


def _hidden(work: CompactionInput, choice: Selection, start: int) -> Iterator[Fact]:
    """Yield the facts of the tail that it no longer shows, and those of the current state."""
    tail = range(start, len(work.log))
    found: dict[int, list[Fact]] = {}
    hidden = {at for at in tail if _is_hidden(work, choice, at)}
    for fact in work.index.facts_at(sorted(hidden)):
        found.setdefault(fact.at, []).append(fact)
    for fact in work.index.deeds([at for at in tail if at not in hidden]):
        if fact.kind == "reply":
            found.setdefault(fact.at, []).append(replace(fact, text=""))
        elif fact.kind in _STATE:
            found.setdefault(fact.at, []).append(fact)
    for at in tail:
        yield from found.get(at, ())


def _is_hidden(work: CompactionInput, choice: Selection, at: int) -> bool:
    """Return whether a kept message shows less than it holds; of a marker it stands above."""
    message = choice.rewritten.get(at)
    if message is None or message.origin != "arrival":
        return message is not None
    form = work.index.find_form(at)
    return form is not None and not form.is_whole


def finish(
    todo: Plan, prose: Summary | None = None, native: tuple[Message, ...] = ()
) -> Compaction | Skipped:
    """Return the next view, or the reason why the one before stays.

    `prose` is what a model wrote, as far as the gate let it through; `native` is what the
    provider's own compaction gave, to stand in the place of the summary.
    """
    work = todo.work
    if prose is None and not native and todo.alone is not None:
        return todo.alone if isinstance(todo.alone, Skipped) else finish(todo.alone)
    both = _summary(todo, prose)
    made = _fit(work, todo.choice, both.summary, native)
    target = work.budget.target_tokens or made.tokens_after
    over = made.tokens_after - target
    if over > 0 and not native and todo.spare < _MOST_SPARE * target:
        again = plan(work, todo.spare + max(over, int(_LEAST_STEP * target)))
        smaller = again if isinstance(again, Skipped) else finish(again, prose)
        if isinstance(smaller, Compaction) and smaller.tokens_after < made.tokens_after:
            return smaller
    if work.costs.is_sampled and made.tokens_after > _CLEARLY_SMALLER * todo.tokens_before:
        todo = replace(todo, tokens_before=_measured_one_by_one(work))
    problem = verify(work, made, todo.tokens_before)
    less = _keeping_less(work)
    if problem is not None and problem.reason == "cannot" and less is not None:
        again = plan(replace(work, options=less))
        return again if isinstance(again, Skipped) else finish(again, prose)
    is_met = made.tokens_after <= (work.budget.target_tokens or 0)
    if problem is None and not is_met and (_is_again(work) or not todo.choice.is_new):
        problem = _worth_it(made, todo.tokens_before)
    if problem is not None:
        floor = todo.choice.floor_tokens
        detail = beyond_window(work, floor) or problem.detail
        return Skipped(problem.reason, detail, todo.tokens_before, floor)
    return _outcome(todo, made, prose, both)


def _keeping_less(work: CompactionInput) -> Options | None:
    """Return the options to try next if a result breaks a rule: without the head, then without what
    follows the latest message of the user, if a tool loop must have thinking.
    """
    options = work.options
    if options.keeps_head:
        return replace(options, keeps_head=False)
    is_free = options.above is None and options.keep_last is None
    if options.keeps_turn and is_free and is_looping(work):
        return replace(options, keeps_turn=False)
    return None


def _fit(
    work: CompactionInput, choice: Selection, summary: Summary, native: tuple[Message, ...]
) -> Assembled:
    """Return the candidate, its summary shortened by what the size asked for is exceeded by: the
    tokens of a whole are not quite the sum of the estimates of its parts.
    """
    made = assemble(work, choice, summary, native)
    target = work.budget.target_tokens
    if target is None or native:
        return made
    while (over := made.tokens_after - target) > 0:
        shorter = choice.summary_tokens - over
        if shorter < least_summary(work):
            break
        choice = replace(choice, summary_tokens=shorter)
        made = assemble(work, choice, summary)
    return made


def _is_again(work: CompactionInput) -> bool:
    """Return whether what there is was compacted before."""
    return work.state.count > 0 or any(message.origin != "real" for message in work.log)


def _worth_it(made: Assembled, before: int) -> Problem | None:
    """Return why an old view stays: to say the same again must save something."""
    if made.tokens_after <= _CLEARLY_SMALLER * before:
        return None
    return Problem("nothing to compact", f"{before:,} tokens would become {made.tokens_after:,}")


def _measured_one_by_one(work: CompactionInput) -> int:
    """Return the tokens of what the model sees now, without a sample."""
    length = len(work.log)
    known = Costs(work.log, work.counter, [work.costs[index] for index in range(length)])
    shown = by_category(work.view, work.log, known, {}, work.counter)
    return work.outside_tokens + sum(shown.values())


def _summary(todo: Plan, prose: Summary | None) -> Joined:
    """Return the summary, and what a model added to the ledger's."""
    work, around = todo.work, _around(todo)
    both = Joined(summarize(todo.told, around))
    if prose is None:
        prose = _older_prose(work.state, todo.choice.partition.tail_start)
    if prose is not None:
        both = joined(prose, both.summary, around.room_chars)
    return replace(both, summary=_as_asked(both.summary, work.options, around.room_chars))


def _older_prose(state: CompactionState, stop: int) -> Summary | None:
    """Return what a model wrote before, as far as it holds if the log up to `stop` is told."""
    if state.prose is None or state.prose_to >= stop:
        return state.prose
    return lasting(state.prose)


def _around(todo: Plan) -> Around:
    """Return what the summary of a plan is made for."""
    work, tail_start = todo.work, todo.choice.partition.tail_start
    return Around(
        room_chars=todo.choice.summary_tokens / todo.told.tokens_per_char(work.counter),
        kept=_kept_labels(todo),
        shown_from=tail_start,
        newer_reply=work.index.anchors.reply >= tail_start,
        newer_asks=work.index.anchors.ask >= tail_start,
        shown_terms=_shown_terms(todo),
        shown_calls=_shown_calls(todo),
        focus=work.options.focus,
        asks=newest_requests(work.log),
        brief=work.is_brief,
        carried=work.state.carried,
    )


def _as_asked(summary: Summary, options: Options, room_chars: float) -> Summary:
    """Return the summary with what the caller asked for first: a focus, a goal; and with what was
    delegated.
    """
    summary = summary.with_state(options.delegated)
    if options.focus:
        summary = summary.with_focus(options.focus)
    return summary.with_goal(options.goal, room_chars) if options.goal else summary


def record(
    work: CompactionInput, stop: int, tokens: int | None = None, *, for_person: bool = False
) -> str:
    """Return all that is known of the log up to `stop` as the text of one summary.

    It has at most `tokens`, as many as a compaction would give it if that is not said. It stands
    alone: nothing of the log is thought to be seen beside it. Nothing is changed, and no model is
    asked; what one wrote before is in it. One `for_person` has fewer headings.
    """
    state = work.state
    known, known_to = (state.ledger, state.ledgered) if state.ledgered <= stop else (Ledger(), 0)
    ledger = work.index.ledger(stop, known, known_to)
    room = summary_room(work, work.costs.span(0, stop)) if tokens is None else tokens
    around = Around(
        room_chars=room / ledger.tokens_per_char(work.counter),
        focus=work.options.focus,
        carried=state.carried,
        for_person=for_person,
    )
    summary = summarize(ledger, around)
    prose = _older_prose(state, stop)
    if prose is not None and state.prose_to <= stop:
        summary = joined(prose, summary, around.room_chars).summary
    summary = replace(_as_asked(summary, work.options, around.room_chars), for_person=for_person)
    return work.redact(summary.render(work.counter, room))


def _kept_labels(todo: Plan) -> frozenset[str]:
    """Return the labels of the messages before the tail that stay as they are."""
    log, partition = todo.work.log, todo.choice.partition
    return frozenset(
        log[index].label
        for start, stop in ((0, partition.head_stop), *partition.islands)
        for index in range(start, stop)
        if is_ask(log[index]) or index not in todo.choice.rewritten
    )


def _shown_calls(todo: Plan) -> frozenset[str]:
    """Return the labels of the messages that stay whole, behind one that does."""
    choice, log = todo.choice, todo.work.log
    tail = range(choice.partition.tail_start, len(log))
    whole = [at for at in tail if at not in choice.rewritten]
    return frozenset(log[at].label for at in whole if at - 1 not in choice.rewritten)


def _shown_terms(todo: Plan) -> frozenset[str]:
    """Return the terms of what stays; of a message that was cut, those that its results show."""
    work, choice, index = todo.work, todo.choice, todo.work.index
    found: set[str] = set()
    for start, stop in choice.partition.kept(len(work.log)):
        for at in range(start, stop):
            if _is_hidden(work, choice, at):
                parts = choice.rewritten[at].parts
                found.update(terms_in_parts(part for part in parts if type(part) is ToolResult))
            else:
                found.update(index.terms(at))
    return frozenset(found)


def _outcome(todo: Plan, made: Assembled, prose: Summary | None, both: Joined) -> Compaction:
    work, state = todo.work, todo.work.state
    partition = todo.choice.partition
    saving = 1 - made.tokens_after / todo.tokens_before if todo.tokens_before else 0.0
    poor = saving < LEAST_SAVING
    return Compaction(
        view=made.view,
        state=replace(
            state,
            count=state.count + 1,
            ledger=todo.ledger,
            ledgered=partition.tail_start,
            folded_to=partition.tail_start,
            prose=state.prose if prose is None else prose,
            prose_to=state.prose_to if prose is None else partition.tail_start,
            stale_thinking=keeps_stale(work, made.messages),
            ineffective=state.ineffective + 1 if poor else 0,
            references=(*state.references, *made.references),
        ),
        messages=made.messages,
        tokens_before=todo.tokens_before,
        tokens_after=made.tokens_after,
        summary_tokens=made.summary_tokens,
        new_references=made.references,
        boundary=(partition.head_stop, partition.tail_start),
        floor_tokens=todo.choice.floor_tokens,
        categories=compared(todo.choice.shown, made.shown),
        known_faults=tuple(rule for rule in made.known_faults if rule != "call-pending"),
        added=both.count_verified(made.summary_text),
        summary_text=made.summary_text,
    )
