"""What a conversation gave to subagents: read from the store, and told in its summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from foldaway._core import Reference
from foldaway.compaction import reference_to
from foldaway.stores import SessionInfo, Store

DONE: Literal["done"] = "done"
"""Why a subagent's session ended whose result was taken."""
_MOST_DONE = 5
"""Of the subagents that are done, as many as a summary names, the newest; chosen."""
_TASK_CHARS = 200
"""Of a task in a summary and in a title: as much as lists show of a first ask."""
_TAG = "subagent_notification"
"""Coding agents tell results of subagents in it; what it holds is not read as words of the user."""


class Delegated(Struct, frozen=True):
    """A task that a subagent has."""

    session_id: str
    task: str
    state: Literal["running", "done", "ended"]
    """`ended` without a result that was taken."""
    reference: str = ""
    """By which the whole log of the subagent is recalled, when it is done."""

    @property
    def sentence(self) -> str:
        """The same in words."""
        task = first_line(self.task)
        if self.state == "running":
            return f"Subagent {self.session_id} is working on: {task}"
        where = f" (its whole log: recall {self.reference})" if self.reference else ""
        return f"Subagent {self.session_id} is {self.state} with: {task}{where}"


def delegations(store: Store, info: SessionInfo) -> tuple[Delegated, ...]:
    """Return what a conversation gave to subagents, in order; also before it was rotated."""
    family = {one.id: one for one in store.lineage(info.id)}
    own, at = {info.id}, info
    while at.descent == "compression" and at.parent_id in family:
        at = family[at.parent_id]
        own.add(at.id)
    children = (
        one for one in family.values() if one.descent == "delegation" and one.parent_id in own
    )
    return tuple(_describe(store.newest_leaf(one.id)) for one in children)


def pick_sentences(found: Sequence[Delegated]) -> tuple[str, ...]:
    """Return the sentences for a summary: all that is under way, and the newest of the rest."""
    over = [one for one in found if one.state != "running"]
    left_out = set(over[:-_MOST_DONE])
    return tuple(one.sentence for one in found if one not in left_out)


def _describe(info: SessionInfo) -> Delegated:
    if info.end_reason == DONE:
        return Delegated(info.id, info.goal, "done", whole_log(info).ref)
    return Delegated(info.id, info.goal, "running" if info.ended is None else "ended")


def whole_log(info: SessionInfo) -> Reference:
    """Return the reference by which all of a session is recalled."""
    return Reference(reference_to(f"{info.id} {info.length}"), (0, info.length), "other")


def result_text(done: Delegated, text: str) -> str:
    """Return the words by which a result is told to the parent: not as those of its user."""
    return fence(_TAG, f"{done.sentence}\n\n{text}")


def fence(tag: str, text: str) -> str:
    """Return a text in a block, whose end it cannot contain."""
    return f"<{tag}>\n{text.replace(f'</{tag}', f'<|{tag}')}\n</{tag}>"


def first_line(task: str) -> str:
    """Return the first words of a task, for a title or a summary."""
    line = task.strip().partition("\n")[0]
    return line if len(line) <= _TASK_CHARS else f"{line[: _TASK_CHARS - 1]}…"
