"""The broker of native compaction: the provider is asked first, whoever else writes comes after.

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

from holdfast.caching.prices import Prices, paid
from holdfast.catalog.prices import economy_of
from holdfast.compaction.compact import Outcome, Plan, Unchanged, finish, plan
from holdfast.compaction.partition import Partition, is_native, system_stop
from holdfast.compaction.state import Breaker
from holdfast.compaction.work import Work
from holdfast.dialects.registry import dialect_named
from holdfast.errors import SummarizerFailed, UnknownName
from holdfast.ports import NativeAnswer, NativeCompactor, NativeItem, NativeRequest
from holdfast.report import SummaryNote
from holdfast.transcript import (
    Folded,
    Kept,
    Message,
    Opaque,
    Part,
    Payload,
    Rewritten,
    Text,
    ToolResult,
    texts,
)
from holdfast.writing.failures import CLASSES, after_failure
from holdfast.writing.write import Moment, Written, awrite, write
from holdfast.writing.writers import DEFAULT_TIMEOUT, Writers

_MUST_LEAD = frozenset({"anthropic"})
"""Dialects whose item must be the very first of the list."""


class Native(Struct, frozen=True, kw_only=True):
    """The caller's leave to have a conversation compacted by its own provider."""

    compactor: NativeCompactor
    timeout: float = DEFAULT_TIMEOUT
    system: Any = None
    """The system text of the requests, where it stands outside the list."""
    tools: Sequence[Payload] = ()
    """The tools of the requests: the provider reads the conversation with them."""
    prices: Prices | None = None
    """Those of its model, where they are not to be looked up."""


class Broker(Struct, frozen=True, kw_only=True):
    """Who may be asked: the provider, then a model; the ledger where neither is."""

    native: Native | None = None
    writers: Writers | None = None

    @property
    def asks_nobody(self) -> bool:
        """Whether the ledger alone writes."""
        return self.native is None and self.writers is None

    @property
    def patience(self) -> float:
        """How many seconds all of them together may take."""
        native = self.native.timeout if self.native else 0.0
        return native + (self.writers.timeout if self.writers else 0.0)


def native_of(
    given: Native | NativeCompactor | str | None,
    *,
    url: str = "",
    key_variable: str = "",
    timeout: float = DEFAULT_TIMEOUT,
    system: Any = None,
    tools: Sequence[Payload] = (),
    prices: Prices | None = None,
) -> Native | None:
    """Return the leave that the caller gave; names are looked up.

    `url` is another address than the provider's own, `key_variable` holds the key for it. Raises
    `UnknownName` for a name of another kind than `openai-responses:MODEL` and `anthropic:MODEL`,
    and `MissingExtra` without the SDK.
    """
    if given is None or isinstance(given, Native):
        return given
    compactor = _named(given, url, key_variable) if isinstance(given, str) else given
    return Native(compactor=compactor, timeout=timeout, system=system, tools=tools, prices=prices)


def why_never(native: Native, rules: str, log: Sequence[Message]) -> str:
    """Return why a conversation cannot be compacted by this provider, "" where it can."""
    wanted = native.compactor.dialect
    if rules != wanted:
        return f"it takes lists of {wanted!r}, and this one is for {rules!r}"
    if wanted in _MUST_LEAD and system_stop(log):
        return "its item must be the first of the list, which begins with a system message"
    return ""


def _named(spec: str, url: str, key_variable: str) -> NativeCompactor:
    from holdfast.writing.models.native_anthropic import anthropic_native
    from holdfast.writing.models.native_openai import openai_native

    makers = {"openai-responses": openai_native, "anthropic": anthropic_native}
    kind, _, model = spec.partition(":")
    if kind not in makers or not model.strip():
        raise UnknownName("native compaction", spec, [f"{name}:MODEL" for name in makers])
    return makers[kind](model, url=url, key_variable=key_variable)


# One run


def write_through(todo: Plan, broker: Broker, moment: Moment) -> Written | None:
    """Return what came of a plan; None where the ledger alone writes and nothing is to say.

    Raises nothing that comes from a provider or a summariser.
    """
    made = _ready(todo, broker.native, moment)
    if isinstance(made, _Ready):
        try:
            given = made.native.compactor.compact(made.request, made.native.timeout)
        except SummarizerFailed as failure:
            given = failure
        except Exception as error:  # noqa: BLE001 a compactor of the host's own
            given = _foreign(made, error)
        made = _taken(made, given, moment)
    if broker.writers is None or _is_final(made):
        return made
    return _joined(made, write(todo, broker.writers, moment))


async def awrite_through(todo: Plan, broker: Broker, moment: Moment) -> Written | None:
    """Do what `write_through` does, for callers that await; cancelling it changes nothing."""
    made = _ready(todo, broker.native, moment)
    if isinstance(made, _Ready):
        try:
            given = await made.native.compactor.acompact(made.request, made.native.timeout)
        except SummarizerFailed as failure:
            given = failure
        except Exception as error:  # noqa: BLE001 a compactor of the host's own
            given = _foreign(made, error)
        made = _taken(made, given, moment)
    if broker.writers is None or _is_final(made):
        return made
    return _joined(made, await awrite(todo, broker.writers, moment))


def _is_final(made: Written | None) -> bool:
    """Return whether nobody else is to be asked."""
    return made is not None and (made.done is not None or made.stops != "")


class _Ready(Struct, frozen=True):
    """A request that may be put, and the plan that its answer completes."""

    native: Native
    todo: Plan
    request: NativeRequest


def _ready(todo: Plan, native: Native | None, moment: Moment) -> _Ready | Written | None:
    """Return the request; where the provider is not to be asked, the reason why, or None."""
    if native is None:
        return None
    why_not = _why_not(todo.work, native, moment)
    if why_not:
        return _without(todo, why_not)
    work = replace(todo.work, wish=replace(todo.work.wish, keeps_head=False))
    again = replace(todo, work=work) if work.state.count else plan(work)
    if isinstance(again, Unchanged):
        return _without(todo, again.detail)
    partition = _partition(again)
    if not partition.folds():
        return None
    again = replace(again, choice=replace(again.choice, partition=partition))
    return _Ready(native, again, _request(again.work, partition, native))


def _why_not(work: Work, native: Native, moment: Moment) -> str:
    breaker = work.state.native_breaker
    if never := why_never(native, work.rules.name, work.log):
        return never
    if work.wish.focus:
        return "a focus was asked for, which only our own summaries have"
    if work.budget.target_tokens is not None:
        return "a size was asked for, which only our own summaries keep"
    if breaker.is_open(moment.now) and not moment.forced:
        seconds = round(breaker.until - moment.now)
        return f"it failed ({breaker.kind}) and is asked again in {seconds:,} s"
    return ""


def _without(todo: Plan, why: str) -> Written:
    """Return that the provider was not asked; whoever else writes does so as always."""
    note = SummaryNote(source="ledger", confidence="medium")
    said = f"no native compaction: {why}"
    return Written(note=note, breaker=todo.work.state.breaker, notes=(said,))


def _partition(todo: Plan) -> Partition:
    """Return the partition with an older item among what is folded: the provider reads it again."""
    partition, log = todo.choice.partition, todo.work.log
    assert partition is not None
    ask = todo.work.index.anchors.ask
    islands = tuple(
        (start, stop)
        for start, stop in partition.islands
        if start <= ask < stop
        or not any(is_native(part) for one in log[start:stop] for part in one.parts)
    )
    return replace(partition, islands=islands)


def _request(work: Work, partition: Partition, native: Native) -> NativeRequest:
    encode = dialect_named(native.compactor.dialect).encode
    start, stop = partition.head_stop, partition.tail_start
    system = work.log[: system_stop(work.log)]
    leading = "\n\n".join(words for one in system for words in texts(one))
    return NativeRequest(
        messages=tuple(encode(message) for message in _shown(work, start, stop)),
        system=(leading or None) if native.system is None else native.system,
        tools=native.tools,
    )


def _shown(work: Work, start: int, stop: int) -> Iterator[Message]:
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


# What came of it


def _taken(ready: _Ready, given: NativeAnswer | SummarizerFailed, moment: Moment) -> Written:
    """Return the next view with the provider's item in it, or what follows a failure."""
    if isinstance(given, SummarizerFailed):
        return _failed(ready, given, moment)
    try:
        done = _outcome(ready, given)
    except SummarizerFailed as failure:
        return replace(_failed(ready, failure, moment), native_call=_call(ready.native, given))
    name = ready.native.compactor.name
    return Written(
        done=done,
        note=SummaryNote(source="native", name=name, confidence="low", calls=1),
        breaker=ready.todo.work.state.breaker,
        native_breaker=Breaker(),
        native_call=_call(ready.native, given),
        notes=(given.note,) if given.note else (),
    )


def _call(native: Native, answer: NativeAnswer) -> dict[str, Any] | None:
    """Return what the call cost by the usage that came with it; None where that is not known."""
    model = native.compactor.name.partition(":")[2]
    economy = economy_of(model, native.prices, "5m")
    if economy is None or not answer.input_tokens:
        return None
    cost = paid(
        economy.prices, answer.input_tokens, answer.output_tokens,
        read_tokens=answer.cache_read_tokens, written_tokens=answer.cache_write_tokens,
    )  # fmt: skip
    return {
        "model": model, "prices": economy.prices.source, "input_tokens": answer.input_tokens,
        "output_tokens": cost.output_tokens, "cache_read_tokens": cost.read_tokens,
        "cache_write_tokens": cost.written_tokens, "usd": cost.usd,
    }  # fmt: skip


def _outcome(ready: _Ready, answer: NativeAnswer) -> Outcome:
    """Return the next view, or raise `SummarizerFailed` where the answer cannot stand in it."""
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
    if isinstance(done, Unchanged):
        raise SummarizerFailed("bad answer", name, f"{done.reason}: {done.detail}")
    item = NativeItem(sealed, done.summary_text)
    return replace(done, state=replace(done.state, native=item))


def _failed(ready: _Ready, failure: SummarizerFailed, moment: Moment) -> Written:
    state = ready.todo.work.state
    note = SummaryNote(
        source="ledger", confidence="medium", failure=failure.kind,
        retry_class=CLASSES[failure.kind],
    )  # fmt: skip
    paused = after_failure(state.native_breaker, failure, moment.now)
    if failure.kind == "cancelled":
        return Written(note=note, breaker=state.breaker, stops="aborted",
                       detail=f"{failure}; nothing was changed")  # fmt: skip
    said = f"{failure}; the provider's own compaction was done without"
    return Written(note=note, breaker=state.breaker, native_breaker=paused, notes=(said,))


def _foreign(ready: _Ready, error: Exception) -> SummarizerFailed:
    """Return the failure of a compactor that does not keep to its protocol."""
    return SummarizerFailed("broken answer", ready.native.compactor.name, type(error).__name__)


def _joined(before: Written | None, written: Written) -> Written:
    """Return what a model wrote with what is to say of the provider that came before it."""
    if before is None:
        return written
    return replace(
        written, notes=(*before.notes, *written.notes), native_breaker=before.native_breaker,
        native_call=before.native_call,
    )  # fmt: skip


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
    return dialect in _MUST_LEAD and message.role == "user" and not answers
