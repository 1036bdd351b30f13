"""What a language brings to the recognition of rules, questions and decisions, as data."""

from __future__ import annotations

from msgspec import Struct


class Vocabulary(Struct, frozen=True, kw_only=True):
    """The cues of one language. Each field is a list of phrases between `|`, in lower case."""

    language: str
    by_parts: bool = False
    """Cues are pieces of text and not whole words, as in scripts without spaces."""
    forbids: str = ""
    """States a rule that has no exception: never, always, must not."""
    limits: str = ""
    """States a bound, a preference or an exception: at most, instead of, prefer."""
    hints: str = ""
    """May state a wish: should, need to, use."""
    mild: str = ""
    """Holds a cue of a rule, and tells no more than a state: "I don't have it here"."""
    idle: str = ""
    """Holds a cue and states nothing: "I don't know"."""
    shared: str = ""
    """Cues that are also words of English text; they count only in a text of this language."""
    asks: str = ""
    """How a question begins; in a language `by_parts`, how it ends."""
    decides: str = ""
    """Tells what was chosen."""
    finds: str = ""
    """Tells what was found out."""
    leans: str = ""
    """Tells of a choice or a finding only together with a reason."""
    reasons: str = ""
    stops: str = ""
    """Frequent small words, by which the language is told from others in its script."""


def phrases_in(field: str) -> tuple[str, ...]:
    """Return the phrases of one field."""
    return tuple(phrase for phrase in field.split("|") if phrase)
