"""The facts of one message: never a failure, never a word that was not there."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway import load
from foldaway.facts.effects.calls import use_of
from foldaway.facts.ledger import Fact, Ledger, update
from foldaway.facts.ledger.take import facts_of
from foldaway.facts.tools import FAMILIES
from foldaway.reduction.lines import plain
from foldaway.testing import assistant, call, result, user
from foldaway.transcript import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

PIECES = st.sampled_from((
    "never touch src/main.py", "I'll use sqlite because it is simple.", "Which port do you want?",
    "port is now 8081", "不要修改这个文件", "Benutze nie Tabs.", "exit code 1", "Exit code: 0",
    "Error: no such file", "TypeError: x is not a function", "FAILED tests/test_a.py::test_b",
    "=== 1 failed, 2 passed in 0.1s ===", "warning: unused", '{"id": 17, "name": "a_b"}',
    '[{"k": "v_1"}, {"k": null}]', "{", "}", "*** Begin Patch", "*** Update File: a.py", "@@",
    "diff --git a/x.py b/x.py", "+++ b/x.py", "   12→max_retries = 3", "\x1b[31mred\x1b[0m",
    "progress 10%\rprogress 20%", "\r\n", "\n", " ", "\t", "\x00", "\ud800", "\udfff", "\u2028",
    "[foldaway digest] x", "T", "[", "`", "```", "'", '"', "\\", "\\n", "é", "👩‍👩‍👧", "x" * 500,
    "a_b " * 200, "sed -i s/a/b/ a.py && mv a.py b.py", "cat <<EOF > new.py", "EOF",
    "git commit -m x", "<system-reminder>", "</system-reminder>", "<environment_context>",
))  # fmt: skip
TEXTS = st.one_of(
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(PIECES, max_size=12).map("\n".join),
    st.text(st.characters(), max_size=80),
)
REAL_NAMES = tuple(name for row in FAMILIES.values() for name in row.names.split())
NAMES = st.one_of(
    st.sampled_from(REAL_NAMES),
    st.sampled_from(("Bash", "TodoWrite", "MultiEdit", "mcp__files__read_file", "functions.shell")),
    TEXTS,
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), TEXTS,
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = (
    "command", "cmd", "path", "file_path", "paths", "files", "content", "old_string", "new_string",
    "input", "patch", "edits", "todos", "plan", "code", "offset", "limit", "view_range",
    "insert_line", "replacement_text", "search", "replace", "source", "destination", "pid",
    "run_in_background", "workdir", "step", "status", "questions", "url", "query",
)  # fmt: skip
ARGUMENTS = st.one_of(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4).map(json.dumps),
    VALUES.map(json.dumps), TEXTS,
)  # fmt: skip
CALLS = st.builds(
    ToolCall, st.just("c1"), NAMES, ARGUMENTS,
    st.sampled_from(("function", "custom", "hosted", "server")),
)  # fmt: skip
LEAVES: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, TEXTS), st.just(Media("image", url="https://example.org/a.png")),
    st.just(Opaque("unknown")), st.builds(Thinking, TEXTS),
)  # fmt: skip
RESULTS = st.builds(
    ToolResult, st.sampled_from(("c1", "lost", "")), st.lists(LEAVES, max_size=2).map(tuple),
    st.booleans(), NAMES,
)  # fmt: skip
MESSAGES = st.builds(
    Message, st.sampled_from(("system", "developer", "user", "assistant", "tool", "unknown")),
    st.lists(LEAVES | CALLS | RESULTS, max_size=4).map(tuple), st.integers(-1, 99),
    st.sampled_from(("", "msg_1", "\ud800")),
)  # fmt: skip


@given(message=MESSAGES, made=CALLS, lines=st.booleans())
def test_no_message_is_too_odd(message: Message, made: ToolCall, lines: bool) -> None:
    """Any text, any arguments and any tool: facts come, a ledger takes them, and it is written
    and read back."""
    found = facts_of(message, {"c1": made}, lines=lines)
    ledger = update(Ledger(), found)
    assert msgspec.json.decode(msgspec.json.encode(ledger), type=Ledger) == ledger


@given(message=MESSAGES, made=CALLS)
def test_a_fact_names_its_message(message: Message, made: ToolCall) -> None:
    """The label and the position; without the lines there are fewer facts and no others: of what
    the agent wrote short replies with their decisions, and of a long one that there was one.
    """
    found = facts_of(message, {"c1": made})
    label = clean(message.label)
    assert all((fact.source, fact.at) == (label, message.position) for fact in found)
    fewer = facts_of(message, {"c1": made}, lines=False)
    assert {fact for fact in fewer if fact.text or fact.kind != "reply"} <= set(found)
    replies = [fact.text for fact in fewer if fact.kind == "reply"]
    assert all(len(text) <= 200 for text in replies)
    assert any(replies) or not any(fact.kind == "decision" for fact in fewer)
    assert not any(fact.kind in ("line", "field") and not fact.head for fact in fewer)


def clean(text: str) -> str:
    """A text without lone surrogates, as everything in a ledger is."""
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def flat(text: str) -> str:
    return " ".join(clean(text).split())


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)
    elif value is not None:
        yield json.dumps(value)


def source_of(message: Message, made: ToolCall) -> str:
    """All that a message and the call behind it say, as written and as read."""
    said: list[str] = [made.name, made.arguments, *strings_in(use_of(made).arguments)]
    for part in message.parts:
        if isinstance(part, Text):
            said.append(part.text)
        elif isinstance(part, ToolResult):
            texts = [inner.text for inner in part.parts if isinstance(inner, Text)]
            said += [part.name, "\n".join(texts)]
    said.append("\n".join(part.text for part in message.parts if isinstance(part, Text)))
    for text in list(said):
        said += [plain(text), text.replace("\\n", "\n")]
        with contextlib.suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            said.extend(strings_in(msgspec.json.decode(text)))
    words = (value for value in use_of(made).arguments.values() if isinstance(value, list))
    said += [" ".join(word for word in row if isinstance(word, str)) for row in words]
    return flat("\n".join(said))


def stands_in(text: str, source: str) -> bool:
    return flat(text.rstrip("…")) in source


VERBATIM = ("ask", "constraint", "question", "decision", "said", "reply", "error", "line")


@given(message=MESSAGES, made=CALLS)
def test_what_a_fact_tells_stands_in_its_message(message: Message, made: ToolCall) -> None:
    """Letter for letter, but for blanks and what is cut at the end; nothing is worded anew."""
    source = source_of(message, made)
    for fact in facts_of(message, {"c1": made}):
        if fact.kind in VERBATIM:
            assert stands_in(fact.text, source), fact
        for term in fact.terms:
            assert term in fact.text or term in fact.key, fact


def test_every_kind_of_text_is_told_in_its_own_words(facts: Callable[..., list[Fact]]) -> None:
    """One conversation that has them all."""
    found = facts(
        user("Fix  the\ntest. Never touch src/main.py."),
        assistant("I will use sqlite because it is simple.", call("bash", command="make test")),
        result("TypeError: x is not a function\nmax_retries = 3\nexit code 2"),
        assistant("Done with it. Which port do you want?"),
        user("The port is now 8081."),
    )
    told = {(fact.kind, fact.text, fact.source) for fact in found}
    assert told >= {
        ("ask", "Fix  the\ntest. Never touch src/main.py.", "m0"),
        ("decision", "I will use sqlite because it is simple.", "m1"),
        ("said", "I will use sqlite because it is simple.", "m1"),
        ("command", "`make test` -> exit 2", "m2"),
        ("error", "TypeError: x is not a function", "m2"),
        ("line", "max_retries = 3", "m2"),
        ("reply", "Done with it. Which port do you want?", "m3"),
        ("ask", "The port is now 8081.", "m4"),
    }
    assert any(fact.kind == "constraint" and "Never touch" in fact.text for fact in found)


def test_a_generated_message_has_no_facts() -> None:
    """A summary or digest never becomes something that the user asked."""
    for origin in ("summary", "digest", "duplicate", "placeholder", "note", "stub"):
        message = Message("user", (Text("Please delete everything."),), 3, origin=origin)
        assert facts_of(message, {}) == ()


def test_a_system_prompt_has_no_facts() -> None:
    """It is never folded, and its rules are not the user's."""
    for role in ("system", "developer"):
        assert facts_of(Message(role, (Text("Never use src/main.py."),), 0), {}) == ()


def test_a_summary_beside_the_users_words_is_not_quoted_as_theirs() -> None:
    """Another compressor's summary and the next ask may stand in one message."""
    foreign = (
        "This session is being continued from a previous conversation that ran out of context. "
        "The summary below covers the earlier portion of the conversation.\n\nIt is long."
    )
    blocks = [{"type": "text", "text": foreign}, {"type": "text", "text": "Now ship it."}]
    (message,) = load([{"role": "user", "content": blocks}], dialect="anthropic").messages
    assert [fact.text for fact in facts_of(message, {})] == ["Now ship it."]


def test_results_and_words_of_one_message_are_both_read() -> None:
    """Some dialects put a tool's answer and the user's next words into one message."""
    message = Message(
        "user", (ToolResult("c1", (Text("Exit code: 1\nError: boom"),)), Text("Try make again.")), 4
    )
    made = ToolCall("c1", "Bash", '{"command": "make"}')
    found = {(fact.kind, fact.text) for fact in facts_of(message, {"c1": made})}
    assert {
        ("command", "`make` -> exit 1"),
        ("error", "Error: boom"),
        ("ask", "Try make again."),
    } <= found


def test_a_long_ask_is_quoted_to_its_bound_and_the_rest_is_read_by_line(
    facts: Callable[..., list[Fact]],
) -> None:
    """Nothing of it is lost without a trace, and no word is cut in two."""
    ask, *rest = facts(user(f"{'word ' * 1_300}\nsrc/late_file.py matters\n{'more ' * 100}"))
    assert len(ask.text) <= 6_000
    assert set(ask.text.split()) == {"word"}
    assert any(fact.text == "src/late_file.py matters" for fact in rest)
    [whole, *_] = facts(user("x" * 5_995 + " last"))
    assert whole.text.endswith(" last")


@each_row(("text", "kept"), [
    ("Prüfe bitte die Größe von größe_mm.", "größe_mm"),
    ("请检查 src/应用.py 文件", "src/应用.py"),
    ("line one\r\nvalue_x = 1\r\n", "value_x = 1"),
    ("\x00\x01\x02 value_x = 1 \x7f\x80", "value_x = 1"),
])  # fmt: skip
def test_any_script_line_end_and_noise_is_read(
    text: str, kept: str, facts: Callable[..., list[Fact]]
) -> None:
    """Unicode, CRLF and control characters lose nothing that stands beside them."""
    found = facts(user("Look."), assistant(call("read_file", path="a")), result(f"{text}\nok_1"))
    assert any(kept in fact.text for fact in found if fact.kind == "line")


def test_binary_noise_is_read_without_harm(facts: Callable[..., list[Fact]]) -> None:
    """Every byte as a letter, many times over."""
    noise = bytes(range(256)).decode("latin-1") * 400
    found = facts(user(noise), assistant(noise, call("bash", command=noise)), result(noise))
    ledger = update(Ledger(), found)
    assert msgspec.json.decode(msgspec.json.encode(ledger), type=Ledger) == ledger


def test_a_lone_surrogate_does_not_keep_a_ledger_from_being_written(
    ledger_of: Callable[..., Ledger],
) -> None:
    """JSON cannot say it: the mark for an unknown letter stands there."""
    ledger = ledger_of(
        user("Fix \ud800 src/a_b.py"), assistant("\udfff ok", call("Write", file_path="\ud800.py")),
        result("Error: \ud800"),
    )  # fmt: skip
    assert "\ufffd" in msgspec.json.encode(ledger).decode()
    assert ledger.asks[0].fact.text == "Fix \ufffd src/a_b.py"


HOSTILE = ("{", '{"a":', "[", "Error", "Error: x\n", "error ", "exit code ", "\x1b[", "a_b ", "(",
           "never ", "? ", "\\n", "FAILED ", "'", "<<EOF\n", "\r", "é")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_message_takes_linear_time(piece: str) -> None:
    """As words, as a command and as a result; a few seconds would be ten times what it takes."""
    text = piece * (200_000 // len(piece))
    made = ToolCall("c1", "bash", json.dumps({"command": text}))
    started = time.process_time()
    facts_of(Message("user", (Text(text),), 0), {})
    facts_of(Message("assistant", (Text(text),), 1), {})
    facts_of(Message("tool", (ToolResult("c1", (Text(text),)),), 2), {"c1": made})
    assert time.process_time() - started < 3
