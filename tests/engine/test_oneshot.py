"""One-shot compression: what goes in, what comes out, and every odd transcript with a clear end."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from typing import Any, cast

import pytest
from tests.testing.laws import broken_laws
from tests.testing.long_lists import Exchange, written
from tests.testing.rows import each_row

from foldaway import Model, Options, check, load
from foldaway._core.policy import Policy
from foldaway.compaction.room import LEAST_SUMMARY_TOKENS
from foldaway.engine.inspection import shares_of
from foldaway.engine.oneshot import compress
from foldaway.errors import CannotRepair, InvalidSetting, NotReadable, UnknownName, UnknownReference
from foldaway.facts.frame import recognize
from foldaway.summarizers.writers import Writers
from foldaway.testing import assistant, call, media, result, system, talk, user
from foldaway.transcript.estimate import Estimator

SMALL = Policy(floor_tokens=500)
PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "strict")
WORK = [Exchange(2, 2, 900)] * 6


def assert_clear(items: Any, made: Any, provider: str = "openai-chat") -> None:
    """Either a compaction that keeps every law, or the list as it was with a reason in words."""
    if made.report.status == "unchanged":
        assert made.report.reason
        assert made.report.detail
        assert made.messages is items
    else:
        laws = broken_laws(items, made.messages, made.report, made.recall, provider=provider)
        assert laws == []


def test_without_model_or_window_one_is_assumed_and_said() -> None:
    """200,000 tokens, marked as assumed; a given one is marked as given."""
    items = written("openai-chat", WORK)
    report = compress(items).report
    assert (report.context_length, report.context_length_source) == (200_000, "assumed")
    report = compress(items, context_length=8_000).report
    assert (report.context_length, report.context_length_source) == (8_000, "given")


def test_a_run_by_hand_acts_below_the_threshold() -> None:
    """A few thousand tokens in a window of 200,000 are compacted where that was asked for."""
    items = written("openai-chat", WORK)
    report = compress(items, target_tokens=1_500).report
    assert report.status == "compacted"
    assert report.tokens_before < report.threshold_tokens


@each_row("provider", PROVIDERS)
def test_a_whole_request_body_comes_back_as_one(provider: str) -> None:
    """Every other field is untouched, in its place."""
    key = {"openai-responses": "input", "gemini": "contents"}.get(provider, "messages")
    tool: Any = {"name": "bash", "parameters": {"type": "object"}}
    tools: Any = {
        "anthropic": [{"name": "bash", "input_schema": {"type": "object"}}],
        "gemini": [{"functionDeclarations": [tool]}],
        "openai-responses": [{"type": "function", **tool}],
    }.get(provider, [{"type": "function", "function": tool}])  # fmt: skip
    body = {"model": "m", "max_tokens": 900, "tools": tools, key: written(provider, WORK)}
    if provider == "gemini":
        body = {"contents": body["contents"], "tools": tools}
    before = deepcopy(body)
    made = compress(body, provider=provider, target_tokens=1_500)
    assert made.report.status == "compacted"
    assert list(made.messages) == list(body)
    assert {k: v for k, v in made.messages.items() if k != key} == {
        k: v for k, v in body.items() if k != key
    }
    assert check(made.messages, provider=provider) == []
    assert body == before


def test_a_broken_list_is_repaired_first_and_that_is_said() -> None:
    """What was mended stands in the report; the result is valid."""
    items = written("openai-chat", WORK)
    del items[2]
    made = compress(items, target_tokens=1_500)
    assert made.report.repaired
    assert check(made.messages) == []


def test_a_summary_counts_as_one_also_inside_a_message_of_the_user() -> None:
    """By category, in the report and in an inspection of the result."""
    said = [
        {"role": role, "content": f"{role} {number}: " + "many words " * 90}
        for number in range(20)
        for role in ("user", "assistant")
    ]
    made = compress(
        said, context_length=8_000, options=Options(keep_last=1), policy=Policy(protect_first=0)
    )
    assert not any(message.origin == "summary" for message in recognize(made.transcript.messages))
    report = {one.name: one for one in made.report.categories}
    shown = {one.name: one.tokens for one in shares_of(made.transcript, Estimator())}
    for found in ({name: one.tokens_after for name, one in report.items()}, shown):
        assert found["summary"] == pytest.approx(made.report.summary_tokens, rel=0.1)
        assert found["user"] < report["user"].tokens_before / 2
    assert sum(shown.values()) == sum(one.tokens_after for one in report.values())


def test_what_cannot_be_repaired_or_read_is_refused_by_name() -> None:
    """An empty list, something that is no list, a request whose tools are missing."""
    for odd in ([], {}, "text", 7, None):
        with pytest.raises(NotReadable):
            compress(odd)
    blocks = written("anthropic", [Exchange(1, 1, 300)])
    with pytest.raises(CannotRepair):
        compress({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": blocks})


def test_unknown_names_and_settings_are_refused() -> None:
    """Provider, dialect, target and window."""
    items = written("openai-chat", WORK)
    with pytest.raises(UnknownName):
        compress(items, provider="nobody")
    with pytest.raises(UnknownName):
        compress(items, provider="nothing")
    with pytest.raises(InvalidSetting):
        compress(items, target_tokens=0)
    window: Any
    for window in (-5, 0, True, 1.5):
        with pytest.raises(InvalidSetting, match="a number of tokens, at least 1"):
            compress(items, context_length=window)
        with pytest.raises(InvalidSetting, match="a number of tokens, at least 1"):
            Model("m", context_length=window)


def test_recall_gives_the_very_objects_and_refuses_what_it_did_not_give_out() -> None:
    """Identity for the one, `UnknownReference` for the other."""
    items = written("openai-chat", WORK)
    made = compress(items, target_tokens=1_500)
    for row in made.report.references:
        back = made.recall(row.ref)
        assert all(one is was for one, was in zip(back, items[row.start : row.stop], strict=True))
    with pytest.raises(UnknownReference):
        made.recall("fa-0000000000")


def test_arguments_nested_500_deep_are_compacted() -> None:
    """A call whose arguments are a tower of lists or objects is no obstacle."""
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        deep = json.loads(opening * 500 + f'"{"x" * 2_000}"' + closing * 500)
        for provider in ("openai-chat", "anthropic", "gemini"):
            items = talk(
                *[step for n in range(8) for step in (
                    user(f"Ask {n}."), assistant("Yes.", call("odd", deep=deep)),
                    result("word " * 300))],
                assistant("Done."), user("Go on."),
            ).wire(provider)  # fmt: skip
            made = compress(items, provider=provider, target_tokens=9_000, policy=SMALL)
            assert_clear(items, made, provider)


@pytest.mark.slow
@pytest.mark.parametrize("size", [5_000_000, pytest.param(50_000_000, marks=pytest.mark.soak)])
def test_one_enormous_message_is_compacted(size: int) -> None:
    """A tool result, or an ask, of many megabytes: cut to an excerpt, folded, or said to be too
    large; never a crash."""
    text = ("word " * (size // 5))[:size]
    for steps in (
        (user("Run."), assistant(call("bash")), result(text), assistant("Done."), user("Go on.")),
        (user("Run."), assistant(call("bash")), result(text)),
        (user(text), assistant("Done."), user("Go on.")),
        (user("Run."), assistant("Done."), user(text)),
    ):
        items = talk(*steps).wire("openai-chat")
        made = compress(items, context_length=200_000)
        if made.report.status == "unchanged":
            assert made.report.reason
            assert made.messages is items
        else:
            assert made.report.tokens_after < made.report.tokens_before
            assert check(made.messages) == []


@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses"])
def test_a_list_of_system_messages_has_nothing_to_compact(provider: str) -> None:
    """All of it is the head."""
    items = talk(*[system(f"Rule {n}. " * 50) for n in range(30)]).wire(provider)
    made = compress(items, provider=provider, target_tokens=500)
    assert made.messages is items
    assert made.report.reason == "nothing to compact"


@each_row("provider", PROVIDERS)
def test_a_single_message_has_nothing_to_compact(provider: str) -> None:
    """However long it is; where it does not fit the window, nothing can help."""
    items = talk(user("word " * 20_000)).wire("openai-chat" if provider == "strict" else provider)
    roomy = compress(items, provider=provider, context_length=200_000)
    assert (roomy.messages is items, roomy.report.reason) == (True, "nothing to compact")
    tight = compress(items, provider=provider, context_length=8_000)
    assert (tight.messages is items, tight.report.reason) == (True, "cannot")
    assert not tight.report.fits_window


def test_a_short_session_says_what_would_fold_it() -> None:
    """Also if old results were shortened; and that option does."""
    for steps in (4, 30):
        items = written("openai-chat", [Exchange(steps, 1, 900)], ending="step")
        found = compress(items, context_length=200_000).report
        assert found.folded == 0
        assert found.keeps_much
        assert "keep fewer exchanges" in (found.detail or " ".join(found.notes))
    asked = written("openai-chat", [Exchange(3, 1, 900)] * 6)
    folded = compress(asked, context_length=200_000, options=Options(keep_last=1)).report
    assert folded.folded


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_ask_and_hundreds_of_steps_are_compacted(provider: str) -> None:
    """A pure tool loop: the ask stays live, the old steps are folded, the newest stay."""
    items = written(provider, [Exchange(300, 1, 900)], ending="step")
    made = compress(items, provider=provider, context_length=64_000)
    assert made.report.status == "compacted"
    assert made.report.tokens_after < 0.5 * made.report.tokens_before
    assert_clear(items, made, provider)


@each_row("provider", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_a_list_of_images_keeps_the_newest(provider: str) -> None:
    """Older ones are placeholders or folded; the size shrinks by the flat cost of each."""
    steps = [step for _ in range(30) for step in (user(media()), assistant("Seen."))]
    items = talk(*steps, user("Which was best?", media())).wire(provider)
    made = compress(items, provider=provider, context_length=64_000)
    assert made.report.status == "compacted"
    assert made.report.tokens_before > 30 * 1_600
    assert_clear(items, made, provider)


def test_a_floor_above_the_window_is_said() -> None:
    """Where system prompt and newest ask alone do not fit, the report says so: it does not fit,
    and why, instead of a run for each turn."""
    items = talk(
        system("rule " * 20_000), user("Ask."), assistant("Yes."), user("word " * 10_000)
    ).wire("openai-chat")
    report = compress(items, context_length=8_000).report
    assert not report.fits_window
    assert report.floor_tokens > report.effective_window
    assert report.reason in ("not smaller", "cannot")
    assert "8,000" in report.detail


@each_row("provider", PROVIDERS)
def test_unanswered_calls_in_the_middle_do_not_switch_compaction_off(provider: str) -> None:
    """They are mended first; the rest is compacted as ever."""
    items = written(provider, WORK, with_system=True)
    spot = next(
        at for at, item in enumerate(items) if "call1x0" in json.dumps(item) and at > 0
        and ("tool_call_id" in item or item.get("type") == "function_call_output"
             or "tool_result" in json.dumps(item))
    ) if provider != "gemini" else 8  # fmt: skip
    del items[spot]
    made = compress(items, provider=provider, target_tokens=2_000)
    assert made.report.status == "compacted"
    assert made.report.repaired
    assert check(made.messages, provider=provider) == []


def test_a_list_without_any_user_message_is_compacted() -> None:
    """Only agents and tools: no placeholder takes the place of the history."""
    items = talk(
        *[step for n in range(40) for step in (
            assistant(f"Step {n}.", call("bash", command=f"run {n}")), result("word " * 200))]
    ).wire("openai-chat")  # fmt: skip
    made = compress(items, target_tokens=2_000)
    assert made.report.status == "compacted"
    assert_clear(items, made)


def test_null_arguments_do_not_crash() -> None:
    """`arguments: null` is mended, and the list compacted."""
    items = written("openai-chat", WORK)
    for item in items:
        for one in item.get("tool_calls", ()):
            one["function"]["arguments"] = None
    made = compress(items, target_tokens=1_500)
    assert made.report.status == "compacted"
    assert check(made.messages) == []


def test_a_foreign_summary_is_carried_on_and_never_an_ask() -> None:
    """What another compressor left is folded into ours; the live ask is the user's own."""
    foreign = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns.\n## Goal\n- Ship the parser.\n"
    items = [{"role": "user", "content": foreign}, {"role": "assistant", "content": "Yes."},
             *written("openai-chat", WORK)]  # fmt: skip
    made = compress(items, target_tokens=2_000)
    text = json.dumps(made.messages)
    assert "Ship the parser." in text
    assert "CONTEXT COMPACTION" not in text
    assert made.messages[-1] == items[-1]


@pytest.mark.parametrize("words", [
    "[foldaway digest: what does this mark mean? Please explain it.",
    "[foldaway summary: reference only] what is this text?",
])  # fmt: skip
def test_a_user_who_quotes_a_mark_is_still_heard(words: str) -> None:
    """Only what has the whole form of a generated text is taken for one."""
    steps = written("openai-chat", [Exchange(20, 1, 900)], start=50, ending="step")[1:]
    ask = {"role": "user", "content": words}
    items = [*written("openai-chat", WORK, ending="reply"), ask, *steps]
    made = compress(items, options=Options(keep_last=1), policy=Policy(protect_first=0))
    assert made.report.status == "compacted"
    (said,) = [one for one in made.messages if one["role"] == "user"]
    assert said["content"][-1] == {"type": "text", "text": words}  # the summary stands before it


def test_the_frame_of_the_given_list_is_the_frame_of_the_result() -> None:
    """A tuple, a list and a body are all read; messages that stay are the same objects."""
    items = written("openai-chat", WORK)
    made = compress(items, target_tokens=4_000)
    same = [item for item in made.messages if any(item is was for was in items)]
    assert len(same) >= 3
    assert compress(tuple(items), target_tokens=4_000).messages == made.messages
    assert load(made.messages).dialect == "openai-chat"


def test_what_is_pinned_stays_as_it_is() -> None:
    """A pinned message in the middle is an island: the same object, between what was folded."""
    items = written("openai-chat", WORK, with_system=True)
    at = next(index for index, item in enumerate(items) if index > 6 and item["role"] == "user")
    made = compress(items, target_tokens=3_000, options=Options(pinned=frozenset([at])))
    assert made.report.status == "compacted"
    assert any(item is items[at] for item in made.messages)


def test_a_size_that_is_reached_already_changes_nothing() -> None:
    """Asked for less than there is, a run acts; asked for more, it does not."""
    items = written("openai-chat", WORK)
    assert compress(items, target_tokens=10**9).messages is items


def test_a_tail_that_is_named_is_left_as_it_is() -> None:
    """Neither `above` nor `keep_last` shortens what it keeps; nothing to keep is a mistake."""
    items = written("openai-chat", WORK)
    assert compress(items, options=Options(above=0)).messages is items
    assert compress(items, options=Options(keep_last=100)).messages is items
    with pytest.raises(InvalidSetting, match="keep_last"):
        compress(items, options=Options(keep_last=0))


def test_a_pinned_result_in_the_tail_is_not_shortened() -> None:
    """Pinned means as it is, wherever it stands."""
    items = written("openai-chat", [Exchange(2, 1, 1_500)] * 12)
    at = next(index for index, item in enumerate(items) if index > 20 and item["role"] == "tool")
    roomy = Policy(protect_first=0, protect_last=4, target_ratio=0.8, threshold=0.2)
    made = compress(
        items, context_length=100_000, policy=roomy, options=Options(pinned=frozenset([at]))
    )
    assert any(item is items[at] for item in made.messages)


@pytest.mark.parametrize("provider", ["anthropic", "strict"])
def test_an_ask_that_is_only_an_image_stays_live(provider: str) -> None:
    """Also where the summary has to be merged into it."""
    items = written(provider, WORK, ending="reply")
    picture = (
        {"type": "image", "source": {"type": "url", "url": "https://example.test/a.png"}}
        if provider == "anthropic"
        else {"type": "image_url", "image_url": {"url": "https://example.test/a.png"}}
    )
    items += [{"role": "user", "content": [picture]}, {"role": "assistant", "content": "Seen."}]
    policy = Policy(floor_tokens=500, protect_first=0, min_tail=1)
    made = compress(
        items, provider=provider, options=Options(keep_last=1), context_length=8_000, policy=policy
    )
    assert made.report.status == "compacted"
    assert "https://example.test/a.png" in json.dumps(made.messages)


@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses"])
def test_a_list_without_a_system_message_still_starts_with_a_user(provider: str) -> None:
    """Also where the tail starts at a user's message and the provider would not mind."""
    items = written(provider, [Exchange(1, 1, 900)] * 12, ending="reply")
    policy = Policy(floor_tokens=500, protect_first=0)
    made = compress(
        items, provider=provider, options=Options(keep_last=1), context_length=8_000, policy=policy
    )
    assert made.report.status == "compacted"
    assert made.messages[0]["role"] == "user"


@each_row(
    ("asked", "name"),
    [
        (lambda: {"options": Options(above=999)}, "above"),
        (lambda: {"options": Options(above=-1)}, "above"),
        (lambda: {"options": Options(above=0, keep_last=1)}, "above"),
        (lambda: {"options": Options(keep_last=0)}, "keep_last"),
        (lambda: {"options": Options(pinned=frozenset({3, 999}))}, "pinned"),
        (lambda: {"options": Options(pinned=frozenset({-1}))}, "pinned"),
        (lambda: {"model": Model(output_tokens=-1)}, "output_tokens"),
        (lambda: {"summarizer": Writers(on_failure=cast("Any", "shrug"))}, "on_failure"),
    ],
)
def test_an_option_that_is_impossible_is_refused(
    asked: Callable[[], dict[str, Any]], name: str
) -> None:
    """It is named, also if there is nothing to fold: a slip is not taken for another option."""
    for items in (written("openai-chat", WORK), [{"role": "user", "content": "hi"}]):
        with pytest.raises(InvalidSetting, match=name):
            compress(items, **asked())


def test_a_summary_beside_a_floor_that_is_too_large_has_its_least() -> None:
    """If the live request alone exceeds the size asked for, the summary still says something, and
    does not add to what the size is missed by."""
    words = " ".join(f"clause {n} says what part_{n} must do," for n in range(400))
    rows: list[Any] = [user(f"Do all of this: {words}")]
    for n in range(60):
        made = call("bash", command=f"run part_{n}")
        rows += [
            assistant(made),
            result(f"part_{n} at /srv/{n * 7}/out.txt took {n * 13} ms\n" * 3),
        ]
    items = talk(*rows).wire("openai-chat")
    report = compress(items, target_tokens=600).report
    assert report.floor_tokens > 3_000
    assert 100 < report.summary_tokens <= LEAST_SUMMARY_TOKENS
    assert any("600" in note for note in report.notes)
    assert report.tokens_after < report.tokens_before


@each_row("target", [700, 800, 1_000])
def test_a_summary_does_not_grow_beside_what_was_cut(target: int) -> None:
    """A long last result is cut until the size is met; the summary does not take what it leaves."""
    rows: list[Any] = [user("Do it.")]
    for n in range(30):
        made = call("bash", command=f"run part_{n}")
        rows += [
            assistant(made),
            result(f"part_{n} at /srv/{n * 7}/out.txt took {n * 13} ms\n" * 3),
        ]
    log = "\n".join(f"line {n} of /var/log/x_{n}.log says {n * 17}" for n in range(300))
    rows += [assistant(call("bash", command="cat big.log")), result(log)]
    report = compress(talk(*rows).wire("openai-chat"), target_tokens=target).report
    assert report.floor_tokens > 4_000
    assert report.tokens_after < 1.1 * target


def _with_a_long_end(ask_clauses: int) -> list[Any]:
    """Return a session with a long request and a long last result."""
    words = " ".join(f"clause {n} says what part_{n} must do," for n in range(ask_clauses))
    rows: list[Any] = [user(f"Do all of this: {words}")]
    for n in range(30):
        rows += [
            assistant(call("bash", command=f"run part_{n}")),
            result(f"part_{n} is done\n" * 9),
        ]
    names = [f"a_{n} b_{n}" if 20 < n < 280 else f"a_{n} b_{n} c_{n} d_{n}" for n in range(300)]
    log = "\n".join(f"line of /var/log/x_{n}.log says {name}" for n, name in enumerate(names))
    return talk(*rows, assistant(call("bash", command="cat big.log")), result(log)).wire(
        "openai-chat"
    )


@pytest.mark.parametrize("clauses", [2, 40, 400])
def test_a_smaller_size_never_gives_a_larger_result(clauses: int) -> None:
    """Also if the live request alone exceeds the size: nothing comes back because it is missed.

    A hundredth is allowed: a summary is made of whole entries.
    """
    items = _with_a_long_end(clauses)
    sizes = (200, 400, 700, 1_000, 1_500, 2_500, 4_500)
    found = [compress(items, target_tokens=size).report.tokens_after for size in sizes]
    assert all(smaller <= 1.01 * larger for smaller, larger in pairwise(found))


def test_what_a_cut_result_shows_is_not_told_again() -> None:
    """The summary tells of a result that was cut what the cut result does not show."""
    made = compress(_with_a_long_end(2), target_tokens=1_500)
    summary, newest = (
        next(str(one["content"]) for one in made.messages if mark in str(one["content"]))
        for mark in ("[foldaway summary", "[in part: fa-")
    )
    told = [line.strip() for line in summary.split("\n") if "/var/log/" in line]
    shown = {line for line in newest.split("\n") if "/var/log/" in line}
    assert len(told) > 2
    assert len(shown) > 2
    assert not shown.intersection(told)


def test_changed_files_that_are_folded_stand_before_those_that_are_still_shown() -> None:
    """Where there is no room for all, the call that is still in view tells of its file itself."""
    folder = "/srv/work/a/long/folder/of/the/project/under/test"
    clauses = " ".join(f"clause {n} says what part_{n} must do," for n in range(80))
    rows: list[Any] = [user(f"Do all of this: {clauses}")]
    for n in range(6):
        made = call("write_file", path=f"{folder}/part_{n}.py", content="x = 1\n" * 20)
        rows += [assistant(made), result("File written.")]
    made = compress(talk(*rows).wire("openai-chat"), target_tokens=1_000)
    for n in range(6):
        assert f"part_{n}.py" in str(made.messages)
