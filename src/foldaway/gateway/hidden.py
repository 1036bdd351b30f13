"""Calls of the gateway's own tool that a client never saw, and how they come back into its list.

A client sends its list as it saw it. The provider must get the list as it was: with the calls that
were held back, and with what they were answered, at the same places and as the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, cast

from msgspec import Raw, Struct

from foldaway.dialects.jsontext import dump, parse, split_list, split_object
from foldaway.dialects.registry import dialect_named
from foldaway.errors import NotReadable
from foldaway.gateway.wires import CHAT, GEMINI, MESSAGES, RESPONSES, Wire
from foldaway.sessions.following import with_elements, with_field
from foldaway.sessions.matching import digest
from foldaway.sessions.too_long import fields_of


class HiddenCalls(Struct, frozen=True, kw_only=True):
    """What a client did not see of one answer. JSON is kept as text, so that it stays the same."""

    anchors: tuple[str, ...]
    """By what the answer is found in the client's list; on Responses one for each item."""
    before: tuple[str, ...] = ()
    """Elements of the list that come first: answers that only called our tool, and results."""
    skip: int = 0
    """How much of the client's message they say: blocks, or characters of text."""
    size: int = 0
    """How much the client's message says in all. A message of another size was rewritten by a
    compaction, which may have dropped thinking: then nothing of this is put into it."""
    own: tuple[tuple[int, str], ...] = ()
    """Calls within the client's message, each before its block, call or item of that number."""
    results: tuple[str, ...] = ()
    """What these were answered; it goes before the client's own results."""


def restored(body: bytes, wire: Wire, known: Mapping[tuple[str, ...], HiddenCalls]) -> bytes:
    """Return a request with the calls that its client did not see.

    What cannot be placed exactly is left out, together with its results.
    """
    key = dialect_named(wire.dialect).list_key
    raws = split_list(bytes(split_object(body)[key]))
    elements = [bytes(raw) for raw in raws]
    made = _with_items(elements, known) if wire is RESPONSES else _with_calls(elements, wire, known)
    return body if made == elements else with_elements(body, key, made, raws)


def extended(body: bytes, wire: Wire, more: Sequence[bytes]) -> bytes:
    """Return a request whose list goes on with more elements."""
    key = dialect_named(wire.dialect).list_key
    held = bytes(split_object(body)[key])
    if held[:1] == b'"':  # Responses: the whole input as one text
        held = dump([{"role": "user", "content": parse(held)}])
        return with_field(body, key, held[:-1] + b"," + b",".join(more) + b"]")
    raws = split_list(held)
    return with_elements(body, key, [*map(bytes, raws), *more], raws)


def anchors_of(wire: Wire, shown: Sequence[Any], last: Any) -> tuple[str, ...]:
    """Return by what an answer is found again: `shown` is what the client saw of it, `last` the
    message before it.
    """
    if wire is RESPONSES:
        listed = [last, *shown]
        return tuple(_item_anchor(listed, at) for at in range(1, len(listed)))
    return (_anchor(wire, shown[0], last),) if shown else ()


def _anchor(wire: Wire, message: Any, last: Any) -> str:
    """Return the id of the first call of a message; if there is none, what it says after what."""
    if ids := _call_ids(wire, message):
        return f"call {ids[0]}"
    decode = dialect_named(wire.dialect).decode
    if wire is GEMINI:
        message, last = _in_one_text(message), _in_one_text(last)
    (said,), (before,) = decode([message], 1), decode([last], 0)
    return f"said {digest(before).hex()}{digest(said).hex()}"


def _in_one_text(message: Any) -> Any:
    """Return a message of Gemini whose text is one part: clients join the pieces of a stream."""
    parts = [fields_of(one) for one in fields_of(message).get("parts") or ()]
    words = "".join(str(one.get("text", "")) for one in parts if not one.get("thought"))
    others = [one for one in parts if "text" not in one]
    return {**fields_of(message), "parts": [{"text": words}, *others]}


def _call_ids(wire: Wire, message: Any) -> list[str]:
    field = {CHAT.name: "tool_calls", GEMINI.name: "parts"}.get(wire.name, "content")
    held = fields_of(message).get(field)
    found = [fields_of(one) for one in cast("list[Any]", held)] if isinstance(held, list) else []
    if wire is GEMINI:
        found = [fields_of(one.get("functionCall")) for one in found]
    elif wire is MESSAGES:
        found = [one for one in found if one.get("type") == "tool_use"]
    return [str(one["id"]) for one in found if one.get("id")]


def _with_calls(
    elements: list[bytes], wire: Wire, known: Mapping[tuple[str, ...], HiddenCalls]
) -> list[bytes]:
    """Return a list of messages in which each answer is as its provider gave it."""
    made, pending, used = list[bytes](), b"", set[str]()
    place = _PLACES[wire.name]
    for at, raw in enumerate(elements):
        hidden = None
        if pending:
            raw, pending = _with_results(raw, wire, pending) or raw, b""
        if at and any(mark in raw for mark in wire.marks):
            name = _anchor(wire, parse(raw), parse(made[-1]))
            hidden = None if name in used else known.get((name,))
            used.add(name)
        following = elements[at + 1] if at + 1 < len(elements) else b""
        placed = None if hidden is None else place(raw, hidden)
        if hidden is None or placed is None or not _has_room(hidden, wire, following):
            made.append(raw)
            continue
        made += [*map(str.encode, hidden.before), *placed]
        results = [one.encode() for one in hidden.results]
        if wire is CHAT:
            made += results
        else:
            pending = b",".join(results)
    return made


def _has_room(hidden: HiddenCalls, wire: Wire, following: bytes) -> bool:
    """Return whether results have a place: a message of the client after the calls."""
    if not hidden.results or (wire is CHAT and following):
        return True
    return bool(following) and _with_results(following, wire, b"{}") is not None


def _with_results(raw: bytes, wire: Wire, results: bytes) -> bytes | None:
    """Return the client's next message with results before its own; None if it takes none."""
    fields = split_object(raw)
    name = "parts" if wire is GEMINI else "content"
    if parse(fields["role"]) not in ("user", "function") or name not in fields:
        return None
    blocks = _blocks(fields[name])
    return with_field(raw, name, b"[" + b",".join([results, *blocks]) + b"]")


def _blocks(content: Raw) -> list[bytes]:
    held = bytes(content)
    if held[:1] == b'"':
        return [dump({"type": "text", "text": parse(held)})]
    return [bytes(one) for one in split_list(held)]


def _insert(held: list[bytes], own: Sequence[tuple[int, str]]) -> list[bytes] | None:
    if any(at > len(held) for at, _ in own):
        return None
    made = list(held)
    for shift, (at, call) in enumerate(own):
        made.insert(at + shift, call.encode())
    return made


def _in_messages(raw: bytes, hidden: HiddenCalls) -> list[bytes] | None:
    blocks = _blocks(split_object(raw)["content"])
    made = None if hidden.size != len(blocks) else _insert(blocks[hidden.skip :], hidden.own)
    if not made:
        return made
    return [with_field(raw, "content", b"[" + b",".join(made) + b"]")]


def _in_chat(raw: bytes, hidden: HiddenCalls) -> list[bytes] | None:
    fields = split_object(raw)
    calls = [bytes(one) for one in split_list(fields.get("tool_calls") or b"[]")]
    made = raw
    if hidden.skip:
        content = parse(fields["content"]) if "content" in fields else None
        if not isinstance(content, str) or len(content) != hidden.size:
            return None
        rest = content[hidden.skip :]
        if not rest and not calls:
            return []
        made = with_field(made, "content", dump(rest or None))
    if hidden.own:
        inserted = _insert(calls, hidden.own)
        if inserted is None:
            return None
        made = with_field(made, "tool_calls", b"[" + b",".join(inserted) + b"]")
    return [made]


def _in_gemini(raw: bytes, hidden: HiddenCalls) -> list[bytes] | None:
    parts = [bytes(one) for one in split_list(split_object(raw)["parts"])]
    if hidden.skip and len(_in_one_text(parse(raw))["parts"][0]["text"]) != hidden.size:
        return None
    parts = _without_text(parts, hidden.skip)
    if parts is None:
        return None
    calls = [at for at, part in enumerate(parts) if "functionCall" in split_object(part)]
    places = [*calls, (calls[-1] + 1 if calls else len(parts))]
    if any(at >= len(places) for at, _ in hidden.own):
        return None
    made = _insert(parts, [(places[at], call) for at, call in hidden.own])
    return [with_field(raw, "parts", b"[" + b",".join(made) + b"]")] if made else made


def _without_text(parts: list[bytes], skip: int) -> list[bytes] | None:
    """Return parts without the first characters of what they say; None if that is not text."""
    while skip:
        part: Any = parse(parts[0]) if parts else {}
        text = part.get("text")
        if not isinstance(text, str):
            return None
        said = 0 if part.get("thought") else min(len(text), skip)
        if said < len(text) and not part.get("thought"):
            return [dump({**part, "text": text[said:]}), *parts[1:]]
        parts, skip = parts[1:], skip - said
    return parts


_PLACES: Mapping[str, Callable[[bytes, HiddenCalls], list[bytes] | None]] = {
    MESSAGES.name: _in_messages, CHAT.name: _in_chat, GEMINI.name: _in_gemini,
}  # fmt: skip
"""How a message of a wire gets calls: what stands in its place, None if they do not fit."""


# Responses: a flat list, in which calls and results are elements of their own


def _with_items(elements: list[bytes], known: Mapping[tuple[str, ...], HiddenCalls]) -> list[bytes]:
    items = [fields_of(parse(raw)) for raw in elements]
    names = [_item_anchor(items, at) for at in range(len(items))]
    more: dict[int, list[bytes]] = {}
    used = set[int]()
    for hidden in known.values():
        places = _find_answer(hidden.anchors, items, names, used)
        for at, raws in _item_places(hidden, items, places):
            used.update(places.values())
            more.setdefault(at, []).extend(raws)
    made: list[bytes] = []
    for at, raw in enumerate(elements):
        made += [*more.get(at, ()), raw]
    return [*made, *more.get(len(elements), ())]


def _find_answer(
    anchors: Sequence[str], items: Sequence[Mapping[str, Any]], names: list[str], used: set[int]
) -> dict[int, int]:
    """Return which item each anchor of an answer is, among items of the model in a row.

    Items of two answers can look the same, so the row that has the most anchors and the fewest
    other items counts; if two rows have as many, the first one that no answer has yet.
    """
    best, best_score = dict[int, int](), 0
    for start, name in enumerate(names):
        if name not in anchors or start in used:
            continue
        found, score, number = dict[int, int](), 0, 0
        for at in range(start, len(items)):
            if items[at].get("role", "assistant") != "assistant" or number == len(anchors):
                break
            if names[at] in anchors[number:] and at not in used:
                number = anchors.index(names[at], number) + 1
                found[number - 1] = at
                score += 1
            elif not str(items[at].get("type")).endswith("_output"):
                score -= 1
            if score > best_score:
                best, best_score = dict(found), score
    return best


def _item_places(
    hidden: HiddenCalls, items: Sequence[Mapping[str, Any]], places: Mapping[int, int]
) -> list[tuple[int, list[bytes]]]:
    """Return what to insert before which items; nothing if not all of it has a place."""
    if not places:
        return []
    found: list[tuple[int, list[bytes]]] = []
    for number, call in hidden.own:
        later = [at for anchor, at in places.items() if anchor >= number]
        earlier = [at for anchor, at in places.items() if anchor < number]
        found.append((min(later) if later else max(earlier) + 1, [call.encode()]))
    if hidden.results:
        outputs = [at for at in range(max(places.values()) + 1, len(items))
                   if str(items[at].get("type")).endswith("_output")]  # fmt: skip
        if not outputs:
            return []
        found.append((outputs[0], [one.encode() for one in hidden.results]))
    return found


def _item_anchor(items: Sequence[Any], at: int) -> str:
    """Return by what an item is found: the id of its call, what seals it, or what it says after
    what; reasoning before it may be left out by a client.
    """
    item = fields_of(items[at])
    if item.get("call_id"):
        return f"{item.get('type')} {item['call_id']}"
    if item.get("type") == "reasoning":
        return f"reasoning {item.get('encrypted_content') or item.get('id')}"
    before = at - 1
    while before >= 0 and fields_of(items[before]).get("type") == "reasoning":
        before -= 1
    said = _item_text(item) + (_item_text(fields_of(items[before])) if before >= 0 else b"")
    return f"said {blake2b(said, digest_size=16).hexdigest()}"


def _item_text(item: Mapping[str, Any]) -> bytes:
    content = item.get("content")
    if isinstance(content, list):
        content = "".join(str(fields_of(one).get("text", "")) for one in cast("list[Any]", content))
    return f"{item.get('role')} {item.get('call_id')} {content} ".encode("utf-8", "surrogatepass")


def last_of(body: bytes, wire: Wire) -> Any:
    """Return the last element of a request's list."""
    held = bytes(split_object(body)[dialect_named(wire.dialect).list_key])
    if held[:1] == b'"':
        return {"role": "user", "content": parse(held)}
    raws = split_list(held)
    if not raws:
        raise NotReadable("the list is empty")
    return parse(raws[-1])
