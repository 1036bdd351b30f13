"""Views: items that cover a log exactly once, and what the model sees through them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.strategies import logs, views

from foldaway.errors import InvalidView
from foldaway.transcript import (
    Folded,
    Item,
    Kept,
    Message,
    Rewritten,
    Text,
    View,
    extend,
    render,
    whole_view,
)

NOTE = Message("user", (Text("note"),), origin="note")


@st.composite
def item_lists(draw: st.DrawFn) -> tuple[tuple[Item, ...], int]:
    """Return items near each other, covering or not, and a length."""
    items: list[Item] = []
    at = 0
    for _ in range(draw(st.integers(0, 4))):
        start = at + draw(st.sampled_from((0, 0, 0, 0, 1, -1)))
        stop = start + draw(st.sampled_from((1, 1, 2, 3, 0, -1)))
        kind = draw(st.integers(0, 2))
        made: Any = (Kept(start, stop), Rewritten(start, NOTE), Folded(start, stop))[kind]
        items.append(made)
        at = items[-1].stop
    return tuple(items), max(0, at + draw(st.sampled_from((0, 0, 0, 1, -1))))


@given(item_lists())
def test_a_view_can_be_made_exactly_where_its_items_cover_the_log(
    drawn: tuple[tuple[Item, ...], int],
) -> None:
    """Construction agrees with listing every covered position one by one."""
    items, length = drawn
    positions = [at for item in items for at in range(item.start, item.stop)]
    covers = positions == list(range(length)) and all(item.stop > item.start for item in items)
    if covers:
        assert View(items, length).items == items
    else:
        with pytest.raises(InvalidView) as caught:
            View(items, length)
        assert -1 <= caught.value.position <= max(length, positions[-1] + 1 if positions else 0)


@given(st.data())
def test_rendering_is_deterministic_and_goes_item_by_item(data: st.DataObject) -> None:
    """Kept ranges come out as the very messages of the log; the rest as what stands for them."""
    log = data.draw(logs())
    view = data.draw(views(log))
    expected: list[Message] = []
    for item in view.items:
        if isinstance(item, Kept):
            expected.extend(log[at] for at in range(item.start, item.stop))
        elif isinstance(item, Rewritten):
            expected.append(item.message)
        else:
            expected.extend(item.messages)
    rendered = list(render(view, log))
    assert len(rendered) == len(expected)
    assert all(a is b for a, b in zip(rendered, expected, strict=True))
    assert rendered == list(render(view, log))


@given(st.data())
def test_appending_to_the_log_only_appends_to_the_rendering(data: st.DataObject) -> None:
    """Until a compaction is recorded the prefix that the provider cached stays as it is."""
    log = data.draw(logs())
    more = data.draw(logs())
    view = data.draw(views(log))
    before = list(render(view, log))
    after = list(render(extend(view, len(log) + len(more)), (*log, *more)))
    assert after == [*before, *more]


@given(st.data())
def test_extending_twice_is_extending_once(data: st.DataObject) -> None:
    """The view of a grown log does not depend on how often it was extended on the way."""
    log = data.draw(logs())
    view = data.draw(views(log))
    first, second = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    total = len(log) + first + second
    assert extend(extend(view, len(log) + first), total) == extend(view, total)
    assert extend(view, len(log)) is view


@given(logs())
def test_the_whole_view_renders_the_log(log: tuple[Message, ...]) -> None:
    """Without a compaction the model sees what was said."""
    assert tuple(render(whole_view(len(log)), log)) == log


@given(st.integers(1, 9), st.integers(0, 8))
def test_a_view_cannot_shrink(length: int, shorter: int) -> None:
    """A log is append-only: a shorter one is not the same log."""
    if shorter < length:
        with pytest.raises(InvalidView):
            extend(whole_view(length), shorter)


@given(logs(), st.integers(0, 20))
def test_a_view_is_not_rendered_over_another_log(log: tuple[Message, ...], length: int) -> None:
    """A log of another length is refused rather than rendered in part."""
    if length != len(log):
        with pytest.raises(InvalidView):
            list(render(whole_view(length), log))
