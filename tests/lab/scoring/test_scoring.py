"""The scoring side of the lab, held against examples judged by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from foldaway.lab.results import mean_interval
from foldaway.lab.scoring.facts import contexts, facts_in, is_bound, is_present, kind_of
from foldaway.lab.scoring.files import find_touched_files, is_same_file, summary_facts
from foldaway.lab.scoring.needed import Elsewhere, find_copied_grams, needed_facts, prepare
from foldaway.lab.scoring.record import read_claimed_files
from foldaway.lab.scoring.session import LabSession
from foldaway.lab.scoring.shell import find_touched
from foldaway.lab.scoring.signals import constraints, open_errors, to_line, without_colors
from foldaway.lab.strategies import PLAIN, choose_strategies, lines_of
from halves.split import SPLIT_FILE, read_split

NOTHING = Elsewhere(frozenset(), frozenset())


def call(name: str, result: str | None = "ok", **arguments: Any) -> list[dict[str, Any]]:
    """Return a call with its result, or without one."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = {"id": f"{name} {json.dumps(arguments)}", "type": "function", "function": function}
    rows: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [made]}]
    if result is not None:
        rows.append({"role": "tool", "tool_call_id": made["id"], "name": name, "content": result})
    return rows


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@each_row(
    ("text", "expected"),
    [
        ("see src/app/main.go:12 and ./run.sh.", {"src/app/main.go", "./run.sh"}),
        ("open https://a.example/x?y=1, then", {"https://a.example/x?y=1"}),
        ("parseHookInput calls load_state(HAT123)", {"parseHookInput", "load_state", "HAT123"}),
        ("paid $255 of 1234 on 2024-05-20", {"$255", "1234", "2024-05-20"}),
        ("commit 4b63c50 of v1.25.6 with --all-refs", {"4b63c50", "v1.25.6", "--all-refs"}),
        ("reservation_id: Z7GOZK in ~/.ssh/config", {"reservation_id", "Z7GOZK", "~/.ssh/config"}),
        ("this and/or that is well-known, e.g. 42 or 16000", set()),
        ('print("\\nSession ended")', set()),
        ("", set()),
    ],
)
def test_a_fact_is_told_by_its_shape(text: str, expected: set[str]) -> None:
    """Paths, urls, identifiers and telling numbers are facts; prose and round numbers are not."""
    assert facts_in(text) == expected


def test_kinds_of_facts() -> None:
    """A kind follows from the form."""
    facts = ["https://a.example", "src/x", "main.go", "1234", "2024-05-20", "load_state"]
    kinds = ["url", "path", "path", "number", "number", "identifier"]
    assert [kind_of(fact) for fact in facts] == kinds


def test_a_fact_stands_only_as_a_whole() -> None:
    """A longer name is not a mention of a shorter one."""
    assert is_present("run main.go now", "main.go")
    assert is_present("main.go", "main.go")
    assert is_present('"\\nmain.go"', "main.go")
    assert not is_present("domain.go", "main.go")
    assert not is_present("load_state_all", "load_state")


@given(st.text(max_size=300))
def test_every_extracted_fact_is_in_its_text(text: str) -> None:
    """The extractor never makes up a string."""
    assert all(fact in text.replace("\\n", " ") or fact in text for fact in facts_in(text))


def test_a_bare_list_is_never_bound() -> None:
    """Words beside the fact bind it; other facts and parts of the same name do not."""
    source = "the retry limit in parseHookInput was raised because uploads timed out"
    known = contexts(source, "parseHookInput", 10)
    assert known
    assert is_bound("parseHookInput: retry limit raised", "parseHookInput", known)
    assert not is_bound("parseHookInput\nretry\nlimit", "parseHookInput", known)
    assert not is_bound("retry.limit.parseHookInput", "parseHookInput", known)


def test_a_key_is_context_of_its_value() -> None:
    """In JSON the key says what the value is."""
    known = contexts('{"reservation_id": "Z7GOZK", "cabin": "economy"}', "Z7GOZK", 10)
    assert is_bound("reservation Z7GOZK in economy", "Z7GOZK", known)
    assert not is_bound("Z7GOZK HAT123", "Z7GOZK", known)


@each_row(
    ("command", "sure", "unsure"),
    [
        ("echo hi > a.txt; echo ho >>b.txt 2>/dev/null", {"a.txt", "b.txt"}, set()),
        (
            "cat > x.md <<'EOF'\nrm y.txt > z.txt\nEOF\nmv a.go b.go",
            {"x.md", "a.go", "b.go"},
            set(),
        ),
        ("sed -i 's/a/b/' x.py y.py; sed -n 1,9p z.py", {"x.py", "y.py"}, set()),
        ("sed -i '' -e 's/x/y/' a.txt", {"a.txt"}, set()),
        ("perl -pi -e 's/a/b/' m.go", {"m.go"}, set()),
        ("cd /w && printf x | tee -a log.txt | wc", {"/w/log.txt"}, set()),
        ("rm -f a.lock; rm -rf build", {"a.lock"}, {"build"}),
        ("git mv x/a.go y/ && git rm b.go", {"x/a.go", "y/a.go", "b.go"}, set()),
        ("git checkout -- a.go; git checkout -b topic", {"a.go"}, set()),
        ("d=/tmp/q; echo 1 > $d/a.txt; echo 2 > $HOME/b.txt", {"/tmp/q/a.txt"}, set()),
        ("cp a.mp4 docs/b.mp4; cp a.mp4 docs", {"docs/b.mp4"}, {"docs", "docs/a.mp4"}),
        ("gofmt -w a.go && go build -o bin ./cmd", set(), {"a.go", "bin"}),
        ("test -f a || rm x.txt", set(), {"x.txt"}),
        ("apply_patch <<'E'\n*** Begin Patch\n*** Update File: p/q.go\nE", {"p/q.go"}, set()),
        ("git commit -m \"$(cat <<'EOF'\nfix > x.txt\nEOF\n)\"", set(), set()),
        ("awk 'NR>=1 && NR<=3' f.go; grep -n '>' g.go 2>&1", set(), set()),
        ("curl -o page.html https://a.example/x", {"page.html"}, set()),
        ("python3 - <<'PY'\nopen('out.json', 'w').write('x')\nPY", {"out.json"}, set()),
        (
            "python -c \"open('c.json', 'w')\"; bash -lc 'echo x > d.txt'",
            {"c.json", "d.txt"},
            set(),
        ),
        ("git rm --cached a.go; git restore --staged b.go; git restore c.go", {"c.go"}, set()),
        ("truncate -s 0 a.log", {"a.log"}, set()),
    ],
)
def test_what_a_command_touches(command: str, sure: set[str], unsure: set[str]) -> None:
    """Redirections, moves, deletions and edits in place are seen; quoted text is not."""
    found = find_touched(command)
    assert found.sure == sure
    assert found.unsure - found.sure == unsure


@given(st.text(alphabet="ab.> <|&;'\"\\$(){}\n`=/-#", max_size=120))
def test_no_command_line_breaks_the_parser(command: str) -> None:
    """Whatever the text, an answer comes back."""
    assert find_touched(command, "/w") is not None


def test_touched_files_are_those_of_calls_that_succeeded() -> None:
    """A refused edit touched nothing, a failed shell line may have, a read never does."""
    messages = [
        *call("Write", "File created", file_path="/r/new.go", content="x"),
        *call("Edit", "<tool_use_error>no", file_path="/r/refused.go"),
        *call("Read", "1 text", file_path="/r/read.go"),
        *call("Bash", "Exit code 1\nboom", command="make && mv a.go b.go"),
        *call("exec_command", "Process exited with code 0", cmd="rm old.go", workdir="/r"),
        *call("apply_patch", '{"output":"Success. Updated the following files:\\nM p.go\\n"}',
              input="*** Begin Patch\n*** Update File: p.go\n*** End Patch"),
        *call("exec_command", "aborted by user after 21.0s", cmd="rm -f kept.go"),
        *call("Write", None, file_path="/r/pending.go"),
    ]  # fmt: skip
    found = find_touched_files(messages)
    assert found.sure == {"/r/new.go", "/r/old.go", "p.go"}
    assert found.unsure == {"a.go", "b.go", "kept.go", "/r/pending.go"}


def test_an_editor_without_a_path_touches_the_open_file() -> None:
    """SWE-agent's `edit` changes the file that is open, as its own results tell."""
    messages = [
        *call(
            "shell", "[File: /t/a.py (9 lines total)]\n(Open file: /t/a.py)", command="open a.py"
        ),
        *call("shell", "File updated", command="edit 1:2\nx\nend_of_edit"),
    ]
    assert find_touched_files(messages).sure == {"/t/a.py"}


def test_names_of_one_file() -> None:
    """An absolute and a relative name mean one file; a shared ending of a name does not."""
    assert is_same_file("/r/src/a.go", "src/a.go")
    assert is_same_file("./a.go", "a.go")
    assert not is_same_file("/r/src/ba.go", "a.go")


def test_a_success_of_the_same_command_settles_its_errors() -> None:
    """Errors stay open until the command that showed them succeeds; shown text is no error."""
    messages = [
        *call("Bash", "--- FAIL: TestA (0.0s)\nFAIL pkg", command="go test ./a 2>&1 | tail -5"),
        *call("Bash", "x.go:3:4: undefined: y", command="go vet ./b"),
        *call("Bash", "ok", command="go test ./a"),
        *call("Read", "1\n2 error: a string in a file", file_path="z.go"),
    ]
    assert [error.line for error in open_errors(messages)] == ["x.go:3:4: undefined: y"]


def test_a_process_that_runs_on_belongs_to_its_command() -> None:
    """What a later poll shows is the command's own result, and no news settles nothing."""
    running, failed = "Process running with session ID 7", "Process exited with code 1\nFAIL x"
    messages = [
        *call("exec_command", running, cmd="go test ./x"),
        *call("write_stdin", failed, session_id=7, chars=""),
        *call("exec_command", running.replace("7", "8"), cmd="go test ./x"),
    ]
    assert [error.line for error in open_errors(messages)] == ["FAIL x"]
    messages += call("write_stdin", "Process exited with code 0", session_id=8)
    assert open_errors(messages) == []


@each_row(
    ("text", "expected"),
    [
        ("Never push to main. Thanks!", ["Never push to main."]),
        ("I don't know why it fails.", []),
        ("fix it, but don't touch the API", ["fix it, but don't touch the API"]),
        ("use tabs, not spaces", ["use tabs, not spaces"]),
        ("at most 3 files please", ["at most 3 files please"]),
        ("请不要修改这个文件的格式吧", ["请不要修改这个文件的格式吧"]),
        ("Bitte niemals das Schema ändern", ["Bitte niemals das Schema ändern"]),
        ("никогда не трогай миграции", ["никогда не трогай миграции"]),
        ("<system-reminder>Never mind this.</system-reminder>", []),
        ("This session is being continued from before. Always look.", []),
        ("```\nnever in a fence\n```", []),
    ],
)
def test_constraints_are_sentences_of_the_user(text: str, expected: list[str]) -> None:
    """Cue words mark what the user wants kept; wrapped and quoted text is not the user's."""
    assert constraints([user(text)]) == expected


def test_a_fact_is_needed_when_the_agent_is_the_first_to_say_it_again() -> None:
    """Not what the user brings again, nor the system prompt, nor other projects; far is far."""
    long = "\n".join(f"line {index} of nothing much" for index in range(60))
    messages = [
        {"role": "system", "content": "tools: known_tool"},
        user("look at firstThing please"),
        agent("the value of farThing was wrong, otherThing too, known_tool, commonThing"),
        *call("Bash", long, command="ls"),
        agent("userThing and nearThing stand here"),
        user("and userThing?"),
        agent("now farThing, nearThing, firstThing, userThing, known_tool, commonThing"),
    ]
    session = LabSession("s", "codex", "a/b", messages)
    elsewhere = Elsewhere(frozenset({"commonThing"}), frozenset())
    prepared = prepare(session)
    cut = len(prepared.messages) - 2
    facts = {fact.text: fact.is_far for fact in needed_facts(prepared, cut, elsewhere)}
    assert facts == {"farThing": True, "nearThing": False, "firstThing": False}


def test_copied_grams_are_words_that_the_agent_writes_again() -> None:
    """Four words in a row count; four words that everybody has do not."""
    messages = [user("rename alpha beta gamma delta now and then"), agent("alpha beta gamma delta")]
    prepared = prepare(LabSession("s", "codex", "a/b", messages))
    assert find_copied_grams(prepared, 1, NOTHING) == ["alpha beta gamma delta"]
    common = Elsewhere(frozenset(), frozenset({"alpha", "beta", "gamma", "delta"}))
    assert find_copied_grams(prepared, 1, common) == []


def test_claims_are_read_from_the_section_on_files() -> None:
    """Only entries that say that a file was changed are claims."""
    summary = (
        "## Goal\n- src/no.go: changed our minds\n\n## Relevant files\n(… 2 more)\n"
        "- src/a.go: created, changed 3 times, read [m12]\n- src/b.go: read [m13]\n"
        "- c d.txt: deleted [m14]\n\n## Critical context\n- e.go: written"
    )
    assert read_claimed_files(summary) == {"src/a.go", "c d.txt"}


def test_the_marks_of_a_summary_are_no_facts() -> None:
    """References, labels, counts and clipped words are the summary's own."""
    text = "## Goal\n(… 120 more in the originals)\n- run main.go, loadSta… [m123]\n- fa-0123456789"
    assert summary_facts(text) == {"main.go"}


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=200), min_size=1, max_size=12),
    st.integers(0, 400),
)
def test_baselines_keep_whole_lines_within_their_budget(texts: list[str], budget: int) -> None:
    """No baseline takes more than it was given, and what it keeps stood in the source."""
    messages = [user(text) for text in texts]
    source = {*lines_of(messages), "[…]", ""}
    for strategy in choose_strategies(("head+tail", "keep-tail", "random-lines"), PLAIN).values():
        shown = strategy.shrink(messages, budget)
        assert shown.tokens <= max(budget, 5)  # a role and the mark of what is left out
        assert set(shown.text.split("\n")) <= source


def test_no_session_is_in_both_halves() -> None:
    """The split names each session once, and trials of one airline task stand together."""
    names = json.loads(SPLIT_FILE.read_text(encoding="utf-8"))["sessions"]
    assert not set(names["tuning"]) & set(names["test"])
    halves = read_split()
    tasks: dict[str, set[str]] = {}
    for name, half in halves.items():
        if name.startswith("tau-airline/"):
            tasks.setdefault(name.rpartition("/")[0], set()).add(half)
    assert tasks
    assert all(len(found) == 1 for found in tasks.values())


def test_an_interval_holds_its_mean() -> None:
    """The estimate of equal scores is sharp; of none there is none."""
    found = mean_interval([0.5] * 9)
    assert found is not None
    assert (found.mean, found.low, found.high, found.sessions) == (0.5, 0.5, 0.5, 9)
    assert mean_interval([]) is None


def test_white_space_and_color_do_not_count() -> None:
    """Lines are compared on one line, without terminal colors."""
    assert to_line("\x1b[31mFAIL\x1b[0m\t a \n b") == "FAIL a b"
    assert is_present(without_colors("\x1b[31mERROR\x1b[0m x"), "ERROR")
