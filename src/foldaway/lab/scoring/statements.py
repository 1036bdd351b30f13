"""What a record claims, judged beside the log: is each statement true, and is what is true told.

The scorer shares no code with the writer. It reads the messages of a view as a reader would
(`record.py`), takes the log apart by itself (`steps.py`, `contents.py`, `truth.py`), and gives a
verdict with its reason for each claim, so that a person can check the judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from foldaway.lab.scoring.contents import plain
from foldaway.lab.scoring.files import find_touched_files, is_among
from foldaway.lab.scoring.person_words import Said, person_words
from foldaway.lab.scoring.record import ReadRecord, RecordEntry, read_changed_files, read_view
from foldaway.lab.scoring.session import Message, content_text, render, without_system
from foldaway.lab.scoring.shell import Touched
from foldaway.lab.scoring.signals import constraint_survives, to_line
from foldaway.lab.scoring.steps import (
    LogStep,
    is_same_command,
    is_same_run,
    is_test,
    running_jobs,
    runs_tests,
    simple_commands,
    steps_of,
    test_counts,
    test_outcome,
)
from foldaway.lab.scoring.tally import STATEMENTS, StatementVerdict
from foldaway.lab.scoring.truth import (
    StatementTruth,
    constrains,
    fate_of,
    is_heard_of,
    is_revoked,
    open_failures,
    read_named_ids,
)
from foldaway.lab.scoring.words import pattern

_TICKED = re.compile(r"`([^`\n]{2,400})`")
_GREP_ROW = re.compile(r"([\w@./+-]{1,200}\.\w{1,8})[:-]\d{1,6}[:-](.*)")
_SAYS_FAILED, _SAYS_PASSED = pattern("tests", "says_failed"), pattern("tests", "says_passed")
_NOT_FAILED, _ABOUT = pattern("tests", "not_failed"), pattern("tests", "about_tests")
_TESTS = re.compile(r"\btests?\b|\bsuite\b", re.IGNORECASE)
_NO_RUN = pattern("tests", "no_run")
_SINCE, _UNTOUCHED = pattern("changes", "claims"), pattern("changes", "untouched")
_CHANGED = pattern("changes", "changed")
_RUNNING, _NONE_RUNNING = pattern("running", "claims"), pattern("running", "none")
_LASTING = pattern("running", "lasting")
_ASKED = frozenset({"exec_command", "shell", "execute_bash"})
"""Tools whose jobs are heard of only if the agent asks."""
_MARKED = pattern("quotes", "marked")
_COUNTED = re.compile(r"\b(\d[\d,]{0,8}) (?:tests? )?(passed|failed)\b")
_MORE = re.compile(r"\bmore\b|\bothers?\b|…")
_FILE = re.compile(r"[\w@.+~/-]*[\w@+-]\.[A-Za-z]\w{0,7}\b")
_NONE_OPEN = re.compile(r"(?:no|none|nothing)\b[^`:\n]{0,60}", re.IGNORECASE)
_LAST_EDIT = re.compile(r"\blast (?:edit|change)\b")
_ENTRY_LINES = 30
"""Lines that an entry may have; a longer one is a list of several."""
_TOKEN = re.compile(r"[\w#.-]{4,60}")
_ROWS = re.compile(r"; |\}, ?\{| \| |\), ")
_PREFIX = re.compile(r"\A[^:\n`]{1,60}: ")
_CHUNK = 60
_WHOLE_CHARS = 20_000
"""Of a request, in which it is compared; longer ones are documents that stay or do not."""


class _Case(Struct, frozen=True):
    truth: StatementTruth
    record: ReadRecord
    view: list[Message]
    flat: str
    """The view on one line."""
    shown: list[LogStep]
    """The steps that still stand in the view."""


def judge(
    view: Sequence[Message], source: Sequence[Message], truth: StatementTruth
) -> list[StatementVerdict]:
    """Return a verdict for each claim of the record in a view, and for each thing to be told."""
    messages = without_system(view)
    record = read_view(messages, source)
    case = _Case(
        truth, record, messages, to_line("\n".join(map(render, messages))), steps_of(messages)
    )
    return [verdict for kind in STATEMENTS for verdict in _JUDGES[kind](case)]


def _claim(kind: str, is_right: bool | None, text: str, why: str = "") -> StatementVerdict:
    return StatementVerdict(kind, True, is_right, to_line(text)[:240], why)


def _truth(kind: str, is_right: bool | None, text: str, why: str = "") -> StatementVerdict:
    return StatementVerdict(kind, False, is_right, to_line(text)[:240], why)


def _request(case: _Case) -> Iterator[StatementVerdict]:
    """Judge whether the person's newest words are live and whole, and what is quoted as live."""
    asked = case.truth.request
    if asked is None:
        return
    words = to_line(asked.text)[:_WHOLE_CHARS]
    live = [section for section in case.record.sections if section.heading and section.entries][:1]
    is_live = bool(live) and live[0].kind == "request" and not live[0].is_background
    quoted = to_line(live[0].text) if is_live else ""
    spoken = [to_line(text) for _, text in case.record.spoken]
    if any(_is_quoted_in(text, words) for text in _split_by_message(case.record)):
        yield _truth("request", True, words, "a message of theirs")
    elif words in quoted:
        yield _truth("request", True, words, "first in the record")
    elif any(body in text for body in _bodies(case.truth, asked) for text in spoken):
        yield _truth("request", True, words, "the text of the command stays")
    elif any(words[:_CHUNK] in text for text in [*spoken, quoted] if text):
        yield _truth("request", False, words, "live, but cut")
    else:
        where = "in the record as background" if words[:_CHUNK] in case.flat else "gone"
        yield _truth("request", False, words, where)
    for section in case.record.sections:
        if section.kind == "request" and not section.is_background:
            for at, entry in enumerate(section.entries):
                yield _judge_request(case, entry, is_first=at == 0)


def _bodies(truth: StatementTruth, asked: Said) -> Iterator[str]:
    """Yield the text of a command that the person gave without words of their own."""
    after = truth.messages[asked.at + 1 : asked.at + 2]
    if asked.text.startswith("/") and len(asked.text.split()) == 1:
        yield from (to_line(content_text(row)) for row in after if row["role"] == "user")


def _split_by_message(record: ReadRecord) -> list[list[str]]:
    """Return the texts of each message of the role user."""
    found: dict[int, list[str]] = {}
    for at, text in record.spoken:
        found.setdefault(at, []).append(text)
    return list(found.values())


def _is_quoted_in(texts: list[str], words: str) -> bool:
    """Return whether a message is the person's words; a few of them may stand in other text too."""
    own = to_line("\n".join(filter(None, map(person_words, texts))))
    return own == words or (len(words) > _CHUNK and words in to_line("\n".join(texts)))


def _judge_request(case: _Case, entry: RecordEntry, *, is_first: bool) -> StatementVerdict:
    asked = [to_line(said.text) for said in case.truth.persons]
    chunks = _chunks(entry.text)
    theirs = [words for words in asked if any(chunk in words for chunk in chunks)]
    if not theirs:
        return _claim("request", False, entry.text, "not a person's words")
    if is_first and asked[-1] not in theirs:
        return _claim("request", False, entry.text, "not the newest request")
    return _claim("request", True, entry.text)


def _chunks(text: str) -> list[str]:
    """Return how a quotation may begin: at its start, after a label, after its first quote."""
    flat = to_line(text)
    starts = [flat, _PREFIX.sub("", flat, count=1)]
    starts += re.split(r"[“\"«]", flat, maxsplit=1)[1:]
    ended = [re.split(r"…|\[\.\.\.|”", start.strip("\"“”'` "))[0][:_CHUNK] for start in starts]
    return [start.strip() for start in ended if start.strip()]


def _blockers(case: _Case) -> Iterator[StatementVerdict]:
    for entry in case.record.entries("blockers"):
        if not _NONE_OPEN.fullmatch(entry.text):
            yield _judge_blocker(case.truth, entry)
    named = [*case.record.entries("blockers"), *case.record.entries("state")]
    for step, lines in open_failures(case.truth):
        is_told = any(line in case.flat for line in lines[:5]) or any(
            is_same_command(command, step.line)
            for entry in named
            if step.line
            for command in _TICKED.findall(entry.text)
        )
        text = f"{step.line or step.tool}: {lines[0] if lines else ''}"
        yield _truth("blockers", is_told, text, f"message {step.at}")


def _judge_blocker(truth: StatementTruth, entry: RecordEntry) -> StatementVerdict:
    flat = to_line(entry.text)
    command, _, error = flat.partition("`: ") if "`: " in flat else flat.partition(": ")
    commands = [*_TICKED.findall(flat), command.strip("` ")]
    chunks = [chunk for chunk in _chunks(error or flat) if len(chunk) > 5]
    with_error = [
        step for step in truth.steps if any(chunk in to_line(step.result) for chunk in chunks)
    ]
    by_command = [
        step
        for step in truth.steps
        if any(
            is_same_command(name, step.line or f"{step.tool} {step.values}") for name in commands
        )
    ]
    both = [step for step in with_error if step in by_command]
    found = both or with_error or by_command
    if not found:
        spoken = " ".join(to_line(render(message)) for message in truth.messages[-20:])
        is_said = any(chunk in spoken for chunk in chunks)
        why = "said, not run" if is_said else "nowhere in the log"
        return _claim("blockers", None if is_said else False, flat, why)
    step = found[-1]
    fate = fate_of(truth, step, error)
    return _claim("blockers", fate == "open", flat, f"{fate}, message {step.at}")


def _tests(case: _Case) -> Iterator[StatementVerdict]:
    """Judge what the record says of test runs, and whether the last one is told."""
    claims = [entry for entry in case.record.entries("state") if _read_outcome(entry) is not None]
    last = case.truth.last_tests
    verdicts = [(entry, *_judge_run(case.truth, entry)) for entry in claims]
    has_last = any(right and step in last for _, step, right, _ in verdicts)
    for entry, step, right, why in verdicts:
        is_old = right and step not in last and not has_last
        yield _claim(
            "tests", False if is_old else right, entry.text, "not the last run" if is_old else why
        )
    known = [step for step in last if test_outcome(step) != "unknown"]
    if known:
        is_seen = any(
            shown.line == step.line and test_outcome(shown) == test_outcome(step)
            for shown in case.shown
            for step in known
        )
        text = f"{known[-1].line}: {test_outcome(known[-1])}"
        yield _truth("tests", has_last or is_seen, text, f"message {known[-1].at}")


def _read_outcome(entry: RecordEntry) -> str | None:
    """Return which outcome of a test run an entry claims; None if it is about something else."""
    line = entry.first
    ticked = _TICKED.findall(line)
    about = _TESTS if ticked else _ABOUT
    if _RUNNING.search(line) or not (
        any(map(_runs, ticked)) or about.search(_TICKED.sub("", line))
    ):
        return None
    words = _NOT_FAILED.sub(" ", _TICKED.sub(" ", line))
    if _NO_RUN.search(words) and not _COUNTED.search(words):
        return None
    if _SAYS_FAILED.search(words):
        return "failed"
    is_passed = _SAYS_PASSED.search(words) or _NOT_FAILED.search(line)
    return "passed" if is_passed else None


def _runs(command: str) -> bool:
    return any(map(is_test, simple_commands(command.rstrip("…"))))


def _judge_run(
    truth: StatementTruth, entry: RecordEntry
) -> tuple[LogStep | None, bool | None, str]:
    """Return the run that an entry is about, and whether it went as the entry says."""
    said = _read_outcome(entry)
    runs = [step for step in truth.steps if runs_tests(step)]
    named = [command for command in _TICKED.findall(entry.first) if _runs(command)]
    if named:
        runs = [step for step in runs if any(is_same_run(name, step) for name in named)]
    if not runs:
        return None, False, "no such run"
    known = [step for step in runs if test_outcome(step) != "unknown"]
    step = runs[-1] if to_line(runs[-1].line) in named else (known or runs)[-1]
    outcome = test_outcome(step)
    if outcome == "unknown":
        return step, None, "the run does not say"
    if outcome != said:
        return step, False, f"{outcome}, message {step.at}"
    same = not named or any(is_same_command(name, step.line) for name in named)
    printed = test_counts(step) if same else {}
    for number, word in _COUNTED.findall(entry.first):
        counts = printed.get(word.lower())
        if counts and int(number.replace(",", "")) not in counts | {sum(counts)}:
            return step, False, f"{word} {sorted(counts)}, message {step.at}"
    return step, True, f"message {step.at}"


def _judge_changes(case: _Case) -> Iterator[StatementVerdict]:
    """Judge whether the record says rightly what was edited after the last test run."""
    last = next(reversed(case.truth.last_tests), None)
    edited = case.truth.edited_since(last) if last else None
    told = False
    for entry in (*case.record.entries("state"), *case.record.entries("files")):
        for line in entry.text.split("\n"):
            if not _SINCE.search(line):
                continue
            is_right, why = _judge_edits(line, edited)
            told |= bool(is_right)
            yield _claim("changed since", is_right, line, why)
    if last is None or edited is None or not edited.sure:
        return
    shown = find_touched_files(case.view)
    seen = all(is_among(path, shown.sure | shown.unsure) for path in edited.sure)
    is_seen = seen and any(step.line == last.line for step in case.shown)
    text = f"{len(edited.sure)} files since {last.line}"
    yield _truth("changed since", told or is_seen, text, f"message {last.at}")


def _judge_edits(line: str, edited: Touched | None) -> tuple[bool | None, str]:
    words = _TICKED.sub(" ", line)
    says_none = bool(_UNTOUCHED.search(words))
    if not says_none and not _CHANGED.search(words):
        return None, "about something else"
    if edited is None:
        return False, "no test run"
    if says_none:
        if not edited.sure:
            return (None, "cannot tell") if edited.unsure else (True, "nothing edited")
        return False, f"edited: {', '.join(sorted(edited.sure)[:3])}"
    if not edited.sure:
        return (None, "cannot tell") if edited.unsure else (False, "nothing edited")
    after = _SINCE.split(line, maxsplit=1)[-1]
    listed = [path for path in _FILE.findall(after) if "." in path]
    wrong = [path for path in listed if not is_among(path, edited.sure | edited.unsure)]
    lacking = [path for path in edited.sure if not is_among(path, listed)]
    if wrong:
        return False, f"not edited: {wrong[0]}"
    if listed and lacking and not _MORE.search(after) and not _LAST_EDIT.search(after):
        return False, f"lacks {lacking[0]}"
    return True, f"{len(edited.sure)} edited"


def _jobs(case: _Case) -> Iterator[StatementVerdict]:
    """Judge whether what is said to run runs."""
    running = list(running_jobs(case.truth.steps))
    told: list[LogStep] = []
    for entry in case.record.entries("state"):
        line = entry.first
        if not _RUNNING.search(line) or _NONE_RUNNING.search(line):
            continue
        commands = _TICKED.findall(line) or [line.partition(": ")[2] or line]
        meant = [
            step
            for step in case.truth.steps
            if (step.job and step.job in line)
            or any(is_same_command(name, step.line or str(step.values)) for name in commands)
        ]
        exact = [step for step in meant if to_line(step.line) in commands]
        jobs = [step for step in exact or meant if step.job or step.is_loose]
        if not jobs:
            yield _claim("running", False, line, "never in the background" if meant else "no job")
            continue
        told += jobs
        job = jobs[-1]
        is_right = None if job.is_loose and not job.job else _runs_on(case.truth, job)
        yield _claim("running", is_right, line, f"message {job.at}, heard of until {job.until}")
    for job in running:
        if is_heard_of(case.truth, job):
            seen = any(step.job == job.job for step in case.shown)
            is_told = seen or any(job is one for one in told)
            yield _truth("running", is_told, job.line or job.tool, f"message {job.at}")


def _runs_on(truth: StatementTruth, job: LogStep) -> bool:
    """Return whether a job runs: a host tells its end, or it was asked lately, or it lasts."""
    is_told = job.tool not in _ASKED
    return not job.has_ended and (
        is_told or is_heard_of(truth, job) or bool(_LASTING.search(job.line))
    )


def _files(case: _Case) -> Iterator[StatementVerdict]:
    truth = case.truth.touched
    claims = read_changed_files(case.record)
    for path in sorted(claims):
        yield _claim("files", is_among(path, truth.sure | truth.unsure), path)
    visible = find_touched_files(case.view)
    seen = claims | visible.sure | visible.unsure
    for path in sorted(truth.sure):
        yield _truth("files", is_among(path, seen), path)


def _quotes(case: _Case) -> Iterator[StatementVerdict]:
    """Judge whether quoted lines of files still are there; what the log cannot tell is left."""
    contents = case.truth.contents
    for entry in case.record.entries("quotes"):
        head, *lines = entry.text.split("\n")
        path = contents.named_in(head)
        if not lines and path:
            head, _, line = head.partition(": ")
            lines = [line]
        for line in lines:
            where, code = path, line
            if (row := _GREP_ROW.match(line.strip())) is not None:
                where, code = contents.named_in(row.group(1)), row.group(2)
            if not where or "…" in code or "[…" in code:
                continue
            stands = contents.file(where).has(plain(code))
            if stands is False and _MARKED.search(head):
                stands = True
            if stands is not None:
                why = "" if stands else f"edited away in {where}"
                yield _claim("quotes", stands, code, why)


def _constraints(case: _Case) -> Iterator[StatementVerdict]:
    truth = case.truth
    spoken = [to_line(said.text) for said in truth.persons]
    for entry in case.record.entries("constraints"):
        chunks = _chunks(entry.text)
        texts = [entry.text, _PREFIX.sub("", entry.text, count=1)]
        says = [constrains(text) for text in texts]
        is_theirs = any(chunk in text for chunk in chunks for text in spoken)
        if not is_theirs and not any(chunk in truth.rules for chunk in chunks):
            yield _claim("constraints", False, entry.text, "neither a person's nor a rules file's")
        elif is_theirs and True not in says:
            verdict = None if None in says else False
            yield _claim("constraints", verdict, entry.text, "does not constrain")
        elif is_theirs and is_revoked(truth, chunks[-1]):
            yield _claim("constraints", None, entry.text, "may have been taken back")
        else:
            yield _claim("constraints", True, entry.text)
    for sentence in truth.constraints:
        yield _truth("constraints", constraint_survives(case.flat, sentence), sentence)


def _ids(case: _Case) -> Iterator[StatementVerdict]:
    """Judge whether an id stands with its own name in one entry, not with those of others."""
    names: dict[str, set[str]] = {}
    others: dict[str, set[str]] = {}
    known = {name for row in case.truth.named_ids for name in row.names}
    for row in case.truth.named_ids:
        names.setdefault(row.id, set()).update(row.names)
        others.setdefault(row.id, set(known)).difference_update(row.inside, row.names)
    alike: dict[str, set[str]] = {}
    for row in case.truth.named_ids:
        alike.setdefault(row.key, set()).add(row.id)
    alone = {one for ids in alike.values() if len(ids) == 1 for one in ids}
    whole = {row.id for row in read_named_ids(case.view, case.shown)}
    lines = "\n".join(map(render, case.view)).split("\n")
    for one in sorted(case.truth.needed_ids):
        places = [at for at, line in enumerate(lines) if one in line]
        is_kept = (
            one in whole
            or (bool(places) and one in alone)
            or any(
                _is_beside(entry, one, names[one], others[one])
                for at in places
                for entry in _entries(lines, at)
            )
        )
        why = "" if is_kept else "without its name" if places else "gone"
        yield _truth("ids", is_kept, f"{one} {sorted(names[one])[:3]}", why)
    for line in case.record.text.split("\n"):
        here = [one for one in dict.fromkeys(_TOKEN.findall(line)) if one in names]
        shown = {name for name in known if name in line} if len(here) > 1 else set[str]()
        for one in here if len(shown) > 1 else ():
            if names[one] & shown:
                is_right = _is_beside(line, one, names[one], others[one])
                yield _claim("ids", is_right, line, f"{one} is {sorted(names[one])[:3]}")


def _is_beside(text: str, one: str, names: set[str], others: set[str]) -> bool:
    """Return whether an entry, or a row of it, has an id with its name and no other's."""
    own = " ".join(names)
    foreign = [name for name in others if name in text and name not in own]
    for rows in ([text], _ROWS.split(text), text.split(", ")):
        for row in rows:
            has_name = one in row and any(name in row for name in names)
            if has_name and not any(name in row for name in foreign):
                return True
    return False


def _entries(lines: Sequence[str], at: int) -> Iterator[str]:
    """Yield the entries that a line stands in: itself, with what is below it, and its parent's."""
    yield lines[at]
    yield "\n".join(_block(lines, at))
    depth = _depth(lines[at])
    parent = next(
        (
            row
            for row in range(at - 1, max(at - _ENTRY_LINES, -1), -1)
            if lines[row].strip() and _depth(lines[row]) < depth
        ),
        None,
    )
    if parent is not None:
        yield f"{lines[parent]}\n{lines[at]}"
        yield "\n".join(_block(lines, parent))


def _block(lines: Sequence[str], at: int) -> Iterator[str]:
    """Yield a line and those below it that are indented more."""
    yield lines[at]
    for line in lines[at + 1 : at + _ENTRY_LINES]:
        if line.strip() and _depth(line) <= _depth(lines[at]):
            return
        yield line


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


_JUDGES: Mapping[str, Callable[[_Case], Iterator[StatementVerdict]]] = {
    "request": _request,
    "blockers": _blockers,
    "tests": _tests,
    "changed since": _judge_changes,
    "running": _jobs,
    "files": _files,
    "quotes": _quotes,
    "constraints": _constraints,
    "ids": _ids,
}
