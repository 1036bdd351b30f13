"""Write a store as an earlier version wrote it, with what is expected of it: `schema-N.tar.gz`.

Run it with the Python of the version whose store is wanted, from a checkout of its commit:

    git worktree add /tmp/earlier COMMIT && cd /tmp/earlier && make check
    .venv/bin/python THIS_FILE PACKAGE schema-N.tar.gz

PACKAGE is the name of the package in that version. The archives here are from d34cbd1 (schema 1),
888dea72 (schema 2), c5c99ea3 (schema 3), 90e92339 (schema 4), 9f26c043 (schema 5) and 78573398
(schema 6). Inside are `store.db`, `agents/` (the folder that was imported), and `expected.json`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import sys
import tarfile
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

FILES = ("aider.chat.history.md", "claude-code.jsonl", "codex.jsonl", "mini-swe-agent.traj.json",
         "opencode.json", "openhands-events.json", "pi.jsonl")  # fmt: skip
HERE = Path(__file__).resolve().parent
PLACE = Path("/tmp/foldaway-earlier")
"""Ids of schema 1 hold the path of a file: one that tells nothing about a machine."""
TOPICS = ("parser", "scheduler", "cache", "router", "exporter", "index", "queue", "session")


def long_session(name: str) -> list[dict[str, Any]]:
    """Return a conversation with rules, calls, results and answers that is worth a compaction."""
    made: list[dict[str, Any]] = [
        {"role": "system", "content": f"You maintain {name}."},
        {
            "role": "user",
            "content": f"Rename the settings of {name}. Never touch the file LICENSE.",
        },
    ]
    for at in range(18):
        topic, call = TOPICS[at % len(TOPICS)], f"call_{name}_{at}"
        path = f"src/{name}/{topic}_{at}.py"
        lines = [f"{number}: {topic}_{number * (at + 3)} = read({name!r}, {number})"
                 for number in range(1, 18)]  # fmt: skip
        made += [
            {"role": "assistant", "content": f"I read {path}.", "tool_calls": [
                {"id": call, "type": "function", "function": {
                    "name": "read_file", "arguments": json.dumps({"path": path})}}]},
            {"role": "tool", "tool_call_id": call, "content": "\n".join(lines)},
        ]  # fmt: skip
        if at % 2 == 1:
            made += [
                {"role": "assistant", "content": f"The setting of {path} is now {topic}_limit."},
                {"role": "user", "content": f"Good. Go on with the next file, word{at}zebra."},
            ]
    return made


def write_agents(folder: Path) -> None:
    """Write the folder that is imported."""
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copy(HERE.parents[1] / "agents" / "importers" / "data" / name, folder)
    (folder / "alpha.json").write_text(json.dumps({"messages": long_session("alpha")}))
    twin = {"conversations": [{"from": "human", "value": "How far is the moon?"},
                              {"from": "gpt", "value": "384,400 km."}]}  # fmt: skip
    other = {"conversations": [{"from": "human", "value": "How far is the moon?"},
                               {"from": "gpt", "value": "Far."}]}  # fmt: skip
    rows = [twin, other, twin, twin]
    (folder / "twins.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def main(package: str, target: str) -> None:
    """Import, compact, pin, branch, report usage; then write down how it is."""
    shutil.rmtree(PLACE, ignore_errors=True)
    write_agents(PLACE / "agents")
    where = str(PLACE / "store.db")
    command = f"{sys.executable} -P -m {package} import {PLACE}/agents --store {where}"
    if os.system(f"cd {PLACE} && HOME={PLACE} {command} >/dev/null"):
        raise SystemExit("the import failed")
    values = import_module(f"{package}.stores.values")
    session_type = import_module(f"{package}.sessions.session").Session
    resume = getattr(session_type, "open", getattr(session_type, "resume", session_type))
    with import_module(f"{package}.stores.open").open_store(where) as store:
        infos = store.sessions(values.SessionFilter(), most=1000).sessions
        [long] = [info.id for info in infos if info.length > 40]
        session = resume(store, long)
        session.pin(3, "the first file")
        for keep_last in (5, 3):
            report = session.compact(force=True, keep_last=keep_last)
            assert report.folded, report
            session.append({"role": "user", "content": f"After {keep_last}: go on."},
                           {"role": "assistant", "content": "Yes."})  # fmt: skip
        store.add_usage(long, values.TurnUsage(
            position=4, model="gpt-5", input_tokens=1000, output_tokens=50, cache_read_tokens=800,
            cost=0.25))  # fmt: skip
        branch = resume(store, long).branch(6, title="another way")
        branch.append({"role": "user", "content": "Try it another way."})
        store.change(long, title="the second title")
        found = store.sessions(values.SessionFilter(), most=1000).sessions
        told = [told_of(store, resume, info) for info in found]
    write_archive(target, json.dumps(told, indent=1).encode())


def told_of(store: Any, resume: Any, info: Any) -> dict[str, Any]:
    """Return what a session is to every later version."""
    rows, session = store.read(info.id), resume(store, info.id)
    refs = references(store.where, info.id)
    return {
        "id": info.id, "source": info.source, "source_id": info.source_id, "title": info.title,
        "kind": info.kind, "parent": info.parent_id, "view": info.view,
        "compactions": info.compactions,
        "roles": [row.role for row in rows],
        "keys": [row.key for row in rows],
        "bodies": [hashlib.sha256(row.body).hexdigest() for row in rows],
        "shown": list(map(digest, session.messages)),
        "pins": [[pin.position, pin.note] for pin in store.pins(info.id)],
        "usage": [[one.position, one.input_tokens, one.cost] for one in store.usage(info.id)],
        "recalled": {ref: digest(session.recall(ref)) for ref in refs},
    }  # fmt: skip


def digest(value: Any) -> str:
    """Return a hash of what a session shows or recalls."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def references(where: str, session_id: str) -> list[str]:
    """Return all references of a session; not every version has a method for it."""
    with closing(sqlite3.connect(where)) as database:
        rows = database.execute(
            "SELECT ref FROM refs JOIN sessions s ON s.key = session AND s.id = ? ORDER BY ref",
            (session_id,),
        ).fetchall()
    return [ref for (ref,) in rows]


def write_archive(target: str, expected: bytes) -> None:
    """Pack the folder; nothing in it tells when and by whom."""
    (PLACE / "expected.json").write_bytes(expected)
    with tarfile.open(target, "w:gz", compresslevel=9) as archive:
        for path in sorted(PLACE.rglob("*")):
            if path.is_file() and path.relative_to(PLACE).parts[0] in (
                "store.db", "agents", "expected.json"
            ):  # fmt: skip
                entry = tarfile.TarInfo(str(path.relative_to(PLACE)))
                entry.size = path.stat().st_size
                archive.addfile(entry, io.BytesIO(path.read_bytes()))
    shutil.rmtree(PLACE)


if __name__ == "__main__":
    main(*sys.argv[1:])
