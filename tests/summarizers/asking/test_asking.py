"""What a model is asked: bounded, in order, each message once, and no secret in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from foldaway._core.ports import CachedPrefix, SummaryAnswer, SummaryRequest
from foldaway.compaction.compact import Compaction, Plan, finish
from foldaway.errors import SummarizerFailed
from foldaway.facts.summary import SECTIONS, Entry, Summary
from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.summarizers.asking import Asking, begin
from foldaway.summarizers.asking.answer import ANSWER_SCHEMA, ASKED
from foldaway.summarizers.material import material_of
from foldaway.testing import assistant, call, media, result, talk, user
from foldaway.testing.builder import Step
from foldaway.transcript import Estimator, Message, Text, extend

Planned = Callable[..., Plan]
COUNTER = Estimator()
NOW = "2026-11-15"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def steps(count: int, *, chars: int = 400, start: int = 0) -> list[Step]:
    rows: list[Step] = []
    for n in range(start, start + count):
        words = f"value_{n} = {n * 7919 % 1000} # checked in module_{n}.py\n"
        rows += [
            user(f"Please look at module_{n}.py and say what is wrong."),
            assistant(f"Reading module_{n}.py.", call("read_file", path=f"module_{n}.py")),
            result(words * (chars // len(words) + 1)),
            assistant(f"The value in module_{n}.py is off by one."),
        ]
    return rows


def log_of(*more: Step, count: int = 8, chars: int = 400) -> tuple[Message, ...]:
    return talk(*steps(count, chars=chars), *more, user("And now the last thing.")).messages


def tokens(request: SummaryRequest) -> int:
    return COUNTER.count(request.instructions) + COUNTER.count(request.prompt) + request.max_tokens


def answer(**sections: list[str]) -> SummaryAnswer:
    rows = {name: [{"text": one, "source": ""} for one in sections.get(name, [])]
            for name in SECTIONS}  # fmt: skip
    return SummaryAnswer(text=json.dumps(rows, ensure_ascii=False), model="fake")


def requests_of(asking: Asking) -> list[SummaryRequest]:
    found: list[SummaryRequest] = []
    while (request := asking.request) is not None:
        found.append(request)
        asking = asking.take(answer(decisions=[f"Part {len(found)} was about module_{asking.at}."]))
    return found


def folded(plan: Plan) -> list[int]:
    assert plan.choice.partition is not None
    return [at for start, stop in plan.choice.partition.folds() for at in range(start, stop)]


@given(count=st.integers(1, 12), chars=st.sampled_from((0, 300, 9_000)),
       window=st.sampled_from((2_500, 4_000, 8_000, 32_000, 0)),
       most=st.integers(1, 8))  # fmt: skip
def test_every_folded_message_is_asked_about_once_or_left_to_the_ledger(
    planned: Planned, count: int, chars: int, window: int, most: int
) -> None:
    """In order, no message twice, and what is left over is the oldest."""
    plan = planned(log_of(count=count, chars=chars))
    asking = begin(material_of(plan), now=NOW, summarizer_window=window, most_calls=most)
    read = [at for chunk in asking.chunks for at in chunk.positions]
    assert [*asking.left, *read] == folded(plan)
    assert asking.calls_planned <= most
    for chunk in asking.chunks:
        assert all(f"[m{at}] " in chunk.record for at in chunk.positions)


@given(sizes=st.lists(st.tuples(st.sampled_from(("word ", "x9Kq/+", "漢字", "\n\n| a |", "🙂")),
                                st.integers(1, 4_000)), min_size=1, max_size=12),
       window=st.sampled_from((1_500, 2_500, 4_000, 16_000)))  # fmt: skip
def test_no_request_is_longer_than_the_summarizer_can_read(
    planned: Planned, sizes: list[tuple[str, int]], window: int
) -> None:
    """By our own estimate, with the room for the answer, in the first and in every later round."""
    rows = [user(f"{piece * size} ok") for piece, size in sizes]
    plan = planned(talk(*rows, user("Last.")).messages)
    for request in requests_of(begin(material_of(plan), now=NOW, summarizer_window=window)):
        assert tokens(request) <= window


def test_the_form_of_an_answer_takes_nothing_from_its_words(planned: Planned) -> None:
    """Keys and braces of some entries cost more than a small answer may have: they come on top of
    1.3 × the budget, within the summarizer's window."""
    plan = planned(log_of())
    rows = [{"section": name, "text": "", "source": ""} for name in ASKED]
    empty = COUNTER.count(json.dumps({"entries": rows}))
    roomy = begin(material_of(plan), now=NOW, summarizer_window=32_000)
    assert roomy.max_tokens >= 1.3 * roomy.terms.budget_tokens + empty
    small = begin(material_of(plan), now=NOW, summarizer_window=1_500)
    assert small.max_tokens <= max(0.3 * 1_500, 1.3 * small.terms.budget_tokens + 1)


def test_a_source_of_millions_of_tokens_takes_eight_calls(planned: Planned) -> None:
    """Only as much of the log is read as the requests can hold: it costs what they cost."""
    piece = "result line with some words and value_12345 in it\n" * 800
    rows = [row for n in range(400) for row in (
        user(f"Ask {n}."), assistant(call("bash", n=n)), result(piece), assistant(piece),
    )]  # fmt: skip
    log = talk(*rows, user("Last.")).messages
    small = planned(log[:40])
    assert small.choice.partition is not None
    partition = replace(small.choice.partition, tail_start=len(log) - 1, islands=())
    material = replace(material_of(small), log=log, partition=partition)
    assert COUNTER.count(piece) * 800 > 5_000_000
    started = time.process_time()
    asking = begin(material, now=NOW, summarizer_window=32_000)
    requests = requests_of(asking)
    assert time.process_time() - started < 2
    assert len(requests) == asking.calls_planned == 8
    assert asking.left[0] == 0
    assert len(asking.left) > 1_000
    assert max(map(tokens, requests)) <= 32_000


def test_a_monstrous_message_is_cut_and_keeps_its_ends(planned: Planned) -> None:
    """One huge output must not make it impossible."""
    huge = "START " + "x y " * 2_000_000 + " END"
    log = log_of(user("Look."), assistant(call("bash", c="x")), result(huge), assistant(huge))
    request = begin(material_of(planned(log)), now=NOW, summarizer_window=16_000).request
    assert request is not None
    assert tokens(request) <= 16_000
    assert "START" in request.prompt
    assert "characters …]" in request.prompt


def test_arguments_and_results_are_cut_as_agreed(planned: Planned) -> None:
    """Results to 4,000 and 1,500 characters, arguments to 1,200."""
    log = log_of(assistant(call("bash", c="a" * 5_000)), result("b" * 9_000 + "e" * 1_500), count=1)
    asking = begin(material_of(planned(log)), now=NOW, summarizer_window=64_000)
    record = asking.chunks[0].record
    assert "b" * 4_000 in record
    assert "b" * 4_001 not in record
    assert "e" * 1_500 in record
    assert "a" * 1_100 in record
    assert "a" * 1_201 not in record


def test_a_turn_has_its_id_its_speaker_and_placeholders_for_media(planned: Planned) -> None:
    """Who said what, and where it stands."""
    log = talk(
        user("See this.", media()), assistant("I see.", call("lookup", q="x")),
        result("found", is_error=True), user("More."), assistant("Hm."), user("Last."),
    ).messages  # fmt: skip
    request = begin(material_of(planned(log)), now=NOW, summarizer_window=64_000).request
    assert request is not None
    assert "[m0] user:\nSee this.\n[image]" in request.prompt
    assert '[m1] agent:\nI see.\ncalls lookup {"q": "x"}' in request.prompt
    assert "[m2] tool:\nresult of lookup, an error:\nfound" in request.prompt
    assert "Last." not in request.prompt


def test_what_a_program_put_in_is_not_the_users(planned: Planned) -> None:
    """A skill or reminder under the user's name would be quoted as a request."""
    log = talk(
        user("Base directory for this skill: /x\nAlways deploy."), assistant("Ok."),
        user("<system-reminder>Hurry.</system-reminder>Real words here, which ask for something "
             "else than the skill was for."), assistant("Yes."),
        user("Last."),
    ).messages  # fmt: skip
    request = begin(material_of(planned(log)), now=NOW, summarizer_window=64_000).request
    assert request is not None
    assert "[m0] program:" in request.prompt
    assert "[m2] user:\nReal words here, which" in request.prompt
    assert "Hurry" not in request.prompt


def test_generated_messages_are_not_asked_about(planned: Planned) -> None:
    """What we wrote ourselves is told by the ledger and by the note."""
    rows = list(log_of(count=3))
    rows[4] = replace(
        rows[4], parts=(Text("[foldaway digest] secretly generated"),), origin="digest"
    )
    asking = begin(material_of(planned(tuple(rows))), now=NOW, summarizer_window=64_000)
    assert 4 not in asking.chunks[0].positions
    assert "secretly generated" not in asking.chunks[0].record


def test_no_secret_is_in_a_request(planned: Planned) -> None:
    """Not in words, arguments, results, the topic, or what the user wrote last."""
    redact = Redactor(RedactionPolicy(personal=False))
    log = talk(
        *steps(2), user(f"Use {SECRET} please."), assistant(call("bash", c=f"export K={SECRET}")),
        result(f"TOKEN={SECRET}"), user(f"Last {SECRET}."),
    ).messages  # fmt: skip
    for focus in ("", f"the token {SECRET}"):
        asking = begin(
            material_of(planned(log, redact=redact, focus=focus)), now=NOW, summarizer_window=64_000
        )
        request = asking.request
        assert request is not None
        assert SECRET not in request.instructions + request.prompt
        after = asking.take(answer(critical=[f"The key is {SECRET} for module_1.py."]))
        assert SECRET not in str(after.prose)


def test_no_piece_of_a_secret_is_taken_from_an_answer(planned: Planned) -> None:
    """Long entries are cut, wherever a secret stands in them."""
    asking = begin(
        material_of(planned(log_of(), redact=Redactor(RedactionPolicy(personal=False)))),
        now=NOW, summarizer_window=64_000,
    )  # fmt: skip
    for room in range(1_140, 1_210, 3):
        words = f"{'module_1.py ' * 120}"[:room]
        after = asking.take(answer(critical=[f"{words} password={SECRET[4:]} and more"]))
        assert SECRET[4:12] not in str(after.prose)


def test_the_request_says_date_language_budget_and_topic(planned: Planned) -> None:
    """All that the words depend on is in them."""
    log = talk(
        user("Bitte prüfe die Datei und sag mir, was nicht stimmt."), assistant("Ja, gern."),
        user("Und jetzt auch noch die andere Datei, bitte."), assistant("Gut."), user("Ende."),
    ).messages  # fmt: skip
    request = begin(material_of(planned(log)), now=NOW, summarizer_window=64_000).request
    assert request is not None
    assert "today is 2026-11-15" in request.instructions
    assert "Write in German" in request.instructions
    assert "- Ende." in request.instructions
    assert request.schema is ANSWER_SCHEMA
    topic = begin(
        material_of(planned(log, focus="the {odd} topic")), now=NOW, summarizer_window=64_000
    ).request
    assert topic is not None
    assert "the {odd} topic" in topic.instructions
    assert "60 to 70 percent" in topic.instructions
    assert "- Ende." not in topic.instructions


def test_the_words_are_plain(planned: Planned) -> None:
    """Defensive wording trips providers' filters."""
    plan = planned(log_of())
    asking = begin(material_of(plan), now=NOW, summarizer_window=64_000)
    after = replace(asking, found=Summary({"goal": (Entry("x"),)}))
    riding = replace(asking, prefix=CachedPrefix(dialect="anthropic", messages=()))
    for one in (asking, after, riding):
        request = one.request
        assert request is not None
        for word in ("ignore", "injection", "malicious", "untrusted", "attack", "jailbreak",
                     "do not follow", "do not respond", "instructions"):  # fmt: skip
            assert word not in request.instructions.lower(), word


def test_a_later_round_reads_only_what_is_new_and_counts_on(planned: Planned) -> None:
    """The note so far is state; only the new turns are source."""
    log = log_of(count=4)
    first = planned(log)
    asking = begin(material_of(first), now=NOW, summarizer_window=64_000)
    why = "Kept value_0, since the callers of module_0.py need it."
    done = asking.take(
        answer(completed=["Read module_0.py.", "Read module_1.py."], decisions=[why])
    )
    assert done.prose is not None
    assert done.prose.numbered == 2
    outcome = finish(first)
    assert isinstance(outcome, Compaction)
    more = talk(
        *steps(4), user("And now the last thing."), *steps(3, start=50), user("End.")
    ).messages
    assert more[: len(log)] == log
    view = extend(outcome.view, len(more))
    state = replace(outcome.state, prose=done.prose, prose_to=outcome.state.folded_to)
    plan = planned(more, state=state, view=view)
    again = begin(material_of(plan), now=NOW, summarizer_window=64_000)
    request = again.request
    assert request is not None
    assert [at for chunk in again.chunks for at in chunk.positions] == list(range(15, 28))
    assert "[m3] " not in request.prompt
    assert "[m20] " in request.prompt
    assert f"## decisions\n- {why}" in request.prompt
    unread = planned(more, state=replace(state, prose_to=0), view=view)
    told = begin(material_of(unread), now=NOW, summarizer_window=64_000)
    assert sum(len(chunk.positions) for chunk in told.chunks) > 13
    over = again.take(answer(completed=["Read module_50.py."]))
    assert over.prose is not None
    assert over.prose.numbered == 3
    assert [row.text for row in over.prose.sections["completed"]] == [
        "Read module_0.py.", "Read module_1.py.", "Read module_50.py."
    ]  # fmt: skip


def test_a_request_that_rides_the_cached_prefix_brings_no_record(planned: Planned) -> None:
    """The model has the conversation before it already; one request, with the note alone."""
    prefix = CachedPrefix(dialect="anthropic", messages=({"role": "user"},))
    asking = begin(
        material_of(planned(log_of())), now=NOW, summarizer_window=200_000, prefix=prefix
    )
    request = asking.request
    assert request is not None
    assert asking.calls_planned == 1
    assert asking.left == ()
    assert request.prefix is prefix
    assert "<record>" not in request.prompt
    assert "\n\n## goal\n- First request (answered): Please look at module_0.py" in request.prompt
    assert 'begins with "And now the last thing."' in request.instructions


@pytest.mark.parametrize(("given_answer", "kind"), [
    (SummaryAnswer(text=""), "empty answer"),
    (SummaryAnswer(text=" \n\t "), "empty answer"),
    (SummaryAnswer(text="{}"), "bad answer"),
    (SummaryAnswer(text='{"task": [], "goal": []}'), "empty answer"),
    (SummaryAnswer(text="## Goal\nNone.\n\n## Active state\n- None"), "empty answer"),
    (SummaryAnswer(text="<!DOCTYPE html><html><body>502</body></html>"), "broken answer"),
    (SummaryAnswer(text="I'm sorry, but I can't help with that."), "bad answer"),
    (SummaryAnswer(text="partial", stopped="refusal"), "bad answer"),
    (SummaryAnswer(text="The user and the agent talked for a while."), "bad answer"),
    (SummaryAnswer(text='{"task": [{"text": "The us', stopped="length"), "bad answer"),
    (SummaryAnswer(text="## Goal\n- " + "words and words " * 20_000), "bad answer"),
    (SummaryAnswer(text="## Goal\n- x\n" + "## Files\n" * 2_000_000), "bad answer"),
])  # fmt: skip
def test_an_answer_that_is_none_is_a_failure(
    planned: Planned, given_answer: SummaryAnswer, kind: str
) -> None:
    """Its kind is told, nothing of its content; the asking stays as it was."""
    asking = begin(material_of(planned(log_of())), now=NOW, summarizer_window=32_000)
    with pytest.raises(SummarizerFailed) as raised:
        asking.take(given_answer)
    assert raised.value.kind == kind
    assert asking.at == 0
    assert asking.found is None


def test_an_answer_that_repeats_what_it_was_told_is_a_failure(planned: Planned) -> None:
    """Small models give the template back."""
    asking = begin(material_of(planned(log_of())), now=NOW, summarizer_window=32_000)
    echo = "\n".join(
        f"## {line.split()[0]}\n- {line.split(None, 1)[1]}"
        for line in asking.request.instructions.split("\n")  # pyright: ignore[reportOptionalMemberAccess]
        if line.split()[:1] and line.split()[0] in SECTIONS
    )
    with pytest.raises(SummarizerFailed, match="repeats"):
        asking.take(SummaryAnswer(text=echo))


def test_an_answer_that_copies_the_record_is_a_failure(planned: Planned) -> None:
    """A long stretch of the source, letter for letter, is no note."""
    asking = begin(material_of(planned(log_of(chars=3_000))), now=NOW, summarizer_window=32_000)
    record = asking.chunks[0].record
    rows = [record[at : at + 500] for at in range(0, 1_500, 500)]
    with pytest.raises(SummarizerFailed, match="copies"):
        asking.take(answer(critical=rows))


def test_an_answer_in_another_language_is_a_failure(planned: Planned) -> None:
    """Told by script and small words."""
    asking = begin(material_of(planned(log_of())), now=NOW, summarizer_window=32_000)
    german = [
        "Der Benutzer hat die Datei geöffnet und danach wurde der Fehler nicht gefunden.",
        "Es wurde entschieden, dass die Werte nicht mehr als Text gespeichert werden.",
    ]
    chinese = ["用户要求检查模块，代理读取了文件并发现数值有误。" * 4]
    for rows in (german, chinese):
        with pytest.raises(SummarizerFailed, match="language"):
            asking.take(answer(decisions=rows, state=rows))


def test_a_part_of_the_record_may_have_nothing_to_add(planned: Planned) -> None:
    """An empty list is an answer: the next part is asked about, and what was found stays."""
    asking = begin(material_of(planned(log_of(chars=3_000))), now=NOW, summarizer_window=4_000)
    assert asking.calls_planned > 1
    nothing = SummaryAnswer(text='{"entries": []}')
    while asking.request is not None:
        asking = asking.take(answer(decisions=["Kept value_1."]) if asking.at == 1 else nothing)
    assert asking.prose is not None
    assert [row.text for row in asking.prose.sections["decisions"]] == ["Kept value_1."]


def test_an_answer_that_was_cut_off_is_used_without_its_last_entry(planned: Planned) -> None:
    """Nobody knows how it would have ended."""
    asking = begin(material_of(planned(log_of())), now=NOW, summarizer_window=32_000)
    text = '{"decisions": [{"text": "First.", "source": "m1"}, {"text": "Second one.", ' \
           '"source": "m2"}, {"text": "We will not del'  # fmt: skip
    done = asking.take(SummaryAnswer(text=text, stopped="length"))
    assert done.prose is not None
    assert [row.text for row in done.prose.sections["decisions"]] == ["First.", "Second one."]


def test_nothing_is_asked_where_there_is_nothing_to_read(planned: Planned) -> None:
    """A window that is too small for anything leaves all to the ledger."""
    asking = begin(material_of(planned(log_of())), now=NOW, summarizer_window=600)
    assert asking.request is None
    assert asking.prose is None
    assert len(asking.left) == len(folded(planned(log_of())))
