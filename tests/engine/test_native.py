"""Native compaction in the engine: the provider's item in the view, our own summary beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.laws import broken_laws, latest_ask, own_parts
from tests.testing.long_lists import Exchange, joined, long_lists, written
from tests.testing.rows import each_row

from foldaway import Model, compress
from foldaway._core.policy import Policy
from foldaway._core.ports import NativeAnswer, NativeRequest
from foldaway._core.report import Report
from foldaway.caching.prices import Prices
from foldaway.compaction.measure import message_tokens
from foldaway.dialects.checking import check
from foldaway.dialects.conversion import convert
from foldaway.dialects.loading import load
from foldaway.engine.compressor import Compressor
from foldaway.errors import FailureKind, SummarizerFailed, UnknownName
from foldaway.facts.frame import SUMMARY_OPEN
from foldaway.summarizers.failures import CLASSES, PAUSES
from foldaway.summarizers.native import NativeCompaction
from foldaway.summarizers.writers import writers_of
from foldaway.testing import ScriptedSummarizer
from foldaway.transcript import Estimator

SMALL = Policy(floor_tokens=500)
PROVIDERS = ("openai-responses", "anthropic")
KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
FAILURES = tuple(kind for kind in KINDS if kind != "cancelled")
HOW = ("waits", "awaits")
LONE = [Exchange(30, 1, 900)]
"""A single ask, and a long run of work on it."""
GOOD = '{"completed": [{"text": "The agent looked through the values.", "source": ""}]}'

Answer = Callable[[NativeRequest], Any]


def sealed(number: int, provider: str) -> dict[str, Any]:
    """What a provider gives, with fields that nobody here knows."""
    if provider == "anthropic":
        return {"type": "compaction", "content": f"Summary {number}.", "signature": f"c2ln{number}",
                "tool_changes": [], "later": {"field": None}}  # fmt: skip
    return {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": f"Z2g{number}" * 50,
            "created_by": None}  # fmt: skip


class Provider:
    """A compactor that answers as its provider does, or as it is told."""

    def __init__(self, dialect: str, answer: Answer | None = None) -> None:
        self.name = f"{dialect}:model-x"
        self.dialect = dialect
        self.requests: list[NativeRequest] = []
        self.answers: list[NativeAnswer] = []
        self.answer = answer or self.as_always

    def as_always(self, request: NativeRequest) -> NativeAnswer:
        item = sealed(len(self.requests), self.dialect)
        if self.dialect == "anthropic":
            return NativeAnswer(items=({"role": "assistant", "content": [item]},), note="a header")
        users = [one for one in request.messages if one.get("role") == "user"]
        return NativeAnswer(items=(*users, item))

    def compact(self, request: NativeRequest, timeout: float) -> NativeAnswer:
        assert timeout > 0
        self.requests.append(request)
        answer = self.answer(request)
        if isinstance(answer, BaseException):
            raise answer
        self.answers.append(answer)
        return answer

    async def acompact(self, request: NativeRequest, timeout: float) -> NativeAnswer:
        return self.compact(request, timeout)


def failing(provider: str, kind: FailureKind) -> Provider:
    return Provider(provider, lambda _: SummarizerFailed(kind, f"{provider}:model-x", "HTTP 400"))


class Clock:
    """A clock that stands still until it is told otherwise."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def items_of(provider: str) -> list[Any]:
    return written(provider, [Exchange(2, 2, 900)] * 8, with_system=True)


def engine(
    native: Provider | NativeCompaction | None,
    provider: str = "",
    items: list[Any] | None = None,
    **settings: Any,
) -> Compressor:
    dialect = provider or (native.dialect if isinstance(native, Provider) else "")
    writers = writers_of(settings.pop("summarizer", None), native=native)
    made = Compressor(**{
        "context_length": 32_000, "policy": SMALL, "provider": dialect, "summarizer": writers,
        "clock": Clock(), **settings,
    })  # fmt: skip
    made.append(*(items_of(dialect) if items is None else items))
    return made


def compact(made: Compressor, how: str = "waits", **wishes: Any) -> Report:
    if how == "waits":
        return made.compact(**wishes)
    return asyncio.run(made.acompact(**wishes))


def blocks(messages: list[Any]) -> list[Any]:
    """Every sealed item in a list, as it stands there."""
    found: list[Any] = []
    for message in messages:
        content = message.get("content")
        parts: list[Any] = content if isinstance(content, list) else []
        found.extend(one for one in (message, *parts) if one.get("type") == "compaction")
    return found


def grow(made: Compressor, provider: str, start: int = 9) -> None:
    more = written(provider, [Exchange(2, 2, 900)] * 8, start=start)
    made.append(*joined(provider, made.messages, more)[len(made.messages) :])


# The item, and what is kept beside it


@each_row("how", HOW)
@each_row("provider", PROVIDERS)
def test_the_item_stands_in_the_view_as_it_came(provider: str, how: str) -> None:
    """With every field, once; the report says who made it, and all laws hold."""
    native = Provider(provider)
    made, before = engine(native), items_of(provider)
    report = compact(made, how)
    assert report.status == "compacted"
    note = report.summary_source
    assert (note.source, note.name, note.calls, note.failure) == ("native", native.name, 1, "")
    assert blocks(made.messages) == [sealed(1, provider)]
    assert list(blocks(made.messages)[0]) == list(sealed(1, provider))
    given = list(native.answers[0].items)
    at = made.messages.index(given[-1])
    assert made.messages[at + 1 - len(given) : at + 1] == given
    assert SUMMARY_OPEN not in str(made.messages)
    assert (
        broken_laws(before, made.messages, report, made.conversation.recall, provider=provider)
        == []
    )


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_readable_summary_and_the_references_are_kept_beside_it(provider: str) -> None:
    """Our own summary of the same messages is in the state; what was folded is found again."""
    made = engine(Provider(provider))
    report = compact(made)
    native = made.state.native
    assert native is not None
    assert native.items == (sealed(1, provider),)
    assert native.shadow.startswith(SUMMARY_OPEN)
    assert "file_1.py" in native.shadow
    assert report.references[0].ref in native.shadow
    assert made.conversation.search("Ask 2")
    assert made.conversation.recall(report.references[0].ref)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_provider_is_sent_what_the_model_saw(provider: str) -> None:
    """The range that is folded, letter for letter, and the system text of the list beside it."""
    native = Provider(provider)
    made, before = engine(native), items_of(provider)
    boundary = compact(made).boundary
    assert boundary is not None
    request = native.requests[0]
    assert list(request.messages) == before[boundary[0] : boundary[1]]
    if provider == "openai-responses":
        assert boundary[0] == 1
        assert request.system.startswith("You are a coding agent.")
    else:
        assert (boundary[0], request.system) == (0, None)


def test_system_and_tools_of_the_requests_go_along() -> None:
    """The caller gives the one, the engine has the other."""
    native = Provider("anthropic")
    tool = {"name": "bash", "input_schema": {"type": "object"}}
    compact(engine(native, tools=[tool]))
    assert native.requests[0].tools == (tool,)
    permission = NativeCompaction(compactor=native, system="Be exact.", tools=[tool])
    compact(engine(permission, "anthropic"))
    assert native.requests[1].system == "Be exact."


@pytest.mark.parametrize("provider", PROVIDERS)
def test_undo_takes_the_item_back(provider: str) -> None:
    """The very same messages come back, and the state knows of no item."""
    made = engine(Provider(provider))
    compact(made)
    assert made.undo()
    assert made.messages == items_of(provider)
    assert made.state.native is None


def test_a_block_that_must_be_first_leads_the_only_ask() -> None:
    """Where the latest ask is the first message it stays as it is, with the block before it."""
    before = written("anthropic", LONE, ending="step")
    made = engine(Provider("anthropic"), items=before)
    report = compact(made, force=True)
    assert report.summary_source.source == "native"
    first = made.messages[0]
    assert first["role"] == "user"
    assert first["content"][0] == sealed(1, "anthropic")
    assert "Ask 0" in str(first["content"][1])
    assert (
        broken_laws(before, made.messages, report, made.conversation.recall, provider="anthropic")
        == []
    )
    made.append(*written("anthropic", LONE, start=1, ending="step")[1:])
    assert compact(made, force=True).summary_source.source == "native"
    assert blocks(made.messages) == [sealed(2, "anthropic")]


def test_a_block_in_an_ask_survives_a_restart() -> None:
    """The ask keeps its words whichever block leads it, and if the provider fails, behind our own
    summary."""
    first = engine(Provider("anthropic"), items=written("anthropic", LONE, ending="step"))
    compact(first, force=True)
    portable = first.conversation.portable_messages
    assert blocks(portable) == []
    assert str(portable[0]).count(SUMMARY_OPEN) == 1
    assert "Ask 0" in str(portable[0])
    for native in (Provider("anthropic", as_second), failing("anthropic", "refused")):
        made = Compressor(
            context_length=32_000,
            policy=SMALL,
            provider="anthropic",
            summarizer=writers_of(None, native=native),
        )
        take_up(made, first)
        made.append(*written("anthropic", LONE, start=1, ending="step")[1:])
        assert compact(made, force=True).status == "compacted"
        assert blocks(list(native.requests[0].messages)) == [sealed(1, "anthropic")]
        leading, *own = made.messages[0]["content"]
        if native.answers:
            assert blocks(made.messages) == [leading] == [sealed(2, "anthropic")]
        else:
            assert blocks(made.messages) == []
            assert "src/file_0x0.py: created" in leading["text"]  # ours tells what it stood for
        assert own == first.messages[0]["content"][1:]
        assert check(made.messages, provider="anthropic") == []


def take_up(made: Compressor, first: Compressor) -> None:
    """Go on in a new process with what the host kept."""
    log = [message.wire for message, _ in first.conversation.list_arrived(0)]
    made.resume(log, first.view, first.snapshot())


def as_second(request: NativeRequest) -> NativeAnswer:
    del request
    return NativeAnswer(items=({"role": "assistant", "content": [sealed(2, "anthropic")]},))


def test_what_cannot_be_read_is_measured_by_its_length() -> None:
    """Sealed text is base64: it counts as encrypted reasoning does, not as words."""
    item = {**sealed(1, "openai-responses"), "encrypted_content": "aB3" * 18_000}
    (message,) = load([item], dialect="openai-responses").messages
    assert 9_900 < message_tokens(message, Estimator()) < 10_200


@each_row(
    ("at", "role", "signed", "is_legal"),
    [
        (0, "assistant", True, True),
        (0, "user", True, True),
        (1, "assistant", True, True),
        (1, "assistant", False, True),
        (2, "user", False, False),
    ],
)
def test_a_block_is_first_of_all_or_first_in_an_answer(
    at: int, role: str, signed: bool, is_legal: bool
) -> None:
    """One made on demand stands before all, one made at a threshold in the answer after it."""
    block = {
        "type": "compaction",
        "content": "So far.",
        **({"signature": "c2ln"} if signed else {}),
    }
    messages = [{"role": one, "content": "words"} for one in ("user", "assistant", "user")]
    messages[at] = {"role": role, "content": [block, {"type": "text", "text": "words"}]}
    found = [one.rule for one in check(messages, provider="anthropic")]
    assert found == ([] if is_legal else ["compaction-block"])


# Once more


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_later_compaction_passes_the_item_again(provider: str) -> None:
    """As it came; of the two only the newer one stands in the view then."""
    native = Provider(provider)
    made = engine(native)
    compact(made)
    grow(made, provider)
    seen = made.messages
    report = compact(made)
    assert report.summary_source.source == "native"
    again = list(native.requests[1].messages)
    start = 1 if provider == "openai-responses" else 0
    assert again == seen[start : start + len(again)]
    assert blocks(again) == [sealed(1, provider)]
    assert blocks(made.messages) == [sealed(2, provider)]
    assert made.undo()
    assert made.messages == seen


@pytest.mark.parametrize("provider", PROVIDERS)
def test_where_the_provider_fails_the_second_time_our_summary_tells_everything(
    provider: str,
) -> None:
    """The item goes as a whole; the originals that it stood for are still in the log."""
    native = Provider(provider)
    made = engine(native)
    compact(made)
    native.answer = lambda _: SummarizerFailed("overloaded", native.name)
    grow(made, provider)
    report = compact(made)
    assert report.summary_source.source == "ledger"
    assert blocks(made.messages) == []
    assert "file_1.py" in str(made.messages)
    assert made.undo()
    assert blocks(made.messages) == [sealed(1, provider)]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fails", [False, True])
def test_the_item_survives_a_restart(provider: str, fails: bool) -> None:
    """It is passed again; if its provider fails, our summary of the log takes its place."""
    first = engine(Provider(provider))
    compact(first)
    native = failing(provider, "overloaded") if fails else Provider(provider)
    made = Compressor(
        context_length=32_000,
        policy=SMALL,
        provider=provider,
        summarizer=writers_of(None, native=native),
    )
    take_up(made, first)
    assert made.state.native == first.state.native
    assert made.messages == first.messages
    grow(made, provider)
    log = [message.wire for message, _ in made.conversation.list_arrived(0)]
    report = compact(made)
    assert report.status == "compacted"
    assert blocks(list(native.requests[0].messages)) == [sealed(1, provider)]
    assert blocks(made.messages) == ([] if fails else [sealed(1, provider)])
    assert (SUMMARY_OPEN in str(made.messages)) == fails
    assert check(made.messages, provider=provider) == []
    for row in report.references:
        assert made.conversation.recall(row.ref) == log[row.start : row.stop]


def test_a_list_that_begins_with_a_block_is_taken_as_it_is() -> None:
    """Nothing is put before a block: it stands for the messages before it."""
    first = engine(Provider("anthropic"))
    compact(first)
    made = Compressor(context_length=32_000, policy=SMALL, provider="anthropic")
    made.append(*first.messages, arrives=False)
    assert made.messages == first.messages


@each_row("to", ["openai-chat", "gemini", "anthropic", "openai-responses"])
@each_row("provider", PROVIDERS)
def test_another_provider_gets_our_summary_instead(provider: str, to: str) -> None:
    """No other provider can read the item; what is converted holds the shadow in its place."""
    made = engine(Provider(provider))
    compact(made)
    native = made.state.native
    assert native is not None
    portable = made.conversation.portable_messages
    assert blocks(portable) == []
    assert [one for one in made.messages if not blocks([one])][-1] == portable[-1]
    assert check(portable, provider=provider) == []
    there = convert(portable, to, dialect=provider).messages
    assert check(there, provider=to) == []
    assert str(there).count(SUMMARY_OPEN) == 1
    assert "file_1.py" in str(there)
    assert blocks(made.messages) == [sealed(1, provider)]


def test_a_list_without_an_item_is_portable_as_it_is() -> None:
    """There is nothing to put anything in the place of."""
    made = engine(None, "anthropic")
    assert made.conversation.portable_messages == made.messages
    compact(made)
    assert made.conversation.portable_messages == made.messages


# Whatever goes wrong


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_failure_falls_back_to_the_ledger(provider: str, kind: FailureKind, how: str) -> None:
    """As if nobody had been asked, with the failure in the report and a pause after it."""
    native = failing(provider, kind)
    made = engine(native)
    report = compact(made, how)
    note = report.summary_source
    assert (report.status, note.source) == ("compacted", "ledger")
    assert (note.failure, note.retry_class) == (kind, CLASSES[kind])
    assert any(kind in said for said in report.notes)
    assert made.state.native is None
    assert made.state.native_breaker.until - Clock.now == PAUSES[CLASSES[kind]]
    assert not made.state.breaker.is_open(Clock.now)
    alone = engine(None, provider)
    alone.compact()
    assert made.messages == alone.messages
    assert made.undo()
    assert made.messages == items_of(provider)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_summarizer_is_asked_after_the_provider(provider: str, how: str) -> None:
    """Only where the provider fails; its failure is told beside the model's summary."""
    summarizer = ScriptedSummarizer([GOOD])
    made = engine(failing(provider, "rate limited"), summarizer=summarizer)
    report = compact(made, how)
    assert report.summary_source.source == "model"
    assert any("rate limited" in said for said in report.notes)
    assert made.state.native_breaker.strikes == 1
    unasked = ScriptedSummarizer([])
    assert compact(engine(Provider(provider), summarizer=unasked), how).status == "compacted"
    assert unasked.requests == []


def test_a_run_that_was_cancelled_changes_nothing() -> None:
    """Nobody else is asked then."""
    summarizer = ScriptedSummarizer([])
    made = engine(failing("anthropic", "cancelled"), summarizer=summarizer)
    report = compact(made)
    assert (report.status, report.reason) == ("unchanged", "aborted")
    assert made.messages == items_of("anthropic")
    assert made.state.count == 0


def test_the_provider_is_left_alone_during_a_pause() -> None:
    """Compactions go on without it; after the pause, or by force, it is asked again."""
    clock = Clock()
    native = failing("anthropic", "overloaded")
    made = engine(native, clock=clock)
    compact(made)
    grow(made, "anthropic")
    assert any("is asked again in 60 s" in said for said in compact(made).notes)
    assert len(native.requests) == 1
    native.answer = native.as_always
    grow(made, "anthropic", start=30)
    clock.now += 61
    assert compact(made).summary_source.source == "native"
    assert made.state.native_breaker.strikes == 0


def test_force_does_not_wait_for_a_pause() -> None:
    """A run by hand asks at once."""
    native = failing("anthropic", "refused")
    made = engine(native)
    compact(made)
    grow(made, "anthropic")
    compact(made, force=True)
    assert len(native.requests) == 2
    assert made.state.native_breaker.strikes == 2


def test_a_pause_survives_a_restart() -> None:
    """It is kept with the state."""
    made = engine(failing("anthropic", "refused"))
    compact(made)
    other = Compressor(context_length=32_000)
    take_up(other, made)
    assert other.state.native_breaker == made.state.native_breaker


@pytest.mark.parametrize("how", HOW)
def test_an_error_of_a_compactor_of_the_hosts_own_is_a_broken_answer(how: str) -> None:
    """It does not reach the caller."""
    made = engine(Provider("anthropic", lambda _: RuntimeError("the planted conversation")))
    report = compact(made, how)
    assert report.summary_source.failure == "broken answer"
    assert "planted" not in repr(report)


# Who may be asked


def test_nobody_is_asked_without_permission() -> None:
    """The default is none; a profile of another dialect has no native compaction."""
    for provider in ("openai-responses", "anthropic", "openai-chat", "gemini"):
        assert compact(engine(None, provider)).summary_source.source == "ledger"
    for dialect, spoken in (
        ("openai-chat", "openai-responses"), ("anthropic", "openai-responses"),
        ("openai-responses", "anthropic"), ("gemini", "anthropic"),
    ):  # fmt: skip
        native = Provider(spoken)
        report = compact(engine(native, dialect))
        assert (native.requests, report.summary_source.source) == ([], "ledger")
        assert any("no native compaction" in said for said in report.notes)


def test_a_focus_is_for_our_own_summaries() -> None:
    """A provider's compaction has none; it is not asked."""
    native = Provider("anthropic")
    report = compact(engine(native), focus="value_2")
    assert (native.requests, report.summary_source.source) == ([], "ledger")


def test_nothing_may_stand_before_a_block_that_must_be_first() -> None:
    """A list that begins with a system message keeps it; the provider is not asked."""
    native = Provider("anthropic")
    items = [{"role": "system", "content": "Be exact."}, *items_of("anthropic")]
    report = compact(engine(native, items=items))
    assert (native.requests, report.summary_source.source) == ([], "ledger")


def test_a_name_of_another_kind_is_refused() -> None:
    """Two providers compact natively, each with a model."""
    for spec in ("openai:gpt-5", "litellm:x", "anthropic", "anthropic: "):
        with pytest.raises(UnknownName, match="anthropic:MODEL"):
            writers_of(None, native=spec)


# In the background


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_arrives_while_the_provider_compacts_stands_after_the_item(provider: str) -> None:
    """The item is prepared, and swapped in before all that came since."""
    native = Provider(provider)
    made = engine(native)
    assert made.prepare()
    grow(made, provider)
    newer = made.messages[len(items_of(provider)) :]
    assert made.decide().urgency == "hard"
    report = compact(made)
    assert report.summary_source.source == "native"
    assert blocks(made.messages) == [sealed(1, provider)]
    assert made.messages[-len(newer) :] == newer


# Laws


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_no_law_is_broken_whatever_the_conversation(provider: str, data: st.DataObject) -> None:
    """Two native compactions of any list: valid, covered, smaller, the ask live, undone."""
    native = Provider(provider)
    items = data.draw(long_lists(provider))
    made = engine(native, items=items)
    seen = made.messages
    known = {row.ref for row in made.conversation.references if made.conversation.recall(row.ref)}
    report = compact(made, force=True)
    laws = broken_laws(
        seen,
        made.messages,
        report,
        made.conversation.recall,
        provider=provider,
        log=items,
        known=known,
    )
    assert laws == []
    if report.summary_source.source == "native":
        assert blocks(made.messages)[-1] == sealed(1, provider)
    once = made.messages
    if not any(one.rule == "call-pending" for one in check(once, provider=provider)):
        grow(made, provider, start=20)
        again = made.messages
        second = compact(made, force=True)
        assert check(made.messages, provider=provider) == []
        assert second.tokens_after <= second.tokens_before
        asks = [latest_ask(load(one, dialect=provider).messages) for one in (again, made.messages)]
        assert asks[0] is not None
        assert asks[1] is not None
        assert own_parts(asks[0]) == own_parts(asks[1])
        if second.summary_source.source == "native":
            assert blocks(made.messages) == [sealed(len(native.requests), provider)]
        if second.status == "compacted":
            assert made.undo()
        assert made.messages == again
    if report.status == "compacted":
        assert made.undo()
    assert made.messages[: len(seen)] == seen


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "signature", "encrypted_content", "text"]),
            inner
            | st.sampled_from(["compaction", "user", "assistant", "message", "text", "\ud800"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("provider", PROVIDERS)
@given(given=st.lists(_VALUES, max_size=4), rightly=st.booleans())
def test_no_answer_of_a_provider_breaks_a_law(
    provider: str, given: list[Any], rightly: bool
) -> None:
    """What is no compaction, or would make the list invalid or larger, is not taken."""
    more: list[Any] = [sealed(1, provider)] if rightly else []
    if provider == "anthropic" and rightly:
        more = [{"role": "assistant", "content": more}]
    native = Provider(provider, lambda _: NativeAnswer(items=(*given, *more)))
    made, before = engine(native), items_of(provider)
    report = compact(made)
    assert report.status == "compacted"
    assert (
        broken_laws(before, made.messages, report, made.conversation.recall, provider=provider)
        == []
    )
    made.snapshot()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_item_larger_than_what_it_stands_for_is_not_taken(provider: str) -> None:
    """Smaller by the same measure, or the ledger writes."""
    big = {**sealed(1, provider), "content": "many words " * 40_000}
    items = ({"role": "assistant", "content": [big]},) if provider == "anthropic" else (big,)
    report = compact(engine(Provider(provider, lambda _: NativeAnswer(items=items))))
    assert (report.summary_source.source, report.summary_source.failure) == ("ledger", "bad answer")
    assert report.tokens_after < report.tokens_before


PRICES = Prices(input=3, output=15, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6)


@pytest.mark.parametrize("is_usable", [True, False])
def test_what_the_call_cost_is_in_the_report(is_usable: bool) -> None:
    """By the usage that came with the answer, also where the answer could not be used."""

    def answer(request: NativeRequest) -> NativeAnswer:
        items = ({"role": "assistant", "content": [sealed(1, "anthropic")]},) if is_usable else ()
        return NativeAnswer(
            items=items, input_tokens=100_000, cache_read_tokens=90_000, cache_write_tokens=4_000,
            output_tokens=2_000,
        )  # fmt: skip

    made = Compressor(
        context_length=16_000, provider="anthropic", policy=SMALL, model=Model(prices=PRICES),
        summarizer=writers_of(None, native=Provider("anthropic", answer)),
    )  # fmt: skip
    made.append(*written("anthropic", [Exchange(2, 2, 900)] * 8))
    report = made.compact(force=True)
    assert report.summary_source.source == ("native" if is_usable else "ledger")
    assert report.economics is not None
    call = report.economics["native_call"]
    assert call["usd"] == pytest.approx(
        (6_000 * 3 + 90_000 * 0.3 + 4_000 * 3.75 + 2_000 * 15) / 1e6
    )


def test_no_usage_and_no_prices_give_no_sum() -> None:
    """Nothing is guessed."""
    for prices in (PRICES, None):
        made = Compressor(
            context_length=16_000, provider="anthropic", policy=SMALL, model=Model(prices=prices),
            summarizer=writers_of(None, native=Provider("anthropic")),
        )  # fmt: skip
        made.append(*written("anthropic", [Exchange(2, 2, 900)] * 8))
        report = made.compact(force=True)
        assert report.summary_source.source == "native"
        assert "native_call" not in (report.economics or {})


def test_a_call_of_the_provider_is_weighed_before_it_is_paid_for() -> None:
    """As one that reads from the cache and writes; the ledger alone costs nothing."""
    calls: list[float] = []
    for native in (None, Provider("anthropic")):
        made = Compressor(
            context_length=16_000,
            provider="anthropic",
            policy=SMALL,
            model=Model(prices=PRICES),
            summarizer=writers_of(None, native=native),
        )
        made.append(*written("anthropic", [Exchange(2, 2, 900)] * 8))
        report = made.compact()
        assert report.economics is not None
        calls.append(report.economics["sum"]["summary_call"])
    assert calls[0] == 0
    assert calls[1] > 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_single_run_asks_the_provider_too(provider: str) -> None:
    """With the system text and the tools of the body that was given."""
    asked = Provider(provider)
    items = written(provider, [Exchange(2, 2, 900)] * 8)
    fields: dict[str, Any] = (
        {"system": "s", "tools": [{"name": "f", "input_schema": {}}], "messages": items}
        if provider == "anthropic"
        else {"instructions": "s", "tools": [], "input": items}
    )
    made = compress(
        {"model": "m", **fields}, context_length=16_000, provider=provider, policy=SMALL,
        summarizer=writers_of(None, native=asked),
    )  # fmt: skip
    assert made.report.summary_source.source == "native"
    (request,) = asked.requests
    assert request.system == "s"
    assert list(request.tools) == fields["tools"]
    assert (
        asked.answers[0].items[-1] in made.messages["messages" if "messages" in fields else "input"]
    )
