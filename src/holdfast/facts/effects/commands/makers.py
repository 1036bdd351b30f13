"""Programs that make one file or directory that they are told the name of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.invocation import Handler, Invocation
from holdfast.facts.effects.options import split_options
from holdfast.facts.effects.paths import is_device

_MADE_DIRECTORY = frozenset((("cargo", "new"), ("django-admin", "startproject"), ("rails", "new")))
_OUTPUT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "ld"), ("-o",)),
    **dict.fromkeys(("pandoc", "sort", "dot"), ("-o", "--output")),
    "go": ("-o",),
    "openssl": ("-out", "-keyout"),
}


def made(call: Invocation) -> Iterator[Effect]:
    """`cargo new dir`, and compilers' `-o file`.

    What a program makes without being told the name is left out: only names that were written
    are facts.
    """
    if (call.name, *(arg or "" for arg in call.args[:1])) in _MADE_DIRECTORY:
        for path in split_options(call.args[1:]).known[:1]:
            yield Effect("mkdir", path)
        return
    yield from _output(call)


def virtualenv(call: Invocation) -> Iterator[Effect]:
    """`virtualenv dir`."""
    for path in split_options(call.args, "p", ("--python",)).known[:1]:
        yield Effect("mkdir", path)


def swe_agent_create(call: Invocation) -> Iterator[Effect]:
    """SWE-agent's `create file`."""
    if len(call.args) == 1 and call.args[0]:
        yield Effect("create", call.args[0])


def swe_agent_open(call: Invocation) -> Iterator[Effect]:
    """SWE-agent's `open file [line]`."""
    args = call.args
    if args and (path := args[0]) and path[0] != "-" and "://" not in path:
        line = args[1] if len(args) == 2 else ""
        if len(args) == 1 or (line and line.isdigit()):
            yield Effect("read", path)


def swe_agent_edit(call: Invocation) -> Iterator[Effect]:
    """SWE-agent's `edit 3:9` or bare `edit`, a change of the file that is open."""
    if not call.args:
        yield Effect("change")
    elif len(call.args) == 1 and call.args[0]:
        first, colon, last = call.args[0].partition(":")
        if colon and _is_number(first) and _is_number(last):
            yield Effect("change", lines=(int(first), int(last)))


def _output(call: Invocation) -> Iterator[Effect]:
    options = _OUTPUT_OPTIONS.get(call.name, ())
    for at, arg in enumerate(call.args):
        name, equals, value = (arg or "").partition("=")
        if name in options:
            path = value if equals else call.args[at + 1] if at + 1 < len(call.args) else None
            if path and path != "-" and not is_device(path):
                yield Effect("write", path)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys((words[0] for words in _MADE_DIRECTORY), made),
    **dict.fromkeys(_OUTPUT_OPTIONS, made),
    "virtualenv": virtualenv,
    "create": swe_agent_create,
    "open": swe_agent_open,
    "edit": swe_agent_edit,
}
