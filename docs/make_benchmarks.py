"""Write bench/notes/benchmarks.md from the files of a run, and of a larger one.

    python docs/make_benchmarks.py RUN [--full RUN2] [--notes DIR]

No figure of the page is typed: all are computed from `run.json`, `rows.jsonl` and `summary.json`.
The plots are copied to pictures/benchmarks-NAME.png beside it, with fewer colors.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))


from msgspec import Struct
from small_pictures import shrink

from foldaway.errors import FoldawayError
from foldaway.lab.figures import FAULTS, SPEED, glossary, title_of
from foldaway.lab.output import read_summary
from foldaway.lab.report.tables import (
    COLUMNS,
    command_of,
    failures,
    fault_rows,
    format_cell,
    groups,
    title,
)
from foldaway.lab.report.verdict import (
    LEAST_SESSIONS,
    MAIN_SCORES,
    ScoreDifference,
    ScoreFinding,
    compare_at_budget,
    compare_strategies,
    describe_over_budget,
    drift_changes,
    format_difference,
    format_interval,
    format_number,
    list_drifts,
    list_losses,
    list_own,
    list_rivals,
    write_headline,
)
from foldaway.lab.results import LONG_LIVED, OURS, RunSummary, ScoreLine, ScoreRow
from foldaway.lab.runs import read_rows

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "benchmarks-"
CLEAN = re.compile(r"^How clean the test half is: (.+)$", re.MULTILINE)
AIMS = (
    ("files R", 0.98), ("files P", 0.98), ("errors", 0.9), ("constraints", 0.95), ("reach", 0.97),
)  # fmt: skip
"""Least scores of Foldaway without a model, at 20 % of the tokens."""
DRIFT_AIM = -0.05
CANNOT_SHOW = (
    "Whether the agent would have solved its task: no model and no environment was run. What is "
    "needed is judged by what the agent did with everything in view. Facts are recognized by their "
    "shapes, so an idea in plain prose counts only through copy4. With fewer than some twenty "
    "sessions of a family, the true intervals are wider than those shown."
)
WHY = (
    "- **Short sessions** (SWE-agent, tau-bench, tau2, SQL): the live request, the newest messages "
    "and the frame of a summary always stay, and are more than the budget by themselves. All "
    "others then get as many tokens, and everybody keeps most of a short text.",
    "- **copy4** rewards verbatim text near the cut, and keep-tail gives it everything.",
    "- **Few sessions**: with nine of a family only large differences are beyond chance.",
    "- **reach** in the airline dialogues: probably because all bookings are described in the same "
    "words.",
    "",
)
CAPTIONS = {
    "scores": "All strategies at the main budget; hollow: more tokens than allowed",
    "budget": "Score against the tokens that were really taken",
    "signals": "Far facts, files, open errors and demands at the main budget",
    "reach": "Needed facts kept, found again by search, lost",
    "drift": "After 1, 2, 4 and 8 compactions",
    "cost": "Bound recall against net cost",
    "speed": "CPU milliseconds per 100,000 tokens, a time",
}


class Run(Struct, frozen=True):
    """A run of the lab as read from its folder."""

    summary: RunSummary
    rows: list[ScoreRow]
    found: list[ScoreDifference]

    @property
    def main(self) -> list[ScoreLine]:
        """The lines of the main budget."""
        main = self.summary.manifest.main
        return [line for line in self.summary.lines if (line.part, line.budget) == ("cut", main)]

    @property
    def share(self) -> str:
        """The main budget in words."""
        return f"{self.summary.manifest.main * 100:g} %"


def main() -> int:
    """Write the page and its pictures; 2 where a folder holds no run."""
    parser = argparse.ArgumentParser(description="Write the note on the benchmarks from a run.")
    parser.add_argument("run", type=Path)
    parser.add_argument("--full", type=Path, help="a run of more sessions, shown as well")
    notes = ROOT / "bench" / "notes"
    parser.add_argument("--notes", type=Path, default=notes, help="where the page goes")
    options = parser.parse_args()
    try:
        run = read(options.run)
        full = read(options.full) if options.full else None
    except FoldawayError as error:
        sys.stderr.write(f"make_benchmarks: {error}\n")
        return 2
    names = copy_plots(options.run / "plots", options.notes / "pictures")
    text = "\n".join(page(run, full, names)) + "\n"
    (options.notes / "benchmarks.md").write_text(text, encoding="utf-8")
    return 0


def copy_plots(folder: Path, pictures: Path) -> list[str]:
    """Copy the plots into the documentation, those of an earlier run away; return their names."""
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob(f"{PREFIX}*.*"):
        old.unlink()
    names = [name for name in CAPTIONS if (folder / f"{name}.png").exists()]
    for name in names:
        drawn = (folder / f"{name}.png").read_bytes()
        (pictures / f"{PREFIX}{name}.png").write_bytes(shrink(drawn))
    return names


def page(run: Run, full: Run | None, plots: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# All tables of the benchmarks"
    yield ""
    yield ("Made by `docs/make_benchmarks.py` from the files of a run; no figure is typed by hand.")
    yield ""
    yield from part(f"Verdict at {run.share}", verdict(run))
    yield from part("Where Foldaway loses", where_it_loses(run))
    yield from part("Aims", aims(run))
    yield from part("Why some are missed", WHY)
    yield from part("The halves, and how clean they are", halves(run))
    yield from part(f"Results at {run.share}", legend())
    for lines in groups(run.main).values():
        yield from table(lines)
    yield from part("Faults", faults(run))
    if list_drifts(run.rows, MAIN_SCORES):
        yield from part("Compactions in a row", again_and_again(run))
    if list_own(run.found):
        yield from part("Beside the agents' own summaries", beside_own(run))
        for lines in groups([one for one in run.summary.lines if one.part == "own"]).values():
            yield from table(lines)
    if full is not None:
        yield from the_whole(full)
    yield from part("Method", method(run))
    yield from part("Data", data(run))
    yield from part("What it cannot show", [CANNOT_SHOW, ""])
    for name in CAPTIONS:
        yield from picture(name, plots)
    yield from part("Commands", commands(run, full))


def part(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a part under its heading."""
    yield f"## {title}"
    yield ""
    yield from lines


def aims(run: Run) -> Iterator[str]:
    """Yield the aims of Foldaway without a model and whether they are reached."""
    ours = [line for line in run.main if line.strategy == OURS and line.figures]
    if not ours:
        return
    yield "Foldaway without a model at the main budget; ✓ by the mean."
    yield ""
    yield f"| aim | {' | '.join(line.family for line in ours)} |"
    yield "| --- |" + " --- |" * len(ours)
    for score in MAIN_SCORES:
        found = compare_at_budget(run.summary.lines, run.found, run.summary.manifest.main, [score])
        cells = [_led([one for one in found if one.family == line.family]) for line in ours]
        yield f"| {title_of(score)}: ahead of all equals | {' | '.join(cells)} |"
    for name, least in AIMS:
        cells = [
            "–" if name not in line.figures else
            f"{format_interval(line.figures[name])} {_tick(line.figures[name].mean >= least)}"
            for line in ours
        ]  # fmt: skip
        yield f"| {title_of(name)} ≥ {least:g} | {' | '.join(cells)} |"
    for name in FAULTS:
        cells = [f"{line.counts.get(name, 0)} {_tick(not line.counts.get(name))}" for line in ours]
        yield f"| {name} = 0 | {' | '.join(cells)} |"
    broken = [None if line.violations is None else sum(line.violations.values()) for line in ours]
    cells = ["–" if count is None else f"{count} {_tick(not count)}" for count in broken]
    yield f"| broken rules of providers = 0 | {' | '.join(cells)} |"
    for score in MAIN_SCORES:
        changes = drift_changes(run.rows, score)
        by = {line.family: changes.get((line.family, LONG_LIVED)) for line in ours}
        cells = [
            "–"
            if found is None
            else f"{format_difference(found[1])} {_tick(found[1].mean >= DRIFT_AIM)}"
            for found in by.values()
        ]
        yield f"| {title_of(score)}: change over compactions ≥ −0.05 | {' | '.join(cells)} |"
    yield ""


def _led(found: Sequence[ScoreFinding]) -> str:
    """Return how many of its equals Foldaway is ahead of in a family."""
    if not found or not found[0].against:
        return "–"
    ahead, all_of = len(found[0].of("ahead")), len(found[0].against)
    if len(found[0].of("too few")) == all_of:
        return "too few sessions"
    return f"{ahead} of {all_of} {_tick(ahead == all_of)}"


def _tick(good: bool) -> str:
    return "✓" if good else "✗"


def method(run: Run) -> Iterator[str]:
    """Yield how it was measured."""
    manifest = run.summary.manifest
    budgets = ", ".join(f"{budget * 100:g}" for budget in manifest.budgets)
    yield (
        "Each session is cut at 40, 60 and 80 % of its text, just before an agent message. Each "
        f"strategy sees what came before and gets {budgets} % of its tokens (peers "
        f"{', '.join(f'{budget * 100:g}' for budget in manifest.peer_budgets) or '–'} %), without "
        "system prompt and tool definitions. What the agent used after the cut is the truth, found "
        "by code that shares nothing with Foldaway's own. If Foldaway cannot go as low as asked, "
        "all others get as many tokens as it took. More: [lab.md](../../docs/lab.md), the peers: "
        "[lab-peers.md](lab-peers.md)."
    )
    yield ""


def data(run: Run) -> Iterator[str]:
    """Yield what was measured on."""
    sizes: dict[str, dict[tuple[str, int], int]] = {}
    for row in run.rows:
        if row.part == "cut":
            sizes.setdefault(row.family, {})[row.session, row.cut] = row.tokens_before
    yield "| family | sessions | cuts | tokens before a cut, middle | most |"
    yield "| --- | --- | --- | --- | --- |"
    for family, found in sorted(sizes.items()):
        sessions = len({session for session, _ in found})
        middle, most = round(median(found.values())), max(found.values())
        yield f"| {family} | {sessions} | {len(found)} | {middle:,} | {most:,} |"
    yield ""


def halves(run: Run) -> Iterator[str]:
    """Yield of which half the sessions are, and how clean the test half is by bench/README.md."""
    found = CLEAN.search((ROOT / "bench" / "README.md").read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit("make_benchmarks: bench/README.md does not say how clean the halves are")
    split = json.loads((ROOT / "bench" / "quality_split.json").read_text(encoding="utf-8"))
    known = {name: half for half, names in split["sessions"].items() for name in names}
    counts = Counter(known.get(one, "") for one in run.summary.manifest.sessions)
    yield (
        "Sessions are parted into a tuning half, on which Foldaway is improved, and a test half "
        f"(`bench/quality_split.json`). Of this run's sessions {counts['test']} are of the test "
        f"half, {counts['tuning']} of the tuning half, {counts['']} of neither."
    )
    yield ""
    yield f"How clean the test half is: {found[1]}".replace("](../docs/", "](../../docs/")
    yield ""


def picture(name: str, plots: Sequence[str]) -> Iterator[str]:
    """Yield a plot, where there is one."""
    if name in plots:
        yield f"![{CAPTIONS[name]}](pictures/{PREFIX}{name}.png)"
        yield ""


def the_whole(full: Run) -> Iterator[str]:
    """Yield verdict, losses and tables of the larger run."""
    sessions = len(full.summary.manifest.sessions)
    yield from part(f"The whole half: {sessions} sessions, at {full.share}", verdict(full))
    yield from where_it_loses(full)
    for lines in groups(full.main).values():
        yield from table(lines)


def commands(run: Run, full: Run | None) -> Iterator[str]:
    """Yield how to make all this again."""
    yield "```sh"
    yield "make bench          # the frozen sample, then this page"
    yield "make bench-quick    # minutes, on the tuning half"
    yield "make bench-full     # the whole test half, and the speed of the parts"
    yield "```"
    yield ""
    with_peers = any(one and one.summary.manifest.peers for one in (run, full))
    also = "; `bench/lab.py` adds the peers, at 20 %" if with_peers else ""
    yield f"As the lab was asked, by the run's own manifest{also}:"
    yield ""
    yield "```sh"
    for one in (run, full):
        if one is not None:
            manifest = one.summary.manifest
            yield f"# {len(manifest.sessions)} sessions, digest {manifest.digest}"
            yield command_of(manifest)
    yield "```"


def read(folder: Path) -> Run:
    """Return a run; raises `NotReadable`."""
    summary = read_summary(folder)
    rows = [row for rows in read_rows(folder).values() for row in rows]
    return Run(summary, rows, compare_strategies(rows))


def verdict(run: Run) -> Iterator[str]:
    """Yield the verdict in words, and the differences that it stands on."""
    found = compare_at_budget(run.summary.lines, run.found, run.summary.manifest.main, MAIN_SCORES)
    over = compare_at_budget(
        run.summary.lines, run.found, run.summary.manifest.main, MAIN_SCORES, "over"
    )
    for score in MAIN_SCORES:
        yield f"- {write_headline(found, score)} {describe_over_budget(over, score)}".rstrip()
    yield ""
    yield (
        "“Ahead” and “behind” mean that the 95 % interval of the difference, session by session, "
        f"is wholly on one side of zero, with at least {LEAST_SESSIONS} sessions. Foldaway runs "
        "without a model. A strategy that takes more than it was allowed in more than one of ten "
        "cuts, or that keeps no usable text, is reported separately."
    )
    yield ""
    others = dict.fromkeys(one.other for finding in (*found, *over) for one in finding.against)
    for score in MAIN_SCORES:
        mine = {one.family: one for one in found if one.figure == score}
        above = {one.family: one for one in over if one.figure == score}
        if not mine:
            continue
        yield (
            f"Foldaway minus the others, {title_of(score)} (bold: beyond chance; †: took more "
            "tokens than allowed):"
        )
        yield ""
        yield f"| | {' | '.join(map(_flat, mine))} |"
        yield "| --- |" + " --- |" * len(mine)
        yield f"| foldaway | {' | '.join(format_interval(one.ours) for one in mine.values())} |"
        for other in others:
            cells = [
                _difference(one.against, other, "")
                or _difference(above[one.family].against, other, " †")
                or "–"
                for one in mine.values()
            ]
            yield f"| {_flat(other)} | {' | '.join(cells)} |"
        yield ""


def _difference(against: Sequence[ScoreDifference], other: str, mark: str) -> str:
    for one in against:
        if one.other == other:
            said = format_difference(one.by)
            bold = "**" if one.standing in ("ahead", "behind") else ""
            return f"{bold}{said}{bold}{mark}"
    return ""


def where_it_loses(run: Run) -> Iterator[str]:
    """Yield what speaks against Foldaway."""
    for family, sentences in list_losses(run.summary, run.found).items():
        yield f"- **{family}**" + ("" if sentences else ": nowhere beyond chance, among equals.")
        for sentence in sentences:
            yield f"  - {sentence}"
    yield ""
    yield "With more tokens than allowed, or without usable text:"
    yield ""
    for family in dict.fromkeys(line.family for line in run.main):
        rows = [*list_rivals(run.summary, run.found, family, "over"),
                *list_rivals(run.summary, run.found, family, "adversary")]  # fmt: skip
        yield f"- **{family}**" + ("" if rows else ": nobody is ahead.")
        for sentence in rows:
            yield f"  - {sentence}"
    yield ""


def legend() -> Iterator[str]:
    """Yield what the columns say."""
    for name in (*COLUMNS, SPEED):
        one = glossary()[name]
        yield f"- **{name}**: {one.says} *{one.example}*"
    yield ""


def table(lines: Sequence[ScoreLine]) -> Iterator[str]:
    """Yield a table of one family, with intervals."""
    most = max(line.sessions for line in lines)
    there = [name for name in COLUMNS if any(name in line.figures for line in lines)]
    yield f"### {title(lines[0])} ({most} session{'s' * (most != 1)})"
    yield ""
    yield f"| | {' | '.join(there)} | {SPEED} (a time) |"
    yield "| --- |" + " --- |" * (len(there) + 1)
    for line in lines:
        name = f"**{line.strategy}**" if line.strategy.startswith(OURS) else _flat(line.strategy)
        if not line.figures:
            yield f"| {name} | {_flat(line.failed)} |" + " |" * len(there)
            continue
        speed = line.figures.get(SPEED)
        cells = [format_cell(line.figures.get(one)) for one in there]
        time = "–" if speed is None else format_number(speed.mean)
        yield f"| {name} | {' | '.join(cells)} | {time} |"
    yield ""


def faults(run: Run) -> Iterator[str]:
    """Yield what must not be, who failed, and what was skipped."""
    meant = "; ".join(f"{name}: {what}" for name, what in FAULTS.items())
    yield f"Over all cuts and budgets. {meant}."
    yield ""
    yield f"| | {' | '.join(FAULTS)} | broken rules of providers | over budget |"
    yield "| --- |" + " --- |" * (len(FAULTS) + 2)
    for row in fault_rows([row for row in run.rows if row.part == "cut"]):
        counts = " | ".join(map(str, row.counts))
        yield f"| {_flat(row.strategy)} | {counts} | {row.violations} | {row.over} |"
    yield ""
    said = [f"- {name} failed: {_flat(reason)} ({_flat(places)})"
            for name, reason, places in failures(run.summary.lines)]  # fmt: skip
    if run.summary.skipped:
        said.append(f"- {len(run.summary.skipped)} files or lines were not readable and skipped.")
    yield from [*said, ""] if said else ["Nothing failed, and nothing was skipped.", ""]


def again_and_again(run: Run) -> Iterator[str]:
    """Yield what compactions in a row change."""
    yield (
        "What the most compactions change beside a single one, over the sessions that are long "
        "enough. `foldaway-long-lived` keeps its state, as in an agent; `foldaway` knows only "
        "the transcript that the last compaction left."
    )
    yield ""
    scores = " | ".join(title_of(score) for score in MAIN_SCORES)
    yield f"| family | strategy | compactions | sessions | {scores} |"
    yield "| --- |" + " --- |" * (3 + len(MAIN_SCORES))
    for row in list_drifts(run.rows, MAIN_SCORES):
        yield f"| {' | '.join(map(_flat, row))} |"
    yield ""


def beside_own(run: Run) -> Iterator[str]:
    """Yield how Foldaway stands to summaries that agents wrote themselves."""
    yield "In as many tokens as the summary that the agent of the session wrote itself:"
    yield ""
    for sentence in list_own(run.found):
        yield f"- {sentence}"
    yield ""


def _flat(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


if __name__ == "__main__":
    sys.exit(main())
