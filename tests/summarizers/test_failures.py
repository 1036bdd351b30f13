"""What follows when a model wrote no usable summary."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway._core.report import Urgency
from foldaway.errors import FailureKind, SummarizerFailed
from foldaway.summarizers.failures import (
    CLASSES,
    LONGEST_PAUSE,
    PAUSES,
    Breaker,
    OnFailure,
    after_failure,
    next_step,
    sentence,
    without_writer,
)

KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
OUT_OF_REACH = ("refused", "not found", "unreachable")


@each_row("kind", KINDS)
@each_row("urgency", get_args(Urgency))
@each_row("on_failure", get_args(OnFailure))
def test_every_edge_of_the_table(
    kind: FailureKind, urgency: Urgency, on_failure: OnFailure
) -> None:
    """The other summarizer first; an abort where it was asked for, or where nobody can be reached
    and there is room; the ledger's summary otherwise. A cancelled run always stops.
    """
    first = next_step(kind, on_failure, urgency, has_other=True)
    last = next_step(kind, on_failure, urgency, has_other=False)
    if kind == "cancelled":
        assert (first, last) == ("abort", "abort")
        return
    assert first == "other"
    if on_failure == "abort":
        assert last == "abort"
    elif on_failure == "ledger":
        assert last == "ledger"
    else:
        assert last == ("abort" if kind in OUT_OF_REACH and urgency != "hard" else "ledger")


def test_hard_urgency_aborts_only_where_that_was_asked_for() -> None:
    """A session that does not fit any more goes on without a model."""
    for kind in KINDS:
        assert without_writer(kind, "auto", "hard") == "ledger"
        assert without_writer(kind, "abort", "hard") == "abort"


@each_row("kind", [kind for kind in KINDS if kind != "cancelled"])
def test_pauses_grow_to_a_bound(kind: FailureKind) -> None:
    """30, 60 or 600 seconds by class, doubled with every failure in a row, an hour at most."""
    breaker, pauses = Breaker(), list[float]()
    for _ in range(40):
        breaker = after_failure(breaker, SummarizerFailed(kind, "m"), 1_000.0)
        pauses.append(breaker.until - 1_000.0)
    first = PAUSES[CLASSES[kind]]
    assert pauses[0] == first
    assert pauses[1] == min(2 * first, LONGEST_PAUSE)
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
    assert breaker.strikes == 40


@given(delay=st.floats(-10, 1e9), now=st.floats(0, 1e10))
def test_a_delay_that_the_provider_names_is_kept(delay: float, now: float) -> None:
    """Never sooner than asked, never longer than an hour, whatever a server writes."""
    failure = SummarizerFailed("rate limited", "m", retry_after=delay)
    breaker = after_failure(Breaker(), failure, now)
    assert breaker.until >= now + min(delay, LONGEST_PAUSE) - 1e-3
    assert breaker.until <= now + LONGEST_PAUSE + 1e-3
    assert breaker.is_open(now)
    assert not breaker.is_open(breaker.until)


def test_a_cancelled_run_is_no_failure_of_the_summarizer() -> None:
    """It leaves no pause behind."""
    assert after_failure(Breaker(), SummarizerFailed("cancelled", "m"), 5.0) == Breaker()


@each_row("kind", KINDS)
def test_people_read_what_happened_what_was_kept_and_what_to_do(kind: FailureKind) -> None:
    """One sentence with all three."""
    said = sentence(SummarizerFailed(kind, "openai:m", "status 401"), "abort")
    assert said.startswith(f"openai:m: {kind} (status 401); nothing was changed; ")
    assert len(said.rsplit("; ", 1)[1]) > 10
