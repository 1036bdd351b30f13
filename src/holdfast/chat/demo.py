"""A model with a script, for a first look without a key: it reads files and mends a service."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from holdfast.chat.model import WIRES, ChatModel, Hear, ModelAnswer
from holdfast.chat.tools import OwnTool
from holdfast.policy import Policy
from holdfast.tokens import estimate_text

WINDOW = 8_000
"""Tokens: small enough that the story is compacted within a minute."""
POLICY = Policy(floor_tokens=1_000, protect_last=2)
"""A compaction at half of the window; without the floor, which is for real windows."""
PIECE_CHARS, PIECE_SECONDS = 12, 0.012
"""The pace of the answers: some 250 tokens in a second, like a quick model."""


class _Step(Struct, frozen=True):
    """What the user may ask, the file that the model reads for it, and what it says then."""

    ask: str
    file: str
    answer: str


STORY = (
    _Step("The orders service fails every night at three. Find out why. Never change the schema.",
          "logs/orders.log",
          "Every failure is a timeout of the pool: `PoolTimeout: no connection within 30 s`, first "
          "at 03:00:07. At three the nightly report runs. I will look at how the pool is set up."),
    _Step("What size does the pool have?", "orders/settings.py",
          "POOL_SIZE is 5 and the report takes one connection for each shop, up to 40 of them. I "
          "decided to give the report a pool of its own instead of making the shared one larger."),
    _Step("Show me where the report takes its connections.", "orders/report.py",
          "`collect()` opens a connection for each shop and closes none before the end. It should "
          "take one, read shop by shop, and give it back."),
    _Step("Good. Change it, then run the tests.", "out/tests.txt",
          "I changed `collect()` in orders/report.py to one connection. 61 tests pass; "
          "`test_report_is_sorted` fails: it expects the shops in the order of their names."),
    _Step("Why does that test fail?", "tests/test_report.py",
          "The test compares whole lines, and the order of the shops is now that of their numbers. "
          "Sorting the lines at the end of `collect()` mends it, and the report stays as it was."),
    _Step("Do that. Is anything else slow at three?", "logs/database.log",
          "Besides the report there is one query that scans the table of events: 4.1 s, without "
          "the index on `created`. You said that the schema stays, so I leave it and note it."),
    _Step("What was the very first error, word for word?", "",
          "It is above, word for word: I found it in the store, although the conversation was "
          "compacted in between. Try /context, /compress, /branch, /tree or /help."),
)  # fmt: skip
"""Pressing Enter on an empty line asks the next question of it."""
_LINES: Mapping[str, str] = {
    "logs/orders.log": "03:00:{n:02} ERROR orders.pool PoolTimeout: no connection within 30 s "
    "(request {n}, shop {n})",
    "orders/settings.py": "SETTING_{n:02} = {n}  # pool, cache and retries, part {n}",
    "orders/report.py": "    rows += read(connect({n}), 'SELECT total FROM orders')  # line {n}",
    "out/tests.txt": "tests/test_orders.py::test_case_{n:02} PASSED in 0.{n:02} s [{n} of 62]",
    "tests/test_report.py": "    assert report[{n}] == 'shop {n:02}: 1{n:02}.00 EUR, {n} orders'",
    "logs/database.log": "03:01:{n:02} slow query {n}: SELECT * FROM events WHERE created > now()",
}
_READ: dict[str, Any] = {
    "name": "read_file",
    "description": "Return a file of the demo.",
    "parameters": {
        "type": "object",
        "required": ["path"],
        "properties": {"path": {"type": "string", "description": "Its name."}},
    },
}


def read_file(arguments: Mapping[str, Any]) -> str:
    """Return a file of the demo: forty lines that are made up."""
    form = _LINES.get(str(arguments.get("path")))
    return "no such file" if form is None else "\n".join(form.format(n=n) for n in range(40))


DEMO_TOOL = OwnTool(_READ, read_file)


class DemoModel(ChatModel):
    """Answers the questions of the story, with a call of a tool before each answer; what is not in
    it, with a sentence.
    """

    def __init__(self) -> None:
        self.name, self._wire = "demo", WIRES["openai"]
        self._sent = ""

    async def connect(self) -> None:
        """Do nothing: it is here."""

    async def close(self) -> None:
        """Do nothing."""

    def named(self, name: str) -> ChatModel:
        """Return the same model, whatever it is called."""
        made = DemoModel()
        made.name = name
        return made

    async def answer(
        self, frame: Mapping[str, Any], messages: list[Any], hear: Hear
    ) -> ModelAnswer:
        """Call a tool for a question, and answer after its result."""
        sent = json.dumps([frame, messages])
        cached = estimate_text(os.path.commonprefix([self._sent, sent]))
        self._sent, tokens = sent, estimate_text(sent)
        last = messages[-1]
        asks = [str(one["content"]) for one in messages if one["role"] == "user"]
        step = max(STORY, key=lambda one: asks[-1].rfind(one.ask))
        is_known = step.ask in asks[-1]
        if not is_known:
            said = "I only know the story of this demo; press Enter on an empty line to go on."
        elif last["role"] == "tool":
            said = step.answer
        else:
            return _answered("", tokens, cached, _call_for(step))
        for at in range(0, len(said), PIECE_CHARS):
            hear(said[at : at + PIECE_CHARS])
            await asyncio.sleep(PIECE_SECONDS)
        return _answered(said, tokens, cached)


def _call_for(step: _Step) -> dict[str, Any]:
    """Return the call for a question: a file, or a search of what was folded."""
    arguments = {"path": step.file} if step.file else {"text": "PoolTimeout"}
    function = {"name": "read_file" if step.file else "holdfast_search",
                "arguments": json.dumps(arguments)}  # fmt: skip
    return {"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": function}


def _answered(said: str, tokens: int, cached: int, *calls: dict[str, Any]) -> ModelAnswer:
    message: dict[str, Any] = {"role": "assistant", "content": said or None}
    usage = {
        "prompt_tokens": tokens, "completion_tokens": estimate_text(said) + 20 * len(calls),
        "prompt_tokens_details": {"cached_tokens": cached},
    }  # fmt: skip
    return ModelAnswer({**message, "tool_calls": list(calls)} if calls else message, usage)
