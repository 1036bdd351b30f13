"""Commands in order, with the working directory and the variables that they set on the way."""

from __future__ import annotations

import re
from functools import lru_cache

from foldaway._core import Regex
from foldaway.facts.effects.effect import Action, Effect, is_absolute, is_device, normalize, place
from foldaway.facts.effects.parser import Command, Compound, Output, Redirect, Scope, Word, parse
from foldaway.facts.effects.programs import HANDLERS, WRAPPERS, Args, Invocation, Wrapper

_SHORT_CHARS = 200
"""Results of shorter commands are cached; chosen."""
_MAX_COMMANDS = 20_000
"""Of one command line; chosen, it bounds the time."""
_MAX_DEPTH = 5
"""Scripts within scripts; chosen, it bounds recursion."""
_MAX_PATH_CHARS = 1_024
"""A longer working directory is forgotten; chosen."""
_MAX_VARIABLE_CHARS = 4_096
"""A longer value of a variable is forgotten; Linux allows paths of 4,096."""
_MAX_VALUE_CHARS = 100_000
"""A word that expands to more is not known; chosen, it bounds memory."""
_MAX_DETAIL_CHARS = 500
"""Of a detail that is kept with an effect, such as a commit message; chosen."""
_ASSIGNMENT = Regex(r"([A-Za-z_]\w*)(\+?)=(.*)", re.S | re.A)
_PREFIXES = frozenset(("if", "then", "else", "elif", "do", "!", "{", "while", "until"))
_DECLARING = frozenset(("export", "local", "readonly", "declare", "typeset"))
_MOVING = frozenset(("cd", "pushd", "chdir", "popd"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash", "eval"))
_CLOSING = frozenset(("done", "}", "fi", "esac"))
_MAX_WRAPPERS = 12
"""Programs such as `sudo`, `env` and `timeout` before the real one; chosen, it bounds a loop."""
_KNOWN = (
    frozenset(HANDLERS)
    | frozenset(WRAPPERS)
    | _SHELLS
    | _PREFIXES
    | _DECLARING
    | _MOVING
    | {"for", "read"}
)
"""Words that a command can begin with that has an effect, unless it has redirections."""


def effects_of_command(command: str) -> tuple[Effect, ...]:
    """Return what a shell command does to files, in the order in which it does it.

    Paths stay as they are written. Only behind a `cd` in the same command are relative ones joined
    with its directory and normalized. A path that depends on a value that the command does not
    show is left out, and so is a relative one behind a `cd` to such a place. Globs stay as
    written; the variable of a loop is not known. Never raises; linear in the command.
    """
    if len(command) <= _SHORT_CHARS:
        return _of_short(command)
    return _of_any(command)


def _of_any(command: str) -> tuple[Effect, ...]:
    run = _Run()
    run.script(command)
    return tuple(run.effects)


_of_short = lru_cache(256)(_of_any)
"""The same for a command that comes again, as tests and builds do."""


def effects_of_argv(argv: list[str]) -> tuple[Effect, ...]:
    """Return the same for a command that comes as a list of words and passes no shell."""
    run = _Run()
    run.simple(list(argv), [])
    return tuple(run.effects)


class _Run:
    __slots__ = ("base", "behind", "depth", "effects", "left", "made", "scopes", "variables")

    def __init__(self) -> None:
        self.base: str | None = ""
        """The working directory: "" if nothing is known of it, None if it has changed to an
        unknown one."""
        self.behind: list[str | None] = []
        self.depth = 0
        self.effects: list[Effect] = []
        self.left = _MAX_COMMANDS
        self.made: set[str] = set()
        self.scopes: list[str | None] = []
        self.variables: dict[str, str] = {}

    def script(self, text: str) -> None:
        for item in parse(text):
            if self.left <= 0:
                return
            if isinstance(item, Command):
                self.left -= 1
                self._command(item)
            elif isinstance(item, Scope):
                self._scope(item)
            else:
                detail = "" if item.text in _CLOSING else item.text[:_MAX_DETAIL_CHARS]
                self.effects.append(Effect("start", detail=detail))

    def _scope(self, item: Scope) -> None:
        if item.opens:
            self.scopes.append(self.base)
        elif self.scopes:
            self.base = self.scopes.pop()

    def _command(self, command: Command) -> None:
        words = command.words
        if words and not command.redirects:
            word = words[0]
            if isinstance(word, str) and word not in _KNOWN and not ("=" in word or "/" in word):
                return
        first = words[0] if words else ""
        if not isinstance(first, str) or first not in HANDLERS:
            words = self._own_words(words)
            first = words[0] if words and isinstance(words[0], str) else ""
            if first == "for" and len(words) > 1:
                self.variables.pop(str(words[1]), None)
                return
        args: list[str | None] = []
        for word in words:
            if isinstance(word, str):
                args.append(word)
            else:
                args += self._values(word)
        if args:
            self.simple(args, command.redirects)
        if command.redirects:
            self._redirections(command.redirects, first)

    def _own_words(self, words: list[Word]) -> list[Word]:
        """Return the words behind reserved words and assignments, which are taken in."""
        start = 0
        while start < len(words) and isinstance(word := words[start], str) and word in _PREFIXES:
            start += 1
        first = start
        while start < len(words) and self._assigns(words[start]):
            start += 1
        if start == len(words):
            for word in words[first:]:
                self._assign(word)
        return words[start:] if start else words

    def simple(self, args: list[str | None], redirects: list[Redirect]) -> None:
        """Run one program, without its redirections to files."""
        body = source = ""
        for redirect in redirects:
            if redirect.operator == "<<":
                body = redirect.body
            elif redirect.operator == "<" and isinstance(redirect.target, str):
                source = redirect.target
        if args[0] in HANDLERS and args[0] not in WRAPPERS:
            self._program(args, body, source)
        else:
            self._program(_unwrapped(args), body, source)

    def _program(self, args: Args, body: str, source: str) -> None:
        name = (args[0] or "").rpartition("/")[2] if args else ""
        rest = args[1:]
        if handler := HANDLERS.get(name):
            for effect in handler(Invocation(name, rest, body, source, self.made)):
                self._add(effect)
        elif name in _MOVING:
            self._move(name, rest)
        elif name in _SHELLS:
            self._nested(_inner_script(name, rest, body))
        elif name in _DECLARING:
            for arg in rest:
                self._assign(arg or "")
        elif name == "read":
            for arg in rest:
                self.variables.pop(arg or "", None)

    def _nested(self, text: str) -> None:
        """Run a text that another shell is given; its directory is its own."""
        if text and self.depth < _MAX_DEPTH:
            base, self.depth = self.base, self.depth + 1
            self.scopes.append(base)
            self.script(text)
            self.scopes.pop()
            self.base, self.depth = base, self.depth - 1

    def _redirections(self, redirects: list[Redirect], name: str) -> None:
        wrote: Action = "write"
        if name == "cat" and any(redirect.operator == "<<" for redirect in redirects):
            wrote = "create"
        for redirect in redirects:
            if redirect.operator in (">", ">>"):
                for path in self._values(redirect.target):
                    if path and not is_device(path):
                        self._add(Effect("append" if redirect.operator == ">>" else wrote, path))

    def _add(self, effect: Effect) -> None:
        """Record an effect, its paths placed; leave it out if they cannot be."""
        base = self.base
        if effect.action == "mkdir":
            self.made.add(effect.path.rstrip("/"))
        if base == "":
            self.effects.append(effect)
            return
        path, to = effect.path, effect.to
        if base is None:
            if effect.action in ("branch", "commit") or (path and not is_absolute(path)):
                return
            if to and not is_absolute(to):
                to = ""
        else:
            path = place(base, path) if path else ""
            to = place(base, to) if to else ""
        self.effects.append(Effect(effect.action, path, to, effect.detail))

    def _move(self, name: str, args: Args) -> None:
        before = self.base
        self.made.clear()
        known = [arg for arg in args if arg is None or arg[:1] != "-" or arg == "-"]
        if name == "popd" or known == ["-"]:
            self.base = self.behind.pop() if self.behind else None
        else:
            where = known[0] if known else "~"
            self.behind.append(before)
            if where is None or (before is None and not is_absolute(where)):
                self.base = None
            else:
                base = place(before or "", where)
                base = base if "\\" in base else normalize(base)
                self.base = None if len(base) > _MAX_PATH_CHARS else "" if base == "." else base
        if self.base and not self.scopes:
            self.effects.append(Effect("chdir", self.base))

    def _assigns(self, word: Word) -> bool:
        head = word if isinstance(word, str) else word.pieces[0]
        return isinstance(head, str) and "=" in head and _ASSIGNMENT.match(head) is not None

    def _assign(self, word: Word) -> None:
        """Take `name=value`; a value that is not known makes the name unknown."""
        head = word if isinstance(word, str) else word.pieces[0]
        found = _ASSIGNMENT.match(head) if isinstance(head, str) else None
        if found is None:
            return
        if isinstance(word, str):
            value: str | None = found[3]
        else:
            values = self._values(Compound(("", found[3], *word.pieces[1:])))
            value = values[0] if len(values) == 1 else None
        if value is None or found[2] or len(value) > _MAX_VARIABLE_CHARS:
            self.variables.pop(found[1], None)
        else:
            self.variables[found[1]] = value

    def _values(self, word: Word) -> list[str] | list[str | None]:
        """Return the words that a word stands for; None where its value is not known."""
        if isinstance(word, str):
            return [word]
        texts: list[str] = []
        size = 0
        for piece in word.pieces:
            if isinstance(piece, str):
                texts.append(piece)
                continue
            value = None
            if isinstance(piece, Output):
                value = _printed(piece.command)
            elif piece is not None:
                value = self.variables.get(piece.name)
                if value is not None and not piece.quoted and len(word.pieces) == 1:
                    return list(value.split())
            size += len(value or "")
            if value is None or size > _MAX_VALUE_CHARS:
                return [None]
            texts.append(value)
        return ["".join(texts)]


def _printed(command: Command) -> str | None:
    """Return what `cat <<EOF` prints; None for any other command."""
    if command.words == ["cat"] and len(command.redirects) == 1:
        only = command.redirects[0]
        if only.operator == "<<":
            return only.body.rstrip("\n")
    return None


def _unwrapped(args: Args) -> Args:
    """Return the words of a command without programs before it that only run another."""
    for _ in range(_MAX_WRAPPERS):
        wrapper = WRAPPERS.get((args[0] or "").rpartition("/")[2]) if args else None
        inner = args if wrapper is None else _wrapped(args[1:], wrapper)
        if not inner or inner is args:
            return args
        args = inner
    return ()


def _wrapped(args: Args, wrapper: Wrapper) -> Args:
    """Return the command behind a wrapper's own words; empty if it runs none."""
    at = 0
    if wrapper.words:
        if not args or args[0] not in wrapper.words.split():
            return ()
        at = 1
    takes = wrapper.takes.split()
    while at < len(args) and (arg := args[at]) and (arg[0] == "-" or "=" in arg):
        at += 2 if arg in takes else 1
        if arg == "--":
            break
    return args[at + wrapper.operands :]


def _inner_script(name: str, args: Args, body: str) -> str:
    """Return the text that a shell is told to run: `-c "…"`, or its standard input."""
    if name == "eval":
        return " ".join(arg for arg in args if arg is not None) if None not in args else ""
    for at, arg in enumerate(args):
        if arg is None or not arg.startswith(("-", "+")):
            return ""  # a script file; what it does is not in the command
        if arg[1:2] != "-" and "c" in arg[1:]:
            return args[at + 1] or "" if at + 1 < len(args) else ""
        if arg == "-s":
            break
    return body
