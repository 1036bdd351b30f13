"""What is written, where, and in which form."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

FINE = b'[ {"role":"user","content":"hi"},\n  {"role":"assistant","content":"h\\u00e9"} ]\n'
ORPHAN = (
    b'[ {"role":"user","content":"h\\u00e9"}, {"role":"tool","tool_call_id":"x","content":"y"} ]\n'
)
MENDED = b'[ {"role":"user","content":"h\\u00e9"} ]\n'
LINES = b'{"role":"user","content":"a"}\n\n{"role":"assistant","content": "b" }\n'
SESSIONS = (
    b'{"id": 1, "messages":[{"role":"user","content":"a"}]}\n'
    b'{"messages": [{"role":"user","content":"b"}], "x":null}\n'
)


@pytest.mark.parametrize("data", [FINE, LINES, SESSIONS, b"\xef\xbb\xbf" + FINE])
def test_a_valid_file_comes_out_byte_for_byte(foldaway: Any, put: Any, data: bytes) -> None:
    """Where nothing is wrong, bytes out equal bytes in, spaces and escapes included."""
    seen = foldaway("repair", put("fine.json", data))
    assert (seen.code, seen.out) == (0, data)


def test_untouched_messages_keep_their_bytes(foldaway: Any, put: Any) -> None:
    """Only what was mended is written anew."""
    seen = foldaway("repair", put("broken.json", ORPHAN))
    assert (seen.code, seen.out) == (0, MENDED)


def test_a_transcript_on_standard_output_stands_alone(foldaway: Any) -> None:
    """The picture or report goes to standard error where the transcript goes to standard output."""
    seen = foldaway("repair", "-", stdin=ORPHAN)
    assert seen.out == MENDED
    assert "1 repair" in seen.err
    seen = foldaway("repair", "--json", "-", stdin=ORPHAN)
    assert seen.out == MENDED
    report = json.loads(seen.err)
    assert (report["file"], report["output"], report["changed"]) == ("-", "-", True)


def test_the_report_goes_to_standard_output_where_the_transcript_goes_to_a_file(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """With -o standard output is free for the report."""
    out = tmp_path / "out.json"
    seen = foldaway("repair", "--json", put("broken.json", ORPHAN), "-o", out)
    assert (seen.reports[0]["output"], seen.err) == (str(out), "")
    seen = foldaway("repair", tmp_path / "broken.json", "-o", out)
    assert "before" in seen.text
    assert seen.err == ""


def test_gz_is_compressed_and_read_back(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """An output named .gz is gzip, the same bytes every time; gzip is recognized by its data."""
    source, out, again = put("broken.json", ORPHAN), tmp_path / "o.gz", tmp_path / "p.gz"
    assert foldaway("repair", source, "-o", out).code == 0
    assert foldaway("repair", source, "-o", again).code == 0
    assert gzip.decompress(out.read_bytes()) == MENDED
    assert out.read_bytes() == again.read_bytes()
    assert foldaway("check", out.rename(tmp_path / "no-suffix")).code == 0


def test_a_valid_gzip_file_comes_out_byte_for_byte(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Nothing is compressed anew where nothing changed."""
    packed = gzip.compress(FINE, compresslevel=1, mtime=12345)
    assert foldaway("repair", put("fine.gz", packed), "-o", tmp_path / "out.gz").code == 0
    assert (tmp_path / "out.gz").read_bytes() == packed
    assert foldaway("repair", tmp_path / "fine.gz", "-o", tmp_path / "out.json").code == 0
    assert (tmp_path / "out.json").read_bytes() == FINE


def test_a_file_may_be_mended_in_place(foldaway: Any, put: Any) -> None:
    """OUT may be FILE; its permissions stay."""
    path = put("broken.json", ORPHAN)
    path.chmod(0o640)
    assert foldaway("repair", path, "-o", path).code == 0
    assert path.read_bytes() == MENDED
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_that_the_user_asked_for(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """The umask decides, as for every other program."""
    before = os.umask(0o027)
    try:
        assert foldaway("repair", put("b.json", ORPHAN), "-o", tmp_path / "o.json").code == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "o.json").stat().st_mode) == 0o640


def test_a_link_stays_a_link(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Writing through a link replaces its target."""
    source, target, link = put("b.json", ORPHAN), put("t.json", b"old"), tmp_path / "link.json"
    link.symlink_to(target)
    assert foldaway("repair", source, "-o", link).code == 0
    assert link.is_symlink()
    assert target.read_bytes() == MENDED


def test_a_device_is_written_to_and_not_replaced(foldaway: Any, put: Any) -> None:
    """/dev/null stays what it is."""
    assert foldaway("repair", put("b.json", ORPHAN), "-o", "/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_directory_as_output_is_refused(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """A directory is never replaced by a file."""
    (tmp_path / "d").mkdir()
    seen = foldaway("repair", put("b.json", ORPHAN), "-o", tmp_path / "d")
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err == f"foldaway: {tmp_path / 'd'}: is a directory; name a file in it\n"
    assert list((tmp_path / "d").iterdir()) == []


def test_an_output_in_no_directory_is_refused(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Directories are not made on the way."""
    seen = foldaway("repair", put("b.json", ORPHAN), "-o", tmp_path / "no" / "o.json")
    assert (seen.code, seen.out) == (2, b"")
    assert "does not exist" in seen.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission_is_refused(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Nothing is left behind where nothing may be written."""
    source, shut = put("b.json", ORPHAN), tmp_path / "shut"
    shut.mkdir(mode=0o555)
    seen = foldaway("repair", source, "-o", shut / "o.json")
    assert (seen.code, seen.out) == (2, b"")
    assert "cannot be written" in seen.err
    assert list(shut.iterdir()) == []


def test_a_collection_reports_record_and_line(foldaway: Any, put: Any) -> None:
    """In a file of several transcripts a violation names its transcript (from 0) and line."""
    broken = json.dumps({"messages": json.loads(ORPHAN)}).encode()
    path = put("s.jsonl", SESSIONS + b"\n" + broken + b"\n")
    (report,) = foldaway("check", "--json", path).reports
    assert (report["transcripts"], report["messages"]) == (3, 4)
    (found,) = report["violations"]
    assert (found["record"], found["line"], found["index"]) == (2, 4, 1)
    assert found["path"].startswith("$.messages[1]")


def test_a_list_reports_records_without_a_line(foldaway: Any, put: Any) -> None:
    """A transcript of a JSON list has no line: the record is named instead, to people too."""
    path = put("s.json", [{"messages": json.loads(text)} for text in (MENDED, ORPHAN)])
    (found,) = foldaway("check", "--json", path).reports[0]["violations"]
    assert (found["record"], "line" in found) == (1, False)
    assert "record 1 #1" in foldaway("check", path).text
    assert "record 1: " in foldaway("inspect", path).text


def test_a_single_transcript_reports_no_record(foldaway: Any, put: Any) -> None:
    """Where there is one transcript only, `record` and `line` are left out."""
    (report,) = foldaway("check", "--json", put("b.json", ORPHAN)).reports
    assert set(report) == {
        "file", "valid", "dialect", "provider", "transcripts", "messages", "violations", "warnings",
    }  # fmt: skip
    assert set(report["violations"][0]) == {
        "rule", "index", "path", "message", "remedy", "mendable",
    }  # fmt: skip


def test_a_provider_implies_its_dialect(foldaway: Any, put: Any) -> None:
    """--provider strict reads chat messages and holds them against the strict rules."""
    path = put("f.json", FINE)
    (report,) = foldaway("check", "--json", "--provider", "strict", path).reports
    assert (report["dialect"], report["provider"]) == ("openai-chat", "strict")


def test_an_explicit_dialect_overrides_what_the_data_looks_like(foldaway: Any, put: Any) -> None:
    """--dialect decides."""
    path = put("f.json", FINE)
    (report,) = foldaway("check", "--json", "--dialect", "anthropic", path).reports
    assert (report["dialect"], report["provider"]) == ("anthropic", "anthropic")


ORPHANED: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"role": "tool", "tool_call_id": "q", "content": "orphan"},
]


def test_a_name_as_long_as_the_system_takes_is_written(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """The file that is written first and then renamed needs no longer a name than the output."""
    output = tmp_path / ("長" * 80 + ".json")
    assert foldaway("repair", put("a.json", ORPHANED), "-o", output).code == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert json.loads(output.read_bytes()) == ORPHANED[:1]


@pytest.mark.parametrize("arguments", [("check", ""), ("repair", ""), ("repair", "FILE", "-o", "")])
def test_an_empty_name_is_quoted(foldaway: Any, put: Any, arguments: tuple[str, ...]) -> None:
    """The sentence begins with something that can be seen."""
    file = str(put("a.json", ORPHANED))
    seen = foldaway(*(file if each == "FILE" else each for each in arguments))
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.startswith("foldaway: '': is not a valid file name; ")


def test_the_marks_before_and_after_are_told_apart_without_colour(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """Broken and changed have a symbol each."""
    path = put("a.json", [*ORPHANED, {"role": "human", "content": "a"}])
    seen = foldaway("repair", path, "-o", tmp_path / "out.json")
    assert "▲ was broken" in seen.text
    assert "● changed or added" in seen.text


def test_what_was_passed_to_a_tool_is_not_shown(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Neither the picture nor the report of check and repair quotes arguments."""
    function = {"name": "sh", "arguments": '{"command": "TOPSECRET'}
    call = {"id": "a", "type": "function", "function": function}
    path = put(
        "a.json", [ORPHANED[0], {"role": "assistant", "content": None, "tool_calls": [call]}]
    )
    for command in (("check", path), ("repair", path, "-o", tmp_path / "out.json")):
        for flags in ((), ("--json",)):
            seen = foldaway(*command, *flags)
            assert "TOPSECRET" not in seen.text + seen.err


def test_a_lone_surrogate_in_a_changed_body_is_no_bug(foldaway: Any, put: Any) -> None:
    """Too many cache markers and a half pair in one system prompt are mended together."""
    blocks = [
        {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        for text in ("a", "b", "\ud800", "d", "e")
    ]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": blocks,
            "metadata": {"user_id": "\udc00"}, "messages": [ORPHANED[0]]}  # fmt: skip
    seen = foldaway("repair", put("a.json", body))
    assert seen.code == 0
    assert json.loads(seen.out)["metadata"] == body["metadata"]
    assert json.loads(seen.out)["system"][2]["text"] == "\ufffd"


def test_a_deep_value_inside_of_a_message_is_read(foldaway: Any, put: Any) -> None:
    """Five hundred levels are odd, but a transcript."""
    content = b'[{"type":"x","y":' + b"[" * 500 + b"]" * 500 + b"}]"
    path = put("deep.json", b'[{"role":"user","content":' + content + b"}]")
    assert foldaway("check", path).code in (0, 1)
    assert foldaway("repair", path).code in (0, 1)


def test_lines_of_two_objects_are_mended_where_they_are_broken(foldaway: Any, put: Any) -> None:
    """What is dropped is the orphan, and nothing else."""
    glued = json.dumps(ORPHANED[0]) + json.dumps({"role": "assistant", "content": "b"})
    rows = [json.dumps({"role": "user", "content": word}) for word in ("c", "KEEP ME", "e")]
    path = put("g.jsonl", "\n".join([glued, json.dumps(ORPHANED[1]), *rows]).encode())
    seen = foldaway("repair", path)
    said = [json.loads(line)["content"] for line in seen.out.splitlines()]
    assert said == ["hi", "b", "c", "KEEP ME", "e"]
