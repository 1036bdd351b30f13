"""Count what agents recorded in their files, by nothing but JSON and the price table.

    python bench/count_usage.py HOME                  sums by agent
    python bench/count_usage.py HOME --by model       by agent, model, session, project or day

It shares no code with Foldaway: `tests/cli/test_usage_count.py` compares the two to the token.
HOME is laid out as the agents do it; `lay_out` makes one of the shared native files. Prices come
from genai-prices and are reckoned by its own functions. What counts once: an answer of Claude Code
by its id and the size of its prompt, as its last line has it, on the day of its first line; a
running sum of Codex.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]
PLACES = {
    "claude-code": ".claude/projects/-work-app",
    "codex": ".codex/sessions/2026/05/01",
    "pi": ".pi/agent/sessions/app",
    "openhands": ".openhands/sessions",
    "mini-swe-agent": ".config/mini-swe-agent",
    "swe-agent": "work/trajectories",
    "aider": "work",
    "opencode": ".local/share/opencode/storage",
}
"""Where agents keep sessions below a home; `work` is the folder of a project."""
SOURCES = {"swe-agent": "swe-agent-traj", "aider": "aider-chat-history"}
AIDER = re.compile(r"> Tokens: ([\d,]+) sent, ([\d,]+) received\. Cost: \$([\d.]+) (?:re|m)")


@dataclass(frozen=True)
class Answer:
    """What one answer used; `plain` was neither read from the cache nor written to it."""

    agent: str
    session: str
    project: str
    model: str
    time: float | None
    plain: int
    output: int
    written: int = 0
    read: int = 0
    hour: int = 0
    recorded: float | None = None

    @property
    def day(self) -> str:
        return "" if self.time is None else f"{datetime.fromtimestamp(self.time):%Y-%m-%d}"

    @property
    def cost(self) -> float | None:
        found = list_price(self)
        return self.recorded if found is None else found


def lay_out(native: Path, home: Path) -> None:
    """Put the shared native files where their agents would have them."""
    for agent, place in PLACES.items():
        folder = home / place
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted((native / SOURCES.get(agent, agent)).glob("*.gz")):
            data = gzip.decompress(path.read_bytes())
            if agent == "opencode":
                _unpack_export(json.loads(data), folder)
            else:
                name = ".aider.chat.history.md" if agent == "aider" else path.name[:-3]
                (folder / name).write_bytes(data)


def _unpack_export(export: Row, folder: Path) -> None:
    """Write an export of OpenCode as its storage; ids that were removed get a number."""

    def put(value: Row, *parts: str) -> None:
        path = folder.joinpath(*parts).with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))

    own = export["info"]["id"]
    put(export["info"], "session", "project", own)
    for at, message in enumerate(export["messages"]):
        name = f"msg_{own}_{at:04}"
        put({**message["info"], "id": name}, "message", own, name)
        for number, part in enumerate(message["parts"]):
            put({**part, "id": f"prt_{number:04}"}, "part", name, f"prt_{number:04}")


def answers(home: Path) -> Iterator[Answer]:
    """Yield every answer of the agents below a home, once."""
    for agent, count in COUNTERS.items():
        yield from count(home / PLACES[agent])


def claude_code(folder: Path) -> Iterator[Answer]:
    found: dict[tuple[str, str], Answer] = {}
    for path in _files(folder):
        places: dict[str, str] = {}
        for line in _lines(path):
            message, session = line.get("message") or {}, line.get("sessionId", "")
            places.setdefault(session, line.get("cwd") or "")
            used = message.get("usage") if line.get("type") == "assistant" else None
            if used and any(type(value) is int and value for value in used.values()):
                key = session, message.get("id") or line["uuid"]
                first = found.get(key)
                found[key] = Answer(
                    "claude-code", session, places[session], message["model"],
                    first.time if first else _seconds(line["timestamp"]),
                    used.get("input_tokens", 0), used.get("output_tokens", 0),
                    used.get("cache_creation_input_tokens", 0),
                    used.get("cache_read_input_tokens", 0),
                    (used.get("cache_creation") or {}).get("ephemeral_1h_input_tokens", 0),
                )  # fmt: skip
    once: set[Any] = set()  # a resumed session repeats answers under an id of its own
    for (_, key), one in found.items():
        mark = key, one.model, one.plain, one.written, one.read
        if mark not in once:
            yield one
        once.add(mark)


def codex(folder: Path) -> Iterator[Answer]:
    for path in _files(folder):
        own = project = model = ""
        sums = (0, 0, 0)
        for line in _lines(path):
            payload = line.get("payload") or {}
            if line["type"] == "session_meta":
                own, project = payload["id"], payload["cwd"]
            elif line["type"] == "turn_context":
                model = payload["model"]
            elif payload.get("type") == "token_count" and payload.get("info"):
                total = payload["info"]["total_token_usage"]
                names = ("input_tokens", "cached_input_tokens", "output_tokens")
                now = total[names[0]], total[names[1]], total[names[2]]
                sent, read, output = (new - old for new, old in zip(now, sums, strict=True))
                sums = now
                if sent or output:
                    time = _seconds(line["timestamp"])
                    yield Answer("codex", own, project, model, time, sent - read, output, 0, read)


def pi(folder: Path) -> Iterator[Answer]:
    for path in _files(folder):
        head, *lines = _lines(path)
        for line in lines:
            message = line.get("message") or {}
            used = message.get("usage") or {}
            counts = [used.get(name, 0) for name in ("input", "output", "cacheWrite", "cacheRead")]
            if any(counts):
                yield Answer("pi", head["id"], head["cwd"], message["model"],
                             _seconds(line["timestamp"]), *counts,
                             recorded=used["cost"]["total"])  # fmt: skip


def opencode(folder: Path) -> Iterator[Answer]:
    for path in _files(folder / "session/project"):
        info = json.loads(path.read_bytes())
        for each in _files(folder / "message" / info["id"]):
            about = json.loads(each.read_bytes())
            used = about.get("tokens")
            if used:
                whole = used["input"] + used["output"] + sum(used["cache"].values())
                apart = used["reasoning"] if used["total"] == whole + used["reasoning"] else 0
                yield Answer(
                    "opencode", info["id"], info["directory"], about["modelID"],
                    about["time"]["created"] / 1000, used["input"], used["output"] + apart,
                    used["cache"]["write"], used["cache"]["read"], recorded=about["cost"],
                )  # fmt: skip


def openhands(folder: Path) -> Iterator[Answer]:
    for path in _files(folder):
        log = json.loads(path.read_bytes())
        if isinstance(log, dict):
            used, read = log["response"]["usage"], 0
            read = used["prompt_tokens_details"]["cached_tokens"]
            yield Answer("openhands", path.stem, "", log["response"]["model"], log["timestamp"],
                         used["prompt_tokens"] - read, used["completion_tokens"], 0, read,
                         recorded=log["cost"])  # fmt: skip


def swe_agent(folder: Path) -> Iterator[Answer]:
    for path in _files(folder):
        stats = json.loads(path.read_bytes()).get("info", {}).get("model_stats") or {}
        if stats.get("tokens_sent"):
            yield Answer("swe-agent", path.stem, "", "", None, stats["tokens_sent"],
                         stats["tokens_received"], recorded=stats["instance_cost"])  # fmt: skip


def aider(folder: Path) -> Iterator[Answer]:
    began, model, number = "", "", 1
    path = folder / ".aider.chat.history.md"
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("# aider chat started at "):
            began, model, number = line[24:].strip(), "", number + 1
        elif named := re.match(r"> (?:Model|Models|Main model): ([^ ,]+)", line):
            model = named[1]
        elif used := AIDER.match(line):
            sent, output = (int(used[at].replace(",", "")) for at in (1, 2))
            yield Answer("aider", f"{path.name}/{number} {began}", str(folder), model,
                         datetime.fromisoformat(began).timestamp(), sent, output,
                         recorded=float(used[3]))  # fmt: skip


COUNTERS: dict[str, Callable[[Path], Iterator[Answer]]] = {
    "claude-code": claude_code, "codex": codex, "pi": pi, "opencode": opencode,
    "openhands": openhands, "swe-agent": swe_agent, "aider": aider,
}  # fmt: skip


def list_price(one: Answer) -> float | None:
    """Return what an answer costs by genai-prices; None if it does not know the model."""
    from genai_prices import Usage, calc_price

    used = Usage(
        input_tokens=one.plain + one.written + one.read, output_tokens=one.output,
        cache_write_tokens=one.written, cache_write_1h_tokens=one.hour, cache_read_tokens=one.read,
    )  # fmt: skip
    seller, _, rest = one.model.partition("/")
    names = [(rest, seller), (one.model, None), (one.model.rpartition("/")[2], None)]
    for name, provider in names:
        if name:
            try:
                return float(calc_price(used, name, provider_id=provider).total_price)
            except LookupError:
                continue
    return None


def sums(found: Iterable[Answer], by: str) -> dict[str, list[float]]:
    """Return plain, output, written, read tokens, requests and cost by a field of the answers."""
    rows: defaultdict[str, list[float]] = defaultdict(lambda: [0] * 6)
    for one in found:
        counts = (one.plain, one.output, one.written, one.read, 1, one.cost or 0)
        row = rows[getattr(one, by)]
        row[:] = (have + more for have, more in zip(row, counts, strict=True))
    return dict(rows)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file())


def _lines(path: Path) -> Iterator[Row]:
    for line in path.read_text(errors="replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:  # torn
            continue
        if isinstance(value, dict):
            yield value


def _seconds(said: str) -> float:
    return datetime.fromisoformat(said).timestamp()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("home", type=Path)
    parser.add_argument("--by", default="agent")
    options = parser.parse_args()
    found = list(answers(options.home))
    rows = sums(found, options.by) | sums((replace(one, agent="all") for one in found), "agent")
    print(f"| {options.by} | input | output | written | read | requests | cost |")
    print("| --- |" + " --: |" * 6)
    for name, (*counts, cost) in sorted(rows.items(), key=lambda row: -row[1][-1]):
        print(f"| {name} | {' | '.join(f'{count:,}' for count in counts)} | ${cost:.4f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
