"""A run's outcome as a report."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.compaction.breakdown import fixed_categories, with_sections
from holdfast.compaction.compact import Outcome, Unchanged
from holdfast.compaction.work import Work
from holdfast.report import Report, SummaryNote
from holdfast.transcript import Folded, Kept, Rewritten, Transcript, View


def report_of(work: Work, done: Outcome | Unchanged, transcript: Transcript) -> Report:
    """Return the report of one run; `transcript` gives the frame for the breakdown."""
    budget, before = work.budget, done.tokens_before
    shown = _messages_in(work.view)
    stays = Report(
        status="unchanged",
        tokens_before=before,
        tokens_after=before,
        prompt_tokens=before,
        counter=work.counter.name,
        context_length=budget.context_length,
        effective_window=budget.effective_window,
        threshold_tokens=budget.threshold_tokens,
        target_tokens=budget.target_tokens,
        floor_tokens=done.floor_tokens,
        fits_window=before <= budget.effective_window,
        messages_before=shown,
        messages_after=shown,
        kept=len(work.log),
        rewritten=0,
        folded=0,
        compaction_count=work.state.count,
    )
    if isinstance(done, Unchanged):
        return replace(stays, reason=done.reason, detail=done.detail)
    kept, rewritten, folded = _counts(done.view)
    notes: list[str] = []
    if budget.target_tokens is not None and done.tokens_after > budget.target_tokens:
        notes.append(
            f"{budget.target_tokens:,} tokens were asked for and {done.tokens_after:,} are left: "
            f"the newest messages, anchors and the summary's frame need them"
        )
    if done.known_faults:
        notes.append(
            f"what was given breaks {', '.join(done.known_faults)} already, and so does the "
            f"result: repair the list before it is sent"
        )
    if done.tokens_after > budget.effective_window:
        notes.append(
            f"the result still exceeds the window of {budget.effective_window:,} tokens; "
            f"{done.floor_tokens:,} cannot be folded"
        )
    return replace(
        stays,
        status="compacted",
        tokens_after=done.tokens_after,
        fits_window=done.tokens_after <= budget.effective_window,
        messages_after=len(done.messages),
        boundary=done.boundary,
        kept=kept,
        rewritten=rewritten,
        folded=folded,
        compaction_count=done.state.count,
        recoverable=work.wish.references,
        references=done.new_references,
        summary_source=SummaryNote(source="ledger" if folded else "none", confidence="medium"),
        summary_tokens=done.summary_tokens,
        notes=tuple(notes),
        categories=with_sections(
            (*fixed_categories(transcript, work.counter), *done.categories), work.log, work.counter
        ),
    )


def _messages_in(view: View) -> int:
    """Return how many messages a view shows."""
    kept, rewritten, _ = _counts(view)
    folded = (item for item in view.items if isinstance(item, Folded))
    return kept + rewritten + sum(len(item.messages) for item in folded)


def _counts(view: View) -> tuple[int, int, int]:
    kept = rewritten = folded = 0
    for item in view.items:
        match item:
            case Kept(start=start, stop=stop):
                kept += stop - start
            case Rewritten():
                rewritten += 1
            case Folded(start=start, stop=stop):
                folded += stop - start
    return kept, rewritten, folded
