"""Our engine keeps the contract of hosts that call engines, and loses nothing at a boundary."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.sessions.test_bad_input import Broken
from tests.testing.long_lists import Exchange, written

from foldaway import Policy, check
from foldaway.agents.engines.contract import ContextEngine
from foldaway.agents.engines.hermes import HermesEngine
from foldaway.caching.prices import Prices
from foldaway.engine.run import Model
from foldaway.errors import Conflict, InvalidSetting, StoreUnavailable, SummarizerFailed
from foldaway.sessions import SessionOptions, internals
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.testing.fakes import ScriptedSummarizer

WINDOW: Any = {"context_length": 8_000, "policy": Policy(floor_tokens=500)}
ITEMS = written("openai-chat", [Exchange(2, 2, 900)] * 8, with_system=True)


def more(start: int, count: int = 4) -> list[Any]:
    return written("openai-chat", [Exchange(2, 2, 900)] * count, start=start)


def reference(made: HermesEngine) -> str:
    return internals(made.session).engine.conversation.references[0].ref


def recalled(made: HermesEngine, ref: str) -> str:
    answer = made.handle_tool_call("foldaway_recall", {"ref": ref}, messages=[])
    return json.loads(answer)["result"]


class TheirEngine(ABC):
    """What another host asks of an engine."""

    emits_status: bool = True
    last_prompt_tokens: int = 0

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def update_from_response(self, usage: dict[str, Any]) -> None: ...

    @abstractmethod
    def should_compress(self, prompt_tokens: int = 0) -> bool: ...

    @abstractmethod
    def compress(self, messages: list[Any], current_tokens: int = 0) -> list[Any]: ...


class Both(HermesEngine, TheirEngine):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Ours, registered with that host."""


def test_it_is_an_engine_of_either_contract_and_has_the_figures_that_hosts_read() -> None:
    """They are there before the first message, and nothing is written for them."""
    made = Both(**WINDOW)
    assert isinstance(made, ContextEngine)
    assert isinstance(made, TheirEngine)
    assert (made.name, made.emits_status) == ("compressor", True)
    assert (made.context_length, made.threshold_tokens, made.threshold_percent) == (
        8_000, 4_000, 0.5,
    )  # fmt: skip
    assert (made.protect_first_n, made.protect_last_n) == (3, 20)
    made.update_from_response({"prompt_tokens": 4_400, "completion_tokens": 50})
    assert (made.last_prompt_tokens, made.last_total_tokens) == (4_400, 4_450)
    assert made.should_compress()
    assert made.get_status()["usage_percent"] == 55
    made.last_prompt_tokens = -1
    assert made.get_status()["last_prompt_tokens"] == 0
    assert made.session.key == ""
    copied = copy.deepcopy(made)
    assert type(copied) is Both
    assert made.compress(ITEMS) != ITEMS
    assert internals(copied.session).engine.length == 0


def test_it_goes_on_from_its_own_result() -> None:
    """What comes back, with new turns, is known again; references of every run resolve."""
    made, items = HermesEngine(**WINDOW), ITEMS
    for count, start in enumerate((100, 200, 300)):
        items = made.compress([*items, *more(start)], force=True)
        assert made.compression_count == count + 1
        assert check(items) == []
    assert made._last_compression_made_progress  # pyright: ignore[reportPrivateUsage]
    assert all(
        recalled(made, row.ref) for row in internals(made.session).engine.conversation.references
    )


def test_questions_of_a_host_fold_nothing_and_a_compaction_after_them_does() -> None:
    """Before the first request, and with a list that is known already."""
    made = HermesEngine(**WINDOW)
    assert not made.has_content_to_compress(ITEMS[:2])
    assert made.should_compress_preflight(ITEMS)
    assert made.has_content_to_compress(ITEMS)
    assert made.session.messages == ITEMS
    assert made.compress(ITEMS) != ITEMS
    assert made.compress([]) == []
    assert not made.should_compress_preflight([])
    assert not made.has_content_to_compress([])


def test_the_hosts_own_count_decides_also_for_a_list_that_was_handed_over() -> None:
    """As after an error that says that the request was too long; an empty focus forces nothing."""
    made = HermesEngine(context_length=200_000, policy=WINDOW["policy"])
    assert made.compress(ITEMS, current_tokens=10, focus_topic="") == ITEMS
    assert made.compress(ITEMS, current_tokens=190_000) != ITEMS


def test_a_focus_of_a_host_compacts_and_lifts_what_speaks_of_it() -> None:
    """`/compress TOPIC` is a wish of the user, so it does not wait until a compaction is due."""
    items = written("openai-chat", [Exchange(1, 1, 1_500)] * 60)
    plain = HermesEngine(**WINDOW).compress(items, force=True)
    made = HermesEngine(**WINDOW).compress(items, focus_topic="value_41")
    assert made != items
    assert check(made) == []
    assert str(made).count("value_41") > str(plain).count("value_41")


def test_reports_on_messages_that_were_not_handed_over_count_them_once() -> None:
    """A host that hands its list over now and then reports every turn all the same; the answer to
    the last request is not in its count."""
    made = HermesEngine(context_length=200_000)
    made.compress(ITEMS)
    true = internals(made.session).engine.decide().prompt_tokens
    for turn in range(8):
        made.update_from_response({"prompt_tokens": true + 500 * turn})
    made.compress([*ITEMS, *more(100)])
    engine = internals(made.session).engine
    assert engine.decide().prompt_tokens == true + 3_500 + sum(engine.log.tokens[-2:])


def test_a_smaller_model_is_a_new_budget_before_the_next_request() -> None:
    """One that cannot be is refused, and nothing changes."""
    made = HermesEngine(context_length=200_000, policy=WINDOW["policy"])
    made.compress(ITEMS)
    assert not made.should_compress()
    made.update_model("small", 8_000, base_url="")
    assert made.should_compress()
    assert (made.context_length, made.threshold_tokens) == (8_000, 4_000)
    made.update_model("large", 200_000, output_tokens=100_000)
    assert made.threshold_tokens == 50_000
    with pytest.raises(InvalidSetting):
        made.update_model("tiny", 500)
    assert made.context_length == 200_000
    assert made.session.messages == ITEMS


def test_the_tools_answer_in_json_and_never_raise() -> None:
    """A wrong reference, an unknown tool and an empty search too; the schemas are constant."""
    made = HermesEngine(**WINDOW)
    made.compress(ITEMS, force=True)
    assert "Ask" in recalled(made, reference(made))
    assert "trying again cannot help" in recalled(made, "fa-0")
    for name, arguments, said in (
        ("foldaway_search", {"text": "Ask 2"}, "Ask 2"),
        ("foldaway_search", {"text": "qqqq"}, "nothing"),
        ("other", {}, "no tool"),
    ):
        assert said in json.loads(made.handle_tool_call(name, arguments, task_id="t"))["result"]
    made.get_tool_schemas()[0]["name"] = "spoiled"
    assert made.get_tool_schemas()[0]["name"] == "foldaway_recall"


def test_a_compaction_boundary_keeps_everything(tmp_path: Path) -> None:
    """The host ends its session and begins another id: references resolve, the count goes on, and
    each of its ids opens the same conversation, also after a restart."""
    made = HermesEngine(store=tmp_path, **WINDOW)
    made.on_session_start("a", platform="cli")
    items = made.compress(ITEMS, force=True)
    ref = reference(made)
    names = ["a", "b", "c"]
    for count, (old, new) in enumerate(pairwise(names)):
        made.on_session_end(old, ITEMS)
        made.on_session_start(new, boundary_reason="compression", old_session_id=old)
        assert made.compression_count == count + 1
        assert "Ask" in recalled(made, ref)
        items = made.compress([*items, *more(100 * count + 100)], force=True)
        assert made.compression_count == count + 2
    made.on_session_start("c", boundary_reason="compression", old_session_id="c")
    for name in names:
        again = HermesEngine(store=tmp_path, **WINDOW)
        again.on_session_start(name)
        assert (again.session.id, again.compression_count) == (made.session.id, 3)
        assert again.compress(items) == items
        assert "Ask" in recalled(again, ref)


def test_a_boundary_is_of_the_session_that_it_names(tmp_path: Path) -> None:
    """Also if the engine worked on another one; an id of somebody else's is refused."""
    made = HermesEngine(store=tmp_path, **WINDOW)
    for name in ("a", "other"):
        made.on_session_start(name)
        made.compress(ITEMS if name == "a" else more(500, 2))
    made.on_session_start("b", boundary_reason="compression", old_session_id="a")
    assert made.session.id == Session(tmp_path, "a").id == Session(tmp_path, "b").id
    with pytest.raises(Conflict, match="other"):
        made.on_session_start("other", boundary_reason="compression", old_session_id="b")


def test_nothing_crosses_from_one_session_to_the_next() -> None:
    """After a start or a reset no summary, reference or count of the old one is left."""
    made = HermesEngine(**WINDOW)
    for begin in (lambda: made.on_session_start("another"), made.on_session_reset):
        made.compress(ITEMS, force=True)
        made.update_from_response({"prompt_tokens": 900})
        ref = reference(made)
        begin()
        assert (made.compression_count, made.last_prompt_tokens) == (0, 0)
        assert "Ask 1:" not in str(made.compress(more(500, 8), force=True))
        assert "trying again cannot help" in recalled(made, ref)
        made.on_session_reset()


def test_the_end_of_a_session_keeps_its_last_turns(tmp_path: Path) -> None:
    """A host may end without another compaction."""
    made = HermesEngine(store=tmp_path, key="a", **WINDOW)
    items = made.compress(ITEMS, force=True)
    made.on_session_end("a", [*items, *more(100)])
    made.on_session_end("somebody else's", more(700))
    assert Session(tmp_path, "a").info.length == len(ITEMS) + len(more(100))


def test_a_copy_is_a_handle_on_the_same_session() -> None:
    """Each takes up what the other one did, and opens its own from then on."""
    made = HermesEngine(**WINDOW)
    items = made.compress(ITEMS, force=True)
    copied = copy.deepcopy(made)
    assert (copied.session.id, copied.compression_count) == (made.session.id, 1)
    assert copied.compress(items) == items
    copied.on_session_start("a subagent's")
    assert copied.compress(more(300, 1)) == more(300, 1)
    assert copied.session.id != made.session.id
    assert made.compress(items) == items


def test_what_stays_is_the_hosts_own_and_what_changed_has_no_stale_sidecar() -> None:
    """Hermes sends `api_content` in the place of the content, and notes what it has stored."""
    policy = Policy(protect_first=0, protect_last=2, floor_tokens=500)
    made = HermesEngine(context_length=8_000, policy=policy)
    host = [{**one, "api_content": "as sent", "_db_persisted": True} for one in ITEMS]
    sent = made.compress(host, force=True)
    changed = [one for one in sent if not any(one is mine for mine in host)]
    assert changed
    assert len(changed) < len(sent)
    assert not any("api_content" in one or "_db_persisted" in one for one in changed)
    again = made.compress(sent)
    assert all(one is two for one, two in zip(again, sent, strict=True))


def test_a_summarizer_is_shown_what_memory_says_and_its_failure_is_named() -> None:
    """For this compaction alone; so that the warnings of the host are true."""
    writer = ScriptedSummarizer(lambda _: SummarizerFailed("overloaded", "scripted:model"))
    made = HermesEngine(summarizer=writer, **WINDOW)
    assert made._last_summary_error is None  # pyright: ignore[reportPrivateUsage]
    items = made.compress(ITEMS, force=True, memory_context="fond of otters")
    assert "fond of otters" in str(writer.requests)
    assert "overloaded" in str(made._last_summary_error)  # pyright: ignore[reportPrivateUsage]
    asked = len(writer.requests)
    made.compress([*items, *more(100)], force=True)
    assert len(writer.requests) > asked
    assert "fond of otters" not in str(writer.requests[asked:])


@pytest.mark.parametrize("is_read", [True, False])
def test_a_host_that_said_to_pass_goes_on_without_its_store(is_read: bool, tmp_path: Path) -> None:
    """Whatever it calls; without that wish the reason is raised."""
    store: Any = Broken(open_store(tmp_path))
    made = HermesEngine(store=store, options=SessionOptions(on_error="pass"), **WINDOW)
    made.on_session_start("a")
    made.compress(ITEMS)
    store.is_gone, longer = True, [*ITEMS, *more(40)]
    if is_read:
        assert made.compress(longer) == longer
    made.update_from_response({"prompt_tokens": 50, "completion_tokens": 5})
    assert made.should_compress(7_900)
    assert made.get_status()["last_prompt_tokens"] == 50
    assert made.handle_tool_call("foldaway_recall", {"ref": "fa-0123456789"})
    made.on_session_end("a", longer)
    made.on_session_start("b", boundary_reason="compression", old_session_id="a")
    assert made.compress(longer) == longer
    store.is_gone = False
    made.compress(longer)
    assert made.session.info.length == len(longer)
    strict = HermesEngine(store=store, key="c", **WINDOW)
    strict.compress(ITEMS)
    store.is_gone = True
    with pytest.raises(StoreUnavailable):
        strict.update_from_response({"prompt_tokens": 50, "completion_tokens": 5})


def test_what_should_be_compressed_is_compressed() -> None:
    """Also if a compaction that is due would cost more than it saves: then it should not be."""
    prices = Prices(
        input=1.25, output=10.0, cache_read=0.125, cache_write_5m=1.25, cache_write_1h=1.25
    )
    policy = Policy(floor_tokens=500)
    model = Model("m", prices=prices)
    made = HermesEngine(model=model, context_length=16_000, policy=policy)
    held: list[Any] = []
    answers: set[tuple[bool, bool]] = set()
    for number in range(3, 16):
        held = [*held, *more(10 * number, 1)]
        tokens = len(json.dumps(held)) // 4 + 1_000
        made.should_compress_preflight(held)
        made.update_from_response({"prompt_tokens": tokens, "completion_tokens": 50})
        should, due = (
            made.should_compress(tokens),
            internals(made.session).engine.decide(tokens).due,
        )
        sent = made.compress(held, current_tokens=tokens)
        assert should == (sent != held)
        answers.add((due, should))
        held = sent
    assert answers == {(False, False), (True, False), (True, True)}
