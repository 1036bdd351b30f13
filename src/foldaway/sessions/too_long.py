"""Whether an error of a provider's client says that the request was too big."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct

from foldaway.dialects import parse
from foldaway.errors import NotReadable

TooBig: TypeAlias = Literal["context", "payload"]
"""`context`: more tokens than the model reads; `payload`: more bytes than the server takes."""

_REFUSED = frozenset((400, 413, 422, 500))
"""A gateway in front of a model may answer 500 for what the model refused."""


class Sign(Struct, frozen=True, gc=False):
    """One way in which a provider says it; every field that is not empty must fit."""

    provider: str
    means: TooBig
    words: str = ""
    """A pattern for the message; a number in the group `limit` is the window."""
    code: str = ""
    """A value of `code`, `type` or `status` in the error."""
    statuses: frozenset[int] = _REFUSED


SIGNS: tuple[Sign, ...] = (
    Sign("openai", "context", code="context_length_exceeded"),
    Sign("openai", "context", r"maximum context length (?:is|of) (?P<limit>[\d,]+)"),
    Sign("openai", "context", r"input exceeds the context window"),
    Sign("openai", "payload", code="string_above_max_length"),
    Sign("anthropic", "context", r"prompt is too long(?:: \d+ tokens > (?P<limit>\d+))?"),
    Sign("anthropic", "context", r"exceed context limit: \d+ \+ \d+ > (?P<limit>\d+)"),
    Sign("anthropic", "context", r"required for long context", statuses=frozenset((429,))),
    Sign("anthropic", "payload", code="request_too_large"),
    Sign("anthropic", "payload", r"request exceeds the maximum (?:allowed )?(?:size|number of b)"),
    Sign(
        "gemini", "context", r"exceeds the maximum number of tokens allowed(?: \(?(?P<limit>\d+))?"
    ),
    Sign("gemini", "payload", r"request payload size exceeds the limit"),
    Sign("bedrock", "context", r"input is too long for requested model"),
    Sign("bedrock", "context", r"too many (?:input )?tokens in request"),
    Sign("mistral", "context", r"too large for model with (?P<limit>\d+) maximum context length"),
    Sign("xai", "context", r"maximum prompt length is (?P<limit>\d+)"),
    Sign("groq", "context", r"please reduce the length of the (?:messages|completion)"),
    Sign("cohere", "context", r"too many tokens: (?:the )?total "),
    Sign("together", "context", r"`inputs` tokens \+ `max_new_tokens` must be <= (?P<limit>\d+)"),
    Sign("llama.cpp", "context", code="exceed_context_size_error"),
    Sign(
        "llama.cpp", "context", r"exceeds the available context size(?: \((?P<limit>\d+) tokens\))?"
    ),
    Sign("ollama", "context", r"input length exceeds (?:the )?(?:maximum )?context length"),
    Sign("vllm", "context", r"longer than the maximum model length of (?P<limit>\d+)"),
    Sign("any", "payload", r"(?:request entity|payload|request body) (?:is )?too large"),
    Sign("any", "payload", statuses=frozenset((413,))),
)
"""Tried in order; what stands first decides, and the window is read by the words of any of them.
Those that serve others' APIs repeat their words."""


_BEFORE = frozenset({"response.created", "response.queued", "response.in_progress"})
"""Events of OpenAI's Responses that come before the request was looked at."""
_COMPILED = tuple((sign, re.compile(sign.words, re.IGNORECASE)) for sign in SIGNS)
_READ_CHARS = 4_000
_SMALLER = 0.98
"""What a request must come to beside the one that was refused, to be worth another try."""


class Refusal(Struct, frozen=True, gc=False):
    """A request that was too long or too large, by whose words, and the window if it says."""

    means: TooBig
    provider: str
    limit: int | None = None

    def is_met_by(self, size: float, refused: float) -> bool:
        """Return whether a request is so much smaller than the refused one that it may pass."""
        return size < _SMALLER * refused


def refusal_of(error: BaseException) -> Refusal | None:
    """Return what an error of a provider's client says about the size of a request.

    None for every other error: one that carries another status never counts, whatever its words.
    An error that was raised from one that says so counts as well.
    """
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        if (found := _read(at)) is not None:
            return found
        at = at.__cause__ or at.__context__
    return None


def _read(error: BaseException) -> Refusal | None:
    status, codes, message = _status(error), _codes(error), str(error)[:_READ_CHARS]
    for sign, words in _COMPILED:
        if status is not None and status not in sign.statuses:
            continue
        if status is None and not (sign.words or sign.code):
            continue
        if sign.code and sign.code not in codes:
            continue
        if sign.words and words.search(message) is None:
            continue
        limit = _limit_in(message) if sign.means == "context" else None
        return Refusal(sign.means, sign.provider, limit)
    return None


def _limit_in(message: str) -> int | None:
    """Return the window that a message names, by the words of any provider.

    The sign that decided may be a code, and the number stands in the sentence beside it.
    """
    for _, words in _COMPILED:
        found = words.search(message) if "limit" in words.groupindex else None
        if found and found["limit"]:
            return int(found["limit"].replace(",", ""))
    return None


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "http_status", "code"):
            found: Any = getattr(holder, name, None)
            if isinstance(found, int) and not isinstance(found, bool):
                return found
    return None


def _codes(error: BaseException) -> set[str]:
    """Return the names by which an error calls itself, in its attributes and in its body."""
    found: set[str] = set()
    body = fields_of(getattr(error, "body", None))
    for values in (body, fields_of(body.get("error"))):
        found.update(str(values.get(name)) for name in ("code", "type", "status"))
    for name in ("code", "type"):
        value: Any = getattr(error, name, None)
        if isinstance(value, str):
            found.add(value)
    return found


def fields_of(value: Any) -> dict[str, Any]:
    """Return an object, an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


class RefusedRequest(Exception):
    """An error of a provider, in the form that `refusal_of` reads."""

    def __init__(self, status: int, body: Any, text: str) -> None:
        super().__init__(text)
        self.status_code, self.body = status, body

    @property
    def refusal(self) -> Refusal | None:
        """What it says about the size of the request, None if it says nothing of it."""
        return refusal_of(self)

    @classmethod
    def find_in(cls, read: bytes) -> tuple[bool, RefusedRequest | None]:
        """Return whether a stream, as far as it was read, says if the request was taken, and the
        error that it tells, None if it tells none.
        """
        complete, _, _ = read.replace(b"\r\n", b"\n").rpartition(b"\n\n")
        for line in complete.split(b"\n"):
            if line[:5] == b"data:":
                try:
                    event = fields_of(parse(line[5:].strip()))
                except NotReadable:
                    return True, None
                if event.get("type") not in _BEFORE:
                    return True, cls._of_event(event)
        return False, None

    @classmethod
    def _of_event(cls, event: dict[str, Any]) -> RefusedRequest | None:
        is_failed = event.get("type") == "response.failed"
        said = fields_of((fields_of(event.get("response")) if is_failed else event).get("error"))
        if not said:
            if event.get("type") != "error":
                return None
            said = event  # an error of Responses has its fields in the event
        return cls(400, {"error": said}, str(said.get("message", "")))
