"""The readers of each wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from foldaway.dialects.jsontext import parse
from foldaway.errors import NotReadable
from foldaway.gateway.reading import OwnCall, Reader, event, present
from foldaway.gateway.wires import CHAT, GEMINI, MESSAGES, RESPONSES


class _Messages(Reader):
    """Anthropic Messages."""

    goes_on_after = ("tool_use",)

    def __init__(self, own_names: frozenset[str]) -> None:
        super().__init__(own_names)
        self._blocks: dict[int, dict[str, Any]] = {}
        self._places: dict[int, int] = {}
        self._count = 0
        self._before: list[dict[str, Any]] = []

    @property
    def client_calls(self) -> bool:
        return any(block.get("type") == "tool_use" for block in self._seen())

    @property
    def seen_units(self) -> int:
        return len(self._places)

    def _seen(self) -> list[dict[str, Any]]:
        return [self._blocks[at] for at in self._places]

    def read(self, raw: bytes, value: dict[str, Any]) -> bytes:
        match value.get("type"):
            case "message_start":
                self.usage = present(value["message"].get("usage"))
                return b"" if self.rounds else raw
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                return self._block(raw, value)
            case "message_delta":
                self.usage |= present(value.get("usage"))
                self.stop = value["delta"].get("stop_reason") or ""
            case "message_stop":
                pass
            case _:
                return raw
        if not self.is_rewritten:
            return raw
        self.held.append(value)
        return b""

    def _block(self, raw: bytes, value: dict[str, Any]) -> bytes:
        at: int = value["index"]
        match value["type"]:
            case "content_block_start":
                block = self._blocks[at] = dict(value["content_block"])
                if block.get("type") == "tool_use" and block.get("name") in self.own_names:
                    self.calls.append(OwnCall(block["id"], block["name"], {}, len(self._places),
                                              block))  # fmt: skip
                else:
                    self._places[at] = self._count
                    self._count += 1
            case "content_block_delta":
                _add_delta(self._blocks[at], value["delta"])
            case _:
                _read_input(self._blocks[at])
        place = self._places.get(at)
        if place is None:
            return b""
        return raw if place == at else event({**value, "index": place})

    def turn(self) -> list[Any]:
        blocks = [present(block) for block in self._blocks.values()]
        said = [one for one in blocks if one.get("type") != "text" or one["text"].strip()]
        return [{"role": "assistant", "content": said}]

    def results(self, texts: Sequence[str]) -> list[Any]:
        return [{"type": "tool_result", "tool_use_id": call.id, "content": text}
                for call, text in zip(self.calls, texts, strict=True)]  # fmt: skip

    def closing(self, results: Sequence[Any]) -> list[Any]:
        return [{"role": "user", "content": list(results)}]

    def shown(self) -> list[Any]:
        content = [present(block) for block in (*self._before, *self._seen())]
        return [{"role": "assistant", "content": content}] if content else []

    def next_round(self) -> None:
        self._before += self._seen()
        self._blocks, self._places = {}, {}
        super().next_round()

    def ending(self, value: Any, gives_up: bool) -> Any:
        if value["type"] != "message_delta":
            return value
        stop = {"stop_reason": "end_turn"} if gives_up else {}
        return {**value, "delta": {**value["delta"], **stop}, "usage": self.bill()}

    def opened(self, whole: dict[str, Any]) -> list[dict[str, Any]]:
        blocks = enumerate(whole.get("content") or ())
        return [
            {"type": "message_start", "message": {}},
            *({"type": "content_block_start", "index": at, "content_block": block}
              for at, block in blocks),
            {"type": "message_delta", "delta": {"stop_reason": whole.get("stop_reason")},
             "usage": whole.get("usage")},
        ]  # fmt: skip

    def closed(self, whole: dict[str, Any], gives_up: bool) -> dict[str, Any]:
        stop = {"stop_reason": "end_turn"} if gives_up else {}
        content = [*self._before, *self._seen()]
        return {**whole, "content": content, **stop, "usage": self.bill()}


def _add_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if name == "type":
            continue
        if name == "citation":
            block["citations"] = [*(block.get("citations") or ()), value]
        elif isinstance(value, str):
            block[name] = (block.get(name) or "") + value
        else:
            block[name] = value


def _read_input(block: dict[str, Any]) -> None:
    """Make the arguments of a call from the JSON that came in pieces."""
    said = block.pop("partial_json", "")
    if said:
        try:
            block["input"] = parse(said.encode())
        except NotReadable:
            block["input"] = {}


class _Chat(Reader):
    """OpenAI chat completions."""

    goes_on_after = ("tool_calls", "stop", "function_call")

    def __init__(self, own_names: frozenset[str]) -> None:
        super().__init__(own_names)
        self._id: Any = None
        self._message: dict[str, Any] = {}
        self._entries: dict[int, dict[str, Any]] = {}
        self._places: dict[int, int] = {}
        self._before = ""

    @property
    def client_calls(self) -> bool:
        return bool(self._places)

    @property
    def seen_units(self) -> int:
        return len(self._message.get("content") or "")

    def read(self, raw: bytes, value: dict[str, Any]) -> bytes:
        if value.get("usage"):
            self.usage = value["usage"]
        self._id = self._id or value.get("id")
        first = (one for one in value.get("choices") or () if not one.get("index"))
        choice: dict[str, Any] | None = next(first, None)
        if choice is None:
            if not self.is_rewritten or not self.stop:
                return raw
            self.held.append(value)
            return b""
        delta = self._taken(choice.get("delta") or {})
        self.stop = choice.get("finish_reason") or self.stop
        if not self.is_rewritten:
            return raw
        out = b""
        said = {name: one for name, one in delta.items() if name != "role" or not self.rounds}
        if any(said.values()):
            shown = {**choice, "delta": said, "finish_reason": None}
            plain = {name: one for name, one in value.items() if name != "usage"}
            out = event({**plain, "id": self._id, "choices": [shown]})
        if choice.get("finish_reason"):
            self.held.append({**value, "choices": [{**choice, "delta": {}}]})
        return out

    def _taken(self, delta: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the client sees of a piece, and keep all of it."""
        seen = dict(delta)
        for name, value in delta.items():
            if name == "tool_calls":
                seen.pop(name)
            elif isinstance(value, str) and name != "role":
                self._message[name] = (self._message.get(name) or "") + value
            elif isinstance(value, list):
                self._message[name] = [*(self._message.get(name) or ()), *cast("list[Any]", value)]
            elif value is not None:
                self._message[name] = value
        calls = [one for piece in delta.get("tool_calls") or () if (one := self._call(piece))]
        return {**seen, "tool_calls": calls} if calls else seen

    def _call(self, piece: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a piece of a call as the client sees it, None if the call is ours."""
        at: int = piece.get("index") or 0
        function: dict[str, Any] = piece.get("function") or {}
        if at not in self._entries:
            entry: dict[str, Any] = {**piece, "function": {**function, "arguments": ""}}
            self._entries[at] = {name: one for name, one in entry.items() if name != "index"}
            if function.get("name") in self.own_names:
                self.calls.append(OwnCall(str(piece.get("id")), function["name"], "",
                                          len(self._places), self._entries[at]))  # fmt: skip
            else:
                self._places[at] = len(self._places)
        self._entries[at]["function"]["arguments"] += function.get("arguments") or ""
        return {**piece, "index": self._places[at]} if at in self._places else None

    def turn(self) -> list[Any]:
        content = self._message.get("content") or None
        message = {"role": "assistant", **present(self._message), "content": content}
        return [{**message, "tool_calls": list(self._entries.values())}]

    def results(self, texts: Sequence[str]) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call.id, "content": text}
                for call, text in zip(self.calls, texts, strict=True)]  # fmt: skip

    def closing(self, results: Sequence[Any]) -> list[Any]:
        return list(results)

    def shown(self) -> list[Any]:
        content = self._before + (self._message.get("content") or "")
        calls = [self._entries[at] for at in self._places]
        if not content and not calls:
            return []
        message = {"role": "assistant", "content": content or None}
        return [{**message, "tool_calls": calls} if calls else message]

    def next_round(self) -> None:
        self._before += self._message.get("content") or ""
        self._message, self._entries, self._places = {}, {}, {}
        super().next_round()

    def ending(self, value: Any, gives_up: bool) -> Any:
        made = {**value, "id": self._id}
        if value.get("usage"):
            made["usage"] = self.bill()
        if gives_up and value["choices"]:
            made["choices"] = [{**value["choices"][0], "finish_reason": "stop"}]
        return made

    def opened(self, whole: dict[str, Any]) -> list[dict[str, Any]]:
        choice = whole["choices"][0]
        message: dict[str, Any] = choice["message"]
        made: list[dict[str, Any]] = message.get("tool_calls") or []
        calls = [{**call, "index": at} for at, call in enumerate(made)]
        delta = {**message, "tool_calls": calls}
        return [{**whole, "choices": [{**choice, "delta": delta}]}]

    def closed(self, whole: dict[str, Any], gives_up: bool) -> dict[str, Any]:
        choice = whole["choices"][0]
        others = {name: one for name, one in choice["message"].items() if name != "tool_calls"}
        (shown,) = self.shown() or [{"content": None}]
        message = {**others, **shown}
        stop = {"finish_reason": "stop"} if gives_up else {}
        made = {**whole, "id": self._id, "choices": [{**choice, "message": message, **stop}]}
        return {**made, "usage": self.bill()} if self.bill() else made


class _Responses(Reader):
    """OpenAI Responses: a flat list of items, each of which comes whole at its end."""

    goes_on_after = ("completed",)

    def __init__(self, own_names: frozenset[str]) -> None:
        super().__init__(own_names)
        self._id: Any = None
        self._items: dict[int, dict[str, Any]] = {}
        self._places: dict[int, int] = {}
        self._before: list[dict[str, Any]] = []
        self._sequence = -1

    @property
    def client_calls(self) -> bool:
        return any("call_id" in item for item in self._seen())

    @property
    def seen_units(self) -> int:
        return len(self._places)

    def _seen(self) -> list[dict[str, Any]]:
        return [self._items[at] for at in self._places]

    def read(self, raw: bytes, value: dict[str, Any]) -> bytes:
        response: dict[str, Any] | None = value.get("response")
        if response is not None:
            self._id = self._id or response.get("id")
            if response.get("status") not in ("completed", "incomplete", "failed"):
                return b"" if self.rounds else self._numbered(raw, value)
            self.usage, self.stop = present(response.get("usage")), response["status"]
            if self.is_rewritten:
                self.held.append(value)
                return b""
        if "output_index" in value:
            at: int = value["output_index"]
            if "item" in value:
                self._item(at, value["item"])
            if at not in self._places:
                return b""
            value = {**value, "output_index": self._places[at]}
        return self._numbered(raw, value)

    def _item(self, at: int, item: dict[str, Any]) -> None:
        is_new = at not in self._items
        held = self._items.setdefault(at, {})
        held.clear()
        held.update(item)
        if not is_new:
            return
        if item.get("type") == "function_call" and item.get("name") in self.own_names:
            call = OwnCall(item["call_id"], item["name"], "", len(self._places), held)
            self.calls.append(call)
        else:
            self._places[at] = len(self._before) + len(self._places)

    def _numbered(self, raw: bytes, value: dict[str, Any]) -> bytes:
        """Return an event with the next number, as the bytes that came if they have it."""
        if not self.is_rewritten:
            self._sequence = value.get("sequence_number", self._sequence)
            return raw
        self._sequence += 1
        return event({**value, "sequence_number": self._sequence})

    def turn(self) -> list[Any]:
        return list(self._items.values())

    def results(self, texts: Sequence[str]) -> list[Any]:
        return [{"type": "function_call_output", "call_id": call.id, "output": text}
                for call, text in zip(self.calls, texts, strict=True)]  # fmt: skip

    def closing(self, results: Sequence[Any]) -> list[Any]:
        return list(results)

    def shown(self) -> list[Any]:
        return [*self._before, *self._seen()]

    def next_round(self) -> None:
        self._before += self._seen()
        self._items, self._places = {}, {}
        super().next_round()

    def ending(self, value: Any, gives_up: bool) -> Any:
        self._sequence += 1
        response = self.closed(value["response"], gives_up)
        return {**value, "response": response, "sequence_number": self._sequence}

    def opened(self, whole: dict[str, Any]) -> list[dict[str, Any]]:
        items = enumerate(whole.get("output") or ())
        return [*({"output_index": at, "item": item} for at, item in items), {"response": whole}]

    def closed(self, whole: dict[str, Any], gives_up: bool) -> dict[str, Any]:
        return {**whole, "id": self._id, "output": self.shown(), "usage": self.bill()}


class _Gemini(Reader):
    """Gemini generateContent: each event is an answer with more parts."""

    goes_on_after = ("STOP",)

    def __init__(self, own_names: frozenset[str]) -> None:
        super().__init__(own_names)
        self._id: Any = None
        self._parts: list[dict[str, Any]] = []
        self._client_calls = 0
        self._before: list[dict[str, Any]] = []

    @property
    def client_calls(self) -> bool:
        return self._client_calls > 0

    @property
    def seen_units(self) -> int:
        return sum(len(part.get("text", "")) for part in self._seen() if not part.get("thought"))

    def _seen(self) -> list[dict[str, Any]]:
        return [part for part in self._parts if not self._is_own(part)]

    def _is_own(self, part: Mapping[str, Any]) -> bool:
        return present(part.get("functionCall")).get("name") in self.own_names

    def read(self, raw: bytes, value: dict[str, Any]) -> bytes:
        self._id = self._id or value.get("responseId")
        self.usage = value.get("usageMetadata") or self.usage
        found: list[dict[str, Any]] = value.get("candidates") or []
        first = found[0] if found else {}
        content: dict[str, Any] = first.get("content") or {}
        parts: list[dict[str, Any]] = content.get("parts") or []
        for part in parts:
            self._take(part)
        self.stop = first.get("finishReason") or self.stop
        if not self.is_rewritten:
            return raw
        seen = [part for part in parts if not self._is_own(part)]
        if first.get("finishReason"):
            last = {**content, "role": "model", "parts": [{"text": ""}]}
            self.held.append({**value, "candidates": [{**first, "content": last}]})
        if not any(part != {"text": ""} for part in seen):
            return b""
        shown = {name: one for name, one in first.items() if name != "finishReason"}
        shown["content"] = {**content, "parts": seen}
        return event(self._billed({**value, "candidates": [shown]}))

    def _take(self, part: dict[str, Any]) -> None:
        call: dict[str, Any] = part.get("functionCall") or {}
        self._parts.append(part)
        if self._is_own(part):
            made = OwnCall(str(call.get("id") or ""), call["name"], "", self._client_calls, part)
            self.calls.append(made)
        elif call:
            self._client_calls += 1

    def _billed(self, value: dict[str, Any]) -> dict[str, Any]:
        made = {**value, "usageMetadata": self.bill()} if self.bill() else value
        return {**made, "responseId": self._id} if self._id else made

    def turn(self) -> list[Any]:
        said = [
            part
            for part in self._parts
            if "thoughtSignature" in part or not (part.get("thought") or part.get("text") == "")
        ]
        return [{"role": "model", "parts": said}]

    def results(self, texts: Sequence[str]) -> list[Any]:
        return [
            {"functionResponse": {**({"id": call.id} if call.id else {}), "name": call.name,
                                  "response": {"result": text}}}
            for call, text in zip(self.calls, texts, strict=True)
        ]  # fmt: skip

    def closing(self, results: Sequence[Any]) -> list[Any]:
        return [{"role": "user", "parts": list(results)}]

    def shown(self) -> list[Any]:
        parts = [part for part in (*self._before, *self._seen()) if part.get("text") != ""]
        return [{"role": "model", "parts": parts}] if parts else []

    def next_round(self) -> None:
        self._before += self._seen()
        self._parts, self._client_calls = [], 0
        super().next_round()

    def ending(self, value: Any, gives_up: bool) -> Any:
        return self._billed(value)

    def opened(self, whole: dict[str, Any]) -> list[dict[str, Any]]:
        return [whole]

    def closed(self, whole: dict[str, Any], gives_up: bool) -> dict[str, Any]:
        first: dict[str, Any] = whole["candidates"][0]
        content: dict[str, Any] = first.get("content") or {}
        parts = [*self._before, *self._seen()] or [{"text": ""}]
        made = {**first, "content": {**content, "role": "model", "parts": parts}}
        return self._billed({**whole, "candidates": [made]})


READERS: Mapping[str, type[Reader]] = {
    MESSAGES.name: _Messages, CHAT.name: _Chat, RESPONSES.name: _Responses, GEMINI.name: _Gemini,
}  # fmt: skip
"""By the name of a wire."""
