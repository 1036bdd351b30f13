"""`holdfast`, `usage`, `watch` and `statusline`; `test_usage_count.py` counts independently."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import process_environment

from holdfast.catalog import prices_of
from holdfast.spending.reading import FILE_NAME
from holdfast.stores.open import open_store
from holdfast.stores.values import NewMessage, NewSession, TurnUsage

PLACES = {
    "claude-code": ".claude/projects/app",
    "codex": ".codex/sessions/2026/05/01",
    "pi": ".pi/agent/sessions/app",
}
MODEL = "claude-sonnet-4-5"


def claude_line(number: int, session: str = "s-1", **usage: int) -> dict[str, Any]:
    """An answer of Claude Code, one minute after the one before."""
    return {
        "type": "assistant", "uuid": f"u{number}", "parentUuid": f"u{number - 1}",
        "sessionId": session, "cwd": "/work/app", "timestamp": f"2026-01-15T12:{number:02}:00Z",
        "message": {
            "id": f"msg_{number}", "model": MODEL, "role": "assistant", "usage": usage,
            "content": [{"type": "text", "text": f"answer {number}"}],
        },
    }  # fmt: skip


def ask_line(number: int, text: str = "Why is it red?", session: str = "s-1", **more: Any) -> Any:
    """What a user said to Claude Code."""
    return {
        "type": "user", "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": session, "cwd": "/work/app", "timestamp": f"2026-01-15T12:{number:02}:00Z",
        "message": {"role": "user", "content": text}, **more,
    }  # fmt: skip


def some_lines(session: str = "s-1") -> list[dict[str, Any]]:
    """Two answers of one session, the first on two lines with the same id and usage."""
    first = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 1000,
             "cache_read_input_tokens": 0}  # fmt: skip
    second = {"input_tokens": 20, "output_tokens": 7, "cache_creation_input_tokens": 100,
              "cache_read_input_tokens": 1000}  # fmt: skip
    one, two = claude_line(1, session, **first), claude_line(2, session, **first)
    two["message"]["id"] = one["message"]["id"]
    return [ask_line(0, session=session), one, two, ask_line(3, "go on", session),
            claude_line(4, session, **second)]  # fmt: skip


def codex_lines(own: str, counts: Iterable[tuple[int, int, int]], **meta: Any) -> list[Any]:
    """A rollout of Codex whose events count all that was used so far; each comes twice."""
    lines: list[Any] = [
        {"type": "session_meta", "timestamp": "2026-02-01T10:00:00Z",
         "payload": {"id": own, "cwd": "/work/tool", **meta}},
        {"type": "turn_context", "payload": {"model": "gpt-5.1"}},
    ]  # fmt: skip
    used = [0, 0, 0]
    for at, count in enumerate(counts):
        used = [before + more for before, more in zip(used, count, strict=True)]
        names = ("input_tokens", "cached_input_tokens", "output_tokens")
        said = {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": f"{own} {at}"}]}  # fmt: skip
        info = {"total_token_usage": dict(zip(names, used, strict=True)),
                "last_token_usage": dict(zip(names, count, strict=True))}  # fmt: skip
        event = {"type": "event_msg", "timestamp": f"2026-02-01T10:{at + 1:02}:{len(own) % 60:02}Z",
                 "payload": {"type": "token_count", "info": info}}  # fmt: skip
        lines += [{"type": "response_item", "timestamp": event["timestamp"], "payload": said},
                  event, event]  # fmt: skip
    return lines


def put_lines(home: Path, agent: str, name: str, lines: Iterable[Any]) -> Path:
    path = home / PLACES[agent] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def figures(report: Any) -> tuple[int, int, int, int]:
    """Plain input, output, written and read tokens of a row."""
    return (report["input_tokens"], report["output_tokens"], report["cache_write_tokens"],
            report["cache_read_tokens"])  # fmt: skip


def totals(holdfast: Any, *arguments: str) -> Any:
    return holdfast("usage", "--json", *arguments).reports[0]["total"]


def test_an_answer_on_several_lines_counts_once(holdfast: Any, home: Path) -> None:
    """Claude Code repeats the usage of an answer with each of its lines."""
    put_lines(home, "claude-code", "a.jsonl", some_lines())
    seen = totals(holdfast)
    assert figures(seen) == (30, 12, 1100, 1000)
    assert (seen["requests"], seen["sessions"], seen["total_tokens"]) == (2, 1, 2142)
    prices = prices_of(MODEL)
    assert prices is not None
    cost = (30 * prices.input + 12 * prices.output + 1100 * prices.cache_write_5m
            + 1000 * prices.cache_read) / 1e6  # fmt: skip
    assert seen["cost"] == pytest.approx(cost)


def test_what_the_cache_keeps_for_an_hour_costs_more(holdfast: Any, home: Path) -> None:
    """As the provider's price list has it."""
    usage: Any = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 1000,
                  "cache_creation": {"ephemeral_1h_input_tokens": 400}}  # fmt: skip
    put_lines(home, "claude-code", "a.jsonl", [ask_line(0), claude_line(1, **usage)])
    prices = prices_of(MODEL)
    assert prices is not None
    written = 600 * prices.cache_write_5m + 400 * prices.cache_write_1h
    cost = (prices.input + prices.output + written) / 1e6
    assert totals(holdfast)["cost"] == pytest.approx(cost)
    assert totals(holdfast)["cost"] == shown_cost(holdfast)


def shown_cost(holdfast: Any) -> float:
    """What `sessions show` says that the one session costs, after an import."""
    assert holdfast("import").code == 0
    return holdfast("sessions", "show", "last", "--json").reports[0]["totals"]["cost"]


def test_recorded_costs_count_only_if_the_price_is_not_known(holdfast: Any, home: Path) -> None:
    """The same rule in `usage` and in `sessions show`."""
    for model, expected in ((MODEL, (1000 * 3 + 100 * 15) / 1e6), ("no-such-model", 7.0)):
        usage = {"input": 1000, "output": 100, "cost": {"total": 7.0}}
        lines = [{"type": "session", "id": f"p-{model}", "timestamp": "2026-01-01T00:00:00Z",
                  "cwd": f"/work/{model}"},
                 {"type": "message", "id": "e1", "message": {"role": "user", "content": "Hi"}},
                 {"type": "message", "id": "e2", "message": {
                     "role": "assistant", "content": [{"type": "text", "text": "Hello"}],
                     "model": model, "usage": usage}}]  # fmt: skip
        path = put_lines(home, "pi", "a.jsonl", lines)
        assert totals(holdfast, "--project", model)["cost"] == pytest.approx(expected)
        assert shown_cost(holdfast) == pytest.approx(expected)
        path.unlink()
        assert totals(holdfast, "--project", model)["cost"] == pytest.approx(expected)


def test_a_total_is_not_priced_as_one_long_prompt(holdfast: Any, home: Path) -> None:
    """SWE-agent records only sums: its own cost counts, otherwise the price of short prompts."""
    for cost, expected in ((2.5, 2.5), (0, (3_000_000 * 3 + 1000 * 15) / 1e6)):
        run = {"history": [{"role": "user", "content": "Hi"}],
               "replay_config": {"agent": {"model": {"name": "claude-sonnet-4-20250514"}}},
               "info": {"model_stats": {"tokens_sent": 3_000_000, "tokens_received": 1000,
                                        "instance_cost": cost}}}  # fmt: skip
        path = home / ".claude/projects/app/run.traj"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(run))
        assert totals(holdfast)["cost"] == pytest.approx(expected)


def test_counts_of_codex_are_the_last_of_its_running_sums(holdfast: Any, home: Path) -> None:
    """Its events are cumulative, and come again if only a limit changed."""
    put_lines(home, "codex", "rollout-a.jsonl", codex_lines("c-1", [(100, 0, 9), (300, 100, 8)]))
    assert figures(totals(holdfast)) == (300, 17, 0, 100)


def test_a_resumed_or_forked_file_adds_only_what_is_new(holdfast: Any, home: Path) -> None:
    """It repeats earlier messages under another session id; Codex also under another time."""
    old = some_lines()
    usage = {"input_tokens": 4, "output_tokens": 2, "cache_read_input_tokens": 1100}
    resumed = [{**line, "sessionId": "s-2"} for line in old]
    resumed += [ask_line(5, "more", "s-2"), claude_line(6, "s-2", **usage)]
    put_lines(home, "claude-code", "a.jsonl", old)
    put_lines(home, "claude-code", "b.jsonl", resumed)
    first, added = [(100, 0, 9), (300, 100, 8)], [(500, 300, 7)]
    put_lines(home, "codex", "rollout-a.jsonl", codex_lines("c-1", first))
    forked = codex_lines("c-fork", [*first, *added], forked_from_id="c-1")
    put_lines(home, "codex", "rollout-b.jsonl", forked)
    (seen,) = holdfast("usage", "--by", "agent", "--json").reports
    rows = {row["agent"]: row for row in seen["rows"]}
    assert figures(rows["claude-code"]) == (34, 14, 1100, 2100)
    assert figures(rows["codex"]) == (500, 24, 0, 400)


def test_an_imported_session_is_not_counted_again(holdfast: Any, home: Path) -> None:
    """Neither beside its file; and it still counts after the file is gone."""
    path = put_lines(home, "claude-code", "a.jsonl", some_lines())
    before = totals(holdfast)
    assert holdfast("import").code == 0
    assert totals(holdfast) == before
    path.unlink()
    assert figures(totals(holdfast)) == figures(before)


def test_what_a_gateway_kept_of_an_agent_is_not_counted_again(holdfast: Any, home: Path) -> None:
    """The same figures at about the same time are the same answer; others count."""
    put_lines(home, "claude-code", "a.jsonl", some_lines())
    with open_store(home / "holdfast" / "sessions") as store:
        kept = store.create(NewSession(dialect="anthropic", source="claude-code", source_id="gw"))
        body = json.dumps({"role": "user", "content": "hello"}).encode()
        store.append(kept.id, [NewMessage(body=body, role="user")])
        near = {"time": 1768478520.0, "model": MODEL, "position": 1}  # 2026-01-15 12:02 UTC
        store.add_usage(
            kept.id,
            TurnUsage(input_tokens=1010, output_tokens=5, cache_write_tokens=1000, **near),
            TurnUsage(input_tokens=77, output_tokens=3, **near),
        )
    assert figures(totals(holdfast)) == (30 + 77, 12 + 3, 1100, 1000)


def test_what_was_read_is_kept_and_read_again_only_if_it_changed(holdfast: Any, home: Path) -> None:
    """In a private file that may be deleted or broken at any time."""
    path = put_lines(home, "claude-code", "a.jsonl", some_lines())
    first = totals(holdfast)
    cache = home / "holdfast" / FILE_NAME
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    about = path.stat()
    path.write_bytes(path.read_bytes().replace(b"answer 4", b"ANSWER 4").replace(b'": 7', b'": 9'))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert totals(holdfast) == first  # neither size nor time changed: it was not read
    os.utime(path)
    assert totals(holdfast)["output_tokens"] == first["output_tokens"] + 2
    cache.write_bytes(b"\x93nonsense")
    assert totals(holdfast)["output_tokens"] == first["output_tokens"] + 2
    cache.unlink()
    path.unlink()
    assert totals(holdfast)["requests"] == 0


def test_usage_by_period_and_key(holdfast: Any, home: Path) -> None:
    """Days by default; with a key alone the whole time; the span may be a date for people."""
    put_lines(home, "claude-code", "a.jsonl", some_lines())
    put_lines(home, "codex", "rollout-a.jsonl", codex_lines("c-1", [(100, 0, 9)]))
    day = holdfast("usage", "--json").reports[0]
    assert [row["period"] for row in day["rows"]] == ["2026-01-15", "2026-02-01"]
    week = holdfast("usage", "--weekly", "--json").reports[0]
    assert [row["period"] for row in week["rows"]] == ["2026-01-12", "2026-01-26"]
    month = holdfast("usage", "--monthly", "--by", "project", "--json").reports[0]
    assert [(row["period"], row["project"]) for row in month["rows"]] == [
        ("2026-01", "/work/app"), ("2026-02", "/work/tool")]  # fmt: skip
    late = holdfast("usage", "--since", "2026-02", "--by", "model", "--json").reports[0]
    assert [row["model"] for row in late["rows"]] == ["gpt-5.1"]
    assert totals(holdfast, "--since", "7d")["requests"] == 0
    assert totals(holdfast, "--project", "tool")["requests"] == 1
    assert holdfast("usage", "--project", "none").code == 2
    rows = list(csv.DictReader(io.StringIO(holdfast("usage", "--by", "session", "--csv").text)))
    assert {row["session"]: row["title"] for row in rows}["s-1"] == "Why is it red?"
    assert int(rows[0]["total_tokens"]) in (109, 2142)
    assert holdfast("usage", "--daily", "--weekly").code == 2


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_money_is_never_cut_off(
    holdfast: Any, home: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Nor is any line wider than the terminal; the same for the overview."""
    usage = {"input_tokens": 123_456_789, "output_tokens": 98_765_432,
             "cache_creation_input_tokens": 3, "cache_read_input_tokens": 987_654_321}  # fmt: skip
    lines = [ask_line(0, "A title that is much longer than any table is wide. " * 4),
             claude_line(1, **usage)]  # fmt: skip
    put_lines(home, "claude-code", "a.jsonl", lines)
    cost = f"${totals(holdfast)['cost']:,.2f}"
    monkeypatch.setenv("COLUMNS", str(columns))
    by_project = ["usage", "--weekly", "--by", "project"]
    for arguments in ([], ["usage"], ["usage", "--by", "session"], by_project):
        seen = holdfast(*arguments)
        assert (seen.code, seen.err) == (0, "")
        assert cost in seen.text
        long = [line for line in seen.text.splitlines() if len(line) > columns]
        assert not [line for line in long if "holdfast" not in line]


def test_the_output_is_plain_in_the_c_locale(home: Path) -> None:
    """No character becomes a question mark."""
    put_lines(home, "claude-code", "a.jsonl", some_lines())
    env = {**process_environment(), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    script = (
        "from holdfast.cli import run; "
        "run([]); run(['usage', '--by', 'session']); run(['watch', '--once'])"
    )
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
    text = done.stdout.decode("ascii").replace("Why is it red?", "")
    assert "Where the tokens went" in text
    assert "?" not in text


def test_called_with_nothing_it_shows_what_was_used(holdfast: Any, home: Path) -> None:
    """Agents, weeks, projects and models, where the tokens went, the cache, and what to try."""
    lines = [
        ask_line(0),
        {**claude_line(1, input_tokens=5000, output_tokens=5, cache_read_input_tokens=9000),
         "message": {**claude_line(1)["message"], "usage": {
             "input_tokens": 5000, "output_tokens": 5, "cache_read_input_tokens": 9000},
             "content": [{"type": "tool_use", "id": "t1", "name": "Read",
                          "input": {"file_path": "a.py"}}]}},
        ask_line(2, [{"type": "tool_result", "tool_use_id": "t1", "content": "word " * 400}]),
        {**claude_line(3), "message": {**claude_line(3)["message"], "usage": {
             "input_tokens": 9000, "output_tokens": 5, "cache_read_input_tokens": 6000},
             "content": [{"type": "tool_use", "id": "t2", "name": "Read",
                          "input": {"file_path": "a.py"}}]}},
        ask_line(4, [{"type": "tool_result", "tool_use_id": "t2", "content": "word " * 400}]),
        claude_line(5, input_tokens=9000, output_tokens=5, cache_read_input_tokens=6000),
    ]  # fmt: skip
    put_lines(home, "claude-code", "a.jsonl", lines)
    (seen,) = holdfast("--json").reports
    assert [row["agent"] for row in seen["agents"]] == ["claude-code"]
    assert [row["period"] for row in seen["weeks"]] == ["2026-01-12"]
    assert (seen["read_again"], seen["cache"]["misses"]) == (1, 1)
    assert seen["cache"]["missed_tokens"] == 3000
    shares = {one["name"]: one["tokens"] for one in seen["prompts"]}
    assert shares["Read results"] > 0
    assert shares["system prompt and tools"] > 3 * 13_000
    assert len(seen["commands"]) == 3
    text = holdfast().text
    for words in ("1 agent, 1 session", "Where the tokens went", "Cache", "Try next"):
        assert words in text
    assert holdfast("--json", "doctor").code == 2


def test_without_any_session_it_shows_its_help(holdfast: Any, home: Path) -> None:
    """And says that none was found."""
    seen = holdfast()
    assert seen.code == 0
    assert "No sessions of agents were found" in seen.text
    assert "Usage: holdfast" in seen.text


def test_what_a_compaction_dropped_and_the_agent_used_later(holdfast: Any, home: Path) -> None:
    """Facts that its summary does not have, and files that were read again."""
    used = {"output_tokens": 5, "cache_read_input_tokens": 0}

    def read(number: int, call: str, tokens: int) -> list[Any]:
        line = claude_line(number, input_tokens=tokens, **used)
        line["message"]["content"] = [
            {
                "type": "tool_use",
                "id": call,
                "name": "Read",
                "input": {"file_path": "/work/app/src/parser_core.py"},
            }
        ]
        result = [
            {
                "type": "tool_result",
                "tool_use_id": call,
                "content": "def parse_header_line(): retry_limit = 7351",
            }
        ]
        return [line, ask_line(number + 1, result)]  # fmt: skip

    last = claude_line(8, input_tokens=900, **used)
    last["message"]["content"] = [{"type": "text", "text":
        "parse_header_line in /work/app/src/parser_core.py has retry_limit 7351"}]  # fmt: skip
    lines = [ask_line(0), *read(1, "t1", 90_000),
             ask_line(5, "The user asked why it is red.", isCompactSummary=True),
             *read(6, "t2", 500), last]  # fmt: skip
    put_lines(home, "claude-code", "a.jsonl", lines)
    (seen,) = holdfast("--json").reports
    assert (seen["total"]["compactions"], seen["judged_compactions"]) == (1, 1)
    assert seen["read_after_compaction"] == 1
    assert seen["facts_used_later"] > seen["facts_kept"]
    assert "\nCompactions\n" in holdfast().text


def test_watch_shows_the_newest_session(holdfast: Any, home: Path) -> None:
    """The fill of the window, when it will be compacted, and what it cost."""
    lines = [ask_line(0)]
    for number in range(1, 9):
        lines += [claude_line(number, input_tokens=10_000 * number, output_tokens=50)]
    path = put_lines(home, "claude-code", "a.jsonl", lines)
    os.utime(put_lines(home, "claude-code", "old.jsonl", some_lines("s-0")), (1, 1))
    (seen,) = holdfast("watch", "--once", "--json").reports
    assert (seen["session"], seen["prompt_tokens"], seen["requests"]) == ("s-1", 80_000, 8)
    limit = seen["window_tokens"] - 33_000
    assert seen["compacts_at_tokens"] == limit
    assert seen["answers_left"] == round((limit - 80_000) / 10_000)
    line = holdfast("watch", "--once", path).text
    assert re.search(
        r"claude-code  app  \S+  .* compaction in about \d+ answers  \$\d+\.\d\d", line
    )
    assert holdfast("watch", "--once", home / "none.jsonl").code == 2


def test_watch_shows_a_stored_session_if_it_is_the_newest(holdfast: Any, home: Path) -> None:
    """An agent that leaves no file, behind the gateway."""
    os.utime(put_lines(home, "claude-code", "old.jsonl", some_lines("s-0")), (1, 1))
    with open_store(home / "holdfast" / "sessions") as store:
        kept = store.create(NewSession(dialect="anthropic", source="other", source_id="gw"))
        body = json.dumps({"role": "user", "content": "hello"}).encode()
        store.append(kept.id, [NewMessage(body=body, role="user")])
        store.add_usage(kept.id, TurnUsage(position=1, model=MODEL, input_tokens=77))
    (seen,) = holdfast("watch", "--once", "--json").reports
    assert (seen["session"], seen["prompt_tokens"], seen["title"]) == ("gw", 77, "hello")


def test_watch_prints_a_line_for_each_change_and_leaves_at_once(home: Path) -> None:
    """Without a terminal; Ctrl-C is answered with a word."""
    lines = [ask_line(0), claude_line(1, input_tokens=1000, output_tokens=5)]
    path = put_lines(home, "claude-code", "a.jsonl", lines)
    running = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "watch", str(path), "--every", "0.1", "--json"],
        env=process_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdout is not None
    assert json.loads(running.stdout.readline())["requests"] == 1
    with path.open("a") as file:
        file.write(json.dumps(claude_line(2, input_tokens=2000, output_tokens=5)) + "\n")
    assert json.loads(running.stdout.readline())["requests"] == 2
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert "stopped; `holdfast watch` starts again" in err


def test_a_status_line_of_what_the_agent_gives(holdfast: Any, home: Path) -> None:
    """Its own figures win; growth comes from the end of the transcript; nothing is needed."""
    lines = [ask_line(0)]
    for number in range(1, 9):
        lines += [claude_line(number, input_tokens=10_000 * number, output_tokens=50)]
    path = put_lines(home, "claude-code", "a.jsonl", lines)
    given = {
        "transcript_path": str(path), "model": {"id": MODEL, "display_name": "Sonnet"},
        "cost": {"total_cost_usd": 1.5}, "context_window": {"context_window_size": 200_000,
        "current_usage": {"input_tokens": 10_000, "cache_read_input_tokens": 80_000}},
    }  # fmt: skip
    seen = holdfast("statusline", stdin=json.dumps(given).encode())
    assert re.fullmatch(
        r"Sonnet  \S+ 45% of 200k  compaction in about \d answers  \$1\.50\n", seen.text
    )
    del given["cost"]
    told = holdfast("statusline", stdin=json.dumps(given).encode()).text
    assert re.search(r"answers  \$\d+\.\d\d\n", told)
    with path.open("a") as file:
        file.write(json.dumps(ask_line(9, "word " * 60_000)) + "\n")
        file.write(json.dumps(claude_line(10, input_tokens=95_000, output_tokens=5)) + "\n")
    told = holdfast("statusline", stdin=json.dumps(given).encode()).text
    assert "$" not in told  # only the end was read
    assert holdfast("statusline", stdin=b"{}").code == 0
    assert holdfast("statusline", stdin=b"nonsense").code == 2
