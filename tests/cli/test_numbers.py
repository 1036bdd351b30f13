"""One number, one meaning: what two commands say of the same session is the same."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("own_folder")


def claude_code(*messages: tuple[str, list[dict[str, Any]]]) -> bytes:
    """A session file of Claude Code: one line for each block of an answer."""
    lines = [
        {
            "type": role, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "5e551011-aaaa-4bbb-8ccc-123456789abc", "cwd": "/work/app",
            "timestamp": f"2026-01-15T12:{number:02}:00Z",
            "message": {"role": role, "content": content},
        }
        for number, (role, content) in enumerate(messages)
    ]  # fmt: skip
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": f"cat {name}"}}


def result(name: str) -> dict[str, Any]:
    output = "".join(f"{name} line {number}\n" for number in range(400))
    return {"type": "tool_result", "tool_use_id": name, "content": output}


PARALLEL = (
    ("user", [text("Read both.")]),
    ("assistant", [call("t1")]),
    ("assistant", [call("t2")]),
    ("user", [result("t1")]),
    ("user", [result("t2")]),
    ("assistant", [text("Both are read.")]),
)
INTERRUPTED = (*PARALLEL[:4], ("user", [text("Faster!")]), *PARALLEL[4:])


@pytest.mark.parametrize(
    ("lines", "code"), [(PARALLEL, 0), (INTERRUPTED, 1)], ids=["parallel", "interrupted"]
)
def test_check_says_the_same_of_an_agents_file_and_of_its_conversion(
    foldaway: Any, put: Any, tmp_path: Path, lines: Any, code: int
) -> None:
    """Anthropic reads consecutive user messages as one, so results in two of them are valid; a
    text between them is not, in either file.
    """
    own, converted = put("own.jsonl", claude_code(*lines)), tmp_path / "converted.json"
    assert foldaway("convert", own, "--to", "anthropic", "-o", converted).code == 0
    seen = [foldaway("check", "--json", file) for file in (own, converted)]
    assert [one.code for one in seen] == [code, code]
    said = [one.reports[0] for one in seen]
    assert said[0]["violations"] == said[1]["violations"]
    assert said[0]["messages"] == said[1]["messages"] == len(lines)


def test_messages_that_a_repair_joined_are_not_called_folded(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """If nothing was folded, the picture, the report and the notes all say so; that the repair
    made fewer messages is said on its own.
    """
    said = [
        {"role": role, "content": content}
        for number in range(3)
        for role, content in (
            ("user", [text(f"Read it, {number}.")]),
            ("assistant", [call(f"a{number}"), call(f"b{number}")]),
            ("user", [result(f"a{number}"), text("Wait.")]),
            ("user", [result(f"b{number}")]),
            ("assistant", [text("Done.")]),
        )
    ]
    file = put("split.json", said)
    size = ("--target-tokens", 12_000)
    seen = foldaway("compress", file, "-o", tmp_path / "small.json", *size)
    (report,) = foldaway("compress", "--json", file, "--preview", *size).reports
    assert (report["folded"], report["messages_before"]) == (0, 12)
    assert "12 messages, " in seen.text.splitlines()[0]
    assert f"{report['kept']} kept, {report['rewritten']} rewritten, 0 folded, 0 added" in seen.text
    assert "messages were only shortened, none was folded" in seen.text
    assert "repaired first: 15 messages became 12" in seen.text


def test_a_session_has_one_id_and_one_title_in_usage_and_in_the_list(
    foldaway: Any, home: Path
) -> None:
    """Before an import it is the agent's id, afterwards that of the store, which is found by both;
    what an agent asked is no title.
    """
    review = [("user", [text("<command-name>/review</command-name>")]), *PARALLEL[1:]]
    folder = home / ".claude" / "projects" / "app"
    folder.mkdir(parents=True)
    for name, lines in (("asked", PARALLEL), ("review", review)):
        file = folder / f"{name}.jsonl"
        data = [json.loads(line) for line in claude_code(*lines).splitlines()]
        for line in data:
            line["sessionId"] = name * 2
            line["uuid"], line["parentUuid"] = f"{name}{line['uuid']}", None
            if line["type"] == "assistant":
                line["message"] |= {"id": line["uuid"], "model": "claude-sonnet-4-5",
                                    "usage": {"input_tokens": 9, "output_tokens": 9}}  # fmt: skip
        for before, line in pairwise(data):
            line["parentUuid"] = before["uuid"]
        file.write_text("".join(f"{json.dumps(line)}\n" for line in data))
    rows = foldaway("usage", "--by", "session", "--json").reports[0]["rows"]
    assert {(row["session"], row["stored"]) for row in rows} == {
        ("askedasked", ""), ("reviewreview", "")
    }  # fmt: skip
    shown = foldaway("usage", "--by", "session").text
    assert "askedask Read both." in shown
    foldaway("import")
    rows = foldaway("usage", "--by", "session", "--json").reports[0]["rows"]
    listed = foldaway("sessions", "list", "--json").reports[0]["sessions"]
    assert {(row["session"], row["stored"]) for row in rows} == {
        (row["source_id"], row["session"]) for row in listed
    }
    table = foldaway("usage", "--by", "session").text
    for line in foldaway("sessions", "list").text.splitlines()[1:3]:
        shown_id, title = line.split()[0], line.split("  ")[-1].strip()
        assert f"{shown_id} {title}" in table
        (found,) = foldaway("sessions", "show", shown_id, "--json").reports
        (other,) = foldaway("sessions", "show", found["source_id"], "--json").reports
        assert found == other
