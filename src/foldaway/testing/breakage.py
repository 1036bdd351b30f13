"""Ways in which real transcripts are broken, by name, to be done to a valid list on purpose.

`apply(name, provider, items)` returns a broken copy. Which of several places is broken is the
choice of the caller, so that hypothesis can search and shrink it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct

from foldaway.errors import UnknownName
from foldaway.testing.anatomy import (
    ANATOMY,
    Choose,
    Path,
    Spot,
    Target,
    get_at,
    paths_of,
    remove,
    set_at,
    texts_of,
)

_ALL = frozenset(ANATOMY)
_CHAT = frozenset({"openai-chat", "strict"})
_ANTHROPIC = frozenset({"anthropic"})
_RESPONSES = frozenset({"openai-responses"})
_WITH_IDS = _CHAT | {"anthropic", "openai-responses"}
_APIS = _ALL - {"sharegpt"}

Spoil: TypeAlias = Callable[[Target], bool]
"""Changes a list in place, and says whether there was anything to break."""
Places: TypeAlias = Callable[[Target], list[Any]]


class Breakage(Struct, frozen=True):
    """One way of breaking a list.

    `providers` are the ones whose lists it fits; `refused_by` those that refuse every list broken
    like this.
    """

    name: str
    spoil: Spoil
    providers: frozenset[str] = _ALL
    refused_by: frozenset[str] = frozenset()


def apply(
    name: str, provider: str, items: list[Any], choose: Choose = lambda count: 0
) -> list[Any] | None:
    """Return a broken deep copy of the valid list `items`; None if there is nothing to break."""
    breakage = BREAKAGES.get(name)
    if breakage is None:
        raise UnknownName("breakage", name, tuple(BREAKAGES))
    if provider not in breakage.providers:
        return None
    target = Target(deepcopy(items), ANATOMY[provider], choose)
    return target.items if breakage.spoil(target) else None


def _drop(target: Target, spots: list[Spot]) -> bool:
    spot = target.one_of(spots)
    if spot is None or (len(target.items) == 1 and not spot.nested):
        return False
    remove(target.items, spot.path)
    if not target.items:
        return False
    for item in target.items:
        if item.get("tool_calls") == []:
            del item["tool_calls"]
    return True


def _dropped_result(target: Target) -> bool:
    return _drop(target, target.anatomy.results(target.items))


def _dropped_call(target: Target) -> bool:
    return _drop(target, target.anatomy.calls(target.items))


def _break_one_of(places: Places) -> Callable[[Callable[[Target, Any], None]], Spoil]:
    """Break one of these places; a list without any stays whole."""

    def decorate(do: Callable[[Target, Any], None]) -> Spoil:
        def spoil(target: Target) -> bool:
            found = places(target)
            if not found:
                return False
            do(target, target.one_of(found))
            return True

        return spoil

    return decorate


def _results(target: Target) -> list[Any]:
    return list(target.anatomy.results(target.items))


@_break_one_of(_results)
def _repeat_result(target: Target, spot: Spot) -> None:
    holder, place = get_at(target.items, spot.path[:-1]), spot.path[-1]
    holder.insert(place, deepcopy(holder[place]))


def _duplicate_id(target: Target) -> bool:
    calls = target.anatomy.calls(target.items)
    if len(calls) < 2:
        return False
    first = target.choose(len(calls) - 1)
    old = get_at(target.items, calls[first + 1].id_path)
    new = get_at(target.items, calls[first].id_path)
    for spot in [calls[first + 1], *target.anatomy.results(target.items)]:
        if get_at(target.items, spot.id_path) == old:
            set_at(target.items, spot.id_path, new)
    return True


def _field(
    spots: Literal["calls", "results"],
    field: Literal["id_path", "arguments_path", "name_path"],
    *values: Any,
) -> Spoil:
    """Return what replaces a field of a call or result; without a value the field goes."""

    def spoil(target: Target) -> bool:
        spot = target.one_of(getattr(target.anatomy, spots)(target.items))
        path = getattr(spot, field) if spot is not None else ()
        if not path:
            return False
        if values:
            set_at(target.items, path, values[0])
        else:
            del get_at(target.items, path[:-1])[path[-1]]
        return True

    return spoil


def _with_role(target: Target) -> list[Any]:
    return [item for item in target.items if target.anatomy.role_key in item]


def _role(*values: Any) -> Spoil:
    @_break_one_of(_with_role)
    def spoil(target: Target, item: Any) -> None:
        if values:
            item[target.anatomy.role_key] = values[target.choose(len(values))]
        else:
            del item[target.anatomy.role_key]

    return spoil


def _with_words(target: Target) -> list[Any]:
    key, role = target.anatomy.content_key, target.anatomy.role_key
    return [
        item
        for item in target.items
        if role in item
        and item.get(key)
        and "tool_calls" not in item
        and item[role] not in ("tool", "function", "observation")
    ]


def _content(value: Any) -> Spoil:
    @_break_one_of(_with_words)
    def spoil(target: Target, item: Any) -> None:
        item[target.anatomy.content_key] = deepcopy(value)

    return spoil


def _text(new: Callable[[str], str]) -> Spoil:
    @_break_one_of(lambda target: texts_of(target.items))
    def spoil(target: Target, path: Path) -> None:
        set_at(target.items, path, new(get_at(target.items, path)))

    return spoil


def _not_an_object(target: Target) -> bool:
    values: tuple[Any, ...] = (None, "hello", 7, [], True)
    value = values[target.choose(5)]
    target.items.insert(target.choose(len(target.items) + 1), value)
    return True


@_break_one_of(lambda target: target.items)
def _private_key(target: Target, item: Any) -> None:
    item["_foldaway_private"] = {"tokens": 12}


def _swap_calls(target: Target) -> bool:
    items = target.items
    if len(items) < 2:
        return False
    first = target.choose(len(items) - 1)
    items[first], items[first + 1] = items[first + 1], items[first]
    return True


def _repeat_message(target: Target) -> bool:
    place = target.choose(len(target.items))
    target.items.insert(place, deepcopy(target.items[place]))
    return True


def _cut_front(target: Target) -> bool:
    if len(target.items) < 2:
        return False
    del target.items[: 1 + target.choose(len(target.items) - 1)]
    return True


@_break_one_of(_results)
def _delay_result(target: Target, spot: Spot) -> None:
    made = {"role": "user", target.anatomy.content_key: "and then?"}
    if target.anatomy.content_key == "parts":
        made = {"role": "user", "parts": [{"text": "and then?"}]}
    target.items.insert(cast("int", spot.path[0]), made)


def _result_messages(target: Target) -> list[Any]:
    return sorted({spot.path[0] for spot in target.anatomy.results(target.items)}, key=int)


@_break_one_of(_result_messages)
def _results_after_text(target: Target, index: int) -> None:
    target.items[index]["content"].insert(0, {"type": "text", "text": "meanwhile"})


def _with_several_results(target: Target) -> list[Any]:
    return [
        index
        for index in _result_messages(target)
        if sum(block["type"] == "tool_result" for block in target.items[index]["content"]) > 1
    ]


@_break_one_of(_with_several_results)
def _results_split(target: Target, index: int) -> None:
    first, *rest = target.items[index]["content"]
    target.items[index : index + 1] = [
        {"role": "user", "content": [first, {"type": "text", "text": "wait"}]},
        {"role": "user", "content": rest},
    ]


def _blocks_of_type(target: Target, kind: str) -> list[Any]:
    return [
        block
        for item in target.items
        if isinstance(item["content"], list)
        for block in item["content"]
        if block["type"] == kind
    ]


@_break_one_of(lambda target: _blocks_of_type(target, "thinking"))
def _unsign_thinking(target: Target, block: Any) -> None:
    del block["signature"]


@_break_one_of(lambda target: _blocks_of_type(target, "text"))
def _empty_text_block(target: Target, block: Any) -> None:
    block["text"] = ("", " \n")[target.choose(2)]


def _server_calls(target: Target) -> list[Any]:
    return [
        (item["content"], place)
        for item in target.items[:-1]
        if isinstance(item["content"], list)
        for place, block in enumerate(item["content"])
        if block["type"] == "server_tool_use"
    ]


@_break_one_of(_server_calls)
def _server_tool_parted(target: Target, found: Any) -> None:
    blocks, place = found
    del blocks[place + target.choose(min(2, len(blocks) - place))]


def _add_cache_markers(target: Target) -> bool:
    blocks = [
        block
        for kind in ("text", "tool_use", "tool_result")
        for block in _blocks_of_type(target, kind)
    ]
    for block in blocks:
        block["cache_control"] = {"type": "ephemeral"}
    return len(blocks) > 4


@_break_one_of(_results)
def _image_in_tool_message(target: Target, spot: Spot) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    words = {"type": "text", "text": "a picture"}
    get_at(target.items, spot.path)["content"] = ([image], [words, image])[target.choose(2)]


def _reasoning_places(target: Target) -> list[Any]:
    items = target.items[:-1]
    return [index for index, item in enumerate(items) if item.get("type") == "reasoning"]


@_break_one_of(_reasoning_places)
def _reasoning_alone(target: Target, index: int) -> None:
    del target.items[index + 1 :]


@_break_one_of(lambda target: paths_of(target.items))
def _set_odd_value(target: Target, path: Path) -> None:
    set_at(target.items, path, deepcopy(_JUNK[target.choose(len(_JUNK))]))


@_break_one_of(
    lambda target: [path for path in paths_of(target.items) if isinstance(path[-1], str)]
)
def _lose_key(target: Target, path: Path) -> None:
    del get_at(target.items, path[:-1])[path[-1]]


_JUNK: tuple[Any, ...] = (None, True, 7, -1.5, "", "junk", [], {}, [None], {"type": 3}, [[]])


def _table(*breakages: Breakage) -> Mapping[str, Breakage]:
    return {breakage.name: breakage for breakage in breakages}


BREAKAGES: Mapping[str, Breakage] = _table(
    Breakage("dropped-result", _dropped_result, _ALL, _APIS),
    Breakage("dropped-call", _dropped_call, _ALL, _APIS),
    Breakage("repeated-result", _repeat_result, _APIS, _APIS),
    Breakage("duplicated-id", _duplicate_id, _WITH_IDS),
    Breakage("missing-call-id", _field("calls", "id_path"), _WITH_IDS, _WITH_IDS),
    Breakage("missing-result-id", _field("results", "id_path"), _WITH_IDS, _WITH_IDS),
    Breakage("null-id", _field("calls", "id_path", None), _WITH_IDS, _WITH_IDS),
    Breakage("null-arguments", _field("calls", "arguments_path", None), _APIS, _APIS - {"gemini"}),
    Breakage("list-arguments", _field("calls", "arguments_path", [1]), _APIS, _APIS),
    Breakage("truncated-arguments", _field("calls", "arguments_path", '{"path": "a'), _APIS, _APIS),
    Breakage("illegal-name", _field("calls", "name_path", "read file!"), _APIS, _APIS),
    Breakage("missing-name", _field("calls", "name_path"), _APIS, _APIS),
    Breakage("unknown-role", _role("narrator", "ai", "bot", 7), _ALL, _APIS),
    Breakage("null-role", _role(None), _ALL, _APIS - {"gemini"}),
    Breakage("missing-role", _role(), _ALL - {"gemini"}, _CHAT | {"anthropic"}),
    Breakage("empty-content", _content(""), _ALL - {"gemini"}, _ANTHROPIC),
    Breakage("empty-list-content", _content([])),
    Breakage("null-content", _content(None)),
    Breakage("number-content", _content(7), _ALL, _ALL),
    Breakage("nul", _text(lambda text: f"a\0{text}"), _ALL, _APIS),
    Breakage("lone-surrogate", _text(lambda text: f"{text}\ud83d"), _ALL, _ALL),
    Breakage("not-an-object", _not_an_object, _ALL, _ALL),
    Breakage("private-key", _private_key, _ALL, frozenset({"strict", "anthropic"})),
    Breakage("swapped", _swap_calls),
    Breakage("repeated-message", _repeat_message),
    Breakage("cut-front", _cut_front),
    Breakage("odd-value", _set_odd_value),
    Breakage("lost-key", _lose_key),
    Breakage("late-result", _delay_result, _APIS, _CHAT | {"anthropic", "gemini"}),
    Breakage("results-after-text", _results_after_text, _ANTHROPIC, _ANTHROPIC),
    Breakage("results-split", _results_split, _ANTHROPIC, _ANTHROPIC),
    Breakage("unsigned-thinking", _unsign_thinking, _ANTHROPIC, _ANTHROPIC),
    Breakage("empty-text-block", _empty_text_block, _ANTHROPIC, _ANTHROPIC),
    Breakage("server-tool-parted", _server_tool_parted, _ANTHROPIC, _ANTHROPIC),
    Breakage("too-many-cache-markers", _add_cache_markers, _ANTHROPIC, _ANTHROPIC),
    Breakage("image-in-tool-message", _image_in_tool_message, _CHAT, _CHAT),
    Breakage("reasoning-alone", _reasoning_alone, _RESPONSES, _RESPONSES),
)
