"""What a language model makes of the contexts that strategies leave, on a half of the sessions.

    python bench/reader.py texts.npz --tokenizer tokenizer.json     write what is to be scored
    python bench/reader.py --losses losses.npz                      show what came back
    python bench/reader.py --model http://localhost:8000            or ask a model at once
    python bench/reader.py --set ~/.claude/projects --model …       on sessions of your own

`texts.npz` holds token ids: for each session and strategy the context (`KEY|SYSTEM`), the real
continuation (`KEY|after`) with marks on what the agent wrote (`KEY|marks`), and a `table`. What
scores it writes the losses of the marked tokens under the same names. The writer is the `foldaway`
of PYTHONPATH, or of this tree if that is not set.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from msgspec.structs import replace

from foldaway.lab.runs import RunSettings
from foldaway.lab.scoring.session import LabSession
from foldaway.lab.strategies import PLAIN, choose_strategies
from halves.own_lab import measured_tree  # first: it decides which tree is measured
from halves.sessions import chosen_sessions, find_data, for_lab
from halves.split import read_split
from reader_cases import READ_STRATEGIES, ReaderLosses, reader_cases, reader_lines
from reader_models import ask, open_reader, read_losses, write_texts

GROUPS = {
    "coding": (("claude-code", "codex", "opencode", "swe-agent"), 8_000, 44_000),
    "dialogue": (("tau-bench", "tau2"), 2_500, 44_000),
}
"""Families, and the sizes of sessions that small models can read to 60 %."""


def main() -> int:
    options = _options()
    if options.losses:
        show(read_losses(Path(options.losses)))
        return 0
    data = find_data()
    if not options.texts and not options.model:
        print("skipped: neither a file nor --model is given")
        return 0
    if data is None and not options.set:
        print("skipped: no data; set FOLDAWAY_DATA, or name sessions with --set")
        return 0
    print(f"writer: {measured_tree()}", file=sys.stderr)
    sessions: list[LabSession] = []
    if options.set:
        least, most = options.min_tokens, options.max_tokens
        asked = RunSettings(budgets=(), min_tokens=least, limit=options.limit or None)
        sample = asked.read_sample([Path(name) for name in options.set])
        sessions = [one for one in sample.sessions if one.tokens <= most]
        options.group = []
    for group in options.group:
        families, least, most = GROUPS[group]
        half = "test" if options.half == "test" else "tuning"
        rows = chosen_sessions(data, read_split(), half, families, options.limit)
        sessions += [replace(for_lab(row), family=group) for row in rows
                     if least <= row.tokens <= most]  # fmt: skip
    cases = reader_cases(sessions, choose_strategies(READ_STRATEGIES, PLAIN), options.budget / 100)
    if options.texts:
        count = write_texts(Path(options.texts), cases, options.tokenizer)
        print(f"{count} sessions written to {options.texts}")
        return 0
    model = open_reader(options.model, options.model_name)
    show([ask(model, case) for case in cases])
    return 0


def show(rows: list[ReaderLosses]) -> None:
    """Print a line for each strategy: its tokens, its loss, and what it keeps of the gain."""
    print(f"{'':10}{'':16}{'n':>4}{'used':>7}{'loss':>8}   kept of the gain      minus Foldaway's")
    for line in reader_lines(rows):
        kept, behind = line.kept, line.behind
        share = f"{kept.share:.3f} [{kept.low:.2f}, {kept.high:.2f}]" if kept else "–"
        minus = f"{behind.mean:+.3f} [{behind.low:+.3f}, {behind.high:+.3f}]" if behind else ""
        figures = f"{line.sessions:4}{line.used:7.2f}{line.loss:8.3f}"
        print(f"{line.family:10}{line.system:16}{figures}   {share:21} {minus}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A language model reads what strategies leave.")
    add = parser.add_argument
    add("texts", nargs="?", default="", metavar="FILE", help="NAME.npz (token ids) or NAME.jsonl")
    add("--tokenizer", default="", metavar="FILE", help="tokenizer.json of the model, for NAME.npz")
    add("--losses", default="", metavar="FILE", help="show what a model said about such a file")
    add("--model", default="", metavar="WHERE", help="http://HOST:PORT, or a folder with a model")
    add("--model-name", default="", metavar="NAME", help="which model of that server")
    add("--set", nargs="+", metavar="FILE", help="sessions of your own, as `foldaway lab run`")
    add("--min-tokens", type=int, default=8_000, metavar="N", help="of a session of --set")
    add("--max-tokens", type=int, default=44_000, metavar="N")
    add("--half", choices=["tune", "test"], default="tune")
    add("--group", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    add("--limit", type=int, default=0, metavar="N", help="at most N sessions of each family")
    add("--budget", type=float, default=20, metavar="PERCENT")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
