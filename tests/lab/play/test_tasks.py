"""Tasks from a seed: each can be solved by what was said and shown, and by nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from tests.lab.play.playing import Message, Played, play
from tests.testing.rows import each_row

from foldaway.lab.play.scripted import Scripted, find, texts_of
from foldaway.lab.play.task import Need, PlayerTurn, Request, Task, TaskCall, fill
from foldaway.lab.play.tasks import FAMILIES, draw_tasks
from foldaway.transcript import estimate_text

SEEDS = range(10)
FAR = {"rule", "id", "reversed", "changed"}
FEWEST_MESSAGES = 30
"""Between what a far need asks for and its use."""
FEWEST_TOKENS = 8_000


class Use(Struct, frozen=True):
    """A far need of a play: where its value was last to be read, and where it was used."""

    need: Need
    value: str
    messages: int
    tokens: int


class Watching(Scripted):
    """Plays by a script, and writes down what its far needs were answered with."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task, self.moves, self.uses = task, iter(task.script), list[Use]()

    def act(self, request: Request) -> PlayerTurn:
        """Return the next move; every need is in the request, so a turn is a move."""
        texts, values = texts_of(request), dict[str, str]()
        for need in next(self.moves).needs:
            value = find(texts, need.shape, [fill(word, values) for word in need.near])
            assert value is not None, need
            values[need.name] = value
            if need.kind in FAR:
                away = next(
                    at
                    for at, text in enumerate(reversed(texts))
                    if value in text and any(value in one for one in re.findall(need.shape, text))
                )
                tokens = sum(map(estimate_text, texts[len(texts) - away :]))
                self.uses.append(Use(need, value, away, tokens))
        return super().act(request)


def written(played: Played) -> str:
    """Return a play as one text."""
    return json.dumps(played.messages)


@each_row("family", sorted(FAMILIES))
def test_with_everything_in_view_every_task_is_solved(family: str) -> None:
    """No wrong action, every goal met, in the number of requests that the task says."""
    for seed in SEEDS:
        task = FAMILIES[family](seed, seed % 3)
        player = Scripted(task)
        played = play(task, player)
        assert (played.unmet, played.world.wrong, player.guesses) == ([], 0, 0), task.name
        assert played.requests == task.steps == len(task.script), task.name
        assert 60 <= task.steps <= 400, task.name


@each_row("family", sorted(FAMILIES))
def test_a_task_grows_to_a_long_prompt(family: str) -> None:
    """About 40,000 to 250,000 tokens at its end."""
    for number in range(5):
        texts = texts_of(Request(play(FAMILIES[family](3, number)).messages, ()))
        assert 36_000 < sum(map(estimate_text, texts)) < 275_000


@each_row("family", sorted(FAMILIES))
def test_what_is_needed_was_said_long_before(family: str) -> None:
    """Every kind of far need is in every task, and no value is said again shortly before."""
    for number in range(5):
        task = FAMILIES[family](5, number)
        player = Watching(task)
        play(task, player)
        assert {use.need.kind for use in player.uses} == FAR, task.name
        near = [
            use
            for use in player.uses
            if use.messages < FEWEST_MESSAGES or use.tokens < FEWEST_TOKENS
        ]
        assert near == [], task.name


@each_row("family", sorted(FAMILIES))
def test_an_old_decision_does_not_hold(family: str) -> None:
    """Every need of what was reversed has an older value before, which is not the right one."""
    for number in range(3):
        task = FAMILIES[family](7, number)
        player = Watching(task)
        texts = texts_of(Request(play(task, player).messages, ()))
        for use in player.uses:
            if use.need.kind == "reversed":
                first = next(at for at, text in enumerate(texts) if use.value in text)
                words = [fill(word, {}) for word in use.need.near]
                older = find(texts[:first], use.need.shape, words)
                assert older not in (None, use.value), (task.name, use.need)


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    """Nothing depends on the hashes of a process; other numbers and seeds give other tasks."""
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "from tests.lab.play.test_tasks import digest\n"
        "print(digest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    tasks = draw_tasks(2 * len(FAMILIES), 1) + draw_tasks(len(FAMILIES), 2)
    assert len({written(play(task)) for task in tasks}) == len(tasks)


def digest() -> str:
    """Return the bytes of some plays, in short."""
    import hashlib

    text = "".join(written(play(task)) for task in draw_tasks(len(FAMILIES), 11))
    return hashlib.sha256(text.encode()).hexdigest()


def test_tasks_are_drawn_of_all_families_evenly() -> None:
    """As many of each, and no name twice."""
    tasks = draw_tasks(5 * len(FAMILIES), 4)
    assert set(Counter(task.family for task in tasks).values()) == {5}
    assert len({task.name for task in tasks}) == len(tasks)


@each_row("family", sorted(FAMILIES))
def test_who_is_shown_nothing_solves_nothing(family: str) -> None:
    """The script of a task has none of its facts."""
    for number in range(2):
        task = FAMILIES[family](9, number)
        player = Scripted(task)
        played = play(task, player, shown=lambda messages: [])
        met = [goal for goal in played.world.goals() if goal.is_met]
        assert met == [], task.name
        assert player.guesses > 0


@each_row("family", sorted(FAMILIES))
def test_a_short_window_is_not_enough(family: str) -> None:
    """With the last messages alone something that was said before is missing."""

    def last(messages: list[Message]) -> list[Message]:
        return messages[-12:]

    for number in range(2):
        task = FAMILIES[family](9, number)
        played = play(task, shown=last)
        assert played.unmet, task.name
        assert played.world.wrong, task.name


_VALUES: Any = st.one_of(st.text(max_size=12), st.integers(-9, 9**9), st.none(), st.booleans())


@each_row("family", sorted(FAMILIES))
def test_no_call_raises(family: str) -> None:
    """An unknown tool, a missing argument and one of another type have results that say so."""
    task = FAMILIES[family](1, 1)
    tools = {tool.name: tool for tool in task.tools}
    world = task.start()

    @settings(max_examples=150, deadline=None)
    @given(st.data())
    def called(data: st.DataObject) -> None:
        name = data.draw(st.one_of(st.sampled_from(sorted(tools)), st.text(max_size=8)))
        known = sorted(tools[name].parameters["properties"]) if name in tools else ["a"]
        names = st.one_of(st.sampled_from(known or ["a"]), st.text(max_size=4))
        arguments = data.draw(st.dictionaries(names, _VALUES, max_size=4))
        result = world.call(TaskCall(name, arguments))
        assert result
        if name not in tools:
            assert result.startswith("Error: unknown tool")
        elif any(
            argument not in arguments for argument in tools[name].parameters["required"]
        ) or not set(arguments) <= set(known):
            assert result.startswith(f"Error: {name}")

    called()


@each_row("family", sorted(FAMILIES))
def test_who_ends_a_round_before_doing_anything_is_asked_to_go_on(family: str) -> None:
    """The person waits, though not forever: a player that only talks comes to the end."""
    world = FAMILIES[family](1, 0).start()
    first = world.hear("Shall I begin?")
    assert first is not None
    assert "go on" in first
    answers = 1
    while world.hear("And now?") is not None:
        answers += 1
        assert answers < 1000
    assert not any(goal.is_met for goal in world.goals())
