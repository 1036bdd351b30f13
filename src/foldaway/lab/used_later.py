"""Which facts from before a compaction the agent used after it, and what had become of them.

The measure is the lab's: facts that stand before the cut and that the agent is the first to say
afterwards. It needs none of the packages of the extra `lab`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.agents.importers import ImportedSession
from foldaway.agents.known import find_agent
from foldaway.lab.reading import lab_session
from foldaway.lab.scoring.facts import is_present
from foldaway.lab.scoring.needed import (
    Elsewhere,
    NeededFact,
    PreparedSession,
    UsedFact,
    commands_of,
    find_form,
    needed_facts,
    prepare,
    used_facts,
)
from foldaway.lab.scoring.session import LabSession, OwnSummary, is_system, render
from foldaway.lab.scoring.signals import to_line
from foldaway.sessions import Show, decode_rows
from foldaway.stores import SessionInfo, Store, StoredMessage
from foldaway.transcript import (
    Folded,
    Kept,
    Message,
    Part,
    Rewritten,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    View,
)

MOST_BEFORE = 5_000
"""Messages before a compaction that facts are taken from, the newest; with `MOST_AFTER` it keeps
the measure at about two seconds of CPU for any length of the log (50,000 messages: 2.2 s)."""
MOST_AFTER = 2_000
"""Messages after a compaction that are looked through: most facts are used soon or never."""
_NOTHING = Elsewhere(frozenset(), frozenset())
_FILE = re.compile(r"\w[\w-]*(?:\.[\w-]+)*\.[A-Za-z]\w{0,9}")

FactState: TypeAlias = Literal["kept", "recallable", "lost"]
"""Still in what the model saw after the compaction; only in the originals behind a reference;
neither."""


class LaterFact(Struct, frozen=True, kw_only=True):
    """A fact from before a compaction that the agent used after it."""

    text: str
    kind: str
    """path, url, identifier, number, command or error line."""
    said_at: int
    """The newest message before the compaction that has it; a position of the log."""
    used_at: int
    """The first message after it that has it: the agent's."""
    state: FactState
    was_shown: bool
    """Whether the model saw it just before the compaction; if not, an earlier one had folded it."""


class UsedLater(Struct, frozen=True, kw_only=True):
    """The facts that were used after a compaction.

    Law: each is kept, recallable or lost.
    """

    facts: tuple[LaterFact, ...] = ()
    kept: int = 0
    recallable: int = 0
    lost: int = 0
    looked_before: int = 0
    """Messages before the compaction that were looked through."""
    looked_after: int = 0
    is_part: bool = False
    """Whether the log has more messages than were looked through."""
    why_none: str = ""
    """Why there is nothing to tell, in a sentence; empty if there could be."""


class Sight(Struct, frozen=True, kw_only=True):
    """What the model saw before and after a compaction, and where in the log facts are looked for:
    from `start` up to `cut`, and used from `resumed` up to `stop`.

    A compaction of the agent wrote the messages from `cut` up to `resumed` itself.
    """

    before: View
    """As long as the log was then."""
    after: View
    has_references: bool
    """Whether what was folded can be recalled by the agent."""
    start: int
    cut: int
    resumed: int
    stop: int

    def facts_used_later(self, store: Store, info: SessionInfo, show: Show) -> UsedLater:
        """Return the facts from before the compaction that the agent used after it."""
        return _facts_used_later(store, info, self, show)


def _facts_used_later(store: Store, info: SessionInfo, sight: Sight, show: Show) -> UsedLater:
    if sight.resumed >= sight.stop:
        return UsedLater(why_none="The log did not go on after it, so nothing was used later.")
    start = max(sight.start, sight.cut - MOST_BEFORE)
    stop = min(sight.stop, sight.resumed + MOST_AFTER)
    rows = store.read(info.id, start, sight.cut)
    cut = len(rows)
    rows += [row for row in store.read(info.id, sight.resumed, stop) if not row.generated]
    messages = [lab_message(one) for one in _decoded_rows(rows, info.dialect)]
    positions = [
        row.position for row, one in zip(rows, messages, strict=True) if not is_system(one)
    ]
    cut -= sum(map(is_system, messages[:cut]))
    prepared = prepare(LabSession(info.id, info.source, info.cwd, messages))
    facts = used_facts(prepared, cut, _NOTHING)
    places = _places_of(prepared, cut, facts)
    text = _text_shown(store, info, sight.after)
    written = _text_written(sight.before)
    flat, flat_written, states = to_line(text), to_line(written), _states(sight)
    found = [
        LaterFact(
            text=show(fact.text),
            kind=fact.kind,
            said_at=positions[places[fact.key][-1]],
            used_at=positions[fact.used_at],
            state=_state(fact, flat, text, [states[positions[at]] for at in places[fact.key]]),
            was_shown=any(states[positions[at]].was_shown for at in places[fact.key])
            or _survives(fact, flat_written, written),
        )
        for fact in facts
        if places[fact.key]
    ]
    count = Counter(one.state for one in found)
    return UsedLater(
        facts=tuple(sorted(found, key=lambda one: (one.used_at, one.said_at, one.text))),
        kept=count["kept"],
        recallable=count["recallable"],
        lost=count["lost"],
        looked_before=sight.cut - start,
        looked_after=stop - sight.resumed,
        is_part=start > sight.start or stop < sight.stop,
    )


class _PlaceState(Struct, frozen=True, gc=False):
    """What became of one position of the log."""

    was_shown: bool
    has_reference: bool


def _state(fact: UsedFact, flat: str, text: str, said: Iterable[_PlaceState]) -> FactState:
    if _survives(fact, flat, text):
        return "kept"
    return "recallable" if any(one.has_reference for one in said) else "lost"


def _survives(fact: UsedFact, flat: str, text: str) -> bool:
    return bool(find_form(flat, text, NeededFact(fact.text, fact.kind, is_far=False)))


def _states(sight: Sight) -> Mapping[int, _PlaceState]:
    """Return for each position whether it was shown before, and whether it can be recalled."""
    shown: set[int] = set()
    for item in sight.before.items:
        if isinstance(item, Kept):
            shown.update(range(item.start, item.stop))
    found: dict[int, _PlaceState] = {}
    for item in sight.after.items:
        can = sight.has_references and not isinstance(item, Kept) and bool(item.reference)
        for at in range(item.start, item.stop):
            found[at] = _PlaceState(at in shown, can)
    return found


def _places_of(
    prepared: PreparedSession, cut: int, facts: Sequence[UsedFact]
) -> dict[tuple[str, str], list[int]]:
    """Return where each fact stands before the cut, by the places of the prepared messages."""
    found: dict[tuple[str, str], list[int]] = {fact.key: [] for fact in facts}
    names = {fact.text: fact.key for fact in facts if not fact.is_line}
    commands = {fact.text: fact.key for fact in facts if fact.kind == "command"}
    errors = [fact for fact in facts if fact.kind == "error line"]
    for at in range(cut):
        for name in prepared.facts[at] & names.keys():
            found[names[name]].append(at)
        if commands:
            for line in commands.keys() & set(commands_of(prepared.messages[at])):
                found[commands[line]].append(at)
        if errors and prepared.messages[at]["role"] == "tool":
            flat = to_line(prepared.texts[at])
            for fact in errors:
                if fact.text in flat:
                    found[fact.key].append(at)
    return found


# Texts, as the lab reads them


def lab_message(message: Message) -> dict[str, Any]:
    """Return a message as the lab reads it; one for each, so that places are positions."""
    role = message.role
    if message.parts and all(isinstance(part, ToolResult) for part in message.parts):
        role = "tool"
    calls = [
        {"function": {"name": part.name, "arguments": part.arguments}}
        for part in message.parts
        if isinstance(part, ToolCall)
    ]
    return {
        "role": role,
        "content": "\n".join(_words(message.parts)),
        "tool_calls": calls,
        "reasoning_content": "\n".join(
            part.text for part in message.parts if isinstance(part, Thinking)
        ),
    }


def _words(parts: Iterable[Part]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            found.append(part.text)
        elif isinstance(part, ToolResult):
            found += _words(part.parts)
    return found


def _text_shown(store: Store, info: SessionInfo, view: View) -> str:
    """Return what a view shows, as the lab reads it; only what is kept is read from the store."""
    texts: list[str] = []
    for item in view.items:
        match item:
            case Kept(start=start, stop=stop):
                rows = store.read(info.id, start, stop)
                texts += [render(lab_message(one)) for one in _decoded_rows(rows, info.dialect)]
            case Rewritten(message=message):
                texts.append(render(lab_message(message)))
            case Folded(messages=messages):
                texts += [render(lab_message(one)) for one in messages]
    return "\n".join(texts)


def _text_written(view: View) -> str:
    """Return what compactions wrote into a view: summaries and digests."""
    texts: list[str] = []
    for item in view.items:
        if isinstance(item, Rewritten):
            texts.append(render(lab_message(item.message)))
        elif isinstance(item, Folded):
            texts += [render(lab_message(one)) for one in item.messages]
    return "\n".join(texts)


def _decoded_rows(rows: Sequence[StoredMessage], dialect: str) -> Sequence[Message]:
    return decode_rows(rows, dialect) if rows else ()


# The compactions of agents, in their own files


def own_losses(found: ImportedSession) -> tuple[int, int, int]:
    """Return the compactions with a summary, the files used after them, and those it names.

    Of all facts only files count, and any mention of their name does: that a number or a word
    comes again may be chance. A compaction is judged by what the model saw, which is what came
    since the one before it, and by what the agent wrote until the next.
    """
    is_judged = find_agent(found.agent).compaction.keeps_summary_alone and found.summaries
    session = lab_session(found) if is_judged else None
    if not isinstance(session, LabSession):
        return 0, 0, 0
    compactions = used = named = 0
    runs = _runs(session.own)
    starts = [0, *(start for start, _, _ in runs), len(session.messages)]
    for (start, stop, text), begin, end in zip(runs, starts, starts[2:], strict=False):
        before, after = session.messages[begin:start], session.messages[stop:end]
        if not text or not before or not after:
            continue
        prepared = prepare(replace(session, messages=[*before, *after]))
        needed = needed_facts(prepared, len(before) - sum(map(is_system, before)), _NOTHING)
        paths = (fact.text.rpartition("/")[2] for fact in needed if fact.kind == "path")
        files = {name for name in paths if _FILE.fullmatch(name)}
        compactions += 1
        used += len(files)
        named += sum(is_present(text, name) for name in files)
    return compactions, used, named


def _runs(own: Iterable[OwnSummary]) -> list[tuple[int, int, str]]:
    """Return where each compaction begins and ends, and its text: some write several messages."""
    found: list[tuple[int, int, str]] = []
    for one in own:
        if found and found[-1][1] == one.at:
            start, _, text = found.pop()
            found.append((start, one.at + 1, f"{text}\n{one.text}"))
        else:
            found.append((one.at, one.at + 1, one.text))
    return found
