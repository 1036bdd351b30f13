"""The data of the page of one compaction, on real sessions and on small ones."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldaway.caching.catalog import PriceList
from foldaway.facts.languages import phrases_for
from foldaway.gateway.actions import NotThere
from foldaway.gateway.inspector.agent_steps import agent_compactions, agent_step
from foldaway.gateway.inspector.compaction_steps import CompactionStep, StepTools, step
from foldaway.gateway.inspector.summary_entries import SummaryEntry
from foldaway.lab import used_later
from foldaway.lab.scoring.session import render
from foldaway.lab.scoring.signals import to_line
from foldaway.lab.used_later import lab_message
from foldaway.sessions import Session, SessionOptions, internals, redactor_of
from foldaway.sessions.rows import decode_rows
from foldaway.stores import NewMessage, NewSession, Store, open_store
from foldaway.stores.values import NewView, SessionInfo, TurnUsage
from foldaway.usage.balances import Spared, balance
from foldaway.usage.savings import otherwise

REPOSITORY = Path(__file__).resolve().parents[3]
SESSIONS = Path(os.environ.get("FOLDAWAY_DATA", REPOSITORY.parent / "shared" / "data")) / "sessions"
AGENTS = {
    "claude-code__cli": "claude-code", "codex__git-sync": "codex", "opencode__nimbus": "opencode",
    "pi__pi-mono": "pi", "swe-agent__SWE-agent": "swe-agent", "aider__aider": "aider",
}  # fmt: skip
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
MODEL = "claude-sonnet-4-5"
WINDOW = 60_000


def tools_for(store: Store, window: int | None = None) -> StepTools:
    """Return what hides secrets by the key of a store, with a list of prices."""
    return StepTools(show=redactor_of(store), prices=PriceList(), window=window)


def entries_of(step: CompactionStep) -> list[SummaryEntry]:
    """Return all entries of a summary, in their order."""
    sections = step.summary.sections if step.summary else ()
    return [entry for section in sections for entry in section.entries]


def real_lists(name: str, least: int = 40) -> Iterator[dict[str, Any]]:
    """Yield the recorded sessions of a file that have some length."""
    path = SESSIONS / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no shared data at {SESSIONS}; set FOLDAWAY_DATA")
    with gzip.open(path) as lines:
        for line in lines:
            found = json.loads(line)
            if len(found["messages"]) >= least:
                yield found


@pytest.fixture(scope="module", params=AGENTS)
def compacted(request: pytest.FixtureRequest) -> Iterator[tuple[Store, SessionInfo]]:
    """A real session of an agent that was compacted three times and went on after it."""
    messages = next(real_lists(request.param))["messages"][:240]
    with open_store(":memory:") as store:
        new = NewSession(dialect="openai-chat", model=MODEL, source=AGENTS[request.param])
        session = Session(store, "real", context_length=WINDOW, options=SessionOptions(new=new))
        quarter = len(messages) // 4
        for number in range(4):
            stop = len(messages) if number == 3 else (number + 1) * quarter
            session.append(*messages[number * quarter : stop])
            session.used({"prompt_tokens": internals(session).engine.estimate() + 5_000})
            if number < 3:
                session.compact(force=True, target_tokens=45 * stop)  # too little for all turns
        yield store, session.info


def steps_of(compacted: tuple[Store, SessionInfo]) -> list[CompactionStep]:
    """Return all compactions of a session."""
    store, info = compacted
    tools = tools_for(store)
    return [step(store, info, view.number, tools) for view in store.views(info.id)]


def text_at(store: Store, info: SessionInfo, position: int) -> str:
    """Return what a message of the log says, on one line."""
    rows = store.read(info.id, position, position + 1)
    return to_line(render(lab_message(decode_rows(rows, info.dialect)[0])))


# Laws on real sessions


@pytest.mark.shared
def test_every_entry_leads_to_a_message_of_the_log(compacted: tuple[Store, SessionInfo]) -> None:
    """All but the note that no model wrote it; positions were in the log at the compaction."""
    found = steps_of(compacted)
    assert found
    for one in found:
        entries = entries_of(one)
        for entry in entries:
            assert bool(entry.positions) == (entry.unplaced == "")
            assert entry.positions or entry.unplaced == "note"
            assert all(0 <= at < one.at for at in entry.positions)
    assert sum(len(entries_of(one)) for one in found) > 5


@pytest.mark.shared
def test_an_entry_that_quotes_the_user_has_its_words_from_there(
    compacted: tuple[Store, SessionInfo],
) -> None:
    """The message at its position has the beginning of the quote."""
    store, info = compacted
    phrases = phrases_for("en")
    for one in steps_of(compacted):
        for entry in entries_of(one):
            start, colon, said = entry.text.partition(": ")
            if not colon or not start.startswith((phrases.first_request, phrases.user_wrote)):
                continue
            words = to_line(said.split("…")[0].split("[redacted")[0])[:80].rsplit(" ", 1)[0]
            assert words in text_at(store, info, entry.positions[0])


@pytest.mark.shared
def test_the_words_of_an_entry_are_in_its_message_or_the_call_before(
    compacted: tuple[Store, SessionInfo],
) -> None:
    """At least half of its long words, for 17 of 20 entries: some put several messages together."""
    store, info = compacted
    shares: list[bool] = []
    for one in steps_of(compacted):
        for entry in entries_of(one):
            words = set(re.findall(r"[a-z_]{5,}", entry.text.lower())) - {"wrote", "answered"}
            if words and entry.positions:
                first = entry.positions[0]
                near = "".join(text_at(store, info, at) for at in (max(first - 1, 0), first))
                shares.append(sum(word in near.lower() for word in words) * 2 >= len(words))
    assert sum(shares) >= 0.85 * len(shares) > 0


@pytest.mark.shared
def test_what_was_used_later_is_kept_recallable_or_lost(
    compacted: tuple[Store, SessionInfo],
) -> None:
    """Each was said before the compaction and used by the agent after it."""
    store, info = compacted
    for one in steps_of(compacted):
        used = one.used_later
        assert used.kept + used.recallable + used.lost == len(used.facts)
        assert not used.lost  # all that is folded has a reference
        for fact in used.facts:
            assert fact.said_at < one.at <= fact.used_at < info.length
            assert store.read(info.id, fact.used_at, fact.used_at + 1)[0].role == "assistant"
            if "[redacted" not in fact.text:
                assert fact.text in text_at(store, info, fact.said_at)
                assert fact.text in text_at(store, info, fact.used_at)


@pytest.mark.shared
def test_as_many_messages_are_kept_and_rewritten_on_both_sides(
    compacted: tuple[Store, SessionInfo],
) -> None:
    """And the numbers are those of the report, which counts what both views show."""
    for one in steps_of(compacted):
        for fate in ("kept", "rewritten"):
            sides = [sum(place.fate == fate for place in side) for side in (one.before, one.after)]
            assert sides[0] == sides[1]
        assert one.report is not None
        assert len(one.before) == one.messages_before == one.report.messages_before
        assert len(one.after) == one.messages_after == one.report.messages_after
        assert {place.fate for place in one.before} <= {"kept", "rewritten", "folded"}
        assert {place.fate for place in one.after} <= {"kept", "rewritten", "added"}
        gone = {at for place in one.before if place.fate == "folded"
                for at in range(place.start, place.stop)}  # fmt: skip
        left = {place.start for place in one.after if not place.is_written}
        assert not gone & left


@pytest.mark.shared
def test_what_was_sent_with_a_view_is_in_its_balance(compacted: tuple[Store, SessionInfo]) -> None:
    """The request after each compaction counts, and says what is estimated."""
    for one in steps_of(compacted):
        assert one.balance.requests == 1
        assert "Estimated" in one.balance.said
        assert one.balance.tokens_less > 0


# Special cases


def talk(count: int, word: str = "zebra") -> list[dict[str, Any]]:
    """Return messages of a user and a model that name files; one has a secret in it."""
    return [
        {"role": "user" if at % 2 == 0 else "assistant",
         "content": f"{word} {at}: look at src/{word}_{at}.py {SECRET if at == 2 else ''} "
         + "word " * 120}
        for at in range(count)
    ]  # fmt: skip


@pytest.fixture
def small() -> Iterator[tuple[Store, Session]]:
    """A small session that was compacted once, and went on."""
    with open_store(":memory:") as store:
        session = Session(store, "small", context_length=8_000, model=MODEL)
        session.append(*talk(30))
        assert session.compact(force=True).folded
        session.append({"role": "user", "content": "go on"})
        session.append({"role": "assistant", "content": f"src/zebra_7.py and {SECRET} again"})
        yield store, session


def test_a_view_that_was_undone_is_shown_as_it_was(small: tuple[Store, Session]) -> None:
    """Undoing changes nothing of what a compaction did."""
    store, session = small
    before = step(store, session.info, 1, tools_for(store))
    session.undo()
    after = step(store, session.info, 1, tools_for(store))
    assert before.view is not None
    assert after.view is not None
    assert (before.view.undone, after.view.undone) == (False, True)
    assert msgspec.structs.replace(after, view=before.view) == before


def test_a_report_of_another_version_is_left_out(small: tuple[Store, Session]) -> None:
    """Everything else is there, and the tokens are counted again."""
    store, session = small
    (made,) = store.views(session.id)
    new = NewView(items=made.items, length=made.length, report=b'{"status": "new word"}')
    store.undo(session.id, expect=1)
    info = store.commit(session.id, new, expect=0)
    found, known = (step(store, info, number, tools_for(store)) for number in (2, 1))
    assert found.report is None
    assert found.tokens_before > found.tokens_after > 0
    assert (found.before, found.after) == (known.before, known.after)
    assert found.summary == known.summary
    assert found.used_later == known.used_later


def test_facts_used_later_never_show_a_secret(small: tuple[Store, Session]) -> None:
    """A secret that the agent says again is a fact; its text is hidden."""
    store, session = small
    found = step(store, session.info, 1, tools_for(store))
    assert SECRET not in msgspec.json.encode(found).decode()
    assert any("[redacted" in fact.text for fact in found.used_later.facts)
    assert "src/zebra_7.py" in {fact.text for fact in found.used_later.facts}


def test_without_what_came_later_there_is_nothing_to_judge(small: tuple[Store, Session]) -> None:
    """It says so, in the place of figures."""
    store, session = small
    session.compact(force=True, target_tokens=1_200)
    found = step(store, session.info, 2, tools_for(store))
    assert found.used_later.facts == ()
    assert "did not go on" in found.used_later.why_none
    assert "No request" in found.balance.said


def test_a_view_that_is_not_there_is_not_found(small: tuple[Store, Session]) -> None:
    """Nor is a compaction of an agent that made none."""
    store, session = small
    with pytest.raises(NotThere):
        step(store, session.info, 9, tools_for(store))
    with pytest.raises(NotThere):
        agent_step(store, session.info, 0, tools_for(store))


def test_labels_of_the_wire_lead_to_positions() -> None:
    """If messages have ids, a summary names them by these."""
    items = [
        {"type": "message", "id": f"msg_{at}", "role": "user" if at % 2 == 0 else "assistant",
         "content": [{"type": "input_text" if at % 2 == 0 else "output_text",
                      "text": one["content"]}]}
        for at, one in enumerate(talk(30))
    ]  # fmt: skip
    with open_store(":memory:") as store:
        new = NewSession(dialect="openai-responses")
        session = Session(store, "ids", context_length=8_000, options=SessionOptions(new=new))
        session.append(*items)
        assert session.compact(force=True).folded
        found = step(store, session.info, 1, tools_for(store))
    assert found.summary is not None
    placed = [entry for entry in entries_of(found) if entry.positions]
    assert placed
    for entry in placed:
        assert entry.label == f"msg_{entry.positions[0]}"


@pytest.mark.slow
def test_facts_are_judged_without_the_packages_of_the_lab() -> None:
    """The extra `lab` is for pictures and for reading shell scripts, not for this measure."""
    code = (
        "import sys, foldaway.gateway.inspector.agent_steps, foldaway.usage.savings\n"
        "print(*{'tree_sitter', 'matplotlib', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_long_log_is_looked_through_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest messages before a compaction and the first after it; the answer says so."""
    monkeypatch.setattr(used_later, "MOST_BEFORE", 10)
    monkeypatch.setattr(used_later, "MOST_AFTER", 4)
    with open_store(":memory:") as store:
        session = Session(store, "long", context_length=8_000, model=MODEL)
        session.append(*talk(30))
        session.compact(force=True)
        session.append(*({"role": "assistant", "content": f"src/zebra_{at}.py"}
                         for at in (3, 25, 26, 27, 28)))  # fmt: skip
        found = step(store, session.info, 1, tools_for(store)).used_later
    assert (found.looked_before, found.looked_after, found.is_part) == (10, 4, True)
    names = {fact.text for fact in found.facts}
    assert {"src/zebra_25.py", "src/zebra_27.py"} <= names
    assert not {"src/zebra_3.py", "src/zebra_28.py"} & names


# The agent's own compactions


def stored(store: Store, found: dict[str, Any], source: str) -> SessionInfo:
    """Put a recorded session into a store, with what the agent's compactions wrote marked."""
    at = {row["at"] for row in found["meta"]["compactions"] if row.get("summary")}
    info = store.create(NewSession(dialect="openai-chat", source=source, model=MODEL))
    rows = [
        NewMessage(body=json.dumps(one).encode(), role=one["role"], tokens=100, generated=n in at)
        for n, one in enumerate(found["messages"])
    ]
    store.append(info.id, rows, expect=0)
    return store.session(info.id)


@pytest.mark.shared
def test_a_compaction_of_the_agent_is_judged_by_its_summary() -> None:
    """What its summary names is kept and the rest is lost: nothing of it can be recalled."""
    has_own = (one for one in real_lists("claude-code__cli") if one["meta"].get("compactions"))
    judged = 0
    for found in islice(has_own, 4):
        with open_store(":memory:") as store:
            info = stored(store, found, "claude-code")
            own = agent_compactions(store.outline(info.id))
            assert [one.start for one in own] == [row["at"] for row in found["meta"]["compactions"]]
            for one in own:
                made = agent_step(store, info, one.start, tools_for(store))
                used = made.used_later
                assert (made.by, made.at, made.number) == ("agent", one.start, 0)
                assert used.kept + used.lost == len(used.facts)
                assert used.recallable == 0
                assert made.summary is not None
                for fact in used.facts:
                    assert one.begin <= fact.said_at < one.start < fact.used_at < one.end
                judged += len(used.facts)
    assert judged > 20


def test_an_agent_that_keeps_more_than_its_summary_is_not_judged() -> None:
    """Its file does not say what the model still saw."""
    found = {"messages": [*talk(6), {"role": "user", "content": "summary"}, *talk(4)],
             "meta": {"compactions": [{"at": 6, "summary": "summary"}]}}  # fmt: skip
    with open_store(":memory:") as store:
        info = stored(store, found, "codex")
        made = agent_step(store, info, 6, tools_for(store))
    assert made.used_later.facts == ()
    assert "codex keeps messages" in made.used_later.why_none


# What it cost and saved


def request(tokens: int, read: int = 0, written: int = 0, time: float | None = None) -> TurnUsage:
    """Return what a provider counted for a request."""
    return TurnUsage(
        position=1, time=time, model=MODEL, input_tokens=tokens, output_tokens=100,
        cache_read_tokens=read, cache_write_tokens=written,
    )  # fmt: skip


def test_a_compaction_pays_after_the_requests_that_its_cache_cost() -> None:
    """The first request writes the cache again; each later one reads less from it."""
    prices = PriceList()
    known = prices.of(MODEL)
    if known is None:
        pytest.skip("prices need the extra prices")
    before = request(100_000, read=99_000, written=1_000)
    first = request(31_000, read=10_000, written=21_000)
    later = [request(32_000 + 1_000 * at, 31_000 + 1_000 * at, 1_000) for at in range(6)]
    found = balance(before, [first, *later], Spared(70_000, is_measured=True), prices)
    assert found.usd is not None
    assert found.usd_otherwise is not None
    # by hand: the first one would have read 100,000 and written 1,000, the others 70,000 more
    extra = 21_000 * known.cache_write_5m + 10_000 * known.cache_read
    would = 100_000 * known.cache_read + 1_000 * known.cache_write_5m
    saved = (would - extra + 6 * 70_000 * known.cache_read) / 1e6
    assert found.usd_saved == pytest.approx(saved)
    price = (extra - would) / 1e6
    each = 70_000 * known.cache_read / 1e6
    assert found.break_even == 1 + -(-price // each)
    assert found.written_again == 21_000
    assert found.not_fitting == 0


@pytest.mark.parametrize(
    ("economics", "price"),
    [({"sum": {"summary_call": 0.25}}, 0.25), ({"sum": None, "native_call": {"usd": 0.5}}, 0.5),
     ({"sum": None, "native_call": None}, 0.0), (None, 0.0)],
)  # fmt: skip
def test_the_call_that_wrote_the_summary_is_paid_too(
    small: tuple[Store, Session], economics: dict[str, Any] | None, price: float
) -> None:
    """As the report says, by the sum before it or by what the provider's own compaction used."""
    store, session = small
    report = step(store, session.info, 1, tools_for(store)).report
    assert report is not None
    told = msgspec.structs.replace(report, economics=economics)
    later = [request(31_000, 10_000, 21_000)]
    found = balance(None, later, Spared(70_000, True), PriceList(), report=told)
    assert found.usd_summary == price
    assert found.expected == economics


def test_a_cold_cache_is_not_thought_to_have_been_warm() -> None:
    """After a pause the folded messages would have been written again too."""
    prices = PriceList()
    if prices.of(MODEL) is None:
        pytest.skip("prices need the extra prices")
    before = request(100_000, read=99_000, written=1_000, time=0.0)
    warm, cold = (
        balance(before, [request(31_000, 0, 31_000, time=at)], Spared(70_000, True), prices)
        for at in (10.0, 10_000.0)
    )
    assert warm.usd_otherwise is not None
    assert cold.usd_otherwise is not None
    assert warm.usd_otherwise < cold.usd_otherwise
    assert cold.break_even == 1


def test_requests_that_would_not_have_fit_are_not_compared() -> None:
    """From the first one on there is nothing to compare with."""
    later = [request(60_000 + 5_000 * at, 59_000, 1_000) for at in range(5)]
    found = balance(None, later, Spared(30_000, False), PriceList(), window=100_000)
    assert (found.requests, found.compared, found.not_fitting) == (5, 3, 2)
    assert "would not have fit the window of 100,000 tokens" in found.said
    none = balance(None, later, Spared(90_000, False), PriceList(), window=100_000)
    assert (none.compared, none.usd, none.usd_saved) == (0, None, None)


@pytest.mark.shared
def test_a_whole_session_is_replayed_without_and_with_foldaway() -> None:
    """The same answers; what does not fit the window is counted, and part of the bill is named."""
    messages = next(real_lists("pi__pi-mono"))["messages"][:300]
    with open_store(":memory:") as store:
        session = Session(
            store, "x", options=SessionOptions(new=NewSession(dialect="openai-chat", model=MODEL))
        )
        session.append(*messages)
        session.used({"prompt_tokens": 10_000, "completion_tokens": 10})
        found = otherwise(store, session.info, PriceList())
        nameless = otherwise(
            store, msgspec.structs.replace(session.info, model="no-such-model-9"), PriceList()
        )
    assert "not known" in nameless.why_none
    if found.why_none:
        pytest.skip("prices need the extra prices")
    assert found.answers > 50
    assert found.usd_without is not None
    assert found.usd_with_foldaway is not None
    assert found.usd_with_foldaway <= found.usd_without * 1.2
    assert "only a part" in found.said


@pytest.mark.parametrize("compacted", [False, True])
def test_what_it_would_have_cost_is_the_recorded_bill_times_what_a_replay_changes(
    compacted: bool,
) -> None:
    """So the way that it went costs what was paid, whatever the dollars of a replay are."""
    new = NewSession(dialect="openai-chat", model=MODEL)
    with open_store(":memory:") as store:
        session = Session(store, "x", context_length=8_000, options=SessionOptions(new=new))
        for at in range(12):
            session.append(
                {"role": "user", "content": f"zebra {at} " + "word " * 150},
                {"role": "assistant", "content": f"giraffe {at} " + "word " * 150},
            )
            session.used({"prompt_tokens": 5_000, "completion_tokens": 10})
        if compacted:
            assert session.compact(force=True).status == "compacted"
        found = otherwise(store, session.info, PriceList())
    if found.why_none:
        pytest.skip("prices need the extra prices")
    assert found.usd_paid
    assert found.anchor == ("foldaway" if compacted else "as it was")
    same = found.usd_with_foldaway if compacted else found.usd_without
    assert same == pytest.approx(found.usd_paid)
    assert "the bill times what a replay changes" in found.said
    assert "not with what was paid" not in found.said
