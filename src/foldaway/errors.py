"""Every error that Foldaway raises on purpose.

    FoldawayError
    ├── NotReadable        the input is no transcript at all: where, and what to do
    ├── NotWritable        an output that cannot be written; what was there is still there
    ├── UnknownName        a dialect or provider that does not exist: which ones do
    ├── WrongDialect       a provider named together with a dialect that it does not speak
    ├── InvalidSetting     a setting out of its range, or one that does not exist
    ├── UnknownReference   a reference that this session did not give out
    ├── CannotUndo         an output that was changed since it was compressed
    ├── MissingExtra       an optional package that is not installed: which extra brings it
    ├── ExactCountingUnavailable   no vocabulary for a model; estimates still work
    ├── SummarizerFailed   a model that wrote no usable summary: what kind of failure
    ├── BatchStopped       a batch that cannot go on now: why; what is finished stays
    ├── StoreError         what a store of sessions refuses or cannot do; nothing was changed
    │   ├── UnknownSession     no session of that id, beginning or source id
    │   ├── AmbiguousSession   a beginning that several sessions share: which
    │   ├── UnknownPosition    no message at that place of the session
    │   ├── Conflict           somebody else changed the session first
    │   ├── LeaseLost          the right to compact went to somebody else meanwhile
    │   ├── NothingToUndo      a session without a compaction
    │   └── StoreUnavailable   a file or server that cannot be used: where, and what to do
    ├── MemoryRefused      what a memory file does not take; nothing was changed
    │   └── MemoryConflict     an entry that somebody else changed first: both texts
    ├── MemoryUnavailable  an external memory that cannot be asked now: which, and why
    ├── InvalidView        items that do not cover their log exactly once
    ├── CannotEncode       a message that a dialect has no form for
    └── CannotRepair       violations that cannot be mended without inventing content

An error carries its facts as attributes; its text quotes them and names the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = [
    "AmbiguousSession",
    "BatchStopped",
    "CannotEncode",
    "CannotRepair",
    "CannotUndo",
    "Conflict",
    "ExactCountingUnavailable",
    "FoldawayError",
    "InvalidSetting",
    "InvalidView",
    "LeaseLost",
    "MemoryConflict",
    "MemoryRefused",
    "MemoryUnavailable",
    "MissingExtra",
    "NotReadable",
    "NotWritable",
    "NothingToUndo",
    "StoreError",
    "StoreUnavailable",
    "SummarizerFailed",
    "UnknownName",
    "UnknownPosition",
    "UnknownReference",
    "UnknownSession",
    "WrongDialect",
]


class FoldawayError(Exception):
    """The root: catch this to catch everything that Foldaway raises on purpose."""


class NotReadable(FoldawayError):
    """The input is not a transcript; `where` is a file, a line or a JSON path, as far as known."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        place = f"{where}: " if where.removesuffix("$") else ""
        super().__init__(f"{place}{what}" + (f"; {remedy}" if remedy else ""))

    def at(self, where: str) -> NotReadable:
        """Return the same error with `where` put before the place it already names."""
        place = f"{where}: {self.where}" if self.where.removesuffix("$") else where
        return NotReadable(self.what, where=place, remedy=self.remedy)

    def inside(self, step: str) -> NotReadable:
        """Return the same error about a value one step further out: `.content`, `[3]`."""
        return NotReadable(self.what, where=f"${step}{self.where[1:]}", remedy=self.remedy)


class NotWritable(FoldawayError):
    """An output that cannot be written; whatever was there before is still there."""

    def __init__(self, name: str, what: str, *, remedy: str = "nothing was written") -> None:
        self.name = name
        self.what = what
        self.remedy = remedy
        super().__init__(f"{name}: {what}; {remedy}")


_MOST_NAMED = 20
"""Of hundreds of names, how many an error lists: four lines of a terminal."""


class UnknownName(FoldawayError):
    """A name that is not one of the known ones."""

    def __init__(self, kind: str, name: object, known: Sequence[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        shown = repr(name) if isinstance(name, str) else f"of type {type(name).__name__}"
        left = len(self.known) - _MOST_NAMED
        named = ", ".join(self.known[:_MOST_NAMED]) + (f", and {left:,} more" if left > 0 else "")
        super().__init__(f"unknown {kind} {shown}; known: {named}")


class WrongDialect(FoldawayError):
    """A provider named together with a dialect that it does not speak."""

    def __init__(self, provider: str, spoken: str, dialect: str) -> None:
        self.provider = provider
        self.spoken = spoken
        self.dialect = dialect
        super().__init__(
            f"the provider {provider!r} speaks {spoken!r}, not {dialect!r}; name one of the two"
        )


class InvalidSetting(FoldawayError):
    """A setting out of its range, one that does not exist, or one that cannot be used here.

    `message` is the sentence if "`name` is `value`; it must be `wanted`" does not say it.
    """

    def __init__(self, name: str, value: object, wanted: str, *, message: str = "") -> None:
        self.name = name
        self.value = value
        self.wanted = wanted
        self.message = message
        super().__init__(message or f"{name} is {value!r}; it must be {wanted}")

    @classmethod
    def check_type(cls, name: str, value: object, kind: type | UnionType, wanted: str = "") -> None:
        """Raise the error for a value of another type; for a dict it says how to write ours."""
        if isinstance(value, kind) and not isinstance(value, bool):
            return
        known = kind.__name__ if isinstance(kind, type) else str(kind)
        is_dict = type(value).__name__ == "dict" and not wanted
        remedy = f": write {name}={known}(**{{…}})" if is_dict else ""
        wanted = wanted or f"{'an' if known[0] in 'AEIO' else 'a'} {known}"
        raise cls(name, value, wanted, message=f"{name} is {value!r}; it must be {wanted}{remedy}")

    @classmethod
    def check_tokens(cls, name: str, value: object) -> None:
        """Raise the error for what is given as a number of tokens and is none; None is not given.
        A window of 0 is an error, so that an unknown one is not passed on as it was found.
        """
        if value is not None and (type(value) is not int or value < 1):
            raise cls(name, value, "a number of tokens, at least 1")

    @classmethod
    def unknown(
        cls,
        name: str,
        known: Sequence[str],
        *,
        value: object = None,
        kind: str = "setting",
        where: str = "",
    ) -> InvalidSetting:
        """Return the error for a name that does not exist: the nearest of `known`, or all of them.

        Only what follows the last dot of the name is compared. `where` is the file that has it.
        """
        from difflib import get_close_matches  # only errors need it

        near = get_close_matches(name.rpartition(".")[2], known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        place = f"{where}: " if where else ""
        message = f"{place}unknown {kind} {name}; {hint}"
        return cls(f"{place}{name}", value, "left out", message=message)


class UnknownReference(FoldawayError):
    """A reference that this session did not give out; trying again cannot help.

    `known` is how many it gave out, None where all sessions of a store were looked at.
    """

    def __init__(self, reference: str, known: int | None = None) -> None:
        self.reference = reference
        self.known = known
        who = (
            "no session here has it"
            if known is None
            else f"it is none of the {known} of this session"
            if known
            else "this session has none"
        )
        super().__init__(f"unknown reference {reference!r}: {who}; trying again cannot help")


class CannotUndo(FoldawayError):
    """An output that is not what the compaction wrote; nothing was changed."""

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(f"{what}; {remedy}")


class MissingExtra(FoldawayError):
    """An optional package that is not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        self.extra = extra
        self.purpose = purpose
        super().__init__(f"{purpose} needs an optional package: pip install 'foldaway[{extra}]'")


class ExactCountingUnavailable(FoldawayError):
    """Exact counts cannot be had for this model here; the estimate still can."""

    def __init__(self, model: str, reason: str, remedy: str) -> None:
        self.model = model
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"no exact token counts for {model!r}: {reason}; {remedy}")


FailureKind: TypeAlias = Literal[
    "refused",
    "not found",
    "unreachable",
    "timed out",
    "rate limited",
    "overloaded",
    "too long",
    "broken answer",
    "empty answer",
    "bad answer",
    "cancelled",
]
"""How a summarizer can fail. `refused`: credentials or quota; `not found`: model or address;
`too long`: more than it can read; `broken answer`: not what its protocol promises; `empty answer`:
nothing in it; `bad answer`: text that the gate turns down."""


class SummarizerFailed(FoldawayError):
    """A model that wrote no usable summary; nothing has changed.

    `said` is a short sentence without content of the conversation; `retry_after` is the delay in
    seconds that the provider asked for, 0 where it named none.
    """

    def __init__(
        self, kind: FailureKind, name: str, said: str = "", *, retry_after: float = 0.0
    ) -> None:
        self.kind: FailureKind = kind
        self.name = name
        self.said = said
        self.retry_after = retry_after
        super().__init__(f"{name}: {kind}" + (f" ({said})" if said else ""))


class BatchStopped(FoldawayError):
    """A batch that cannot go on now; what is finished stays, and a later run goes on from it."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"{why}; what is finished stays; run the same command again to go on")


class StoreError(FoldawayError):
    """What a store of sessions refuses or cannot do; nothing was changed."""


class UnknownSession(StoreError):
    """No session of that id, beginning of an id, or source id."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no session {name!r}; `foldaway sessions list` shows what there is")


class AmbiguousSession(StoreError):
    """A beginning of an id that several sessions share."""

    def __init__(self, name: str, found: Sequence[str]) -> None:
        self.name = name
        self.found = tuple(found)
        super().__init__(f"several sessions begin with {name!r}: {', '.join(self.found)}")


class UnknownPosition(StoreError):
    """No message stands there; positions are counted from 0."""

    def __init__(self, session_id: str, position: int, last: int) -> None:
        self.session_id = session_id
        self.position = position
        self.last = last
        there = f"its places are m0 to m{last}; name one of them" if last >= 0 else "it is empty"
        super().__init__(f"session {session_id} has no place m{position}: {there}")


class Conflict(StoreError):
    """Somebody else changed the session first; read it again and decide anew."""

    def __init__(self, session_id: str, what: str) -> None:
        self.session_id = session_id
        self.what = what
        super().__init__(f"session {session_id} was changed meanwhile: {what}; read it again")


class LeaseLost(StoreError):
    """The right to a session went to somebody else meanwhile; it is theirs to change."""

    def __init__(self, session_id: str, so: str = "nothing of this compaction was kept") -> None:
        self.session_id = session_id
        super().__init__(
            f"the lease of session {session_id} expired and another holder took it; {so}"
        )


class NothingToUndo(StoreError):
    """A session that shows its log as it is."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id} has no compaction to undo")


class StoreUnavailable(StoreError):
    """A file or server that cannot be used; `where` never holds a password."""

    def __init__(self, where: str, what: str, *, remedy: str) -> None:
        self.where = where
        self.what = what
        self.remedy = remedy
        super().__init__(f"{where}: {what}; {remedy}")


class MemoryRefused(FoldawayError):
    """What a memory file does not take; nothing was changed.

    `candidates` are entries that may have been meant, or that may go: id and beginning.
    """

    def __init__(
        self, name: str, what: str, *, remedy: str, candidates: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.what = what
        self.remedy = remedy
        self.candidates = tuple(candidates)
        listed = f": {'; '.join(self.candidates)}" if candidates else ""
        super().__init__(f"{name}: {what}; {remedy}{listed}")


class MemoryConflict(MemoryRefused):
    """An entry that somebody else changed or removed first; theirs is not overwritten.

    `wanted` is what should have been written, `found` what is there instead, "" for nothing.
    """

    def __init__(self, name: str, entry: str, wanted: str, found: str) -> None:
        self.entry = entry
        self.wanted = wanted
        self.found = found
        became = f"now it says {_brief(found)}" if found else "it is gone"
        super().__init__(
            name,
            f"{_brief(entry)} was changed meanwhile: {became}",
            remedy=f"{_brief(wanted)} was not written; decide anew" if wanted else "decide anew",
        )


def _brief(text: str) -> str:
    return repr(text if len(text) <= _BRIEF_CHARS else f"{text[:_BRIEF_CHARS]}…")


_BRIEF_CHARS = 200
"""Of a text that an error quotes; the attributes hold all of it."""


class MemoryUnavailable(FoldawayError):
    """An external memory that cannot be asked now; later it may answer again.

    Neither `name` nor `what` holds an address, a key or anything that was said.
    """

    def __init__(self, name: str, what: str) -> None:
        self.name = name
        self.what = what
        super().__init__(f"{name}: {what}")


class InvalidView(FoldawayError):
    """Items that overlap, leave a gap, or reach past their log."""

    def __init__(self, what: str, *, position: int) -> None:
        self.what = what
        self.position = position
        super().__init__(f"{what} at log position {position}")


class CannotEncode(FoldawayError):
    """A message that the dialect has no form for."""

    def __init__(self, dialect: str, what: str, *, position: int = -1) -> None:
        self.dialect = dialect
        self.what = what
        self.position = position
        place = f"message {position}: " if position >= 0 else ""
        super().__init__(f"{place}{dialect} has no form for {what}")


class Violation(Struct, frozen=True, gc=False):
    """A place where a message list breaks a provider's rule.

    `index` is the place in the message list, -1 where the whole request is meant; `path` is the
    JSON path from the root of what was given. `mendable` says whether `repair` can mend it.
    """

    rule: str
    index: int
    path: str
    message: str
    remedy: str
    mendable: bool = True


class CannotRepair(FoldawayError):
    """Violations that cannot be mended without inventing content; nothing was changed."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        first = violations[0]
        more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
        super().__init__(
            f"cannot be repaired without inventing content: "
            f"{first.path}: {first.message}; {first.remedy}{more}"
        )
