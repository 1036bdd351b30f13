"""Native compaction: the provider is asked first, all other writers after it.

A provider that compacts its own conversations gives an item that only it can read or sign. It goes
into the view as it came, in the place of our summary; the summary is made all the same and stays
in the state as its shadow. Whatever goes wrong, the run goes on as if nobody had been asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import NativeAnswer, NativeItem, NativeRequest, SummaryNote, log_event
from foldaway.compaction import (
    Breaker,
    Compaction,
    CompactionInput,
    Partition,
    Plan,
    Skipped,
    finish,
    is_native,
    system_stop,
)
from foldaway.dialects import dialect_named
from foldaway.errors import SummarizerFailed
from foldaway.summarizers.failures import after_failure, failure_note
from foldaway.summarizers.write import (
    BY_LEDGER,
    Call,
    Draft,
    Steps,
    WriteContext,
    answer_of,
    write_steps,
)
from foldaway.summarizers.writers import MUST_LEAD, NativeCompaction, Writers
from foldaway.transcript import (
    Folded,
    Kept,
    Message,
    Opaque,
    Part,
    Rewritten,
    Text,
    ToolResult,
    texts,
)

# One run


def draft_steps(todo: Plan, writers: Writers, context: WriteContext) -> Steps[Draft | None]:
    """Yield the calls that a plan needs, and return what came of them; None if the ledger alone
    writes and nothing is to say.

    Raises nothing that comes from a provider or a summarizer; cancelling it changes nothing.
    """
    ready = _prepare(todo, writers.native, context)
    before = (yield from _ask(ready, context)) if isinstance(ready, _Ready) else ready
    if writers.main is None or (before is not None and before.is_final):
        return before
    draft = yield from write_steps(todo, writers, context)
    if before is None:
        return draft
    return replace(
        draft,
        notes=(*before.notes, *draft.notes),
        native_breaker=before.native_breaker,
        native_call=before.native_call,
    )


def _ask(ready: _Ready, context: WriteContext) -> Steps[Draft]:
    """Have the provider asked; return the next view with its item, or what follows a failure."""
    compactor, timeout = ready.native.compactor, ready.native.timeout
    given = yield from answer_of(
        Call(
            compactor.name,
            lambda: compactor.compact(ready.request, timeout),
            lambda: compactor.acompact(ready.request, timeout),
        )
    )
    if isinstance(given, SummarizerFailed):
        return _failed(ready, given, context)
    cost = _cost(ready.native, given)
    try:
        done = _outcome(ready, given)
    except SummarizerFailed as failure:
        return replace(_failed(ready, failure, context), native_call=cost)
    return Draft(
        done=done,
        note=SummaryNote(source="native", name=compactor.name, confidence="low", calls=1),
        breaker=ready.todo.work.state.breaker,
        native_breaker=Breaker(),
        native_call=cost,
        notes=(given.note,) if given.note else (),
    )


class _Ready(Struct, frozen=True):
    """A request that may be put, and the plan that its answer completes."""

    native: NativeCompaction
    todo: Plan
    request: NativeRequest


def _prepare(
    todo: Plan, native: NativeCompaction | None, context: WriteContext
) -> _Ready | Draft | None:
    """Return the request; if the provider is not to be asked, the reason why, or None."""
    if native is None:
        return None
    why_not = _why_not(todo.work, native, context)
    if why_not:
        return _without(todo, why_not)
    again = todo.headless
    if again is None or isinstance(again, Skipped):
        return _without(todo, again.detail if again is not None else "it was not planned")
    partition = _partition(again)
    if not partition.folds():
        return None
    again = replace(again, choice=replace(again.choice, partition=partition))
    return _Ready(native, again, _request(again.work, partition, native))


def _why_not(work: CompactionInput, native: NativeCompaction, context: WriteContext) -> str:
    breaker = work.state.native_breaker
    if never := native.why_never(work.rules.name, work.log):
        return never
    if work.options.focus:
        return "a focus was asked for, which only our own summaries have"
    if work.budget.target_tokens is not None:
        return "a size was asked for, which only our own summaries keep"
    if breaker.is_open(context.now) and not context.forced:
        seconds = round(breaker.until - context.now)
        return f"it failed ({breaker.kind}) and is asked again in {seconds:,} s"
    return ""


def _without(todo: Plan, why: str) -> Draft:
    """Return that the provider was not asked; other writers do as always."""
    said = f"no native compaction: {why}"
    return Draft(note=BY_LEDGER, breaker=todo.work.state.breaker, notes=(said,))


def _partition(todo: Plan) -> Partition:
    """Return the partition with an older item among what is folded: the provider reads it again."""
    partition, log = todo.choice.partition, todo.work.log
    ask = todo.work.index.anchors.ask
    islands = tuple(
        (start, stop)
        for start, stop in partition.islands
        if start <= ask < stop
        or not any(is_native(part) for one in log[start:stop] for part in one.parts)
    )
    return replace(partition, islands=islands)


def _request(
    work: CompactionInput, partition: Partition, native: NativeCompaction
) -> NativeRequest:
    encode = dialect_named(native.compactor.dialect).encode
    start, stop = partition.head_stop, partition.tail_start
    system = work.log[: system_stop(work.log)]
    leading = "\n\n".join(words for one in system for words in texts(one))
    return NativeRequest(
        messages=tuple(encode(message) for message in _shown(work, start, stop)),
        system=(leading or None) if native.system is None else native.system,
        tools=native.tools,
    )


def _shown(work: CompactionInput, start: int, stop: int) -> Iterator[Message]:
    """Yield what the model sees of a range now: the provider has it in its cache."""
    for item in work.view.items:
        if item.stop <= start or item.start >= stop:
            continue
        match item:
            case Kept():
                yield from work.log[max(item.start, start) : min(item.stop, stop)]
            case Rewritten(message=message):
                yield message
            case Folded(messages=messages):
                yield from messages


def _cost(native: NativeCompaction, answer: NativeAnswer) -> dict[str, Any] | None:
    """Return what the call cost by the usage that came with it; None if that is not known."""
    from foldaway.caching import RequestUsage, known_prices

    model = native.compactor.name.partition(":")[2]
    prices = native.prices or known_prices(model)
    if prices is None or not answer.input_tokens:
        return None
    cost = prices.paid(
        RequestUsage(
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cache_read_tokens=answer.cache_read_tokens,
            cache_write_tokens=answer.cache_write_tokens,
        )
    )
    return {
        "model": model,
        "prices": prices.source,
        "input_tokens": answer.input_tokens,
        "output_tokens": cost.output_tokens,
        "cache_read_tokens": cost.read_tokens,
        "cache_write_tokens": cost.written_tokens,
        "usd": cost.usd,
    }


def _outcome(ready: _Ready, answer: NativeAnswer) -> Compaction:
    """Return the next view, or raise `SummarizerFailed` if the answer cannot be part of it."""
    name, dialect = ready.native.compactor.name, ready.native.compactor.dialect
    try:
        msgspec.json.encode(answer.items)
    except (UnicodeEncodeError, TypeError, ValueError):
        raise SummarizerFailed("broken answer", name, "it cannot be written as JSON") from None
    messages = tuple(
        replace(message, position=-1, origin="summary")
        for message in dialect_named(dialect).decode(answer.items)
    )
    parts = [part for one in messages for part in one.parts if isinstance(part, Opaque)]
    sealed = tuple(part.wire for part in parts if is_native(part))
    if not sealed:
        raise SummarizerFailed("empty answer", name, "nothing in it is a compaction")
    done = finish(ready.todo, None, messages)
    if isinstance(done, Skipped):
        raise SummarizerFailed("bad answer", name, f"{done.reason}: {done.detail}")
    item = NativeItem(sealed, done.summary_text)
    return replace(done, state=replace(done.state, native=item))


def _failed(ready: _Ready, failure: SummarizerFailed, context: WriteContext) -> Draft:
    log_event(
        "summary.failed", summarizer=ready.native.compactor.name, failure=failure.kind, then="other"
    )
    state, note = ready.todo.work.state, failure_note(failure.kind)
    if failure.kind == "cancelled":
        detail = f"{failure}; nothing was changed"
        return Draft(note=note, breaker=state.breaker, stops="aborted", detail=detail)
    paused = after_failure(state.native_breaker, failure, context.now)
    said = f"{failure}; the provider's own compaction was done without"
    return Draft(note=note, breaker=state.breaker, native_breaker=paused, notes=(said,))


# Another provider


def without_native(messages: Sequence[Any], native: NativeItem | None, dialect: str) -> list[Any]:
    """Return a wire list with our summary in the place of the provider's item.

    That is the list to convert when the session moves: no other provider can read the item. A list
    that does not hold it comes back as it is.
    """
    if native is None:
        return list(messages)
    known = dialect_named(dialect)
    decoded = known.decode(messages)
    found: list[Message] = []
    at = 0
    while at < len(decoded):
        message = decoded[at]
        own = tuple(part for part in message.parts if not _is_ours(part, native))
        at += 1
        if len(own) == len(message.parts):
            found.append(message)
        elif own:
            found.append(message.with_parts((Text(native.shadow), *own)))
        elif at < len(decoded) and _takes_words(decoded[at], dialect):
            follower = decoded[at]
            found.append(follower.with_parts((Text(native.shadow), *follower.parts)))
            at += 1
        else:
            found.append(Message("user", (Text(native.shadow),), origin="summary"))
    return [known.encode(message) for message in found]


def _is_ours(part: Part, native: NativeItem) -> bool:
    return isinstance(part, Opaque) and is_native(part) and part.wire in native.items


def _takes_words(message: Message, dialect: str) -> bool:
    """Return whether a message can take the summary before its own words: two neighbours of one
    role are avoided where the dialect has turns.
    """
    answers = any(isinstance(part, ToolResult) for part in message.parts)
    return dialect in MUST_LEAD and message.role == "user" and not answers
