"""The ledger as a summary in thirteen sections.

The shares and the weights were set by hand, on the tuning half of the sessions: `python
bench/quality.py` measures what they keep, `python bench/statements.py` what is true of it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway.facts.dialogue.cues import language_of
from foldaway.facts.dialogue.statements import constraints, due_later, is_choice, is_order
from foldaway.facts.languages import Phrases, phrases_for
from foldaway.facts.ledger.fact import HEAD_CHARS, ROW, Ask, Fact, Ledger
from foldaway.facts.ledger.lines import both_ends, cut, terms_of, whole_words
from foldaway.facts.ledger.rank import Candidate, TermWeights, Topic, choose, find_topic
from foldaway.facts.ledger.state import (
    SPOKEN,
    Quotes,
    asked_in,
    by_folder,
    carried_entries,
    carried_facts,
    file_line,
    open_failures,
    state_of,
    story,
)
from foldaway.facts.ledger.tasks import split_tasks
from foldaway.facts.rows import looks_like_id
from foldaway.facts.summary import (
    ASK,
    BRIEF_NOTE,
    FILE,
    MUST,
    REPORT,
    RULE,
    Entry,
    Section,
    Summary,
)

_ASKS_SHARE = 0.3
"""Of the room, for asks; chosen, like the shares below: the most that each kind gets before
ranking."""
_RULING_SHARE = 0.5
"""Of the room, for the first request if it has rules: what it says between them may be one too."""
_CONSTRAINTS_SHARE = 0.4
"""Of the room, for rules."""
_ERRORS_SHARE = 0.35
"""Of the room, for open failures."""
_FILES_SHARE = 0.45
"""Of the room, for changed files."""
_STATE_SHARE = 0.08
"""Of the room, for where things stand."""
_TODO_SHARE = 0.08
"""Of the room, for the agent's tasks."""
_REPORT_SHARE = 0.5
"""Of the room, for the last report of the agent: findings, a list or a plan that the next request
may be about (`bench/notes/summaries.md`)."""
_SEEN_REPORT_SHARE = 0.1
"""The same if the agent has reported again since, and that is shown."""
_INSTRUCTIONS_SHARE = 0.35
"""Of the room, for the text of a skill or command whose task is not done."""
_RULES_OF_REST = 0.3
"""Of that, for the rules in what had to be cut; chosen."""
_DECISIONS_SHARE = 0.06
"""Of the room, for decisions; others are ranked."""
_ANSWERS_SHARE = 0.06
"""Of the room, for questions with their answers, the oldest first; the newest are requests too."""
_CARRIED_SHARE = 0.06
"""Of the room, for each of the sections of an older summary that tell what is settled; more of
them is ranked."""
_SETTLED_SECTIONS: tuple[Section, ...] = ("completed", "decisions", "resolved", "critical")
_STORY_SHARE = 0.3
"""Of the room, for what was done, in order."""
_RANKED_SHARE = 0.25
"""What is left for ranked facts at least."""
_LEAST_CHARS = 400
"""The least room of rules, open errors and changed files, each; if there is hardly any room, half
of it."""
_SETTLED = ASK + 0.5
"""Before the asks between the first and the newest: there are many, and this has a small share."""
_ENTRY_CHARS = 16
"""What stands around an entry: mark, source, line break."""
_ASK_CHARS = 1_500
"""Of an ask; the first and the newest may take twice as much."""
_PERSON_ASK_CHARS = 300
"""The same for a person, who knows what they asked."""
_LEAST_ASK_CHARS = 160
"""An ask that must be there has this much, others are left out below it."""
_FEWEST_ASK_CHARS = 80
"""The same if there is hardly any room."""
_TAKEN_UP = 0.5
"""Of the words of what was left for later, how many a newer request names that is about it; chosen.
"""
_LINE = 0.05
"""Where everything is said and room is left, the newest lines fill it."""
_DECISION = 3.0
"""A decision of the agent."""
_CARRIED = 2.0
"""What is left of an older summary was found worth it once."""
_FILE_READ = 6.0
"""A file that was only read."""


class Around(Struct, frozen=True):
    """What a summary is made for: what is next to it, what was asked, how much room it has."""

    room_chars: float
    kept: frozenset[str] = frozenset()
    """Labels of messages before the tail that stand verbatim outside the summary."""
    shown_terms: frozenset[str] = frozenset()
    """Terms of the messages that the model still sees."""
    shown_calls: frozenset[str] = frozenset()
    """Labels of results that are shown next to the summary, with their calls."""
    focus: str = ""
    asks: tuple[str, ...] = ()
    """The newest requests, also those that are still shown: they say what the work is about now."""
    shown_from: int = 1 << 62
    """From which position on the calls are shown: what they did is not told again."""
    newer_reply: bool = False
    """Whether a reply of the agent is shown that is newer than all that is told here."""
    newer_asks: bool = False
    """Whether the user wrote again after what is told here."""
    brief: bool = False
    """Whether our own words must be few."""
    carried: Summary | None = None
    """A summary of still older messages, whose originals are gone."""
    for_person: bool = False
    """Whether a person reads it: without lines of tool results beside data, without what the agent
    said on the way, and with nothing but choices as decisions."""


def summarize(ledger: Ledger, around: Around) -> Summary:
    """Return the ledger as a summary. Says of itself that no model wrote it.

    What must be there comes first: asks, rules, changed files, open failures, where things stand,
    the agent's tasks and its last report, what was done. The rest of the room is filled by rank.
    """
    phrases = phrases_for(language_of("\n".join(ask.fact.text[:400] for ask in ledger.asks[-4:])))
    made = _Made(phrases)
    if around.carried is not None:
        _carry(made, ledger, around.carried, around)
    _asks(made, ledger, around)
    _must(made, ledger, around)
    room = max(around.room_chars - made.chars, around.room_chars * _RANKED_SHARE)
    _ranked(made, ledger, around, room)
    note = BRIEF_NOTE if around.brief and phrases.language == "en" else phrases.made_without_model
    if not around.for_person:
        made.put("critical", note, "", 2 * MUST)
    older = around.carried.numbered if around.carried is not None else 0
    summary = made.summary(ledger, older)
    return replace(summary, brief=around.brief, for_person=around.for_person)


class _Made:
    """Sections while they are filled."""

    def __init__(self, phrases: Phrases) -> None:
        self.phrases = phrases
        self.chars = 0
        self.words: list[str] = []
        self._sections: dict[Section, list[Entry]] = {}

    def put(self, section: Section, text: str, source: str, weight: float) -> None:
        """Add an entry of these words."""
        self.add(section, Entry(text, source, weight))

    def add(self, section: Section, entry: Entry) -> None:
        """Add an entry."""
        self._sections.setdefault(section, []).append(entry)
        self.chars += len(entry.text) + len(entry.source) + 8
        self.words.append(entry.text)

    def sure_words(self) -> str:
        """Return the words of what is there in any case, or before the rules."""
        return "\n".join(
            row.text
            for section, rows in self._sections.items()
            for row in rows
            if section == "constraints" or row.weight >= RULE
        )

    def texts(self, section: Section) -> set[str]:
        """Return the words of the entries of a section."""
        return {entry.text for entry in self._sections.get(section, ())}

    def has(self, section: Section) -> bool:
        """Return whether a section holds something."""
        return section in self._sections

    def fill(
        self, section: Section, rows: Sequence[Entry], room: float, ranks: Sequence[float] = ()
    ) -> list[Entry]:
        """Add the rows that fit, in their order: those of the highest rank first, then the newest.

        The first choice is there in any case: what has no room at all is trimmed by its weight.
        Returns the others.
        """
        kept, others = _fitting(rows, room, ranks)
        for row in kept:
            self.add(section, row)
        return others

    def summary(self, ledger: Ledger, older: int) -> Summary:
        """Return the sections; `older` counts what was done before the ledger begins."""
        sections: dict[Section, tuple[Entry, ...]] = {
            name: tuple(rows) for name, rows in self._sections.items()
        }
        language = self.phrases.language
        return Summary(sections, "ledger", older + ledger.command_count, language)


def _fitting(
    rows: Sequence[Entry], room: float, ranks: Sequence[float]
) -> tuple[list[Entry], list[Entry]]:
    """Return the rows that fit, in their order, and the others; see `_Made.fill`."""
    order = list(range(len(rows) - 1, -1, -1))
    if ranks:
        order.sort(key=lambda index: -ranks[index])
    kept: set[int] = set()
    for index in order:
        cost = len(rows[index].text) + _ENTRY_CHARS
        if cost <= room or not kept:
            room -= cost
            kept.add(index)
    return [rows[at] for at in sorted(kept)], [rows[at] for at in order if at not in kept]


def _carry(made: _Made, ledger: Ledger, carried: Summary, around: Around) -> None:
    """Put what an older summary tells in any case, of its asks those that there is room for.

    What was its task is one of them where the user wrote again; of an ask that goes its rules stay.
    A value is that of the log where the log has one.
    """
    known = {entry.text.partition(": ")[0] for entry in state_of(ledger, made.phrases)}
    asks: list[Entry] = []
    tasks: list[Entry] = []
    for section, entry in carried_entries(carried):
        if section == "pending":
            asks.append(entry)
        elif section == "task" and ledger.asks:
            tasks.append(entry)
        elif section != "state" or entry.text.partition(": ")[0] not in known:
            made.add(section, entry)
    told = made.sure_words()
    newer = [ask.fact for ask in ledger.asks if ask.fact.source not in around.kept]
    room = max(around.room_chars * _ASKS_SHARE - sum(len(fact.text) for fact in newer), 0.0)
    asks = [ask for ask in (*asks, *tasks) if _asked(ask) not in told]
    fitting = [ask for ask in asks if len(ask.text) <= room]
    ranks = [float(bool(constraints(_asked(ask)))) for ask in fitting]
    lost = [ask for ask in asks if len(ask.text) > room]
    kept, others = _fitting(fitting, room, ranks)
    is_over = f" ({made.phrases.answered}): "
    for ask in kept:
        made.add("resolved" if is_over in ask.text else "pending", ask)
    for ask in (*lost, *others):
        for rule in constraints(_asked(ask)):
            if rule.text not in told:
                made.put("constraints", rule.text, ask.source, RULE - 1)
    for section in _SETTLED_SECTIONS if not around.brief else ():
        rows = [replace(row, weight=_SETTLED - 0.25) for row in carried.sections.get(section, ())]
        made.fill(section, rows, around.room_chars * _CARRIED_SHARE)


def _asked(entry: Entry) -> str:
    """Return the user's words in an entry that quotes an ask."""
    return entry.text.partition(": ")[2] or entry.text


def _asks(made: _Made, ledger: Ledger, around: Around) -> None:
    """Put the asks: the first as the goal, the last as the task, the others with their state.

    The first is always there, and the last unless the user wrote again since; the others from the
    newest on while there is room.
    """
    asks = [ask for ask in ledger.asks if ask.fact.source not in around.kept]
    if not asks:
        return
    focus = find_topic(around.focus)
    parted = [
        ask
        for ask in ledger.asks
        if ask != asks[-1] and not around.kept.issuperset((ask.fact.source, ask.answered_by))
    ]
    settled = _settled(parted, around.room_chars * _ANSWERS_SHARE, focus)
    for ask in settled:
        # what the agent had asked, its user decided
        section: Section = "decisions" if around.for_person and ask.question else "resolved"
        made.put(section, ask.settled, ask.fact.source, RULE - 0.25)
    room = around.room_chars * _ASKS_SHARE
    ends = (ledger.asks[0], asks[-1])
    # a request that is nothing but a rule is told as one: no reply is the end of it
    rules = ledger.constraints
    told = [ask for ask in asks if ask in ends or not (ask in settled or ask.fact.text in rules)]
    order = [told[0], *told[:0:-1]]
    if focus is not None:
        order[2:] = sorted(order[2:], key=lambda ask: -focus.share_in(ask.fact.text))
    ruling = {rule.source for rule in rules.values()}
    shown: list[tuple[Ask, str, float]] = []
    least = min(_LEAST_ASK_CHARS, max(int(room), _FEWEST_ASK_CHARS))
    for number, ask in enumerate(order):
        # where the user wrote again since, what is newest stands after the summary
        is_must = number == 0 or (number == 1 and not around.newer_asks)
        is_ruling = number == 0 and ask.fact.source in ruling
        most = around.room_chars * _RULING_SHARE if is_ruling else room
        most = _PERSON_ASK_CHARS if around.for_person else most
        text = _quoted(ask, most, least if is_must else 0)
        room -= len(text)
        if text:
            weight = 2 * MUST if is_must else ASK - number / 100
            shown.append((ask, text, max(weight, RULE) if ask.fact.source in ruling else weight))
    phrases, first = made.phrases, None if made.has("goal") else ledger.asks[0]
    for ask, text, weight in sorted(shown, key=lambda row: row[0].fact.at):
        is_newest = ask is asks[-1] and not around.newer_asks
        state = _state(ask, phrases, is_newest=is_newest)
        for part in _left_over(ask, ledger) if ask.answered_by else ():
            if part == text:
                state = ""
            elif part not in rules:
                text = text.replace(part, "").rstrip(" \n,;:–—、，")
                made.put("pending", f"{phrases.user_wrote}: {part}", ask.fact.source, weight)
        if ask is first:
            made.put("goal", f"{phrases.first_request}{state}: {text}", ask.fact.source, weight)
        else:
            # the user went on without an answer: a person does not wait for one
            section = "task" if around.for_person else "pending"
            section = "resolved" if ask.answered_by and state else section
            section = "task" if ask is asks[-1] else section
            words = f"{phrases.user_wrote}{state}: {text}"
            words = ask.settled if section == "resolved" and ask.settled else words
            made.put(section, words, ask.fact.source, weight)


def _left_over(ask: Ask, ledger: Ledger) -> Iterator[str]:
    """Yield what a request asked for after the rest of it, unless a newer request is about that."""
    newer = [one.fact.text for one in ledger.asks if one.fact.at > ask.fact.at]
    for part in due_later(ask.fact.text):
        topic = find_topic(part)
        if topic is None or all(topic.share_in(text) < _TAKEN_UP for text in newer):
            yield part


def _settled(asks: Sequence[Ask], room: float, focus: Topic | None) -> list[Ask]:
    """Return the oldest questions with their answers that fit, those on a focus before others."""
    order = [ask for ask in asks if ask.settled and (ask.answered_by or ask.question)]
    if focus is not None:
        order.sort(key=lambda ask: -focus.share_in(ask.settled))
    found: list[Ask] = []
    for ask in order:
        room -= len(ask.settled) + _ENTRY_CHARS
        if room < 0:
            break
        found.append(ask)
    return sorted(found, key=lambda ask: ask.fact.at)


def _state(ask: Ask, phrases: Phrases, *, is_newest: bool) -> str:
    """Return whether an ask is answered; one that nobody answered before the user went on is
    neither answered nor open.
    """
    if ask.answered_by:
        return f" ({phrases.answered})"
    return f" ({phrases.open})" if is_newest else ""


def _quoted(ask: Ask, room: float, least: int) -> str:
    """Return the words of an ask, cut at the end if there is no room for all of them.

    If `least` is not 0, at least that many characters; otherwise nothing but a fair part.
    """
    most = max(int(min(_ASK_CHARS * (2 if least else 1), max(room, 0))), least)
    text = ask.fact.text
    if len(text) <= most:
        return text
    if most < (least or _LEAST_ASK_CHARS):
        return ""
    return cut(text, most) if "\n" not in text else f"{whole_words(text[:most], most)} …"


def _must(made: _Made, ledger: Ledger, around: Around) -> None:
    """Put what must be there, newest first, each kind within its share of the room."""
    room, phrases = around.room_chars, made.phrases
    quoted = made.sure_words()
    carried = made.texts("constraints")
    still_open = {ask.fact.source for ask in ledger.asks if not ask.answered_by}
    stated = [
        fact
        for fact in ledger.constraints.values()
        if fact.source not in around.kept
        and fact.text not in carried
        and not ((around.for_person or fact.source in still_open) and fact.text in quoted)
    ]
    rules = [Entry(fact.text, fact.source, RULE) for fact in stated]
    for_rules = max(room * _CONSTRAINTS_SHARE, min(_LEAST_CHARS, room / 2))
    for_errors = max(room * _ERRORS_SHARE, min(_LEAST_CHARS, room / 2))
    errors = open_failures(ledger, for_errors)
    known = ledger.known_files()
    touched = [(path, state) for path, state in known.items() if state.is_touched]
    touched.sort(key=lambda row: row[1].deleted)
    files = [Entry(file_line(path, state, phrases), state.last, FILE) for path, state in touched]
    unseen = [(state.last not in around.shown_calls) - state.deleted / 2 for _, state in touched]
    for_files = max(room * _FILES_SHARE, min(_LEAST_CHARS, room / 2))
    strengths = [fact.worth for fact in stated]
    made.fill("constraints", rules, for_rules, strengths)
    made.fill("blocked", errors, for_errors)
    others = made.fill("files", files, for_files, unseen)
    if others:  # at least their names
        names = ", ".join(posixpath.basename(row.text.partition(":")[0]) for row in others[::-1])
        made.put("files", f"{names}: {phrases.changed}", others[0].source, FILE)
    made.fill("state", state_of(ledger, phrases), room * _STATE_SHARE)
    if ledger.todo is not None:
        _todo(made, ledger.todo, room * _TODO_SHARE)
    _followed(made, ledger, around)
    _report(made, ledger, around)
    if not around.brief:
        decided = _decisions(ledger, around)
        rows = [Entry(one.text, one.source, _SETTLED) for one in decided]
        made.fill("decisions", rows, room * _DECISIONS_SHARE)
    entries = [
        Entry(row.text, row.source, MUST + 4)
        for row in story(ledger, phrases, brief=around.brief, replies=not around.for_person)
        if row.at < around.shown_from and row.source not in around.kept
    ]
    made.fill("completed", entries, room * _STORY_SHARE)


def _followed(made: _Made, ledger: Ledger, around: Around) -> None:
    """Put the instructions of a task that is not reported done, unless they are shown. If a person
    wrote again since, it is not known here whether they go on with it.
    """
    fact = ledger.instructions
    is_over = ledger.reported or around.newer_asks
    if fact is not None and not is_over and fact.source not in around.kept:
        room = around.room_chars * _INSTRUCTIONS_SHARE
        most = max(int(room * (1 - _RULES_OF_REST)), _LEAST_ASK_CHARS)
        shown, rest = fact.text, ""
        if len(shown) > most:
            shown = whole_words(fact.text[:most], most)
            shown, rest = f"{shown} …", fact.text[len(shown) :]
        rules = [rule.text for rule in constraints(rest)]
        kept = _first_that_fit(rules, room * _RULES_OF_REST)
        text = "\n".join((f"{made.phrases.instructions}:", shown, *kept))
        made.put("in_progress", text, fact.source, MUST + 27)


def _report(made: _Made, ledger: Ledger, around: Around) -> None:
    """Put what the agent reported last, whole if it can be: the next request may be about it."""
    last = ledger.replies[-1] if ledger.replies else None
    if last is None or last.source in around.kept or last.at >= around.shown_from:
        return
    if around.newer_reply and (around.brief or len(last.text) < _LEAST_ASK_CHARS):
        return
    share = _SEEN_REPORT_SHARE if around.newer_reply else _REPORT_SHARE
    text = both_ends(last.text, max(int(around.room_chars * share), _LEAST_ASK_CHARS))
    mark = "\n" if "\n" in text else " "
    words = made.phrases.earlier_report if around.newer_reply else made.phrases.last_report
    weight = MUST + 25 if around.newer_reply else REPORT
    made.put("in_progress", f"{words}:{mark}{text}", last.source, weight)


def _todo(made: _Made, fact: Fact, room: float) -> None:
    done, under_way, to_do = split_tasks(fact.text)
    made.fill("in_progress", [Entry(one, fact.source, MUST + 6) for one in under_way], room)
    first = _first_that_fit(to_do, room)
    made.fill("remaining", [Entry(one, fact.source, MUST + 5) for one in first], room)
    made.fill("completed", [Entry(one, fact.source, MUST - 5) for one in done], room / 2)


def _first_that_fit(rows: list[str], room: float) -> list[str]:
    """Return the first rows that fit into the room."""
    for number, row in enumerate(rows):
        room -= len(row) + _ENTRY_CHARS
        if room < 0:
            return rows[:number]
    return rows


def _ranked(made: _Made, ledger: Ledger, around: Around, room: float) -> None:
    """Fill the room that is left by rank; lines that come from one message stand together."""
    older, asked = tuple[Fact, ...](), tuple[str, ...]()
    if around.carried is not None:
        older, asked = carried_facts(around.carried), terms_of(asked_in(around.carried))
    topic = find_topic(around.focus, around.asks or [ask.fact.text for ask in ledger.asks])
    weights = TermWeights(ledger, around.shown_terms, topic, older, asked)
    told = terms_of("\n".join(made.words), 4_000)
    words_told = frozenset(made.words)
    candidates = [
        *(Candidate(fact, _CARRIED + fact.worth) for fact in older if fact.text not in words_told),
        *_candidates(ledger, around, words_told),
    ]
    order = choose(candidates, weights, room, told)
    total = len(order) + 1
    ranked = [(MUST * (total - number) / total, row.fact) for number, row in enumerate(order, 1)]
    ranked.sort(key=lambda row: row[1].at)
    groups: dict[tuple[str, str], list[tuple[float, Fact]]] = {}
    read: dict[str, tuple[float, Fact]] = {}
    for weight, fact in ranked:
        section = _SECTION_OF.get(fact.kind, "critical")
        if section == "files":
            read[fact.text] = weight, fact
        elif section == "critical":
            groups.setdefault((fact.source, fact.head), []).append((weight, fact))
        else:
            made.put(section, fact.text, fact.source, weight)
    _read(made, read)
    place = dict(zip(ledger.lines, range(len(ledger.lines)), strict=True))
    quotes = Quotes(ledger, made.phrases.quoted)
    for (_, head), rows in groups.items():
        rows.sort(key=lambda row: place.get(row[1].text, row[1].at))
        made.add("critical", quotes.entry(head, rows))


def _read(made: _Made, found: dict[str, tuple[float, Fact]]) -> None:
    """Put the files that were only read, those of one folder on one line."""
    for paths in by_folder(found):
        rows = [found[path] for path in paths]
        names = ", ".join((paths[0], *map(posixpath.basename, paths[1:])))
        weight, newest = max(row[0] for row in rows), rows[-1][1]
        made.put("files", f"{names}: {made.phrases.read}", newest.source, weight)


_SECTION_OF: dict[str, Section] = {
    "command": "completed",
    "decision": "decisions",
    "question": "resolved",
    "file": "files",
}


def _candidates(ledger: Ledger, around: Around, told: frozenset[str]) -> Iterator[Candidate]:
    kept = around.kept
    last = max([fact.at for fact in ledger.lines.values()], default=0) or 1
    # of a command that is too long for a head it is not known which one ran again
    ran = {fact.key: fact.at for fact in ledger.commands if len(fact.key) <= HEAD_CHARS}
    ran_at = ran.get
    yield from [
        Candidate(fact, fact.worth + _LINE * (1 + fact.at / last))
        for fact in (_findings(ledger) if around.for_person else _lines(ledger))
        # what a command printed is out of date where it ran again
        if fact.source not in kept and fact.at >= ran_at(fact.head, -1)
    ]
    decisions = [fact for fact in _decisions(ledger, around) if fact.text not in told]
    yield from _recent(decisions, _DECISION)
    for path, state in ledger.known_files().items():
        if not state.is_touched:
            fact = Fact("file", path, state.last, state.at, terms=(path,), effect=None)
            yield Candidate(fact, _FILE_READ, len(path) + 12)


def _findings(ledger: Ledger) -> Iterator[Fact]:
    """Yield what a person may want to know: lines of the user and of the agent's reports, what it
    found on the way and, if nothing is worked on, data. The last report is told as a whole.
    """
    last = ledger.replies[-1].source if ledger.replies else ""
    reports = {ask.answered_by for ask in ledger.asks}
    works = _works(ledger)
    for fact in _lines(ledger):
        is_report = fact.head == "agent" and fact.source in reports and fact.source != last
        if fact.text.endswith(":"):
            continue
        if is_report or fact.head == "user" or (fact.key == ROW and not works):
            yield fact
    for fact in ledger.decisions:
        if works and not (fact.key or fact.source in (last, *reports) or is_choice(fact.text)):
            yield replace(fact, kind="line", head="agent")


def _lines(ledger: Ledger) -> Iterator[Fact]:
    """Yield the lines. An order in a tool's result has only those names that others name too, so
    that it is worth no more than other prose; without any it is left out, as prose is.
    """
    lines = ledger.lines.values()
    orders = {
        fact.text
        for fact in lines
        if not (fact.worth or fact.key or fact.head in SPOKEN) and is_order(fact.text)
    }
    said = (*ledger.commands, *ledger.decisions, *(ask.fact for ask in ledger.asks))
    others = (*said, *(fact for fact in lines if fact.text not in orders)) if orders else ()
    named = {term for fact in others for term in fact.terms}
    in_rows = {
        term for fact in lines if fact.key == ROW for term in fact.terms if looks_like_id(term)
    }
    for fact in lines:
        if fact.head == "agent" and not in_rows.isdisjoint(fact.terms):
            continue  # a row tells the id beside its name
        if fact.text not in orders:
            yield fact
        elif terms := tuple(term for term in fact.terms if term in named):
            yield replace(fact, terms=terms)


def _works(ledger: Ledger) -> bool:
    """Return whether something is worked on; what is said to a customer decides nothing."""
    return bool(ledger.files or ledger.commands)


def _decisions(ledger: Ledger, around: Around) -> list[Fact]:
    """Return the decisions that are not shown."""
    works = _works(ledger)
    return [
        one
        for one in ledger.decisions
        if (works or one.key)
        and one.source not in around.kept
        and (not around.for_person or one.key or is_choice(one.text))
    ]


def _recent(facts: Iterable[Fact], base: float) -> Iterator[Candidate]:
    rows = list(facts)
    for number, fact in enumerate(rows):
        yield Candidate(fact, base * (0.5 + number / max(len(rows), 1)))
