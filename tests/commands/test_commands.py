"""Commands of a conversation: lines in, values out, on every back-end."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, written
from tests.testing.rows import each_row

from foldaway import Policy, check
from foldaway.caching.prices import Prices
from foldaway.commands import CommandAnswer, Commands, as_text
from foldaway.commands.lines import SPECS, CompressLine, compress_line, split_line
from foldaway.engine.run import Model
from foldaway.memory.manager import MemoryManager
from foldaway.memory.provider import MemoryProvider
from foldaway.sessions import internals
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter

KEY = "chat:42"
OPTIONS: Any = {
    "context_length": 16_000, "policy": Policy(floor_tokens=500)
}  # fmt: skip


def talk(count: int = 8, start: int = 0) -> list[Any]:
    """Return exchanges of four messages: an ask, a call, its result, an answer."""
    return written("openai-chat", [Exchange(1, 1, 900)] * count, start=start)[:-1]


def begun(store: Store, key: str = KEY, count: int = 8) -> Commands:
    session = Session(store, key, **OPTIONS)
    session.append(*talk(count))
    return Commands(session)


def places(answer: CommandAnswer) -> list[str]:
    return [one.line for one in answer.choices]


@each_row(
    ("line", "wanted"),
    [
        ("/compress", CompressLine()),
        ("/compress database schema", CompressLine(focus="database schema")),
        ("/compress here 3", CompressLine(keep_last=3)),
        ("/compress keep 3 the parser", CompressLine(keep_last=3, focus="the parser")),
        ("/compress here", CompressLine(keep_last=1)),
        ("/compress here is the plan", CompressLine(focus="here is the plan")),
        ("/compress above m40 --preview", CompressLine(above=40, preview=True)),
        ("/compress above all else", CompressLine(focus="above all else")),
        ("/compress —preview", CompressLine(preview=True)),
        ("/compress@my_bot --force tests", CompressLine(force=True, focus="tests")),
        ("  /COMPRESS tests ", CompressLine(focus="tests")),
    ],
)
def test_a_compress_line_is_taken_apart(line: str, wanted: CompressLine) -> None:
    asked = split_line(line)
    assert asked is not None
    assert compress_line(asked) == wanted


@pytest.mark.parametrize(
    "line",
    ["here -1", "keep three", "keep 0", "here 2.5 the parser", "keep two tests", "above m-1"],
)
def test_a_wrong_number_compacts_nothing(store: Store, line: str) -> None:
    """A person who meant a number is told so: the line is not taken for what to focus on."""
    commands = begun(store)
    answer = commands.run(f"/compress {line}")
    assert (answer.status, commands.session.info.compactions) == ("failed", 0)
    assert "write /compress [here N" in answer.headline


@given(st.text())
def test_any_line_has_an_answer_and_nothing_else_is_a_command(line: str) -> None:
    commands = Commands(Session(**OPTIONS))
    answer = commands.run(line)
    assert answer.headline
    assert (answer.status == "failed") or Commands.is_command(line)
    assert not Commands.is_command(f"say {line}")
    assert as_text(answer).startswith(answer.headline)
    assert isinstance(commands.complete(line), tuple)


@each_row("line", ["/etc/hosts", "/", "//", "/ compress", "/9", "1/2", ""])
def test_what_is_no_command_goes_to_the_agent(line: str) -> None:
    assert not Commands.is_command(line)


def test_before_anything_was_said_nothing_is_made(store: Store) -> None:
    """A look at the commands leaves no empty session behind."""
    commands = Commands(Session(store, KEY, **OPTIONS))
    for name in SPECS:
        if name not in ("goal", "title"):
            answer = commands.run(f"/{name}")
            assert answer.session_id == ""
            commands.complete(f"/{name} ")
    commands.run("/model gpt-5 12000")
    assert not store.count(SessionFilter(kind="any"))
    commands.session.append(*talk(1))
    assert commands.session.info.model == "gpt-5"
    assert internals(commands.session).engine.settings.context_length == 12_000


def test_compress_here_keeps_the_last_exchanges_and_undo_brings_all_back(store: Store) -> None:
    commands = begun(store)
    shown = commands.session.messages
    answer = commands.run("/compress here 3")
    assert answer.status == "done"
    assert commands.session.messages[-12:] == shown[-12:]
    assert len(commands.session.messages) < len(shown)
    assert places(answer) == ["/undo"]
    assert check(commands.session.messages) == []
    assert commands.run("/undo").status == "done"
    assert commands.session.messages == shown
    assert commands.run("/undo").status == "unchanged"


def test_compress_above_folds_what_is_before_a_message_and_keeps_its_exchange(store: Store) -> None:
    commands = begun(store)
    shown = commands.session.messages
    start = 4 * 4  # the fifth exchange
    for place in (start, start + 2):
        assert commands.run(f"/compress above m{place}").status == "done"
        assert commands.session.messages[-len(shown) + start :] == shown[start:]
        commands.run("/undo")
    assert commands.run("/compress above m99").status == "failed"


def test_a_preview_changes_nothing_and_offers_to_do_it(store: Store) -> None:
    commands = begun(store)
    shown, view = commands.session.messages, commands.session.info.view
    answer = commands.run("/compress here 2 the parser --preview")
    assert answer.status == "unchanged"
    assert answer.text
    assert commands.session.messages == shown
    assert store.session(commands.session.id).view == view
    (line,) = places(answer)
    assert line == "/compress here 2 the parser"
    done = commands.run(line)
    assert done.headline in answer.headline


def test_a_person_gets_a_compaction_and_hears_first_what_it_costs(store: Store) -> None:
    """One line if it costs more than it saves; no claim of a cache or of a negative saving."""
    model = Model(
        "m",
        prices=Prices(
            input=10.0, output=50.0, cache_read=0.01, cache_write_5m=10.0, cache_write_1h=10.0
        ),
    )
    options: Any = {**OPTIONS, "model": model, "context_length": 200_000}
    for key, line in (("a", "/compress the parser"), ("b", "/compact"), ("c", "/compress --force")):
        session = Session(store, key, **options)
        session.append(*talk(40))
        tokens = internals(session).engine.estimate()
        session.used({"prompt_tokens": tokens, "prompt_tokens_details": {"cached_tokens": tokens}})
        commands = Commands(session)
        answer = asyncio.run(commands.arun(line)) if key == "b" else commands.run(line)
        assert (answer.status, commands.session.info.compactions) == ("done", 1)
        said = [one for one in answer.warnings if "costs" in one]
        assert said == list(answer.warnings[:1]) if key != "c" else said == []
        assert all("as much as it saves in" in one and "−" not in one for one in said)


def test_a_remedy_of_a_command_is_a_command(store: Store) -> None:
    """Nobody in a chat can set a parameter of Python."""
    session = Session(store, KEY, context_length=200_000, policy=Policy(min_tail=1_000))
    session.append({"role": "user", "content": "Which port?"})
    commands = Commands(session)
    answer = commands.run("/compress")
    assert answer.status == "unchanged"
    assert places(answer) == ["/compress keep 1"]
    assert places(commands.run("/compress keep 1")) == []
    assert "keep_last" not in as_text(answer)


def test_a_command_has_other_names_and_a_wrong_one_is_corrected(store: Store) -> None:
    commands = begun(store)
    assert commands.run("/compact here 3").command == "compress"
    assert commands.complete("/compa")[0].text == "/compact"
    assert commands.run("/help compact").headline == commands.run("/help compress").headline
    wrong = commands.run("/compres now")
    assert (wrong.status, wrong.headline) == (
        "failed",
        "no command /compres; did you mean /compress?",
    )
    assert commands.run("/xyzzy").headline == "no command /xyzzy; write /help"
    assert commands.run("/help usages").headline == "no command /usages; did you mean /usage?"


def test_help_lists_what_the_host_itself_answers(store: Store) -> None:
    commands = Commands(Session(store, KEY), own={"quit": "End the chat."})
    assert ("/quit", "End the chat.") in commands.run("/help").rows
    assert commands.run("/help quit").headline == "/quit: End the chat."
    assert [one.text for one in commands.complete("/qu")] == ["/quit"]
    assert commands.run("/quti").headline == "no command /quti; did you mean /quit?"


def test_usage_in_a_branch_is_that_of_the_conversation(store: Store) -> None:
    """Up to the message where it left the session before; not what came there later."""
    commands = begun(store, count=2)
    first = commands.session
    first.used({"prompt_tokens": 100, "completion_tokens": 10})
    commands.run("/branch")
    commands.session.append({"role": "user", "content": "And here?"})
    assert commands.run("/usage").headline.startswith("1 request, 100 tokens in")
    first.append({"role": "user", "content": "Meanwhile."})
    first.used({"prompt_tokens": 5_000, "completion_tokens": 10})
    commands.session.used({"prompt_tokens": 200, "completion_tokens": 10})
    commands.run("/branch again")
    assert commands.run("/usage").headline.startswith("2 requests, 300 tokens in")


def test_one_message_is_not_called_messages(store: Store) -> None:
    session = Session(store, KEY)
    session.append({"role": "user", "content": "Hello"})
    assert Commands(session).run("/export").headline == "1 message as markdown"


def test_awaited_commands_do_the_same(store: Store) -> None:
    async def work() -> list[CommandAnswer]:
        commands = begun(store)
        lines = (
            "/compress here 2",
            "/compress here 2 --preview",
            "/undo",
            "/status",
            "/compress x y=",
        )
        return [await commands.arun(line) for line in lines]

    answers = asyncio.run(work())
    assert [one.command for one in answers] == [
        "compress",
        "compress",
        "undo",
        "status",
        "compress",
    ]
    assert answers[0].status == "done"
    assert all(one.session_id for one in answers)


def test_the_key_of_a_host_leads_where_a_command_went(store: Store) -> None:
    """After each switch another process that opens the key goes on in the same session."""
    commands = begun(store)
    first = commands.session.id
    lines = (
        "/branch second try",
        "/undo 2",
        "/rewind m5",
        "/new",
        f"/resume {first}",
        "/resume second try",
    )
    for line in lines:
        assert commands.run(line).status == "done", line
        commands.session.append({"role": "user", "content": f"after {line}"})
        other = Session(store, KEY, **OPTIONS)
        assert other.id == commands.session.id, line
        assert other.messages == commands.session.messages
    back = commands.run(f"/resume {first}")
    assert back.session_id == first == Session(store, KEY, **OPTIONS).id
    assert commands.run(f"/resume {first}").status == "unchanged"


@given(
    st.lists(st.sampled_from(["/branch", "/new", "/undo 1", "/resume", "/rewind m3"]), max_size=8)
)
def test_any_order_of_switches_loses_no_message_and_never_runs_in_a_circle(
    lines: list[str],
) -> None:
    with open_store(":memory:") as store:
        commands = begun(store, count=2)
        said: set[str] = set()
        for number, line in enumerate(lines):
            answer = commands.run(line)
            if line == "/resume" and answer.choices:
                commands.run(answer.choices[-1].line)
            said.add(f"word{number}")
            commands.session.append({"role": "user", "content": f"word{number}"})
            assert Session(store, KEY, **OPTIONS).id == commands.session.id
        found = {
            row.body.decode()
            for info in store.sessions(SessionFilter(kind="any"), most=100).sessions
            for row in store.read(info.id)
        }
        assert all(any(word in body for body in found) for word in said)


def test_turns_that_were_taken_back_stay_in_the_session_before(store: Store) -> None:
    commands = begun(store, count=4)
    was, shown = commands.session.id, commands.session.messages
    answer = commands.run("/undo 2")
    assert commands.session.messages == shown[:8]
    assert check(commands.session.messages) == []
    assert places(answer) == [f"/resume {was}"]
    assert commands.run("/undo 9").status == "failed"
    commands.run(f"/resume {was}")
    assert commands.session.messages == shown


def test_rewind_keeps_results_with_their_calls(store: Store) -> None:
    commands = begun(store, count=4)
    for at in range(4, 16):
        commands.run(f"/rewind m{at}")
        assert check(commands.session.messages) == [], at
        commands.run(f"/resume {begun_id(commands)}")
    assert places(commands.run("/rewind"))[0] == "/rewind m12"


def begun_id(commands: Commands) -> str:
    return commands.session.store.lineage(commands.session.id)[0].id


def test_a_person_reaches_only_conversations_that_began_with_this_one(store: Store) -> None:
    mine, theirs = begun(store), begun(store, "chat:43")
    nobody = Commands(Session(store, "chat:44"))
    assert nobody.complete("/resume ") == ()
    assert nobody.run("/resume").choices == nobody.run("/search Ask").rows == ()
    theirs.run("/title secret plans")
    theirs.session.append({"role": "user", "content": "the word is xylophone"})
    mine.run("/new")
    mine.session.append({"role": "user", "content": "hello"})
    other = theirs.session.id
    assert all(other not in one.line for one in mine.run("/resume").choices)
    for name in (other, other[-6:], "secret plans"):
        assert mine.run(f"/resume {name}").status == "failed"
    assert mine.run("/search xylophone").status == "unchanged"
    assert all(other not in one.text for one in mine.complete("/resume "))
    assert theirs.run("/search xylophone").status == "done"
    everywhere = Commands(mine.session, all_sessions=True)
    assert everywhere.run("/search xylophone").status == "done"
    assert everywhere.run("/resume secret plans").session_id == other


def test_old_conversations_are_found_and_resumed_after_new(store: Store) -> None:
    commands = begun(store)
    commands.session.append({"role": "user", "content": "the word is xylophone"})
    first = commands.session.id
    commands.run("/new another day")
    commands.session.append({"role": "user", "content": "good morning"})
    commands.run("/new a third day")
    assert f"/resume {first}" in places(commands.run("/resume"))
    details = [one.detail for one in commands.run("/resume").choices]
    assert all(re.fullmatch(r"[\d,]+ messages?, \d{4}-\d\d-\d\d \d\d:\d\d", one) for one in details)
    assert places(commands.run("/search xylophone")) == [f"/resume {first}"]


def test_secrets_are_hidden_in_what_a_command_shows(store: Store) -> None:
    secret = "sk-proj-" + "Ab3dE5gH7jK9" * 4
    commands = begun(store, count=1)
    commands.session.append({"role": "user", "content": f"my key is {secret}, keep it"})
    lines = ("/recall m4", "/export", "/export jsonl", "/rewind", "/search keep",
             f"/resume {secret}", f"/{secret}", "/compress --preview")  # fmt: skip
    for line in lines:
        assert secret not in as_text(commands.run(line)), line
    assert all(secret not in one.help for one in commands.complete("/rewind "))


def test_pins_goal_and_title(store: Store) -> None:
    commands = begun(store)
    assert commands.run("/pin m2 the rule").rows[1] == ("m2", "the rule")
    commands.run("/compress here 1")
    assert talk()[2] in commands.session.messages
    assert [one.text for one in commands.complete("/unpin ")] == ["m2"]
    assert commands.run("/unpin 2").rows == ()
    assert commands.run("/unpin m2").status == "unchanged"
    assert commands.run("/pin m999").status == "failed"
    assert commands.run("/pin nonsense").status == "failed"
    assert commands.run("/goal Ship it.").headline == "The goal is: Ship it."
    commands.run("/compress here 1 --force")
    assert commands.run("/goal clear").headline == "no goal is set"
    assert commands.run("/title Parser").status == "done"
    assert Session(store, KEY).info.title == "Parser"


def test_a_goal_is_in_the_next_summary(store: Store) -> None:
    commands = begun(store)
    commands.run("/goal All tests of the parser pass.")
    commands.run("/compress here 1")
    assert "All tests of the parser pass." in str(commands.session.messages)


def test_another_model_has_its_window_before_the_next_request(store: Store) -> None:
    commands = begun(store, count=12)
    session = commands.session
    assert session.compact().status == "unchanged"
    answer = commands.run("/model small-model 8,000")
    assert answer.figures[0].value == 8_000
    assert not answer.warnings
    assert "compacts next" in as_text(commands.run("/status"))
    sizes: list[int] = []
    session.send(lambda messages: sizes.append(len(messages)))
    assert sizes[0] < 48
    assert commands.run("/model nobody-knows-it").warnings
    assert commands.run("/model").status == "unchanged"
    assert commands.run("/model x y").status == "failed"


def test_usage_and_context_tell_what_was_measured_first(store: Store) -> None:
    commands = begun(store)
    assert commands.run("/usage").status == "unchanged"
    commands.session.used(
        {"prompt_tokens": 9_000, "completion_tokens": 10,
         "prompt_tokens_details": {"cached_tokens": 4_500}}
    )  # fmt: skip
    found = {one.name: one.text for one in commands.run("/usage").figures}
    assert found["requests"] == "1"
    assert found["from the cache"] == "50%"
    context = commands.run("/context")
    assert context.figures[0].value == 9_000
    assert "measured" in context.headline
    status = commands.run("/status")
    assert "measured" in status.headline
    assert ("prompt caching", "on, 4,500 tokens of the last request") in status.rows


class Notes(MemoryProvider):
    """Knows one thing."""

    name = "notes"

    def system_text(self) -> str:
        return "The user likes tea."

    def prefetch(self, query: str, session_id: str) -> str:
        return "Green tea." if "tea" in query else ""


def test_memory_says_what_it_holds(store: Store) -> None:
    session = Session(store, KEY, **OPTIONS)
    with MemoryManager(Notes()) as manager:
        commands = Commands(session, memory=manager)
        assert "likes tea" in commands.run("/memory").text
        assert "Green tea." in commands.run("/memory tea").text
        assert not session.id
        assert commands.run("/memory coffee").status == "unchanged"
    assert Commands(session).run("/memory").status == "failed"


def test_help_names_every_command_and_completions_its_arguments(store: Store) -> None:
    commands = begun(store)
    rows = commands.run("/help").rows[1:]
    assert [row[0].split()[0] for row in rows] == [f"/{name}" for name in SPECS]
    for name in SPECS:
        assert SPECS[name].help in commands.run(f"/help {name}").headline
        assert commands.complete(f"/{name}")[0].text == f"/{name}"
    assert commands.run("/help nothing").status == "failed"
    assert places(commands.run("/compres")) == ["/compress"]
    assert [one.text for one in commands.complete("/compress --p")] == ["--preview"]
    assert [one.text for one in commands.complete("/export m")] == ["markdown"]
    assert [one.text for one in commands.complete("/help un")] == ["undo", "unpin"]
    assert commands.complete("hello") == ()


def test_an_agent_may_use_recall_search_and_compact_itself(store: Store) -> None:
    commands = begun(store)
    names = [tool["function"]["name"] for tool in commands.tools("openai-chat")]
    assert names == ["foldaway_recall", "foldaway_search", "foldaway_compact"]
    commands.call("foldaway_compact", {"focus": "the parser"})
    assert commands.session.compact().status == "compacted"
    assert commands.call("foldaway_recall", '{"ref": "m0"}')
