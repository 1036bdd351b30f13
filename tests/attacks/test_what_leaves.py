"""What leaves through tools, exports and files: no prompts, no other projects, no raw codes."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldaway._core.policy import Policy
from foldaway.cli import run
from foldaway.config import open_store
from foldaway.sessions import SessionOptions
from foldaway.sessions.exporting import export
from foldaway.sessions.finding import recall_from
from foldaway.sessions.library import Project
from foldaway.sessions.session import Session
from foldaway.sessions.tools import TOOLS, Library, answer
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession, SessionFilter

PROMPT = "quokka"
"""A word that only prompts and definitions of tools have."""
FOREIGN = "wombat"
"""A word that only sessions of another project have."""


SMALL = Policy(floor_tokens=500)


def begin(store: Store, *messages: Any, dialect: str = "openai-chat", **new: Any) -> Session:
    session = Session(
        store,
        context_length=8_000,
        policy=SMALL,
        options=SessionOptions(new=NewSession(dialect=dialect, **new)),
    )
    session.append(*messages)
    return session


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def talk(words: str) -> list[Any]:
    """Return a talk that is long enough to be folded."""
    return [said(("user", "assistant")[at % 2], f"{words} {at} " + "word " * 150)
            for at in range(40)]  # fmt: skip


def all_answers(library: Library, session: str, ref: str, word: str) -> Iterator[str]:
    """Yield what every tool says to every way of asking for one session, and the errors too."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("read", {}), ("status", {}), ("status", {"session": session}),
        ("read", {"session": session}), ("recall", {"ref": ref}),
        ("pin", {"session": session, "position": 0}), ("brief", {}),
        ("dropped", {}), ("dropped", {"session": session}),
        ("brief", {"session": session}),
        ("brief", {"session": session, "focus": word}), ("compact", {"session": session}),
        ("compact", {"session": session, "focus": word}),
    ]  # fmt: skip
    asked += [("read", {"session": session, "around": at}) for at in range(4)]
    asked += [
        ("search", {"query": query, "sort": sort, "subagents": True, **named})
        for query in (word, f'"{word}"', f"{word[:3]}*", f"role:system {word}", "hello",
                      f"{word} session:{session}", "")
        for sort in ("relevance", "newest")
        for named in ({}, {"session": session})
    ]  # fmt: skip
    for name, arguments in asked:
        done = answer(library, f"foldaway_sessions_{name}", {**arguments, "max_tokens": 10_000})
        yield done.text


# System prompts


PROMPTS: dict[str, list[Any]] = {
    "openai-chat": [said("system", f"Be a {PROMPT}."), said("developer", f"A {PROMPT}!")],
    "openai-chat in another spelling": [said("System", f"Be a {PROMPT}.")],
    "anthropic": [said("system", f"Be a {PROMPT}.")],
    "openai-responses": [
        {"type": "message", "role": "developer", "content": f"Be a {PROMPT}."},
        {"type": "message", "role": "system",
         "content": [{"type": "input_text", "text": f"Be a {PROMPT}."}]},
        {"type": "mcp_list_tools", "id": "l", "server_label": "zoo",
         "tools": [{"name": PROMPT, "input_schema": {}}]},
    ],
    "gemini": [{"role": "system", "parts": [{"text": f"Be a {PROMPT}."}]}],
    "sharegpt": [{"from": "system", "value": f"Be a {PROMPT}."}],
}  # fmt: skip
HELLO: dict[str, Any] = {
    "sharegpt": {"from": "human", "value": "hello there"},
    "gemini": {"role": "user", "parts": [{"text": "hello there"}]},
}


@pytest.mark.parametrize("case", PROMPTS)
def test_no_prompt_leaves_through_a_tool(store: Store, case: str) -> None:
    """In no dialect, wherever it is: message or frame. Its position is named, so that the others
    stay true."""
    dialect = case.split()[0]
    frame = {"key": "messages", "body": {
        "system": PROMPT, "instructions": PROMPT, "systemInstruction": {"parts": [
            {"text": PROMPT}]}, "tools": [{"name": PROMPT, "description": PROMPT}],
    }}  # fmt: skip
    hello = HELLO.get(dialect, said("user", "hello there"))
    session = begin(
        store, *PROMPTS[case], hello, *PROMPTS[case], dialect=dialect,
        frame=json.dumps(frame).encode(),
    )  # fmt: skip
    library = Library(store)
    texts = [*all_answers(library, session.id, "fa-0", PROMPT)]
    assert not [text for text in texts if re.search(rf"(?<!session:){PROMPT}", text)]
    rows = json.loads(answer(library, "foldaway_sessions_read", {"session": session.id}).text)
    positions = [row["position"] for row in rows["first"]]
    assert positions == list(range(session.info.length))
    (shown,) = (row for row in rows["first"] if row.get("text"))
    assert (shown["position"], shown["text"]) == (len(PROMPTS[case]), "hello there")
    assert rows["title"] == "hello there"
    hits = json.loads(answer(library, "foldaway_sessions_search", {"query": "hello"}).text)["hits"]
    assert hits[0]["position"] == len(PROMPTS[case])


def test_no_prompt_leaves_through_a_reference(store: Store) -> None:
    """Recall leaves it out, and says which message that was."""
    words = talk("so")
    words[6:6] = [said("system", f"From now on be a {PROMPT}.")]
    session = begin(store, said("system", "You help."), *words)
    refs = [
        ref for ref in session.compact(force=True).references
        if ref.positions[0] <= 7 < ref.positions[1]
    ]  # fmt: skip
    assert refs
    for ref in refs:
        arguments = {"ref": ref.ref, "max_tokens": 10_000}
        found = json.loads(answer(Library(store), "foldaway_sessions_recall", arguments).text)
        assert PROMPT not in found["originals"]
        assert found["left_out"] == [7]
        assert found["positions"] == list(ref.positions)


def test_no_prompt_is_recalled_by_memory(store: Store) -> None:
    """What past sessions say about a text is what was said in them."""
    begin(store, said("system", f"Be a {PROMPT}."), said("user", "hello"))
    recall = recall_from(store)
    assert recall(f"the {PROMPT}", "") == ""
    assert "hello" in recall("hello", "")


# Other projects


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """A folder with two projects, `mine` under Git, and a link to it."""
    (tmp_path / "mine" / ".git").mkdir(parents=True)
    (tmp_path / "mine" / "src" / "deep").mkdir(parents=True)
    (tmp_path / "mine-too").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    return tmp_path


def test_sessions_of_other_projects_are_unknown(store: Store, projects: Path) -> None:
    """Neither searched, listed, read, recalled, counted by name nor pinned; not even named."""
    mine = begin(store, said("user", "hello"), cwd=str(projects / "mine" / "src"), id="20-mine")
    theirs = begin(store, *talk(FOREIGN), cwd=str(projects / "theirs"), id="20-theirs",
                   source="codex", source_id="their-file")  # fmt: skip
    begin(store, said("user", FOREIGN), id="20-nowhere")
    ref = theirs.compact(force=True).references[0].ref
    limited = Library(store, project=Project.around(projects / "mine", home=projects))
    for name in ("20-theirs", "20-t", "their-file", "20-nowhere", "20-"):
        for text in all_answers(limited, name, ref, FOREIGN):
            assert "theirs" not in text.replace("'20-theirs'", "").replace("session:20-theirs", "")
            assert f"{FOREIGN} 1" not in text
    assert store.pins(theirs.id) == ()
    found = json.loads(answer(limited, "foldaway_sessions_read", {}).text)
    assert [one["session"] for one in found["sessions"]] == [mine.id]
    assert answer(limited, "foldaway_sessions_read", {"session": "20"}).text.count("hello") == 2
    assert answer(limited, "foldaway_sessions_recall", {"ref": ref}).failed
    assert not answer(Library(store), "foldaway_sessions_recall", {"ref": ref}).failed


def test_a_session_that_goes_on_elsewhere_is_not_shown_there(store: Store, projects: Path) -> None:
    """A hit is shown in the newest session of its line; one of another project stays unknown."""
    words = (said("user", "hello"), said("assistant", "hello too"))
    mine = begin(store, *words, cwd=str(projects / "mine"), id="first")
    child = store.create(
        NewSession(dialect="openai-chat", id="second", cwd=str(projects / "theirs")),
        parent_id=mine.id, descent="compression",
    )  # fmt: skip
    assert child.cwd != store.session("first").cwd
    limited = Library(store, project=Project.at(projects / "mine"))
    for text in all_answers(limited, "first", "fa-0", "hello"):
        assert "second" not in text
    assert not answer(Library(store), "foldaway_sessions_read", {"session": "second"}).failed


def test_an_empty_answer_says_what_is_not_offered(store: Store, projects: Path) -> None:
    """How many sessions, and how the user can offer them."""
    limited = Library(store, project=Project.at(projects / "mine"))
    for at in range(3):
        begin(store, said("user", FOREIGN), cwd="" if at else str(projects / "theirs"))
    for name, arguments in (("search", {"query": FOREIGN}), ("read", {}), ("status", {})):
        found = json.loads(answer(limited, f"foldaway_sessions_{name}", arguments).text)
        assert found["offered"]["sessions"] == 0
        assert "without a known folder: 3; " in found["offered"]["not_offered"]
        assert "--all-projects" in found["offered"]["not_offered"]


@pytest.mark.parametrize(
    ("started_in", "belong"),
    [
        ("mine", {"mine", "mine/src", "mine/src/deep", "link/src", "mine/../mine/src/"}),
        ("mine/src", {"mine", "mine/src", "mine/src/deep", "link/src", "mine/../mine/src/"}),
        ("link", {"mine", "mine/src", "mine/src/deep", "link/src", "mine/../mine/src/"}),
        ("mine-too", {"mine-too"}),
        ("", {""}),
        ("..", set[str]()),
    ],
)  # fmt: skip
def test_a_project_is_the_folder_under_git_by_its_real_path(
    projects: Path, started_in: str, belong: set[str]
) -> None:
    """Whatever way leads there. The home folder is no project, even under Git: all are in it."""
    (projects / ".git").mkdir()
    names = {"", "mine", "mine/src", "mine/src/deep", "mine/../mine/src/", "link/src", "mine-too",
             "theirs"}  # fmt: skip
    project = Project.around(projects / started_in, home=projects)
    spelled = {f"{projects}/{name}" if name else str(projects): name for name in names}
    odd = ["", ".", "src", "~/mine", "\0", "x" * 9_000, "/"]
    assert {spelled[path] for path in project.pick([*spelled, *odd])} == belong
    assert Project("/").pick(["/", "/a", "a", ""]) == ("/", "/a")


# Markdown and files


CODES = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202edrawkcab\u2066\x00\x08\r\x7f\u200f"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")


def test_a_page_has_no_raw_control_codes(store: Store) -> None:
    """Of no title, id, model, name of a tool or text; lines and tabs stay, JSON is as it was."""
    tool = {"name": f"to{CODES}ol\n# forged", "arguments": json.dumps({"path": f"a{CODES}"})}
    call = {"id": "c", "type": "function", "function": tool}
    messages = [
        said("user", f"one\ttwo\nthree {CODES}"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": f"out {CODES}"},
        {"role": "assistant", "content": [{"type": f"odd{CODES}", "x": 1}]},
    ]
    session = begin(
        store, *messages, title=f"ti{CODES}tle\n# forged", source=f"so{CODES}", model=f"m{CODES}",
        source_id=f"id{CODES}\n- forged", cwd=f"/w{CODES}", goal=f"g{CODES}",
    )  # fmt: skip
    page = export(store, session.info, "markdown").data.decode()
    assert RAW.findall(page) == []
    assert "\ufffd]0;owned\ufffd" in page
    assert "one\ttwo\nthree" in page
    assert not re.search("^(# |- )forged", page, re.MULTILINE)
    lines = export(store, session.info, "jsonl").data.splitlines()
    assert [json.loads(line) for line in lines] == messages


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask() -> Iterator[None]:
    """The most generous umask."""
    before = os.umask(0)
    yield
    os.umask(before)


COMMANDS = [
    ["compress", "{file}", "-o", "{out}", "--originals", "{out}.originals"],
    ["compress", "{file}", "-o", "{out}.json", "--report", "{out}"],
    ["convert", "{file}", "--to", "anthropic", "--allow-loss", "-o", "{out}"],
    ["repair", "{file}", "-o", "{out}"],
    ["reduce", "{file}", "-o", "{out}"],
    ["redact", "{file}", "-o", "{out}"],
]


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:1]))
@pytest.mark.parametrize(("mode", "new"), [(0o600, 0o600), (0o640, 0o640)])
def test_what_is_made_from_a_private_file_is_private(
    tmp_path: Path, command: list[str], mode: int, new: int
) -> None:
    """A new output is for those who may read the input; one that is there keeps its mode."""
    file, out = tmp_path / "in.json", tmp_path / "out.json"
    file.write_text(json.dumps(talk("hello")))
    file.chmod(mode)
    arguments = [one.format(file=file, out=out) for one in command]
    assert run(arguments) == 0
    assert mode_of(out) == new
    out.chmod(0o400)
    assert run(arguments) == 0
    assert mode_of(out) == 0o400
    assert not list(tmp_path.glob(".foldaway-*"))


@pytest.mark.usefixtures("open_umask")
def test_the_output_of_a_batch_is_private_if_a_source_is(tmp_path: Path) -> None:
    """Its folder, and all in it; the umask is as it was afterwards."""
    turns = [{"from": ("human", "gpt")[at % 2], "value": "hello"} for at in range(4)]
    for name, mode in (("open.jsonl", 0o644), ("private.jsonl", 0o600)):
        (tmp_path / name).write_text(json.dumps({"conversations": turns}) + "\n")
        (tmp_path / name).chmod(mode)
    out = tmp_path / "out"
    sources = [str(tmp_path / name) for name in ("open.jsonl", "private.jsonl")]
    options = ["--target-tokens", "1000", "--workers", "1"]
    # what forks the workers is as open as what it was started for
    opened = ["trajectories", "compress", sources[0], "-o", str(tmp_path / "first"), *options]
    assert run(opened) == 0
    assert run(["trajectories", "compress", *sources, "-o", str(out), *options]) == 0
    assert mode_of(out) == 0o700
    assert {mode_of(path) for path in out.rglob("*") if path.is_file()} == {0o600}
    sample = tmp_path / "sample.jsonl"
    assert run(["trajectories", "sample", *sources, "-o", str(sample)]) == 0
    assert mode_of(sample) == 0o600
    assert os.umask(0) == 0


@pytest.mark.usefixtures("open_umask")
def test_the_rights_of_a_group_stay_with_that_group(tmp_path: Path) -> None:
    """A new file belongs to another group, so it is not for its group."""
    others = [group for group in os.getgroups() if group != os.getegid()]
    if not others and os.geteuid() != 0:
        pytest.skip("this user is in one group only")
    file, out = tmp_path / "in.json", tmp_path / "out.json"
    file.write_text(json.dumps(talk("hello")))
    file.chmod(0o640)
    os.chown(file, -1, others[0] if others else os.getegid() + 1)
    assert run(["repair", str(file), "-o", str(out)]) == 0
    assert mode_of(out) == 0o600


@pytest.mark.usefixtures("open_umask")
def test_the_home_and_what_is_exported_from_it_are_private(tmp_path: Path) -> None:
    """Made for their owner alone, under any umask."""
    home, file, out = tmp_path / "a" / "home", tmp_path / "in.json", tmp_path / "out"
    file.write_text(json.dumps(talk("hello")))
    place = ["--home", str(home)]
    assert run(["import", str(file), *place]) == 0
    assert {mode_of(one) for one in (home.parent, home, home / "sessions")} == {0o700}
    with open_store(home / "sessions", read_only=True) as store:
        (session,) = store.sessions(SessionFilter()).sessions
    for form in ("jsonl", "markdown", "anthropic"):
        path = Path(f"{out}.{form}")
        assert run(["sessions", "export", session.id, "--to", form, "-o", str(path), *place]) == 0
        assert mode_of(path) == 0o600


def test_the_tools_are_those_that_are_tried_here() -> None:
    """Whoever adds a tool adds it to `all_answers`."""
    assert {tool.name.rpartition("_")[2] for tool in TOOLS} == {
        "search", "read", "recall", "status", "pin", "brief", "dropped", "compact",
    }  # fmt: skip
