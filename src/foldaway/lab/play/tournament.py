"""Every task under every strategy, in a folder that can be resumed.

run.json      what was asked
plays.jsonl   a line for each play: as they come, and in their order when all are done
play.json     a line of figures for each strategy, and what is to be said of them
play.html     the page
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from foldaway._core import ASSUMED_CONTEXT_LENGTH, __version__, write_whole
from foldaway.caching import known_prices
from foldaway.errors import BatchStopped, InvalidSetting
from foldaway.lab.play.game import Played, play
from foldaway.lab.play.models import ModelPlayer, ModelSummaryContext, PlayingModel
from foldaway.lab.play.page import write_page
from foldaway.lab.play.scripted import Scripted
from foldaway.lab.play.standings import PlaySummary, summarize_plays
from foldaway.lab.play.strategies import STRATEGIES, PlayStrategy, choose_play_strategies
from foldaway.lab.play.task import Task
from foldaway.lab.play.tasks import draw_tasks
from foldaway.lab.replay import ReplayTerms
from foldaway.lab.results import PlayManifest
from foldaway.lab.run_folder import claim_folder, read_progress, run_in_processes

PRICED = "claude-sonnet-5-5"
"""Whose prices are taken if none are asked for: the newest of the models that agents use most."""
PLAYS, SUMMARY, PAGE = "plays.jsonl", "play.json", "play.html"

Tell: TypeAlias = Callable[[int, int], None]
"""Told how many plays are done, and of how many."""


class PlaySettings(Struct, frozen=True, kw_only=True):
    """What a run of plays is asked."""

    tasks: int = 60
    seed: int = 1
    strategies: tuple[str, ...] = ()
    """Names; empty: all that there are."""
    window: int = ASSUMED_CONTEXT_LENGTH
    priced: str = PRICED
    model: str = ""
    """Who plays: `openai:NAME` or `anthropic:NAME`; "" for the scripted player."""
    url: str = ""
    key_variable: str = ""

    def check(self) -> None:
        """Raise `UnknownName` or `InvalidSetting` for what cannot be, and `MissingExtra` if the SDK
        of a model is not installed.
        """
        self.choose()
        self.make_terms()
        if self.playing is not None:
            self.playing.check()

    @property
    def playing(self) -> PlayingModel | None:
        """The model that plays."""
        return PlayingModel(self.model, self.url, self.key_variable) if self.model else None

    def make_terms(self) -> ReplayTerms:
        """Return prices and window; raises `InvalidSetting` if no price of the model is known."""
        prices = known_prices(self.priced)
        if prices is None:
            raise InvalidSetting("--prices-of", self.priced, "a model whose prices are known")
        return ReplayTerms(prices=prices, context_length=self.window)

    def choose(self) -> Mapping[str, PlayStrategy]:
        """Return the strategies that are played, by name; raises `UnknownName`."""
        known = list(STRATEGIES)
        if self.playing is not None:
            start = partial(_start_summarizing, self.playing)
            known.append(PlayStrategy("model summary", "a summary by the model that plays", start))
        return choose_play_strategies(self.strategies, known)

    def run(self, folder: Path, *, jobs: int, tell: Tell) -> PlaySummary:
        """Play everything that the folder does not have yet, and write what came of it.

        Raises `NotWritable` if the folder holds another run, and what `check` does. A stop at any
        time loses at most the plays that are under way.
        """
        self.check()
        chosen, terms = self.choose(), self.make_terms()
        manifest = PlayManifest(
            version=__version__,
            tasks=self.tasks,
            seed=self.seed,
            strategies=tuple(chosen),
            window=self.window,
            prices=terms.prices,
            player=self.model or "scripted",
        )
        claim_folder(folder, manifest)
        plays = self._play_all(folder / PLAYS, list(chosen), jobs, tell)
        summary = summarize_plays(manifest, chosen.values(), plays)
        write_whole(folder / SUMMARY, msgspec.json.encode(summary) + b"\n")
        write_page(folder / PAGE, summary)
        return summary

    def _play_all(self, path: Path, names: Sequence[str], jobs: int, tell: Tell) -> list[Played]:
        found = [msgspec.json.decode(line, type=Played) for line in read_progress(path)]
        done = {(one.task, one.strategy): one for one in found if one.is_counted}
        order = [(task.name, name) for task in draw_tasks(self.tasks, self.seed) for name in names]
        waiting = [one for one in order if one not in done]

        def tell_done() -> None:
            tell(len(done), len(order))

        tell_done()
        with path.open("ab") as progress:
            for played in _play(waiting, self, jobs, tell_done):
                if isinstance(played, str):
                    raise BatchStopped(played)
                done[played.task, played.strategy] = played
                progress.write(msgspec.json.encode(played) + b"\n")
                progress.flush()
                tell_done()
        plays = [done[one] for one in order]
        write_whole(path, b"".join(msgspec.json.encode(one) + b"\n" for one in plays))
        return plays


def _start_summarizing(model: PlayingModel, *given: Any) -> ModelSummaryContext:
    return ModelSummaryContext(*given, summarizer=model.summarizer())


class _Table(Struct, frozen=True):
    """What a process needs for each of its plays."""

    tasks: Mapping[str, Task]
    strategies: Mapping[str, PlayStrategy]
    terms: ReplayTerms
    settings: PlaySettings


_held: list[_Table] = []
"""Of this process: tasks cannot be sent to it, so each draws them."""


def _begin(settings: PlaySettings) -> None:
    tasks = {task.name: task for task in draw_tasks(settings.tasks, settings.seed)}
    _held[:] = [_Table(tasks, settings.choose(), settings.make_terms(), settings)]


def _play_one(asked: tuple[str, str]) -> Played | str:
    """Return a play, or why nothing more can be played: the error cannot be sent as it is."""
    (table,), (name, strategy) = _held, asked
    task, settings = table.tasks[name], table.settings
    player = ModelPlayer(settings.playing) if settings.playing else Scripted(task)
    context = table.strategies[strategy].start(task.tools, table.terms)
    try:
        return play(strategy, task, player, context)
    except BatchStopped as error:
        return error.why


def _play(
    waiting: Sequence[tuple[str, str]], settings: PlaySettings, jobs: int, tell: Callable[[], None]
) -> Iterator[Played | str]:
    begin = partial(_begin, settings)
    if min(jobs, len(waiting)) > 1:
        return run_in_processes(_play_one, waiting, jobs, begin, tell)
    begin()
    return map(_play_one, waiting)
