"""compress: a smaller transcript, its originals beside it, a report, a picture."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("own_folder")


def session(turns: int = 40) -> list[dict[str, Any]]:
    """Return a chat with a tool call and a long result in every turn."""
    found: list[dict[str, Any]] = [{"role": "system", "content": "You help with code."}]
    for n in range(turns):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/part{n}.py"})}
        found += [
            {"role": "user", "content": f"Please look at part {n} é."},
            {"role": "assistant", "content": f"Looking at {n}.", "tool_calls": [
                {"id": f"call_{n}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"call_{n}",
             "content": "\n".join(f"def f{n}_{k}(): return {k * n}" for k in range(60))},
            {"role": "assistant", "content": f"Part {n} is fine."},
        ]  # fmt: skip
    return found


@pytest.fixture
def long(put: Any) -> Path:
    """A session of 161 messages, spaced as no program of ours would."""
    return put("long.json", json.dumps(session(), indent=1).encode())


def test_the_result_is_smaller_valid_and_recoverable(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """What comes out is accepted, has the size that was asked for, and says where the rest is."""
    out = tmp_path / "out.json"
    seen = foldaway("compress", "--json", long, "-o", out, "--target-tokens", 1500)
    (report,) = seen.reports
    assert (seen.code, seen.err, report["status"], report["reason"]) == (0, "", "compacted", "")
    assert report["tokens_after"] < report["tokens_before"]
    assert report["tokens_after"] <= report["target_tokens"] == 1500
    assert report["messages_after"] == len(json.loads(out.read_bytes()))
    assert report["originals"] == f"{out}.originals.jsonl"
    assert report["references"]
    assert all(row.keys() == {"ref", "positions", "kind"} for row in report["references"])
    assert foldaway("check", out).code == 0


def test_a_remedy_on_the_command_line_names_options(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """Of the command that was called; no parameter of Python."""
    short = put("short.json", session(1))
    seen = foldaway("compress", short, "-o", tmp_path / "o.json")
    assert seen.text.count("fold more") == 1
    assert "--target-tokens or --keep-last fold more" in seen.text
    assert "keep_last" not in seen.text


def test_one_number_for_a_list_and_for_the_request_around_it(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """What `inspect` counts beside the messages is in the sums of a compaction, which say so."""
    system = {"type": "text", "text": "You help with code. " * 40}
    request = {"model": "gpt-5", "instructions": system["text"], "input": [
        {"role": "user", "content": f"Look at part {n}. " + f"word{n} " * 400} for n in range(30)
    ]}  # fmt: skip
    asked, out = put("request.json", request), tmp_path / "o.json"
    counted = foldaway("inspect", asked, "--json").reports[0]
    beside = counted["outside_tokens"]
    assert beside > 100
    whole, said = f"{counted['tokens']:,} tokens", f"{beside:,} of the tokens are beside"
    made = foldaway("compact", asked, "-o", out, "--target-tokens", 3000).text
    compared = foldaway("diff", asked, out).text
    assert whole in made
    assert whole in compared
    assert said in made
    assert said in compared


def test_the_report_has_what_programs_need(foldaway: Any, long: Path, tmp_path: Path) -> None:
    """--report writes the same object that --json prints."""
    report = tmp_path / "report.json"
    seen = foldaway(
        "compress", "--json", long, "-o", tmp_path / "o.json", "--report", report,
        "--target-tokens", 1500,
    )  # fmt: skip
    written = json.loads(report.read_bytes())
    assert written == seen.reports[0]
    wanted = {
        "status", "reason", "tokens_before", "tokens_after", "prompt_tokens",
        "prompt_tokens_source", "effective_window", "threshold_tokens", "messages_before",
        "messages_after", "boundary", "kept", "rewritten", "folded", "compaction_count",
        "recoverable", "references", "persistence", "summary_source",
    }  # fmt: skip
    assert wanted <= set(written)
    assert written["summary_source"] == {
        "source": "ledger", "name": "", "confidence": "medium", "failure": "", "retry_class": "",
        "calls": 0, "verified": 0, "unchecked": 0, "dropped": 0, "contradicted": 0, "added": 0,
    }  # fmt: skip
    assert written["kept"] + written["rewritten"] + written["folded"] == 161


def test_kept_messages_keep_their_bytes(foldaway: Any, long: Path, tmp_path: Path) -> None:
    """The newest messages stand in the output as they stood in the input, spaces and all."""
    out = tmp_path / "out.json"
    foldaway("compress", long, "-o", out, "--target-tokens", 4000)
    newest = long.read_bytes()[-300:]
    assert out.read_bytes().endswith(newest)


def test_the_originals_are_private_and_hold_the_source(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """Mode 0600 whatever the umask; the whole input text in one line."""
    before = os.umask(0)
    try:
        foldaway("compress", long, "-o", tmp_path / "out.json", "--target-tokens", 1500)
    finally:
        os.umask(before)
    originals = tmp_path / "out.json.originals.jsonl"
    assert stat.S_IMODE(originals.stat().st_mode) == 0o600
    (line,) = originals.read_bytes().splitlines()
    row = json.loads(line)
    assert (row["foldaway"], row["version"], row["generation"]) == ("originals", 1, 1)
    assert row["source"].encode() == long.read_bytes()


@pytest.mark.parametrize("place", ["missing/folder.jsonl", "."])
def test_where_the_originals_cannot_be_written_there_is_no_output(
    foldaway: Any, long: Path, tmp_path: Path, place: str
) -> None:
    """Originals first: nothing is replaced before they are safe."""
    out = tmp_path / "out.json"
    out.write_bytes(b"as it was")
    seen = foldaway("compress", long, "-o", out, "--originals", tmp_path / place)
    assert (seen.code, seen.out) == (2, b"")
    assert out.read_bytes() == b"as it was"


def test_an_output_that_cannot_be_written_leaves_no_originals(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """As on a full disk: "nothing was written" is true."""
    seen = foldaway("compress", long, "-o", "/dev/full", "--originals", tmp_path / "o.jsonl")
    assert seen.code == 2
    assert "No space left" in seen.err
    assert "nothing was written" in seen.err
    assert sorted(tmp_path.iterdir()) == [long]


def test_what_stays_beside_an_output_that_cannot_be_written_is_named(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """Originals that were there before gain a generation; a report comes after the output."""
    out, originals = tmp_path / "out.json", tmp_path / "o.jsonl"
    assert foldaway("compress", long, "-o", out, "--originals", originals).code == 0
    again = foldaway("compress", long, "-o", "/dev/full", "--originals", originals)
    assert (again.code, str(originals) in again.err) == (2, True)
    assert "nothing was written" not in again.err
    last = foldaway("compress", long, "-o", out, "--report", "/dev/full")
    assert (last.code, str(out) in last.err) == (2, True)


def test_a_compaction_that_cannot_be_is_not_shown_as_done(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """OUT is FILE, the reason is said, exit 3."""
    said = [{"role": "system", "content": "so " * 9_000}, {"role": "user", "content": "hi"}]
    path, out = put("large.json", said), tmp_path / "out.json"
    seen = foldaway("compress", path, "-o", out, "--context-length", 1000)
    assert seen.code == 3
    assert "nothing changed (cannot)" in seen.text
    assert "✓" not in seen.text
    assert out.read_bytes() == path.read_bytes()


def test_an_originals_file_that_is_none_is_not_overwritten(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """What stands there may be somebody's only copy."""
    (tmp_path / "out.json.originals.jsonl").write_bytes(b"notes\n")
    seen = foldaway("compress", long, "-o", tmp_path / "out.json")
    assert seen.code == 2
    assert "is no line of an originals file" in seen.err
    assert (tmp_path / "out.json.originals.jsonl").read_bytes() == b"notes\n"
    assert not (tmp_path / "out.json").exists()


def test_on_standard_output_there_are_no_references(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """Nothing points at originals that nobody kept; the picture says so, on standard error."""
    seen = foldaway("compress", long, "--target-tokens", 1500)
    assert seen.code == 0
    assert b"fa-" not in seen.out
    assert len(json.loads(seen.out)) < 161
    assert "originals: not kept" in seen.err
    assert list(tmp_path.iterdir()) == [long]


def test_on_standard_output_originals_go_where_they_are_asked_for(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """With --originals the references are there, and resolve."""
    kept = tmp_path / "kept.jsonl"
    seen = foldaway("compress", "--json", long, "--originals", kept, "--target-tokens", 1500)
    report = json.loads(seen.err)
    assert report["references"][0]["ref"].encode() in seen.out
    assert foldaway("recall", report["references"][0]["ref"], "--originals", kept).code == 0


def test_a_device_gets_no_originals_beside_it(foldaway: Any, long: Path) -> None:
    """Nothing is written into /dev."""
    assert foldaway("compress", long, "-o", "/dev/null", "--target-tokens", 1500).code == 0
    assert not Path("/dev/null.originals.jsonl").exists()


def test_a_preview_writes_nothing(foldaway: Any, long: Path, tmp_path: Path) -> None:
    """It shows what would happen; the numbers are those of the real run."""
    out = tmp_path / "out.json"
    seen = foldaway("compress", long, "-o", out, "--preview", "--target-tokens", 1500)
    assert seen.code == 0
    assert "would be written" in seen.text
    assert list(tmp_path.iterdir()) == [long]
    (preview,) = foldaway("compress", "--json", "--preview", long, "-o", out).reports
    (real,) = foldaway("compress", "--json", long, "-o", out).reports
    assert (preview["output"], preview["originals"]) == (None, None)
    assert preview["tokens_after"] == real["tokens_after"]


def test_what_cannot_be_made_smaller_comes_out_as_it_was(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """The reason in a sentence, exit 0, bytes out equal bytes in, no originals."""
    path = put("short.json", b'[ {"role":"user","content":"hi"} ]\n')
    out = tmp_path / "out.json"
    seen = foldaway("compress", path, "-o", out)
    assert seen.code == 0
    assert "nothing changed (nothing to compact): " in seen.text
    assert "✓" not in seen.text
    assert out.read_bytes() == path.read_bytes()
    assert sorted(tmp_path.iterdir()) == [out, path]


def test_what_is_only_repaired_is_not_called_unchanged(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """The output is not the input then."""
    path, out = put("short.json", [{"role": "user", "content": "\ud800 x"}]), tmp_path / "out.json"
    text = foldaway("compact", path, "-o", out).text
    assert "only repaired (nothing to compact): " in text
    assert "nothing changed" not in text
    assert out.read_bytes() != path.read_bytes()


def test_a_missed_target_is_said_once(foldaway: Any, long: Path, tmp_path: Path) -> None:
    """Whether something was compacted or not."""
    out = tmp_path / "out.json"
    for path in (long, out):
        text = foldaway("compact", path, "-o", out, "--target-tokens", 10).text
        notes = ("tokens were asked for", "is not reached")
        assert sum(text.count(note) for note in notes) == 1


def test_a_broken_list_is_mended_first_and_undone_whole(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """The report says what was mended; references stand for places in the file as it was."""
    broken = session()
    broken.insert(5, {"role": "tool", "tool_call_id": "gone", "content": "orphan"})
    path, out = put("broken.json", broken), tmp_path / "out.json"
    (report,) = foldaway("compress", "--json", path, "-o", out, "--target-tokens", 1500).reports
    assert report["repaired"]
    originals = tmp_path / "out.json.originals.jsonl"
    for row in report["references"]:
        seen = foldaway("recall", row["ref"], "--originals", originals)
        assert seen.reports == broken[slice(*row["positions"])]
    assert foldaway("check", out).code == 0
    assert foldaway("undo", out).code == 0
    assert out.read_bytes() == path.read_bytes()


def test_what_cannot_be_mended_is_refused(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Exit 2 with the violations, and nothing written."""
    path = put("bad.json", [*session(), {"role": "wizard", "content": "x"}])
    seen = foldaway("compress", path, "-o", tmp_path / "out.json")
    assert seen.code == 2
    assert "role-known" in seen.err
    (report,) = foldaway("compress", "--json", path, "-o", tmp_path / "out.json").reports
    assert report["violations"][0]["path"] == "$[161].role"
    assert list(tmp_path.iterdir()) == [path]


def test_every_transcript_of_a_file_is_compressed(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """A line each, a report each, references that name their record."""
    lines = b"".join(
        json.dumps({"id": n, "messages": session(20 + n)}).encode() + b"\n" for n in range(3)
    )
    out = tmp_path / "out.jsonl.gz"
    seen = foldaway("compress", "--json", put("s.jsonl", lines), "-o", out, "--target-tokens", 1500)
    assert [(row["record"], row["line"]) for row in seen.reports] == [(0, 1), (1, 2), (2, 3)]
    assert all(row["status"] == "compacted" for row in seen.reports)
    written = [json.loads(line) for line in gzip.decompress(out.read_bytes()).splitlines()]
    assert [row["id"] for row in written] == [0, 1, 2]
    originals = f"{out}.originals.jsonl"
    row = seen.reports[2]["references"][0]
    found = foldaway("recall", row["ref"], "--originals", originals).reports
    assert found == session(22)[slice(*row["positions"])]
    picture = foldaway("compress", tmp_path / "s.jsonl", "-o", tmp_path / "p.jsonl").text
    assert "line 3" in picture


def test_keep_last_starts_the_tail_at_a_user_message(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """The last two exchanges stay, and what is before them is folded."""
    out = tmp_path / "out.json"
    (report,) = foldaway("compress", "--json", long, "-o", out, "--keep-last", 2).reports
    assert report["boundary"][1] == 161 - 8
    assert json.loads(out.read_bytes())[-8:] == session()[-8:]


@pytest.mark.parametrize("name", ["m101", "101"])
def test_above_folds_what_stands_above_a_message(
    foldaway: Any, long: Path, tmp_path: Path, name: str
) -> None:
    """By its place, with or without the letter."""
    (report,) = foldaway(
        "compress", "--json", long, "-o", tmp_path / "out.json", "--above", name
    ).reports
    assert report["boundary"][1] == 101


def test_above_takes_the_id_of_the_wire(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Where messages have ids, those are their labels."""
    items = [
        {"type": "message", "id": f"msg_{n}", "role": "assistant" if n % 2 else "user",
         "content": [{"type": "output_text" if n % 2 else "input_text", "text": f"{n} " * 400}]}
        for n in range(40)
    ]  # fmt: skip
    out = tmp_path / "out.json"
    (report,) = foldaway(
        "compress", "--json", put("r.json", items), "-o", out, "--above", "msg_30"
    ).reports
    assert report["boundary"][1] == 30
    assert json.loads(out.read_bytes())[-10:] == items[-10:]


BAD_CALLS = {
    ("--threshold", "2"): "--threshold is 2.0; it must be from 0 to 1",
    ("--target-ratio", "0.9"): "--target-ratio is 0.9; it must be from 0.1 to 0.8",
    ("--protect-last", "0"): "--protect-last is 0; it must be at least 1",
    ("--protect-first", "-1"): "--protect-first is -1; it must be at least 0",
    ("--context-length", "0"): "--context-length is 0; it must be at least 1",
    ("--target-tokens", "0"): "--target-tokens",
    ("--keep-last", "0"): "--keep-last",
    ("--keep-last", "1", "--above", "3"): "exclude each other",
    ("--above", "m999"): "no message 'm999'",
    ("--above", ""): "no message ''",
    ("--above", "msg_x"): "no message 'msg_x'",
    ("--originals", "-"): "--originals must be a file",
    ("--originals", "out.json"): "is named for two things",
    ("--originals", "long.json"): "is named for two things",
    ("--report", "long.json"): "is named for two things",
    ("--report", "out.json.originals.jsonl"): "is named for two things",
    ("--config", "no.toml"): "no.toml: does not exist",
    ("--provider", "anthropic", "--dialect", "gemini"): "speaks 'anthropic'",
}


@pytest.mark.parametrize("arguments", BAD_CALLS, ids=" ".join)
def test_a_wrong_call_is_named_in_one_sentence(
    foldaway: Any, long: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Exit 2, the option and its range, nothing written."""
    seen = foldaway("compress", long, "-o", tmp_path / "out.json", *arguments)
    assert (seen.code, seen.out) == (2, b"")
    assert BAD_CALLS[arguments] in seen.err
    assert seen.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [long]


def test_settings_come_from_file_environment_and_command_line(
    foldaway: Any, long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each layer over the one below; what is wrong in one of them is named."""

    def threshold(*arguments: object) -> int:
        (report,) = foldaway("compress", "--json", "--preview", long, *arguments).reports
        return report["threshold_tokens"]

    (tmp_path / "foldaway.toml").write_text(
        "[compression]\nthreshold = 0.6\n[model]\ncontext_length = 200_000\n"
    )
    assert threshold() == 120_000
    monkeypatch.setenv("FOLDAWAY_COMPRESSION_THRESHOLD", "0.7")
    assert threshold() == 140_000
    assert threshold("--threshold", "0.8") == 160_000
    monkeypatch.setenv("FOLDAWAY_TRESHOLD", "0.7")
    seen = foldaway("compress", "--preview", long)
    assert seen.code == 0
    assert "warning: FOLDAWAY_TRESHOLD is not a setting" in seen.err
    monkeypatch.setenv("FOLDAWAY_THRESHOLD", "7")
    monkeypatch.delenv("FOLDAWAY_COMPRESSION_THRESHOLD")
    seen = foldaway("compress", long)
    assert (seen.code, seen.out) == (2, b"")
    assert "FOLDAWAY_THRESHOLD" in seen.err


def test_the_golden_budgets_reach_the_report(foldaway: Any, long: Path) -> None:
    """200,000 are assumed, and said to be; a window of 64,000 has its threshold below it."""
    (report,) = foldaway("compress", "--json", "--preview", long).reports
    assert (report["context_length"], report["context_length_source"]) == (200_000, "assumed")
    assert report["threshold_tokens"] == 100_000
    assert any("window assumed 200,000" in note for note in report["notes"])
    (small,) = foldaway("compress", "--json", "--preview", long, "--context-length", 64_000).reports
    assert small["context_length_source"] == "given"
    assert small["threshold_tokens"] < 64_000


def test_an_output_reservation_makes_the_window_smaller(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """Effective window = context length − output reservation."""
    (tmp_path / "foldaway.toml").write_text(
        "[model]\ncontext_length = 200_000\noutput_tokens = 20_000\n"
    )
    (report,) = foldaway("compress", "--json", "--preview", long).reports
    assert (report["context_length"], report["effective_window"]) == (200_000, 180_000)
    assert report["threshold_tokens"] == 90_000


def test_the_model_gives_the_window(foldaway: Any, long: Path) -> None:
    """An unknown one is named, or what may know it."""
    (report,) = foldaway("compress", "--json", "--preview", long, "--model", "gpt-4o").reports
    assert (report["context_length"], report["context_length_source"]) == (128_000, "model")
    (unknown,) = foldaway("compress", "--json", "--preview", long, "--model", "zz-9").reports
    assert unknown["context_length_source"] == "assumed"
    assert any(
        "'zz-9' is not known" in note or "foldaway[prices]" in note for note in unknown["notes"]
    )


def test_the_picture_shows_before_and_after(foldaway: Any, long: Path, tmp_path: Path) -> None:
    """Headline, strips, bars, where the originals are, how to recall one; no words of anybody."""
    out = tmp_path / "out.json"
    text = foldaway("compress", long, "-o", out, "--target-tokens", 1500).text
    first = text.splitlines()[0]
    assert "161 messages, " in first
    assert " → " in first
    assert "%)" in first
    assert "−" in first
    for words in ("before ", "after ", "kept", "folded", "tool results", "summary",
                  "token figures are estimates", f"originals: {out}.originals.jsonl",
                  "foldaway recall fa-"):  # fmt: skip
        assert words in text
    assert "Please look at" not in text
    assert max(len(line) for line in text.splitlines()[1:5]) <= 100


def test_where_results_are_only_shortened_the_picture_says_so(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """No summary is drawn, every shortened result is recalled by its mark, and nobody is told to
    give the size that they gave.
    """
    out = tmp_path / "out.json"
    text = foldaway("compress", long, "-o", out, "--target-tokens", 6000).text
    assert " 0 folded, 0 added" in text
    assert "summary" not in text
    assert "messages were only shortened, none was folded\n" in text
    pairs = zip(json.loads(out.read_bytes()), session(), strict=True)
    changed = [(new["content"], old) for new, old in pairs if new != old]
    assert len(changed) > 10
    for content, old in changed:
        reference = content.partition("]")[0].rpartition(": ")[2]
        seen = foldaway("recall", reference, "--originals", f"{out}.originals.jsonl")
        assert json.loads(seen.out) == old


def test_words_in_gaps_are_not_drawn_as_the_summary(
    foldaway: Any, long: Path, tmp_path: Path
) -> None:
    """Messages that stay apart have a word between them; the legend names both."""
    text = foldaway("compress", long, "-o", tmp_path / "o.json", "--target-tokens", 1500).text
    assert "added: the summary, words in gaps" in text


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses", "gemini"])
def test_every_dialect_is_compressed(
    foldaway: Any, long: Path, tmp_path: Path, dialect: str
) -> None:
    """The output is of the same dialect and valid there; undo gives the input back."""
    source, out = tmp_path / "in.json", tmp_path / "out.json"
    assert foldaway("convert", long, "--to", dialect, "--allow-loss", "-o", source).code == 0
    (report,) = foldaway("compress", "--json", source, "-o", out, "--target-tokens", 1500).reports
    assert report["status"] == "compacted"
    (checked,) = foldaway("check", "--json", out).reports
    assert (checked["valid"], checked["dialect"]) == (True, dialect)
    assert foldaway("undo", out).code == 0
    assert out.read_bytes() == source.read_bytes()
