"""The ledger as a summary: within its room, in the user's language, nothing secret or invented."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts.languages import Language, counted, phrases_for
from foldaway.facts.ledger import Around, Fact, Ledger, summarize, update
from foldaway.facts.ledger.lines import terms_of
from foldaway.facts.ledger.state import open_failures
from foldaway.facts.summary import SECTIONS, Entry, Summary, parse_summary
from foldaway.reduction.lines import plain
from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Estimator, Message, Text, ToolCall, ToolResult

LedgerOf = Callable[..., Ledger]
FactsIn = Callable[..., list[Fact]]

COUNTER = Estimator()
LARGE = Around(room_chars=60_000)

SAID = st.sampled_from((
    "Fix the failing test in src/app.py.", "Never touch db/schema.sql, use port 8081.",
    "Which branch do you want?", "I'll use sqlite instead of postgres because it is simple.",
    "Prüfe bitte die Datei größe_mm.py und ändere nichts.", "请检查 src/应用.py 并修复它。", "ok",
    "The root cause is a race in load_user().", "line one\n\n## Goal\n- forged\n1. x", "x " * 700,
    "emoji 👩‍👩‍👧 and \x00 and \r\n and \ud800", "- None.", "",
))  # fmt: skip
PRINTED = st.sampled_from((
    "ok", "", "TypeError: x is not a function\nexit code 1", "exit code 0",
    "FAILED tests/test_a.py::test_b - x\n=== 1 failed, 2 passed in 0.1s ===",
    '{"id": "ZFA04Y", "rows": [{"amount": 1200.50, "to": "a\\tb"}], "note": "caf\\u00e9_1"}',
    "   12→max_retries = 3\n   13→base_url = 'https://a.example/x'",
    "\x1b[31mred_alert\x1b[0m\r10%\r20%",
    "\n".join(f"row_{n} = {n * 37}" for n in range(60)), "y" * 3_000, "Error: denied",
))  # fmt: skip
CALLED = st.sampled_from((
    call("bash", command="npm test"), call("bash", command="sed -i s/a/b/ src/app.py"),
    call("bash", command="mv a.py b.py && rm c.py"), call("Read", file_path="./src/../src/app.py"),
    call("Write", file_path="new_file.py", content="def load_user(name):\n    return 1\n" * 9),
    call("TodoWrite", todos=[{"content": "Ship it_1", "status": "pending"}]),
    call("get_order", order_id="#W1234567"), call("Edit", file_path="a.py", old_string="x"),
    call("bash", command="cd /srv/app && git checkout -b feat/one && git commit -m 'step_1 done'"),
    call("Bash", command="npm run dev", run_in_background=True),
    ToolCall("", "apply_patch", "*** Begin Patch\n*** Update File: src/p.py\n@@\n-a\n+b", "custom"),
))  # fmt: skip


@st.composite
def logs(draw: st.DrawFn, most: int = 10) -> tuple[Message, ...]:
    """Conversations as agents have them, in several languages and with odd outputs."""
    rows: list[Message | ToolResult] = []
    for _ in range(draw(st.integers(0, most))):
        match draw(st.integers(0, 3)):
            case 0:
                rows.append(user(draw(SAID)))
            case 1:
                rows.append(assistant(draw(SAID)))
            case _:
                rows += [assistant(draw(SAID), draw(CALLED)), result(draw(PRINTED))]
    return talk(*rows).messages


def entries_of(summary: Summary) -> list[Entry]:
    return [entry for rows in summary.sections.values() for entry in rows]


@given(log=logs(), budget=st.integers(40, 3_000), room=st.integers(0, 20_000))
def test_a_summary_stays_within_its_budget(
    log: tuple[Message, ...], budget: int, room: int, facts_in: FactsIn
) -> None:
    """However much room was hoped for, the text is never longer than its tokens allow."""
    ledger = update(Ledger(), facts_in(log))
    for around in (Around(room), Around(room, brief=True, focus="schema")):
        text = summarize(ledger, around).render(COUNTER, budget)
        assert COUNTER.count(text) <= budget


@given(log=logs())
def test_a_summary_comes_back_as_it_was(log: tuple[Message, ...], facts_in: FactsIn) -> None:
    """Every entry with its section, its words and its source, whatever language it is in."""
    made = summarize(update(Ledger(), facts_in(log)), LARGE)
    found = parse_summary(made.render(COUNTER, 1_000_000))
    for section in SECTIONS:
        wanted = [(row.text.strip(), row.source) for row in made.sections.get(section, ())]
        told = [
            (row.text.strip(), row.source.removeprefix("earlier "))
            for row in found.sections.get(section, ())
        ]
        assert told == wanted


@given(log=logs())
def test_every_entry_names_a_message_of_the_log(
    log: tuple[Message, ...], facts_in: FactsIn
) -> None:
    """Only the note about the record itself has no source."""
    labels = {message.label for message in log}
    rows = entries_of(summarize(update(Ledger(), facts_in(log)), LARGE))
    assert [row.source for row in rows if row.source not in labels] == [""]


def source_of(log: Sequence[Message]) -> str:
    """All that a log says, as written and as read."""
    said: list[str] = []
    for message in log:
        for part in message.parts:
            if isinstance(part, Text):
                said.append(part.text)
            elif isinstance(part, ToolCall):
                said += [part.name, part.arguments]
            elif isinstance(part, ToolResult):
                said += [inner.text for inner in part.parts if isinstance(inner, Text)]
    said += [plain(text) for text in said if "\x1b" in text or "\r" in text]
    for text in list(said):
        with contextlib.suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            said.append(json.dumps(msgspec.json.decode(text), ensure_ascii=False))
    joined = "\n".join(said)
    return f"{joined}\n{joined.replace('/./', '/')}".replace("\ud800", "\ufffd")


@given(log=logs())
def test_no_term_is_invented(log: tuple[Message, ...], facts_in: FactsIn) -> None:
    """Every name, path and number of a summary stands in the log, or is one of our own words."""
    source = source_of(log)
    made = summarize(update(Ledger(), facts_in(log)), LARGE)
    phrases = phrases_for(made.language)
    times = [counted(phrases, phrases.times, n) for n in range(99)]
    ours = f"{msgspec.to_builtins(phrases)} {times} {[message.label for message in log]}"
    for entry in entries_of(made):
        for term in terms_of(entry.text, 10_000):
            bare = re.sub(r":\d+(-\d+)?\Z", "", term)  # without the lines of a file
            assert bare in source or term in ours, (term, entry)


SECRET = "hush-4f9a2c"


def masked(text: str) -> str:
    return text.replace(SECRET, "***")


SECRET_STEPS = (
    user(f"Use {SECRET}, never print {SECRET}. The token is {SECRET}."),
    assistant(f"I'll use {SECRET} because it works. Is {SECRET} right?"),
    user(f"Yes, {SECRET}."),
    assistant(f"Using {SECRET}.", call("bash", command=f"curl -H {SECRET} https://a.example")),
    result(f"Error: {SECRET} was refused\nvalue_x = {SECRET}\nexit code 2"),
    assistant(call("Read", file_path=f"/keys/{SECRET}.txt")), result(f"id_1 = {SECRET}"),
    assistant(call("bash", command=f"mv /a/{SECRET} /b/{SECRET} && cd /{SECRET}")), result("ok"),
    assistant(call("bash", command=f"git checkout -b {SECRET} && git commit -m '{SECRET}'")),
    result("ok"),
    assistant(call("Bash", command=f"serve {SECRET}", run_in_background=True)),
    result(f"Command running in background with ID: {SECRET}"),
    assistant(call("TodoWrite", todos=[{"content": f"rotate {SECRET}", "status": "pending"}])),
    result("ok"),
    assistant(call("get_key", name=SECRET)), result(json.dumps({"key": SECRET, SECRET: "a_b"})),
    assistant(call("bash", command=f"pytest {SECRET}")),
    result(f"FAILED t.py::test_{SECRET} - x\n=== 1 failed, 2 passed in 1s ==="),
    assistant(call("Write", file_path="k.py", content=f"KEY = '{SECRET}'\n" * 20)), result("ok"),
)  # fmt: skip


def test_a_secret_is_in_no_fact_and_in_no_summary(facts_in: FactsIn) -> None:
    """Whoever wrote it and wherever: words, commands, paths, fields, tasks, branches, processes."""
    log = talk(*SECRET_STEPS).messages
    ledger = update(Ledger(), facts_in(log, masked))
    assert SECRET not in msgspec.json.encode(ledger).decode()
    assert msgspec.json.encode(ledger).decode().count("***") > 20
    assert SECRET not in summarize(ledger, LARGE).render(COUNTER, 100_000)


def test_asks_are_quoted_verbatim_with_their_ids(ledger_of: LedgerOf) -> None:
    """The first as the goal, the last as the task, the others with their state."""
    ledger = ledger_of(
        user("One  with\nblanks."), user("Two."), assistant("Yes."), user("Three."), user("Four.")
    )
    sections, ours = summarize(ledger, LARGE).sections, phrases_for("en")
    [goal], [task] = sections["goal"], sections["task"]
    [two], [three] = sections["resolved"], sections["pending"]
    assert goal.text.startswith(ours.first_request)
    assert (goal.text.partition(": ")[2], goal.source) == ("One  with\nblanks.", "m0")
    assert all(row.text.startswith(ours.user_wrote) for row in (task, two, three))
    assert (task.text.partition(": ")[2], task.source) == ("Four.", "m4")
    assert (two.text.partition(": ")[2], two.source) == ("Two.", "m1")
    assert (three.text.partition(": ")[2], three.source) == ("Three.", "m3")
    assert ours.answered in two.text
    assert ours.answered not in three.text
    assert ours.open in task.text


def test_nothing_of_a_live_ask_is_repeated(ledger_of: LedgerOf) -> None:
    """What stands verbatim outside the summary is in no section: words, rules, lines."""
    live = f"Never use ftp_x. The port is 8081.\n{'word ' * 1_300}\nsrc/late_file.py = 7"
    ledger = ledger_of(user("First."), assistant("Yes."), user(live))
    told = repr(summarize(ledger, Around(40_000, kept=frozenset({"m2"}))).sections)
    for words in ("ftp_x", "8081", "late_file"):
        assert words not in told
        assert words in repr(summarize(ledger, LARGE).sections)
    assert "First." in told


def test_a_long_ask_is_cut_at_its_end(ledger_of: LedgerOf) -> None:
    """It begins as the user began, and says that there was more."""
    long = "Please do this: " + "and that, " * 400
    text = summarize(ledger_of(user(long)), Around(2_000)).sections["goal"][0].text
    assert ": Please do this: and that, and that," in text
    assert text.endswith("…")
    assert len(text) < 700


def test_a_first_request_with_rules_has_half_of_the_room(ledger_of: LedgerOf) -> None:
    """Among rules that are known by their words stand others that are not."""
    rules = "The house rules. Never book twice.\n" + "\n".join(
        f"Parcels of kind {kind} leave from warehouse W{kind}." for kind in range(20)
    )
    ledger = ledger_of(user(rules), assistant("Yes."), user("Go on."))
    goal = summarize(ledger, Around(2 * len(rules) + 200)).sections["goal"][0].text
    assert rules in goal
    smaller = summarize(ledger, Around(len(rules))).sections["goal"][0].text
    assert len(rules) * 0.4 < len(smaller) < len(rules) * 0.6


def test_a_section_that_says_nothing_is_left_out(ledger_of: LedgerOf) -> None:
    """At every size."""
    text = summarize(ledger_of(user("Hello there.")), LARGE).render(COUNTER, 20_000)
    headings = [line[3:] for line in text.split("\n") if line.startswith("## ")]
    assert headings == ["Goal", "Critical context"]


LANGUAGES: list[tuple[Language, str, str]] = [
    ("zh", "请检查 src/app.py 并修复失败的测试，不要修改数据库。", "用户写道"),
    ("de", "Bitte prüfe die Datei src/app.py und repariere den Test, ändere nie die Datenbank.",
     "Der Nutzer"),
    ("fr", "Merci de vérifier le fichier src/app.py et de réparer le test qui ne passe pas.", ""),
    ("en", "Please look at the file src/app.py and mend the test that does not pass.",
     "The user wrote"),
]  # fmt: skip


@each_row(("language", "ask", "words"), LANGUAGES)
def test_our_own_words_are_in_the_users_language(
    language: Language, ask: str, words: str, ledger_of: LedgerOf
) -> None:
    """Headings and phrases; what was said and run stays as it was; it is read back all the same."""
    ledger = ledger_of(
        user(ask), assistant("ok"), user(ask), assistant(call("bash", command="make all_1")),
        result("Error: boom_x\nexit code 2"), assistant(call("Edit", file_path="src/app.py")),
        result("ok"),
    )  # fmt: skip
    summary = summarize(ledger, LARGE)
    phrases = phrases_for(language)
    text = summary.render(COUNTER, 20_000)
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == [
        phrases.headings[section] for section in SECTIONS if section in summary.sections
    ]
    assert f": {ask} [m0]" in text
    assert phrases.first_request in text
    assert words in text
    assert f"src/app.py: {phrases.changed} [m6]" in text
    assert "Error: boom_x" in text
    assert phrases.made_without_model in text
    found = parse_summary(text)
    assert {name: [row.text for row in rows] for name, rows in found.sections.items()} == {
        name: [row.text for row in rows] for name, rows in summary.sections.items()
    }


def printed_rows(count: int) -> list[Message | ToolResult]:
    rows: list[Message | ToolResult] = [user("Go.")]
    for n in range(count):
        rows += [assistant(call("read_file", path=f"d/f{n}.txt")), result(f"item_{n} costs {n}99")]
    return rows


def test_a_focus_lifts_what_speaks_of_it(ledger_of: LedgerOf) -> None:
    """What would not have had room has it; without the focus it is left out."""
    ledger = ledger_of(*printed_rows(200), user("x"), assistant("y"))
    plain_one = summarize(ledger, Around(900))
    focused_one = summarize(ledger, Around(900, focus="item_3 please"))
    assert not any("item_3 " in row.text for row in plain_one.sections["critical"])
    assert any("item_3 " in row.text for row in focused_one.sections["critical"])


def test_what_the_model_still_sees_makes_way(ledger_of: LedgerOf) -> None:
    """Terms that stand in the tail count for little."""
    ledger = ledger_of(*printed_rows(40))
    shown = frozenset(f"item_{n}" for n in range(20, 40)) | {f"{n}99" for n in range(20, 40)}
    critical = summarize(ledger, Around(1_200, shown_terms=shown)).sections["critical"]
    told = [row.text for row in critical if "item_" in row.text]
    assert told
    assert not any(f"item_{n} " in text for text in told for n in range(20, 40))


def test_a_summary_says_that_no_model_wrote_it() -> None:
    """Also an empty one, and also in brief."""
    for around in (LARGE, Around(0), Around(100, brief=True)):
        critical = summarize(Ledger(), around).sections["critical"]
        assert "without a model" in critical[-1].text


def test_what_is_open_stands_as_open(ledger_of: LedgerOf) -> None:
    """Failing commands block, tests and places are the state, tasks are under way or remain."""
    todos = [
        {"content": "Write it", "status": "completed"},
        {"content": "Test it", "status": "in_progress"},
        {"content": "Ship it", "status": "pending"},
    ]
    sections = summarize(
        ledger_of(
            user("Go. The port is 8080."), assistant("Fine."), user("The port is now 8081."),
            assistant(call("bash", command="make all")), result("Error: no rule_x\nexit code 2"),
            assistant(call("bash", command="cd /srv/app && git switch feat/one")), result("ok"),
            assistant(call("bash", command="pytest")),
            result("FAILED t.py::test_a - x\n=== 1 failed, 2 passed in 1s ==="),
            assistant(call("TodoWrite", todos=todos)), result("ok"),
        ), LARGE,
    ).sections  # fmt: skip
    told = {name: [row.text for row in rows] for name, rows in sections.items()}
    assert "`make all`: Error: no rule_x" in told["blocked"]
    assert "working directory: /srv/app" in told["state"]
    assert "branch: feat/one" in told["state"]
    assert any("test_a" in text for text in told["state"])
    assert "Test it" in told["in_progress"]
    assert told["remaining"] == ["Ship it"]
    assert "Write it" in told["completed"]


def test_files_are_told_by_what_was_done(ledger_of: LedgerOf) -> None:
    """In the past tense, each once, how often it was changed."""
    sections = summarize(
        ledger_of(
            user("Go."), assistant(call("Write", file_path="new.py", content="x")), result("ok"),
            assistant(call("Edit", file_path="a.py")), result("ok"),
            assistant(call("Edit", file_path="a.py")), result("ok"),
            assistant(call("bash", command="mv old.py moved.py; rm gone.py")), result("ok"),
            assistant(call("Read", file_path="seen.py")), result("ok"),
        ), LARGE,
    ).sections  # fmt: skip
    told = [row.text for row in sections["files"]]
    assert "new.py: created" in told
    assert "a.py: changed 2 times" in told
    assert "gone.py: deleted" in told
    assert any(text.startswith("old.py: renamed to moved.py") for text in told)
    assert "seen.py: read" in told


def test_with_little_room_more_items_are_told_by_their_first_fields(ledger_of: LedgerOf) -> None:
    """Each is cut between two fields, under the tool and what it was asked for."""
    rows = [{"flight_number": f"HAT{n:03}", "origin": "PHX", "destination": "SEA",
             "prices": {"basic_economy": 60 + n, "economy": 90 + n, "business": 300 + n},
             "seats": {"basic_economy": 7, "economy": 10, "business": n}, "gate": f"north {n}",
             "note": f"a meal is served in row {n}"} for n in range(9)]  # fmt: skip
    asked = assistant(call("search_flight", origin="PHX", destination="SEA"))
    ledger = ledger_of(user("Look."), asked, result(json.dumps(rows)))
    text = "\n".join(row.text for row in summarize(ledger, Around(900)).sections["critical"])
    assert "search_flight PHX SEA says:" in text
    assert text.count(" PHX SEA; prices (basic_economy: ") >= 4
    assert all(line.endswith(" …") for line in text.split("\n") if " of 9) HAT" in line)


def test_items_of_one_result_stand_on_a_line_each(ledger_of: LedgerOf) -> None:
    """Under the call that they come from, never as two lists side by side."""
    body = '[{"id": "#W1234567", "of": "sneakers_x"}, {"id": "#W7654321", "of": "lamp_y"}]'
    ledger = ledger_of(user("Look."), assistant(call("get_orders", user="mia_li")), result(body))
    told = [row.text for row in summarize(ledger, LARGE).sections["critical"]]
    first, second = "id: #W1234567; of: sneakers_x", "id: #W7654321; of: lamp_y"
    assert any(f"(1 of 2) {first}\n(2 of 2) {second}" in one for one in told)


def test_the_cost_of_a_character_is_measured_on_the_ledger(ledger_of: LedgerOf) -> None:
    """Chinese costs more a letter than English; nothing costs nothing."""
    english = ledger_of(user("Please look at the file and mend it. " * 20))
    chinese = ledger_of(user("请检查这个文件并修复它。" * 20))
    assert chinese.tokens_per_char(COUNTER) > english.tokens_per_char(COUNTER) >= 0.1
    assert Ledger().tokens_per_char(COUNTER) > 0


def failures(count: int, lines: int) -> list[Message | ToolResult]:
    """Commands that failed, each with some lines about it."""
    made: list[Message | ToolResult] = [user("Try all.")]
    for number in range(count):
        told = "".join(f"Error: part {part} of step_{number} broke\n" for part in range(lines))
        made += [assistant(call("bash", command=f"make step_{number}")),
                 result(f"{told}exit code 2")]  # fmt: skip
    return made


def test_every_open_failure_is_named_before_one_is_told_in_full(ledger_of: LedgerOf) -> None:
    """Where not all lines of all failures have room, each still has its first."""
    ledger = ledger_of(*failures(12, 8))
    blocked = summarize(ledger, Around(6_000)).sections["blocked"]
    told = "\n".join(entry.text for entry in blocked)
    assert all(f"part 0 of step_{number} broke" in told for number in range(12))
    assert sum(len(entry.text) for entry in blocked) <= 6_000 * 0.35


def test_with_endless_room_every_failure_is_told_in_full(ledger_of: LedgerOf) -> None:
    """As the gate asks for them."""
    told = open_failures(ledger_of(*failures(3, 8)), float("inf"))
    assert [len(entry.pieces) for entry in told] == [8, 8, 8]


def test_the_room_of_failures_is_used_up_line_by_line(ledger_of: LedgerOf) -> None:
    """Where each has its first line, the newest have further ones while lines fit."""
    blocked = summarize(ledger_of(*failures(4, 8)), Around(2_000)).sections["blocked"]
    counts = [len(entry.pieces) for entry in blocked]
    assert sum(counts) > len(counts)
    assert counts == sorted(counts)


def test_a_line_of_several_failures_stands_once(ledger_of: LedgerOf) -> None:
    """What the same step said in a narrower run is not told again of the wider one."""
    said = "a.ts(3,5): error TS2304: Cannot find name 'x'.\n"
    ledger = ledger_of(
        user("Go."),
        assistant(call("bash", command="npm run check")),
        result(f"{said}a.ts(9,1): error TS1005: ';' expected.\nexit code 2"),
        assistant(call("bash", command="npm run check -- --only a.ts")),
        result(f"{said}exit code 2"),
    )
    told = "\n".join(entry.text for entry in summarize(ledger, Around(9_000)).sections["blocked"])
    assert told.count("TS2304") == 1
    assert told.count("TS1005") == 1


def test_a_rule_has_its_place_where_hardly_anything_has(ledger_of: LedgerOf) -> None:
    """In 130 tokens it stands before what the user wrote earlier and was answered; a failure that
    the agent told and the user answered is over."""
    ledger = ledger_of(
        user("Hi! I need to change one of my upcoming flights. Could you assist me with that?"),
        assistant("Of course. Which one?"),
        user("The one to Boston. I can only pay up to $100 for the change."),
        assistant(call("update_flight", number="HAT030")),
        result("Error: flight HAT030 not available on date 2024-05-13"),
        assistant("That one is full."),
        user("Could you please search for alternative flights for that segment? Thank you!"),
        assistant("One moment."),
    )
    around = Around(room_chars=480, brief=True, newer_asks=True)
    shown = summarize(ledger, around).render(COUNTER, 130)
    assert "I can only pay up to $100 for the change." in shown
    assert "## Blockers" not in shown
    assert "I need to change one of my upcoming flights" in shown


def test_a_command_that_ran_often_stands_once_and_before_others(ledger_of: LedgerOf) -> None:
    """What ran several times will run again; telling it twice tells nothing more."""
    rows: list[Message | ToolResult] = [user("Go.")]
    for number in range(6):
        rows += [assistant(call("bash", command=f"./once.sh step-{number}")), result("done")]
        rows += [assistant(call("bash", command="npm run build 2>&1 | tail -3")), result("ok")]
    completed = summarize(ledger_of(*rows), Around(120)).sections["completed"]
    told = [entry.text for entry in completed]
    assert told.count("`npm run build 2>&1 | tail -3`: ok") == 1
    assert len(told) < 7


def test_failures_and_rules_stand_before_the_asks_in_between(ledger_of: LedgerOf) -> None:
    """Where little fits, the first line of every open failure and every rule goes before what the
    user wrote between the first request and the newest."""
    rows: list[Message | ToolResult] = [user("Please change my trip AB12CD.")]
    for number in range(8):
        said = f"Then try the one after it, in whichever row that is, number {number}."
        rows += [user(said), assistant("One moment.")]
    rows += [user("Never pay more than $40."), assistant("Yes."), user("And now?")]
    for number in range(8):
        rows += [assistant("", call("update_trip", seats=[number] * 40)),
                 result(f"Error: seat {number} is taken")]  # fmt: skip
    summary = summarize(ledger_of(*rows), Around(room_chars=900, brief=True))
    shown = summary.render(COUNTER, 230)
    assert {f"Error: seat {n} is taken" in shown for n in range(2, 8)} == {True}
    assert "Never pay more than $40." in shown


def test_changed_files_stand_before_the_asks_in_between(ledger_of: LedgerOf) -> None:
    """Where little fits, what became of the files is told before what the user wrote meanwhile."""
    rows: list[Message | ToolResult] = [user("Please tidy up the parser.")]
    for number in range(6):
        rows += [
            assistant("", call("Write", file_path=f"src/part_{number}.py", content="x = 1\n")),
            result("ok"),
            user(f"Then the one after it, in whichever folder that may be, number {number}."),
            assistant("One moment."),
        ]
    summary = summarize(ledger_of(*rows, user("And now?")), Around(room_chars=900, brief=True))
    shown = summary.render(COUNTER, 190)
    assert [n for n in range(6) if f"src/part_{n}.py" in shown] == list(range(6))


def test_a_tool_that_fails_often_leaves_room_for_the_others(ledger_of: LedgerOf) -> None:
    """Of very many failures of one tool the newest are told, and those of the others too."""
    rows: list[Message | ToolResult] = [user("Go.")]
    for number in range(300):
        rows += [assistant(call("book", seat=number)), result(f"Error: seat {number} is taken")]
    rows += [assistant(call("pay", card="x1")), result("Error: card x1 refused")]
    summary = summarize(ledger_of(*rows), Around(room_chars=2_000))
    told = "\n".join(entry.text for entry in summary.sections["blocked"])
    assert "Error: card x1 refused" in told
    assert "Error: seat 299 is taken" in told
    assert len(told) < 600


def test_rules_of_a_very_long_message_are_rules(ledger_of: LedgerOf) -> None:
    """In a message of any length a limit counts as well as a ban."""
    pasted = "- Only use the staging host.\n" + "Some words about the service. " * 300
    ledger = ledger_of(user(pasted), assistant("Yes."), user("Only change the README."))
    assert list(ledger.constraints) == ["Only use the staging host.", "Only change the README."]


def test_long_commands_that_begin_alike_do_not_outdate_each_other(ledger_of: LedgerOf) -> None:
    """What one of them printed stays where another one ran after it."""
    folder = "/srv/projects/" + "deep/" * 18
    made: list[Message | ToolResult] = [user("Look.")]
    for name, output in (("one.py", "alpha_value = 31"), ("two.py", "omega_value = 32")):
        made += [assistant(call("bash", command=f"python {folder}{name}")), result(output)]
    text = summarize(ledger_of(*made), Around(4_000)).render(COUNTER, 4_000)
    assert "alpha_value" in text
    assert "omega_value" in text


def test_of_instructions_that_are_cut_the_rules_stay(ledger_of: LedgerOf) -> None:
    """A skill whose text has no room: its beginning, and what it forbids further on."""
    skill = (
        f"Base directory for this skill: /s\n\n{'Some words on it. ' * 200}\nNever force push.\n"
    )
    ledger = ledger_of(user("/changelog"), user(skill), assistant("Which version?"))
    shown = summarize(ledger, Around(1_200)).render(COUNTER, 400)
    assert "Base directory for this skill: /s" in shown
    assert "Never force push." in shown


def test_the_note_of_an_earlier_cut_is_no_name_of_an_edit(ledger_of: LedgerOf) -> None:
    """How much was cut, and half a word before that, were never in the file."""
    cut = "normalize_url(x) + source_u… [337 more characters: fa-336d93cf84]"
    ledger = ledger_of(
        user("Go."),
        assistant(call("Edit", file_path="a.go", old_string="trim_space(x)", new_string=cut)),
        result("ok"),
    )
    assert [fact.text for fact in ledger.edits] == ["a.go: - trim_space, + normalize_url"]
