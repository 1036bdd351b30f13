"""Formatters and fixers: the paths that they are given are changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from holdfast.facts.effects.commands.in_place import interpreter
from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.invocation import Handler, Invocation
from holdfast.facts.effects.options import split_options

_VALUED_LONG = (
    "--line-length", "--config", "--exclude", "--include", "--target-version", "--profile",
    "--select", "--ignore", "--extend-select", "--rule", "--parser", "--style", "--edition",
    "--config-path", "--ignore-path", "--extension", "--ext", "--plugin", "--skip", "--local",
)  # fmt: skip


class _Formatter(Struct, frozen=True):
    any_of: tuple[str, ...] = ()
    """Only with one of these does it write; always, where there are none."""
    none_of: tuple[str, ...] = ("--check", "--diff", "--check-only", "--dry-run", "--version")
    words: tuple[str, ...] = ()
    """Its subcommands that write."""
    valued: str = ""


_FORMATTERS: Mapping[str, _Formatter] = {
    "black": _Formatter(valued="ltC"),
    "isort": _Formatter(none_of=("--check", "--check-only", "-c", "--diff"), valued="lp"),
    "autopep8": _Formatter(("-i", "--in-place")),
    "yapf": _Formatter(("-i", "--in-place")),
    "docformatter": _Formatter(("-i", "--in-place")),
    "autoflake": _Formatter(("-i", "--in-place")),
    "pyupgrade": _Formatter(),
    **dict.fromkeys(("gofmt", "goimports", "gofumpt", "shfmt"), _Formatter(("-w",), valued="ri")),
    "gci": _Formatter(words=("write",), valued="s"),
    "rustfmt": _Formatter(),
    "prettier": _Formatter(("--write", "-w")),
    **dict.fromkeys(("eslint", "stylelint", "markdownlint", "standard"), _Formatter(("--fix",))),
    "biome": _Formatter(("--write", "--fix", "--apply"), words=("check", "format", "lint")),
    "clang-format": _Formatter(("-i",)),
    "dart": _Formatter(words=("format",)),
    "terraform": _Formatter(words=("fmt",)),
    **dict.fromkeys(("dos2unix", "unix2dos"), _Formatter()),
    "rubocop": _Formatter(("-a", "-A", "--autocorrect", "--auto-correct")),
}


def formatter(call: Invocation) -> Iterator[Effect]:
    """A formatter of the table; the whole tree (`.`) is no named path."""
    kind = _FORMATTERS[call.name]
    args = call.args
    if kind.words:
        if not args or args[0] not in kind.words:
            return
        args = args[1:]
    options = split_options(args, kind.valued, _VALUED_LONG)
    if options.has(*kind.none_of) or (kind.any_of and not options.has(*kind.any_of)):
        return
    for path in options.known:
        if path.rstrip("/") not in ("", ".", "-", "./...") and not path.endswith("/..."):
            yield Effect("change", path)


def ruff(call: Invocation) -> Iterator[Effect]:
    """`ruff check --fix path`, `ruff format path`."""
    options = split_options(call.args, "", _VALUED_LONG)
    operands = options.known
    if options.has("--diff", "--check"):
        return
    word = operands[0] if operands and operands[0] in ("check", "format") else ""
    if word != "format" and not options.has("--fix", "--fix-only", "--add-noqa"):
        return
    for path in operands[1:] if word else operands:
        if path.rstrip("/") not in ("", "."):
            yield Effect("change", path)


def python(call: Invocation) -> Iterator[Effect]:
    """`python -m black path`, `python -m venv dir`, or code whose files are literal."""
    args = call.args
    if len(args) > 1 and args[0] == "-m" and (module := args[1]):
        if module == "venv":
            for path in split_options(args[2:]).known[:1]:
                yield Effect("mkdir", path)
        elif module in _MODULES:
            yield from _MODULES[module](Invocation(module, args[2:]))
        return
    yield from interpreter(call)


_MODULES: Mapping[str, Handler] = {**dict.fromkeys(_FORMATTERS, formatter), "ruff": ruff}
HANDLERS: Mapping[str, Handler] = {
    **_MODULES,
    **dict.fromkeys(("python", "python3", "python2", "py", "ipython", "pypy3"), python),
}
