"""What the worlds of all families share: the person's rounds, the check of calls, what counts."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway.lab.play.task import Goal, Move, Need, Task, TaskCall, TaskTool, World, fill, holes_of

MOST_PATIENCE = 2
"""How often the person asks to go on if a round ends before anything was done in it."""
_TYPES: Mapping[str, type] = {"string": str, "integer": int}
_MOST_SHOWN_CHARS = 80


class Round(Struct, frozen=True):
    """What the person asks for at once; `acts` are the tools of which one has to be called."""

    says: str
    acts: Collection[str] = ()


class Aim(Struct, frozen=True):
    """With what a tool has to be called for something; `is_part`: it may say more than that."""

    must: Mapping[str, str]
    is_part: bool = False


class Story:
    """A task while it is drawn: what the person says, the procedure, and what has to be true."""

    def __init__(self, family: str) -> None:
        """Start with nothing asked."""
        self.family = family
        self.rounds: list[Round] = []
        self.script: list[Move] = []
        self.aims: dict[tuple[str, str], Aim] = {}
        """What has to be done, by tool and by what it is done to."""

    def want(self, tool: str, *, is_part: bool = False, **arguments: str) -> None:
        """Add what has to be done: the first argument says to what."""
        (_, key), *must = arguments.items()
        self.aims[tool, key] = Aim(dict(must), is_part)

    def move(
        self,
        line: str,
        text: str = "",
        *,
        otherwise: str = "",
        above: tuple[str, str] | None = None,
        long: Mapping[str, str] | None = None,
        near: Collection[str] = (),
        words: Mapping[str, str] | None = None,
    ) -> Move:
        """Return a move from a line such as `refund order={order}`, with the needs of its holes.

        `long` has arguments with spaces, `words` what the key words of needs are, and `near` the
        needs that are not far this time.
        """
        call, other = (_call_of(one, long) for one in (line, otherwise))
        needs: dict[str, Need] = {}

        def add(texts: Iterable[object]) -> None:
            for name in holes_of("\n".join(map(str, texts))):
                if name not in needs:
                    need = _need(self.family, name, words or {})
                    add((*need.near, *(need.again.arguments.values() if need.again else ())))
                    needs[name] = replace(need, kind="near") if name in near else need

        for one in (call, other):
            add(one.arguments.values() if one else ())
        add(f"{{{name}}}" for name in above or ())
        return Move(call, text, tuple(needs.values()), above, other)

    def task(self, seed: int, number: int, start: Callable[[], World], **words: str) -> Task:
        """Return the task, once all of it is drawn."""
        return Task(
            family=self.family,
            name=f"{self.family}-{seed}-{number}",
            system=vocabulary()[self.family]["system"].format(**words),
            tools=tools_of(self.family),
            opening=self.rounds[0].says,
            start=start,
            steps=len(self.script),
            script=self._procedure(),
        )

    def _procedure(self) -> tuple[Move, ...]:
        """Return the script. A fact is far at its first use alone: later it stands nearer."""
        used: set[tuple[str, ...]] = set()
        moves: list[Move] = []
        for move in self.script:
            needs = tuple(
                replace(one, kind="near") if (one.shape, *one.near) in used else one
                for one in move.needs
            )
            used |= {(one.shape, *one.near) for one in needs if one.kind != "near"}
            moves.append(replace(move, needs=needs))
        return tuple(moves)


def _call_of(line: str, long: Mapping[str, str] | None) -> TaskCall | None:
    """Return the call of a line; none for an empty one."""
    if not line:
        return None
    tool, *parts = line.split(" ")
    pairs = (part.split("=", 1) for part in parts)
    given = {name: int(value) if value.isdigit() else value for name, value in pairs}
    return TaskCall(tool, given | dict(long or {}))


def _need(family: str, name: str, words: Mapping[str, str]) -> Need:
    """Return a need of a family."""
    one = vocabulary()[family]["needs"][name]
    return Need(
        name,
        fill(one["shape"], words),
        tuple(fill(word, words) for word in one["near"]),
        fill(one["guess"], words),
        one.get("kind", "near"),
        _call_of(fill(one.get("again", ""), words), None),
    )


class Draw(random.Random):
    """Random choices that no other task shares; numbers and names come up once only."""

    def __init__(self, seed: str) -> None:
        """Start from a text."""
        super().__init__(seed)
        self._given: set[str] = set()

    def number(self, digits: int, prefix: str = "") -> str:
        """Return a number that was not given yet."""
        return self.once(
            lambda: f"{prefix}{self.randrange(10 ** (digits - 1) + 1, 10**digits - 1)}"
        )

    def code(self, digits: int) -> str:
        """Return hexadecimal digits that were not given yet, with a letter and a figure."""
        return self.once(
            lambda: (
                self.one("abcdef")
                + "".join(self.one("0123456789abcdef") for _ in range(digits - 2))
                + self.one("23456789")
            )
        )

    def once(self, make: Callable[[], str]) -> str:
        """Return the first of many texts that was not given yet."""
        while (text := make()) in self._given:
            pass
        self._given.add(text)
        return text

    def one(self, words: Sequence[str]) -> str:
        """Return one of the words; it may come again."""
        return words[int(self.random() * len(words))]

    def person(self) -> str:
        """Return the name of somebody who is in no other place."""
        names = vocabulary()["people"]
        return self.once(lambda: f"{self.one(names['first'])} {self.one(names['last'])}")

    def said(self, sentences: Sequence[str], low: int, high: int) -> str:
        """Return some sentences in any order."""
        count = min(len(sentences), self.randint(low, high))
        return " ".join(self.sample(list(sentences), count))


class Stage:
    """A world of rounds; a method `do_search` is the tool `search`.

    A tool without a method books what it is called with.
    """

    def __init__(self, story: Story) -> None:
        """Start before the first call; the first round has been said."""
        self.wrong = 0
        self.round = 0
        self.booked: dict[tuple[str, str], Mapping[str, str]] = {}
        """The last call of a tool for something."""
        self.known: Mapping[str, Container[str]] = {}
        """The values that some arguments can have."""
        self._story = story
        self._tools = {tool.name: tool for tool in tools_of(story.family)}
        self._met = dict.fromkeys(story.aims, False)
        self._patience = MOST_PATIENCE

    def call(self, call: TaskCall) -> str:
        """Return the result of a call; what is wrong with its form is a result too."""
        tool = self._tools.get(call.name)
        if tool is None:
            return f"Error: unknown tool {_short(call.name)}. Tools: {', '.join(self._tools)}"
        fault = fault_of(tool, call.arguments)
        if fault:
            return f"Error: {tool.name}: {fault}"
        if tool.name in self._story.rounds[self.round].acts:
            self._patience = 0
        does = getattr(self, f"do_{tool.name}", None)
        for name, value in call.arguments.items():
            if value not in self.known.get(name, (value,)):
                self.wrong += does is None
                return f"Error: no {name} {_short(value)}"
        return self._book(tool.name, call.arguments) if does is None else does(**call.arguments)

    def hear(self, text: str) -> str | None:
        """Return the next round, or ask to go on if nothing was done in this one."""
        del text
        rounds = self._story.rounds
        if rounds[self.round].acts and self._patience:
            self._patience -= 1
            return "I don't see it done yet. Please go on, and tell me once it is."
        self._patience = MOST_PATIENCE
        if self.round + 1 >= len(rounds):
            return None
        self.round += 1
        return rounds[self.round].says

    def goals(self) -> Sequence[Goal]:
        """Return the aims, and whether each is met."""
        return [Goal(f"{tool} {key}", is_met) for (tool, key), is_met in self._met.items()]

    def extra(self, tool: str, key: str) -> Mapping[str, str]:
        """Return what the result of a booking says beyond its arguments."""
        del tool, key
        return {}

    def _book(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Book a call, and compare it with the aims: what none of them asks for is wrong."""
        words = vocabulary()[self._story.family]["tools"][tool]
        key = arguments[next(iter(words["arguments"]))]
        aim, may_repeat = self._story.aims.get((tool, key)), words.get("may_repeat", False)
        if aim is not None:
            was_met = self._met[tool, key]
            is_right = (may_repeat or not was_met) and all(
                _is_same(arguments.get(name, ""), value, aim.is_part)
                for name, value in aim.must.items()
            )
            self._met[tool, key] = is_right or (was_met and may_repeat)
            self.wrong += not is_right
        else:
            self.wrong += not words.get("is_free", False)
        self.booked[tool, key] = arguments
        return words["books"].format(**arguments, **self.extra(tool, key))


def tools_of(family: str) -> tuple[TaskTool, ...]:
    """Return the tools of a family, as its words describe them."""
    return tuple(
        TaskTool(
            name,
            one["description"],
            {
                "type": "object",
                "properties": {
                    argument: {
                        "type": "integer" if says.endswith("#") else "string",
                        "description": says.rstrip("#"),
                    }
                    for argument, says in one.get("arguments", {}).items()
                },
                "required": [
                    argument
                    for argument in one.get("arguments", {})
                    if argument not in one.get("optional", ())
                ],
            },
        )
        for name, one in vocabulary()[family]["tools"].items()
    )


@lru_cache(maxsize=1)
def vocabulary() -> Mapping[str, Any]:
    """Return the words of all families."""
    text = Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def pretty(record: Mapping[str, object]) -> str:
    """Return a record as JSON, a line for a field and for a row of a list."""
    lines: list[str] = []
    for name, value in record.items():
        if isinstance(value, list) and value:
            rows = ",\n".join(f"    {json.dumps(row)}" for row in cast(list[object], value))
            lines.append(f'  "{name}": [\n{rows}\n  ]')
        else:
            lines.append(f'  "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}"


def fault_of(tool: TaskTool, arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with the form of arguments; nothing if they are as they should be."""
    known, required = tool.parameters["properties"], tool.parameters["required"]
    for name, value in arguments.items():
        if name not in known:
            return f"unknown argument {_short(name)}"
        kind = known[name]["type"]
        if not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
            return f"argument {name!r} must be of type {kind}"
    missing = [name for name in required if name not in arguments]
    return f"missing argument {missing[0]!r}" if missing else ""


def _short(value: object) -> str:
    """Return a value as an error shows it."""
    return repr(value)[:_MOST_SHOWN_CHARS]


def _is_same(given: str, value: str, is_part: bool) -> bool:
    """Return whether what is given is the value, apart from case, spaces and a currency."""
    first, second = (" ".join(text.casefold().split()) for text in (given, value))
    return second in first if is_part else first.removesuffix(" eur") == second
