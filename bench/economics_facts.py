"""The bill up to a cut and what the view at the cut still holds, strategy by strategy.

`python bench/economics.py --facts` prints one table per family. Each session is cut at 60 % of its
text. What is before the cut is replayed call by call; the last call is the one at the cut. What it
shows the model is scored by the lab against what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core.policy import Policy, Saving
from foldaway.dialects.loading import load
from foldaway.lab.play.contexts import CLEARING_KEEPS, CLEARS_FROM
from foldaway.lab.replay import (
    CallState,
    Prompt,
    RecordedMessage,
    Recording,
    ReplayCompaction,
    ReplayPlayer,
    ReplayTerms,
    record,
    replay,
)
from foldaway.lab.results import mean, mean_interval
from foldaway.lab.scoring.needed import Elsewhere, prepare
from foldaway.lab.scoring.score import CutCase, cases_of, score
from foldaway.lab.scoring.session import LabSession, Message, is_system, render_all
from foldaway.lab.simulation import ReplayStrategy, append_only, masking, planner
from foldaway.lab.strategies import PLACEHOLDER, foldaway_view
from foldaway.transcript.estimate import estimate_text
from halves.parallel import in_parallel

CUT = 0.60
CLEARS_AGAIN_AFTER = 20_000
"""Tokens that come before the next clearing; chosen, the documented default has no such minimum."""
SAVINGS: dict[Saving, str] = {
    "off": "threshold 50 %", "little": "little", "normal": "normal", "most": "most",
}  # fmt: skip


class CutResult(Struct, frozen=True, kw_only=True):
    """One session under one strategy, up to the cut."""

    strategy: str
    usd: float
    """Cost of the calls, the one at the cut included."""
    tokens: float
    """Size of the view at the cut, as a share of the log; both without the system prompt."""
    bound: float | None
    far: float | None
    answers: float | None
    compactions: int


def print_facts(
    family: str, sessions: Sequence[LabSession], elsewhere: Elsewhere, terms: ReplayTerms, jobs: int
) -> None:
    """Print one row per strategy: means over the sessions, with 95 % intervals by session. Sessions
    that `normal` leaves alone would only hide what it does.

    `5 in 3` compactions are five in three sessions; masking is not counted as one.
    """
    longest_first = sorted(sessions, key=lambda session: -session.tokens)
    work = partial(_session_results, elsewhere=elsewhere, terms=terms)
    done = [rows for rows in in_parallel(work, longest_first, jobs, "sessions") if rows]
    found = [rows for rows in done if any(map(_is_normal, rows))]
    print(f"\n### {family}: the {len(found)} of {len(done)} sessions that `normal` compacts\n")
    print("| strategy | bill against append only | tokens of the view at the cut against the log "
          "| bound | far | answers | compactions | sessions |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    columns = list(zip(*found, strict=True))
    for column in columns:
        print(_table_row(column, columns[0]))


def _is_normal(one: CutResult) -> bool:
    return one.strategy == SAVINGS["normal"] and one.compactions > 0


def _session_results(
    session: LabSession, elsewhere: Elsewhere, terms: ReplayTerms
) -> list[CutResult]:
    """Return a result per strategy, append only first; nothing for a session without a cut."""
    results: list[CutResult] = []
    for case in cases_of(prepare(session), elsewhere, (CUT,)):
        # a recording ends with an answer, so the agent's message at the cut closes it
        until = record(load([*case.messages, case.later[0]], dialect="openai-chat"))
        results += [_result(strategy, until, case, terms) for strategy in _strategies()]
    return results


def _strategies() -> list[ReplayStrategy]:
    arrival = Policy().arrival
    return [
        append_only(),
        replace(masking(), name="masking, newest 5 stay"),
        ReplayStrategy("provider-side clearing", _start_clearing),
        *(replace(planner(save, arrival), name=name) for save, name in SAVINGS.items()),
    ]


def _start_clearing(recording: Recording, terms: ReplayTerms) -> ReplayPlayer:
    return _Clearing(masking(CLEARING_KEEPS).start(recording, terms))


class _Clearing(ReplayPlayer):
    """Lets masking act only on a large prompt, and again only after the prompt has grown."""

    def __init__(self, masks: ReplayPlayer) -> None:
        self._masks = masks
        self._due_from = CLEARS_FROM

    def take(self, entries: tuple[RecordedMessage, ...], prompt: Prompt) -> None:
        self._masks.take(entries, prompt)

    def act(self, state: CallState) -> ReplayCompaction | None:
        before = state.prompt.tokens
        if before <= self._due_from:
            return None
        self._masks.act(state)
        after = state.prompt.tokens
        if after == before:
            return None
        self._due_from = max(CLEARS_FROM, after + CLEARS_AGAIN_AFTER)
        return ReplayCompaction(before, after, 0)


class _Watched(ReplayPlayer):
    """A player, and the prompt that it works on."""

    def __init__(self, player: ReplayPlayer) -> None:
        self._player = player
        self.prompt = Prompt(0, 0)

    def take(self, entries: tuple[RecordedMessage, ...], prompt: Prompt) -> None:
        self.prompt = prompt
        self._player.take(entries, prompt)

    def act(self, state: CallState) -> ReplayCompaction | None:
        return self._player.act(state)


def _result(
    strategy: ReplayStrategy, until: Recording, case: CutCase, terms: ReplayTerms
) -> CutResult:
    player = _Watched(strategy.start(until, terms))
    done = replay(until, strategy.name, player, terms)
    system_tokens = estimate_text(render_all(filter(is_system, case.messages)))
    shown = foldaway_view(_messages(player.prompt, until), system_tokens)
    rates = score(case, shown).rates
    return CutResult(
        strategy=strategy.name, usd=done.usd, tokens=shown.tokens / case.tokens,
        bound=rates["bound"], far=rates["far"], answers=rates["answers"],
        compactions=done.compactions,
    )  # fmt: skip


def _messages(prompt: Prompt, until: Recording) -> list[Message]:
    """Return what the model sees at the cut. A masked result is not a message in the prompt, but is
    still in its old place.
    """
    return [
        wire if isinstance(wire, dict) else {**until.entries[at].wire, "content": PLACEHOLDER}
        for at, (wire, _) in enumerate(prompt.pieces[:-1])
    ]


def _table_row(results: Sequence[CutResult], base: Sequence[CutResult]) -> str:
    compactions = [one.compactions for one in results if one.compactions]
    cells = [
        results[0].strategy,
        _interval([one.usd / other.usd for one, other in zip(results, base, strict=True)]),
        _share(mean([one.tokens for one in results])),
        _interval([one.bound for one in results if one.bound is not None]),
        *(_share(mean(list(map(attrgetter(name), results)))) for name in ("far", "answers")),
        f"{sum(compactions)} in {len(compactions)}",
        str(len(results)),
    ]
    return f"| {' | '.join(cells)} |"


def _interval(values: Sequence[float]) -> str:
    found = mean_interval(values)
    return "–" if found is None else f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
