"""Where the calls and results of a wire list are, in every dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

Path = tuple[str | int, ...]
Choose = Callable[[int], int]
"""Given how many places there are, which one to break."""


class Spot(Struct, frozen=True):
    """A call or result in a wire list.

    `path` leads to what must go for it to be gone; `id_path` and `arguments_path` go on from the
    root to its fields, empty where the dialect has none. `nested` says that it is one block of a
    message rather than the whole message.
    """

    path: Path
    id_path: Path = ()
    arguments_path: Path = ()
    name_path: Path = ()
    nested: bool = True


class Anatomy(Struct, frozen=True):
    """How a dialect writes calls, results and words."""

    calls: Callable[[list[Any]], list[Spot]]
    results: Callable[[list[Any]], list[Spot]]
    role_key: str
    content_key: str


class Target(Struct, frozen=True):
    """A copy of a wire list that may be broken, and who chooses where."""

    items: list[Any]
    anatomy: Anatomy
    choose: Choose

    def one_of(self, places: list[Any]) -> Any:
        """Return one of the places, or None if there is none."""
        return places[self.choose(len(places))] if places else None


def get_at(value: Any, path: Path) -> Any:
    """Return what stands at `path`."""
    for key in path:
        value = value[key]
    return value


def set_at(value: Any, path: Path, new: Any) -> None:
    """Replace what stands at `path`."""
    get_at(value, path[:-1])[path[-1]] = new


def remove(value: Any, path: Path) -> None:
    """Delete what stands at `path`, and a message that held nothing else."""
    holder = get_at(value, path[:-1])
    del holder[path[-1]]
    if len(path) == 3 and not holder:
        del value[path[0]]


def paths_of(value: Any, path: Path = ()) -> list[Path]:
    """Return the path of every value inside `value`, however deep."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    elif isinstance(value, list):
        inner = enumerate(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    found: list[Path] = []
    for key, below in inner:
        found.append((*path, key))
        found.extend(paths_of(below, (*path, key)))
    return found


def texts_of(value: Any) -> list[Path]:
    """Return the paths of all words: strings under the keys that hold words in any dialect."""
    return [
        path
        for path in paths_of(value)
        if path[-1] in _WORDS and isinstance(get_at(value, path), str)
    ]


_WORDS = ("content", "text", "output", "value")


def _blocks(items: list[Any], key: str) -> list[tuple[Path, Any]]:
    return [
        ((index, key, place), block)
        for index, item in enumerate(items)
        if isinstance(item.get(key), list)
        for place, block in enumerate(item[key])
    ]


def _chat_calls(items: list[Any]) -> list[Spot]:
    return [
        Spot(path, (*path, "id"), (*path, "function", "arguments"), (*path, "function", "name"))
        for path, call in _blocks(items, "tool_calls")
        if call["type"] == "function"
    ]


def _chat_results(items: list[Any]) -> list[Spot]:
    return [
        Spot((index,), (index, "tool_call_id"), nested=False)
        for index, item in enumerate(items)
        if item["role"] == "tool"
    ]


def _anthropic_calls(items: list[Any]) -> list[Spot]:
    return [
        Spot(path, (*path, "id"), (*path, "input"), (*path, "name"))
        for path, block in _blocks(items, "content")
        if block["type"] == "tool_use"
    ]


def _anthropic_results(items: list[Any]) -> list[Spot]:
    return [
        Spot(path, (*path, "tool_use_id"))
        for path, block in _blocks(items, "content")
        if block["type"] == "tool_result"
    ]


def _gemini_calls(items: list[Any]) -> list[Spot]:
    return [
        Spot(path, (), (*path, "functionCall", "args"), (*path, "functionCall", "name"))
        for path, part in _blocks(items, "parts")
        if "functionCall" in part
    ]


def _gemini_results(items: list[Any]) -> list[Spot]:
    return [Spot(path) for path, part in _blocks(items, "parts") if "functionResponse" in part]


def _responses_calls(items: list[Any]) -> list[Spot]:
    return [
        Spot((index,), (index, "call_id"), (index, "arguments"), (index, "name"), nested=False)
        for index, item in enumerate(items)
        if item.get("type") == "function_call"
    ]


def _responses_results(items: list[Any]) -> list[Spot]:
    return [
        Spot((index,), (index, "call_id"), nested=False)
        for index, item in enumerate(items)
        if str(item.get("type")).endswith("_output")
    ]


def _from(*speakers: str) -> Callable[[list[Any]], list[Spot]]:
    def spots(items: list[Any]) -> list[Spot]:
        return [
            Spot((index,), nested=False)
            for index, item in enumerate(items)
            if item["from"] in speakers
        ]

    return spots


ANATOMY: Mapping[str, Anatomy] = {
    "openai-chat": Anatomy(_chat_calls, _chat_results, "role", "content"),
    "strict": Anatomy(_chat_calls, _chat_results, "role", "content"),
    "anthropic": Anatomy(_anthropic_calls, _anthropic_results, "role", "content"),
    "gemini": Anatomy(_gemini_calls, _gemini_results, "role", "parts"),
    "openai-responses": Anatomy(_responses_calls, _responses_results, "role", "content"),
    "sharegpt": Anatomy(_from("function_call"), _from("observation", "tool"), "from", "value"),
}
