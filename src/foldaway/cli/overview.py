"""`foldaway` without arguments: what your agents used, by week and project, and the saving."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import to_builtins

from foldaway.cli.draw import Picture, Piece
from foldaway.cli.files import count_of, format_time
from foldaway.cli.inputs import print_json
from foldaway.cli.usage import Gathered, gather, label_of, late_bar
from foldaway.usage import Overview, UsageRow, judge, money, overview, short

JUDGING_SECONDS = 8.0
"""How long sessions are replayed; the first look at one's data should take less than a minute."""
SHOWN_AGENTS = 5
SHOWN_ROWS = 4
SHOWN_WEEKS = 5
"""With everything else they fill a screen; `foldaway usage` has all of them."""
BAR_COLUMNS = 20
LEAST_SHARE = 0.01
"""A smaller saving counts as none."""
_NOWHERE = {"config": None, "profile": None, "home": None, "store": None}
_WHY = {
    "usage": "each session, day, agent or model",
    "inspect": "the most expensive session",
    "sessions": "what is stored",
    "import": "make all sessions searchable",
    "search": "find words in stored sessions",
}
"""What the commands that are proposed do."""
_FIRST = (
    ("foldaway run claude", "an agent inside its window"),
    ("foldaway install", "hooks and search for agents"),
    ("foldaway compact FILE -o OUT", "make a conversation smaller"),
    ("foldaway chat --demo", "see it work without a key (extra: chat)"),
    ("foldaway import --help", "agents that it can read"),
    ("foldaway --help", "all commands"),
)
"""What can be done without a session of an agent."""


def show_overview(*, as_json: bool) -> int:
    """Read everything on this machine and print one look at it."""
    with gather(_NOWHERE) as found:
        with late_bar("replaying the largest sessions", is_bytes=False) as tell:
            judged = judge(found.native, found.reader, found.prices, JUDGING_SECONDS, tell)
        made = overview(
            found.answers.sessions(silent=True),
            found.answers,
            judged,
            found.prices,
            problems=len(found.reader.problems),
            is_stored=found.is_stored,
        )
    if as_json:
        print_json({**to_builtins(made), "notes": found.notes})
    elif not made.agents:
        draw_first_steps()
    else:
        draw_overview(made, found)
    return 0


def draw_first_steps() -> None:
    """Print what to do on a machine without any session."""
    picture = Picture()
    picture.paragraph("No sessions of agents were found on this machine. Try one of these:")
    picture.blank()
    picture.table("lw", [(command, (why, "dim")) for command, why in _FIRST])


def draw_overview(made: Overview, found: Gathered) -> None:
    """Print sums, a table by week and one by project, what could be saved, and what is next."""
    picture, whole = Picture(), made.total
    picture.paragraph(
        (
            f"{count_of(len(made.agents), 'agent')}, {count_of(whole.sessions, 'session')}, "
            f"{count_of(whole.requests, 'request')}, {short(whole.total_tokens)} tokens, "
            f"{whole.dollars or 'no usage recorded'}",
            "bold",
        )
    )
    picture.paragraph((_agents(made), "dim"))
    weeks = [(str(row.period) or "undated", row) for row in made.weeks]
    _bars(picture, "week of", weeks[-SHOWN_WEEKS:], len(weeks) - SHOWN_WEEKS, "--weekly")
    names = label_of(made.projects, "project")
    projects = [(names[row.key("project")], row) for row in made.projects]
    hidden = len(projects) - SHOWN_ROWS
    _bars(picture, "project", projects[:SHOWN_ROWS], hidden, "--by project")
    picture.blank()
    _saving(picture, made)
    _compactions(picture, made)
    notes = list(found.notes)
    if made.not_read:
        files = count_of(made.not_read, "file")
        notes.append(f"not read: {files}, see `foldaway import --dry-run`")
    for note in notes:
        picture.note(note)
    picture.blank()
    for command in made.commands:
        why = f"  # {_WHY[command.split()[1]]}"
        fits = len(command) + len(why) + 2 <= picture.console.width
        picture.line("  ", command, (why if fits else "", "dim"))


def _agents(made: Overview) -> str:
    """Return the days, the agents with what each cost, and what the cost means."""
    span = f"{format_time(made.first)[:10]} to {format_time(made.last)[:10]}: " if made.last else ""
    named = [
        f"{row.agent} {row.dollars if row.requests else count_of(row.sessions, 'session')}"
        for row in made.agents[:SHOWN_AGENTS]
    ]
    if (more := len(made.agents) - SHOWN_AGENTS) > 0:
        named.append(f"{more} more")
    said = f"{span}{', '.join(named)}; at today's list prices"
    unpriced = made.total.unpriced_requests
    return f"{said}; +, ?: {count_of(unpriced, 'request')} of unknown price" if unpriced else said


def _bars(
    picture: Picture, name: str, rows: Sequence[tuple[str, UsageRow]], hidden: int, option: str
) -> None:
    """Print names with sessions, tokens, cost, and bars by cost, or by tokens without one."""
    by_cost = any(row.cost for _, row in rows)
    sizes = [row.cost if by_cost else row.total_tokens for _, row in rows]
    lines: list[tuple[Piece, ...]] = [
        (
            label,
            f"{row.sessions:,}",
            short(row.total_tokens) if row.requests else "",
            (row.dollars, "bold"),
            (picture.bar(size, max(sizes), BAR_COLUMNS), "cyan"),
        )
        for (label, row), size in zip(rows, sizes, strict=True)
    ]
    if lines:
        picture.blank()
        picture.table("tnrrb", lines, names=(name, "sessions", "tokens", "cost", ""), min_width=20)
    if hidden > 0:
        picture.paragraph((f"and {hidden:,} more: foldaway usage {option}", "dim"), indent=2)


def _saving(picture: Picture, made: Overview) -> None:
    if not made.replayed:
        return
    share = 1 - made.expected / made.paid
    sessions = count_of(len(made.replayed), "session")
    name = ("With Foldaway: ", "bold")
    if share < LEAST_SHARE:
        said = f"nothing saved, because your largest {sessions} did not grow enough."
        picture.paragraph(name, said)
        return
    paid = f"{money(made.paid)} {picture.arrow} {money(made.expected)}"
    picture.paragraph(name, f"{share:.0%} less for your largest {sessions}, {paid}.")
    picture.paragraph(
        ("Estimated from replays. It counts money, not what a compaction loses.", "dim")
    )


def _compactions(picture: Picture, made: Overview) -> None:
    if not made.files_used_later:
        return
    lost = made.files_used_later - made.files_named
    picture.paragraph(
        ("Compactions: ", "bold"),
        f"the summaries of {made.judged_compactions:,} do not name {lost:,} of "
        f"{count_of(made.files_used_later, 'file')} that the agents used later "
        f"({lost / made.files_used_later:.0%}).",
    )
