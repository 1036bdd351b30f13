"""One case: a session cut in two, the truth about it, and how much of it a view still holds."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from foldaway.lab.scoring.facts import is_bound, is_present
from foldaway.lab.scoring.files import (
    find_touched_files,
    is_among,
    label_numbers,
    references,
    summary_facts,
)
from foldaway.lab.scoring.needed import (
    Elsewhere,
    NeededFact,
    PreparedSession,
    find_copied_grams,
    find_form,
    future_facts,
    grams_of,
    needed_facts,
)
from foldaway.lab.scoring.questions import Question, is_answered, questions_at
from foldaway.lab.scoring.record import read_claimed_files
from foldaway.lab.scoring.session import JudgedView, Message, cut_at, is_system
from foldaway.lab.scoring.shell import Touched
from foldaway.lab.scoring.signals import (
    Changed,
    OpenError,
    compute_stale_share,
    constraint_survives,
    constraints,
    error_survives,
    find_changed_values,
    open_errors,
    to_line,
    without_colors,
)
from foldaway.transcript import estimate_text

CUTS = (0.4, 0.6, 0.8)
"""Shares of a session's text at which it is cut."""
_SEARCHED = 40
"""Lost facts that are searched for; the others count as if they were found as often."""
_OWN_WORDS = 2
"""So few names of the future may be words of a strategy's own; more are a leak."""

Find: TypeAlias = Callable[[str], Sequence[str]]
"""Returns the texts of the first five hits of a search among what was before the cut."""
_PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9-]{1,60}(?::[0-9a-f]{1,8})?\]")
"""The placeholder of a hidden secret is not a fact of the source."""


@dataclass(frozen=True)
class CutCase:
    """What is true of a session at a cut."""

    cut: int
    """Of the messages without system prompts, the first that is not seen."""
    messages: list[Message]
    """All messages before the cut, system prompts too: what a strategy gets."""
    later: list[Message]
    """What came after it, which no strategy sees."""
    source: str
    tokens: int
    """Of the messages before the cut, as text, without system prompts."""
    facts: list[NeededFact]
    grams: list[str]
    touched: Touched
    errors: list[OpenError]
    constraints: list[str]
    changed: list[Changed]
    future: frozenset[str]
    questions: list[Question]


@dataclass(frozen=True)
class Score:
    """How one view does in one case; None if there was nothing to keep."""

    rates: dict[str, float | None]
    counts: dict[str, int]
    missed: dict[str, list[str]]


def cases_of(
    prepared: PreparedSession, elsewhere: Elsewhere, shares: Sequence[float] = CUTS
) -> Iterator[CutCase]:
    """Yield a session's cases; cuts that fall on one message are one case."""
    cuts = {cut_at(prepared.messages, prepared.sizes, share) for share in shares}
    for cut in sorted(cut for cut in cuts if cut):
        yield case_at(prepared, cut, elsewhere)


def case_at(prepared: PreparedSession, cut: int, elsewhere: Elsewhere) -> CutCase:
    """Return what is true of a session before one of its messages."""
    seen = prepared.messages[:cut]
    text = "\n".join(prepared.texts[:cut])
    return CutCase(
        cut=cut,
        messages=_with_system(prepared, seen),
        later=prepared.messages[cut:],
        source=f"{prepared.system_text}\n{text}",
        tokens=estimate_text(text),
        facts=needed_facts(prepared, cut, elsewhere),
        grams=find_copied_grams(prepared, cut, elsewhere),
        touched=find_touched_files(seen),
        errors=open_errors(seen),
        constraints=constraints(seen),
        changed=find_changed_values(seen),
        future=future_facts(prepared, cut),
        questions=questions_at(prepared, cut),
    )


def _with_system(prepared: PreparedSession, seen: Sequence[Message]) -> list[Message]:
    """Return the messages before the cut as they stood in the session."""
    last = seen[-1]
    found: list[Message] = []
    for message in prepared.session.messages:
        found.append(message)
        if message is last:
            break
    return found


def score(case: CutCase, shown: JudgedView, find: Find | None = None) -> Score:
    """Return how much of the truth a view holds; `find` searches what was before the cut."""
    view, flat = shown.text, to_line(shown.text)
    forms = [find_form(flat, view, fact) for fact in case.facts]
    pairs = list(zip(case.facts, forms, strict=True))
    far = [bool(form) for fact, form in pairs if fact.is_far]
    grams = grams_of(view, frozenset())
    answered = [is_answered(flat, question) for question in case.questions]
    errors = [error_survives(flat, error) for error in case.errors]
    kept = [constraint_survives(flat, sentence) for sentence in case.constraints]
    files_precision, files_recall, wrong, lost = _files(case, shown)
    invented, unresolved = _inventions(case, shown)
    bound, unbound = _check_bindings(case, forms, view)
    rates = {
        "recall": _share([bool(form) for form in forms]),
        "far": _share(far),
        "bound": bound,
        "copy4": _share([gram in grams for gram in case.grams]),
        "answers": _share(answered),
        "files P": files_precision,
        "files R": files_recall,
        "errors": _share(errors),
        "commands": _share([bool(form) for fact, form in pairs if fact.kind == "command"]),
        "constraints": _share(kept),
        "reach": _reach(pairs, find if shown.archived else None),
        "stale": compute_stale_share(view, case.changed),
    }
    leaked = _find_leaks(case.future, view)
    missed = {
        "far": [f"{fact.kind}: {fact.text}" for fact, form in pairs if fact.is_far and not form],
        "bound": unbound,
        "answers": [
            f"{one.text}: {one.answer}"
            for one, ok in zip(case.questions, answered, strict=True)
            if not ok
        ],
        "files P": wrong,
        "files R": lost,
        "errors": [e.line for e, ok in zip(case.errors, errors, strict=True) if not ok],
        "constraints": [c for c, ok in zip(case.constraints, kept, strict=True) if not ok],
        "invented": invented,
        "bad refs": unresolved,
        "leaked": leaked,
    }
    counts = {"invented": len(invented), "bad refs": len(unresolved), "leaked": len(leaked)}
    return Score(rates, counts, missed)


def _share(rows: Sequence[bool]) -> float | None:
    return sum(rows) / len(rows) if rows else None


def _find_leaks(future: frozenset[str], view: str) -> list[str]:
    """Return names in a view that were first said later; one or two may be words of its own."""
    found = sorted(fact for fact in future if is_present(view, fact))
    return found if len(found) > _OWN_WORDS else []


def _reach(pairs: Sequence[tuple[NeededFact, str]], find: Find | None) -> float | None:
    """Return the share of facts that are kept, or in the first five hits for the words beside them.

    Of the lost ones at most 40 are searched for, picked by their order, and represent the rest.
    """
    if not pairs:
        return None
    lost = [fact for fact, form in pairs if not form]
    if find is None or not lost:
        return 1 - len(lost) / len(pairs)
    tried = lost[:_SEARCHED]
    found = sum(
        any(find_form(to_line(text), text, fact) for text in find(fact.cue))
        for fact in tried
        if fact.cue
    )
    return 1 - len(lost) / len(pairs) * (1 - found / len(tried))


def _check_bindings(
    case: CutCase, forms: Sequence[str], view: str
) -> tuple[float | None, list[str]]:
    """Return the share of facts that are next to their own words, and those that do not."""
    rows: list[bool] = []
    lost: list[str] = []
    for fact, form in zip(case.facts, forms, strict=True):
        if not fact.contexts:
            continue
        rows.append(bool(form) and is_bound(view, form, fact.contexts))
        if form and not rows[-1]:
            words = max(fact.contexts, key=lambda row: (len(row), sorted(row)))
            lost.append(f"{fact.kind}: {fact.text}   (beside: {' '.join(sorted(words)[:8])})")
    return _share(rows), lost


def _files(
    case: CutCase, shown: JudgedView
) -> tuple[float | None, float | None, list[str], list[str]]:
    """Return precision and recall of the touched files, wrong claims, and files not shown.

    Claims are what a summary lists; calls that are still in the view show their files as well and
    cannot be wrong. A text without messages claims nothing, and shows a file if its bare name
    stands: more than it deserves.
    """
    truth = case.touched
    if not shown.messages:
        lost = [path for path in truth.sure if not is_present(shown.text, posixpath.basename(path))]
        return None, _rate(truth.sure, lost), [], sorted(lost)
    claims = set[str]().union(*map(read_claimed_files, shown.summaries))
    wrong = [path for path in claims if not is_among(path, truth.sure | truth.unsure)]
    visible = find_touched_files([m for m in shown.messages if not is_system(m)])
    seen = claims | visible.sure | visible.unsure
    lost = [path for path in truth.sure if not is_among(path, seen)]
    return _rate(claims, wrong), _rate(truth.sure, lost), sorted(wrong), sorted(lost)


def _rate(rows: set[str], bad: Sequence[str]) -> float | None:
    return 1 - len(bad) / len(rows) if rows else None


def _inventions(case: CutCase, shown: JudgedView) -> tuple[list[str], list[str]]:
    """Return facts of the summaries that the source has not, and references to nothing."""
    if not shown.summaries:
        return [], []
    source = without_colors(case.source)
    invented = [
        fact
        for body in shown.summaries
        for fact in sorted(summary_facts(_PLACEHOLDER.sub(" ", body)))
        if not find_form("", source, NeededFact(fact, "path" if "/" in fact else "", False))
    ]
    if shown.resolves is None:
        return invented, []
    unresolved = [ref for ref in sorted(references(shown.text)) if not shown.resolves(ref)]
    for body in shown.summaries:
        most = shown.positions or len(case.messages)
        beyond = [number for number in label_numbers(body) if number >= most]
        unresolved.extend(f"m{number}" for number in sorted(beyond))
    return invented, unresolved
