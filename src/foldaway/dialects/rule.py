"""What a rule is: a name, a check that explains, and where possible a repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.transcript import Message, Payload, Role, Survey, Transcript, Violation


class Profile(Struct, frozen=True, kw_only=True):
    """A provider's rules, as they were known at `dated`."""

    name: str
    dialect: str
    dated: str
    """The month in which the rules were last checked against the provider's documentation."""
    rules: tuple[Rule, ...]
    """In the order in which `repair` applies them."""
    answers: Literal["next message", "following run", "anywhere"]
    """Where the results of a call must stand: all in the very next message, in the run of tool
    messages that follows, or anywhere later in the list."""
    result_role: Role = "tool"
    """The role of a message that holds results."""
    results_first: bool = False
    """Whether results stand before all other content of their message."""
    merges_users: bool = False
    """Whether the provider reads consecutive user messages as one, so that results in several of
    them count as results in the very next message."""
    arguments: Literal["text", "object"] = "text"
    """Whether the arguments of a call are JSON text on the wire, or an object."""
    user_after_tool: bool = True
    """Whether a user may speak directly after a tool message."""
    name_pattern: str = r"^[a-zA-Z0-9_-]{1,64}$"
    """What a tool name must match."""
    id_pattern: str = ""
    """What a call id must match; "" for anything."""
    message_keys: Mapping[str, frozenset[str]] = {}
    """By role, the only keys that a message may have; none listed, none refused."""
    call_keys: Mapping[str, frozenset[str]] = {}
    """The only keys of a tool call ("") and of the objects in it, by their key."""
    foreign_keys: frozenset[str] = frozenset()
    """Keys that this provider is known to refuse on a message."""
    cache_markers: int = 0
    """How many `cache_control` markers a request may carry; 0 for no limit."""
    no_system_models: tuple[str, ...] = ()
    """Models (globs) that refuse system messages in the list."""
    no_prefill_models: tuple[str, ...] = ()
    """Models (globs) that refuse a request that ends with an assistant message."""
    bound_thinking_models: tuple[str, ...] = ()
    """Models (globs) whose thinking blocks are bound to the exact messages before them."""
    signed_call_models: tuple[str, ...] = ()
    """Models (globs) whose calls in the current turn carry a signature."""

    def has(self, name: str) -> bool:
        """Return whether a rule of this name is among its rules."""
        return any(rule.name == name for rule in self.rules)

    def only(self, *names: str) -> Profile:
        """Return the profile with these rules alone, as far as it has them."""
        return replace(self, rules=tuple(rule for rule in self.rules if rule.name in names))

    def without(self, *names: str) -> Profile:
        """Return the profile without some of its rules."""
        return replace(self, rules=tuple(rule for rule in self.rules if rule.name not in names))


class Case(Struct, frozen=True, gc=False):
    """What a rule looks at: a transcript, its index, and the profile that asks."""

    transcript: Transcript
    index: Survey
    profile: Profile

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the transcript."""
        return self.transcript.messages

    @property
    def model(self) -> str:
        """The model that the request asks for; "" if it is not known."""
        named = self.transcript.frame.setting("model")
        return named if isinstance(named, str) else ""

    def model_is(self, globs: Sequence[str]) -> bool:
        """Return whether the request asks for a model that matches one of `globs`."""
        return is_model(self.model, globs)

    def fault(
        self, rule: str, index: int, at: str, message: str, remedy: str, *, mendable: bool = True
    ) -> Violation:
        """Return the violation of `rule` at a place in message `index`."""
        return Violation(rule, index, self.path(index, at), message, remedy, mendable)

    def action(self, rule: str, index: int, what: str) -> Action:
        """Return the note of what was done about message `index`, by its place as given."""
        return Action(rule, self.messages[index].position if index >= 0 else -1, what)

    def path(self, index: int, at: str = "") -> str:
        """Return the JSON path of a place in message `index`."""
        frame = self.transcript.frame
        inner = f".{at}" if at and not at.startswith("[") else at
        return f"{frame.path}[{index}]{inner}" if index >= 0 else f"$.{at}" if at else "$"


def is_model(name: str, globs: Sequence[str]) -> bool:
    """Return whether a model's name matches one of `globs`, in whatever case it is written."""
    lower = name.lower()
    return bool(lower) and any(fnmatchcase(lower, glob) for glob in globs)


class Action(Struct, frozen=True, gc=False):
    """One thing that a repair did. `index` is the place in the list that was given."""

    rule: str
    index: int
    what: str


class Mended(Struct, frozen=True):
    """What a repair gives back: the messages, what was done, and the request body if it changed."""

    messages: tuple[Message, ...]
    actions: tuple[Action, ...]
    body: Payload | None = None


Check: TypeAlias = Callable[[Case], list[Violation]]
Mend: TypeAlias = Callable[[Case, Sequence[Violation]], Mended]


class Rule(Struct, frozen=True):
    """One rule of a provider.

    Laws: `check` is pure and linear. `mend` is called only with violations that are mendable,
    never invents content, returns unchanged messages as the same objects, and afterwards `check`
    finds nothing.
    """

    name: str
    states: str
    """The rule in one sentence, as the provider would put it."""
    check: Check
    mend: Mend | None = None
    mends: str = ""
    """What `mend` does, in a few words; "" if nothing can be done without inventing."""
