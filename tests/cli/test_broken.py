"""Input that can be read and is wrong: violations with index and path, exit 1, mended by repair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

USER = {"role": "user", "content": "hi"}


def calls(*made: object) -> dict[str, object]:
    return {"role": "assistant", "content": None, "tool_calls": list(made)}


def call(id_: object, arguments: object = "{}", name: object = "ls") -> dict[str, object]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(id_: object, content: object = "ok") -> dict[str, object]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


BROKEN: dict[str, tuple[list[object], int, str]] = {
    "a role of another dialect": ([USER, {"role": "ai", "content": "x"}, USER], 1, "$[1].role"),
    "null arguments": (
        [USER, calls(call("a", None)), answer("a")], 1, "$[1].tool_calls[0].function.arguments"),
    "arguments that are an object": (
        [USER, calls(call("a", {"x": 1})), answer("a")], 1,
        "$[1].tool_calls[0].function.arguments"),
    "arguments that are a list": (
        [USER, calls(call("a", "[1]")), answer("a")], 1, "$[1].tool_calls[0]"),
    "torn arguments": (
        [USER, calls(call("a", '{"x": ')), answer("a")], 1, "$[1].tool_calls[0]"),
    "a missing id": ([USER, calls(call(None)), answer("a")], 1, "$[1].tool_calls[0].id"),
    "a missing id of a result": (
        [USER, calls(call("a")), {"role": "tool", "content": "x"}], 2, "$[2].tool_call_id"),
    "two calls of one id": (
        [USER, calls(call("a"), call("a")), answer("a"), answer("a")], 1, "$[1].tool_calls[1]"),
    "empty content": ([USER, {"role": "assistant", "content": ""}, USER], 1, "$[1].content"),
    "null content": ([{"role": "user", "content": None}, USER], 0, "$[0].content"),
    "no content": ([{"role": "user"}, USER], 0, "$[0].content"),
    "an empty block list": ([{"role": "user", "content": []}, USER], 0, "$[0].content"),
    "a lone surrogate": ([{"role": "user", "content": "a\ud800b"}], 0, "$[0].content"),
    "a NUL": ([{"role": "user", "content": "a\0b"}], 0, "$[0].content"),
    "a result without call": ([USER, answer("gone"), USER], 1, "$[1]"),
    "a call without result": ([USER, calls(call("a")), USER], 1, "$[1].tool_calls[0]"),
    "an image in a tool message": (
        [USER, calls(call("a")),
         answer("a", [{"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}])],
        2, "$[2].content[0]"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_violation_has_its_index_and_path(foldaway: Any, put: Any, case: str) -> None:
    """What is wrong is found at the message and the JSON path where it stands, with exit 1."""
    messages, index, path = BROKEN[case]
    seen = foldaway("check", "--json", put("broken.json", messages))
    (report,) = seen.reports
    assert (seen.code, report["valid"], report["dialect"]) == (1, False, "openai-chat")
    places = [(found["index"], found["path"]) for found in report["violations"]]
    assert any(at == index and where.startswith(path) for at, where in places), report
    assert all(found["rule"] and found["remedy"] for found in report["violations"])


@pytest.mark.parametrize("case", BROKEN)
def test_repair_mends_it_and_the_result_is_valid(
    foldaway: Any, put: Any, tmp_path: Path, case: str
) -> None:
    """What repair writes passes check, and repairing it again changes nothing."""
    out = tmp_path / "out.json"
    seen = foldaway("repair", "--json", put("broken.json", BROKEN[case][0]), "-o", out)
    (report,) = seen.reports
    assert (seen.code, report["changed"], report["output"]) == (0, True, str(out))
    assert report["actions"]
    assert foldaway("check", out).code == 0
    again = foldaway("repair", out, "-o", tmp_path / "again.json")
    assert again.code == 0
    assert (tmp_path / "again.json").read_bytes() == out.read_bytes()


def test_what_cannot_be_mended_is_refused_and_nothing_is_written(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """A role that means nothing known cannot be guessed: exit 1, the violation, no output."""
    path = put("hopeless.json", [USER, {"role": "wizard", "content": "x"}])
    seen = foldaway("repair", path, "-o", tmp_path / "out.json")
    assert seen.code == 1
    assert "role-known" in seen.err
    assert "nothing was written" in seen.err
    assert not (tmp_path / "out.json").exists()


def test_a_refusal_in_json_lists_the_violations(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """With --json a refusal has no output and names what stands in the way."""
    path = put("hopeless.json", [7, USER])
    seen = foldaway("repair", "--json", path, "-o", tmp_path / "out.json")
    (report,) = seen.reports
    assert (seen.code, report["output"], report["changed"]) == (1, None, False)
    assert report["violations"][0]["path"] == "$[0]"
    assert report["violations"][0]["mendable"] is False


def test_one_hopeless_transcript_keeps_the_whole_file_from_being_written(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """A file of several transcripts is mended whole or not at all."""
    lines = [{"messages": [USER]}, {"messages": [{"role": "wizard", "content": "x"}]}]
    path = put("s.jsonl", b"\n".join(json.dumps(line).encode() for line in lines))
    seen = foldaway("repair", "--json", path, "-o", tmp_path / "out.jsonl")
    (report,) = seen.reports
    assert (seen.code, report["violations"][0]["record"], report["violations"][0]["line"]) == (
        1, 1, 2,
    )  # fmt: skip
    assert not (tmp_path / "out.jsonl").exists()


def test_a_torn_line_is_recovered_with_a_warning(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """A JSON lines file that ends in the middle of an object keeps its whole objects."""
    path = put("torn.jsonl", b'{"role":"user","content":"a"}\n{"role":"assistant","conte')
    seen = foldaway("check", "--json", path)
    (report,) = seen.reports
    assert (seen.code, report["messages"]) == (0, 1)
    assert len(report["warnings"]) == 1
    assert "line 2" in report["warnings"][0]
    out = tmp_path / "out.jsonl"
    seen = foldaway("repair", "--json", path, "-o", out)
    assert (seen.code, seen.reports[0]["changed"]) == (0, True)
    assert out.read_bytes() == b'{"role":"user","content":"a"}\n'


def test_a_torn_line_of_transcripts_is_recovered_with_a_warning(foldaway: Any, put: Any) -> None:
    """A session a line, the last one torn: the whole ones are checked."""
    whole = json.dumps({"messages": [USER]}).encode()
    path = put("torn.jsonl", whole + b"\n" + whole[:-5])
    seen = foldaway("check", path)
    assert seen.code == 0
    assert "warning: line 2: torn" in seen.text


@pytest.mark.soak
def test_one_message_of_fifty_megabytes_is_simply_handled(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """Size alone is no fault."""
    big = put("big.json", [{"role": "user", "content": "x" * 50_000_000}])
    assert foldaway("check", big).code == 0
    assert foldaway("repair", big, "-o", tmp_path / "out.json").code == 0
    assert (tmp_path / "out.json").read_bytes() == big.read_bytes()
