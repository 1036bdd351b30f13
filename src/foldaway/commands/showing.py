"""Commands that only look: context, usage, status, recall, search, memory, export, help."""

from __future__ import annotations

from foldaway.commands.lines import NAMES, SPECS, BadLine, CommandLine, unknown_command
from foldaway.commands.reach import Reach
from foldaway.commands.values import CommandAnswer, CommandChoice, Figure
from foldaway.dialects import dialect_named
from foldaway.reduction import plural
from foldaway.search import Filters
from foldaway.sessions import Session, beginning, date_of, discover, internals, reveal_text
from foldaway.sessions import export as export_session
from foldaway.usage import RequestTotals, conversation_usage, request_rows, short

FORMS = ("markdown", "jsonl", "openai-chat", "openai-responses", "anthropic", "gemini")
"""Of an export; the first is the one that people read."""

_MOST_HITS = 8
"""Of a search: what fits on a screen with a line for each; chosen."""
_SNIPPET = 80
"""Characters of a hit: one line of a usual terminal; chosen."""
_ORIGINAL = 20_000
"""Characters of an original: some pages; the rest is for an export; chosen."""
_WRITERS = {"none": "rules, without a model"}


def context(session: Session, *_: object) -> CommandAnswer:
    """Say what fills the window, measured usage first."""
    found = session.breakdown()
    tokens, whole = found.tokens, max(found.tokens, 1)
    rows = tuple(
        (share.name, f"{share.tokens:,}", f"{share.tokens / whole:.0%}")
        for share in found.categories
        if share.tokens
    )
    return CommandAnswer(
        command="context",
        headline=f"{tokens:,} of {found.context_length:,} tokens ({found.tokens_source}); "
        f"compacted at {found.threshold_tokens:,}",
        figures=(
            Figure("in the window", tokens, "tokens"),
            Figure("window", found.context_length, "tokens"),
            Figure("compacted at", found.threshold_tokens, "tokens"),
        ),
        rows=(("what", "tokens", "share"), *rows),
    )


def usage(session: Session, *_: object) -> CommandAnswer:
    """Say what requests used and cost."""
    found = RequestTotals.of(request_rows(conversation_usage(session.store, session.info)))
    if not found.requests:
        return CommandAnswer(
            command="usage", status="unchanged", headline="no request has reported its usage yet"
        )
    figures = [
        Figure("requests", found.requests, "requests"),
        Figure("input", found.input_tokens, "tokens"),
        Figure("output", found.output_tokens, "tokens"),
        Figure("from the cache", found.cache_hit_rate, "share"),
        Figure("cache misses", found.cache_misses),
    ]
    if found.cost is not None:
        figures.append(Figure("cost", found.cost, "dollars"))
    cost = f", {figures[-1].text}" if found.cost is not None else ""
    return CommandAnswer(
        command="usage",
        figures=tuple(figures),
        headline=f"{plural(found.requests, 'request')}, {found.input_tokens:,} tokens in, "
        f"{found.cache_hit_rate:.0%} of them from the cache{cost}",
    )


def status(session: Session, *_: object) -> CommandAnswer:
    """Say how the conversation stands, and what happens next."""
    info, engine = session.info, internals(session).engine
    decision, budget = engine.decide(), engine.settings.budget
    last = session.store.usage(info.id, last=1)
    cached = sum(one.cache_read_tokens for one in last)
    caching = f"on, {cached:,} tokens of the last request" if cached else "nothing read yet"
    rows = [
        ("session", info.id),
        ("title", info.title),
        ("goal", info.goal),
        ("model", engine.settings.model or "not named"),
        ("messages", f"{info.length:,}, of which the model sees {len(engine.messages):,}"),
        ("compactions", f"{info.compactions:,}"),
        ("pinned", f"{len(session.pins):,}"),
        ("summaries by", _WRITERS.get(engine.summarizer_name, engine.summarizer_name)),
        ("prompt caching", caching),
        ("next", next_step(session)),
    ]
    return CommandAnswer(
        command="status",
        headline=f"{decision.prompt_tokens / budget.context_length:.0%} of the window is full: "
        f"{decision.prompt_tokens:,} of {budget.context_length:,} tokens ({decision.source})",
        figures=(
            Figure("in the window", decision.prompt_tokens, "tokens"),
            Figure("window", budget.context_length, "tokens"),
            Figure("compacted at", budget.threshold_tokens, "tokens"),
        ),
        rows=(("what", "now"), *(row for row in rows if row[1])),
    )


def next_step(session: Session) -> str:
    """Return what happens next, in a few words, for a status line."""
    engine = internals(session).engine
    decision, threshold = engine.decide(), engine.settings.budget.threshold_tokens
    if decision.background:
        return "compaction prepared" if decision.background == "ready" else "summary being written"
    if decision.due:
        return "compaction put off" if decision.put_off else "compacts next"
    if decision.reason not in ("", "below threshold"):
        return f"no compaction: {decision.reason}"
    if decision.pressure:
        return f"pressure {decision.prompt_tokens / threshold:.0%} of {short(threshold)}"
    return f"compacts at {short(threshold)}"


def recall(session: Session, line: CommandLine, reach: Reach) -> CommandAnswer:
    """Show originals; long ones by their beginning."""
    reference = line.needs()
    found = dialect_named(session.info.dialect).decode(session.recall(reference), 0)
    said = "\n\n".join(f"{one.role}: {reveal_text(one, reach.show)}" for one in found)
    left = max(len(said) - _ORIGINAL, 0)
    return CommandAnswer(
        command="recall",
        text=said[:_ORIGINAL],
        headline=f"The original of {reference}: {plural(len(found), 'message')}",
        warnings=(f"{left:,} more characters are left out; /export has all",) if left else (),
    )


def search(session: Session, line: CommandLine, reach: Reach) -> CommandAnswer:
    """Search what was said."""
    hits = discover(
        reach.store,
        line.needs(),
        filters=Filters(sessions=reach.ids()),
        show=reach.show,
        most=_MOST_HITS,
    )
    rows = tuple(
        (
            f"m{hit.position}",
            date_of(hit.time)[:10],
            beginning(" ".join(hit.snippet.split()), _SNIPPET),
        )
        for hit in hits
    )
    choices = tuple(
        CommandChoice(f"/recall m{hit.position}", "read it")
        if hit.session == session.id
        else CommandChoice(f"/resume {hit.session}", beginning(hit.title, _SNIPPET))
        for hit in hits
    )
    return CommandAnswer(
        command="search",
        status="done" if hits else "unchanged",
        headline=plural(len(hits), "place") if hits else "nothing was found",
        rows=(("place", "day", "words"), *rows) if rows else (),
        choices=tuple(dict.fromkeys(choices)),
    )


def memory(session: Session, line: CommandLine, reach: Reach) -> CommandAnswer:
    """Show what memory holds, or what it knows about something."""
    manager = reach.memory
    if manager is None:
        raise BadLine("this host has no memory")
    name = session.id
    said = manager.prefetch(line.rest, name).text if line.rest else manager.system_text()
    return CommandAnswer(
        command="memory",
        status="done" if said else "unchanged",
        text=said,
        headline="What memory holds" if said else "memory holds nothing about it",
    )


def export(session: Session, line: CommandLine, reach: Reach) -> CommandAnswer:
    """Give the conversation out as text."""
    form = line.rest or FORMS[0]
    made = export_session(reach.store, session.info, form)
    return CommandAnswer(
        command="export",
        headline=f"{plural(made.messages, 'message')} as {form}",
        text=reach.show(made.data.decode()),
        warnings=tuple(one.what for one in made.losses),
    )


def help_on(_: object, line: CommandLine, reach: Reach) -> CommandAnswer:
    """List the commands, or explain one."""
    if not line.rest:
        rows = [(spec.line, spec.help) for spec in SPECS.values()]
        rows += [(f"/{name}", does) for name, does in reach.own.items()]
        return CommandAnswer(command="help", headline="Commands", rows=(("command", "does"), *rows))
    asked = line.rest.removeprefix("/").lower()
    name = NAMES.get(asked, asked)
    if does := reach.own.get(name):
        return CommandAnswer(command="help", headline=f"/{name}: {does}")
    if name not in SPECS:
        raise BadLine(unknown_command(name, reach.own))
    spec = SPECS[name]
    return CommandAnswer(command="help", headline=f"{spec.line}: {spec.help}", text=spec.more)
