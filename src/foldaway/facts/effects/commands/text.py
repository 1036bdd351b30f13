"""Programs that print what is in a file or edit it in place: sed, awk, interpreters, formatters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foldaway._core import Regex
from foldaway.facts.effects.effect import Effect, effects_of_patch, is_device, place
from foldaway.facts.effects.invocation import (
    FORMATTERS,
    LONG,
    Args,
    Handler,
    Invocation,
    split_options,
)
from foldaway.facts.effects.scripts import effects_of_script

_SED_LONG = {"--in-place": "i", "--expression": "e", "--file": "f"}
_BSD_SUFFIX = Regex(r"\.[\w~-]{1,12}")


def _sed_files(args: Args) -> tuple[list[str], bool]:
    """Return the files of GNU or BSD sed, and whether they are edited in place.

    `-i ''` and `-i .bak` are BSD's.
    """
    operands: list[str | None] = []
    in_place = scripted = False
    for letter, value in _sed_options(args):
        if not letter:
            operands.append(value)
        in_place = in_place or letter == "i"
        scripted = scripted or letter in ("e", "f")
    return [path for path in operands[0 if scripted else 1 :] if path], in_place


def _sed_options(args: Args) -> Iterator[tuple[str, str | None]]:
    """Yield the letter of each option with its value, and "" with each operand."""
    at, count = 0, len(args)
    while at < count:
        arg = args[at]
        at += 1
        if arg is None or arg[:1] != "-" or arg == "-":
            yield "", arg
            continue
        if arg == "--":
            yield from (("", operand) for operand in args[at:])
            return
        name, _, value = arg.partition("=")
        is_long = arg[1] == "-"
        letters = [(letter, arg[end:]) for end, letter in enumerate(arg[1:], 2)]
        for letter, rest in [(_SED_LONG.get(name, "?"), value)] if is_long else letters:
            if letter in "efl" and not rest and at < count:
                rest, at = args[at] or "", at + 1
            elif letter == "i" and not (is_long or rest) and at < count:
                at += _is_bsd_suffix(args, at)
            yield letter, rest
            if letter in "iefl":
                break


def perl(call: Invocation) -> Iterator[Effect]:
    """`perl -pi -e`, `ruby -i -pe`: the files are changed; anything else of perl is not known."""
    in_place = code = False
    files: list[str] = []
    at, args = 0, call.args
    while at < len(args):
        arg = args[at]
        at += 1
        if arg is None or files or arg[:1] != "-" or len(arg) < 2:
            if arg:
                files.append(arg)
            continue
        if arg == "--":
            files += (path for path in args[at:] if path)
            break
        for place_, letter in enumerate(arg[1:], 2):
            in_place = in_place or letter == "i"
            if letter in "eE":
                code = True
                at += place_ == len(arg)
            if letter in "eEiMmIFxlC":
                break
    if in_place:
        for path in files if code else files[1:]:
            yield Effect("change", path)


def patch(call: Invocation) -> Iterator[Effect]:
    """`patch file < diff` changes the file; with the diff in a heredoc its files are known."""
    options = split_options(call.args, "pidorBDFVYz", ("--input", "--directory", "--strip"))
    directory = options.value("-d", "--directory") or ""
    if options.has("--dry-run", "-C"):
        return
    if options.known:
        yield Effect("change", place(directory, options.known[0]))
    elif call.body:
        for effect in effects_of_patch(call.body):
            to = place(directory, effect.to) if effect.to else ""
            yield Effect(effect.action, place(directory, effect.path), to)


def apply_patch(call: Invocation) -> Iterator[Effect]:
    """`apply_patch`, with its text as an argument or in a heredoc."""
    text = next((arg for arg in call.args if arg and arg != "apply_patch"), "") or call.body
    yield from effects_of_patch(text)


def yq(call: Invocation) -> Iterator[Effect]:
    """`yq -i expression file`."""
    options = split_options(call.args, "pofI", ("--input-format", "--output-format"))
    if options.has("-i", "--inplace", "--in-place"):
        for path in options.known[1:]:
            yield Effect("change", path)


def interpreter(call: Invocation) -> Iterator[Effect]:
    """`python -c`, `python - <<EOF`, `node -e`: files that the code names literally."""
    for at, arg in enumerate(call.args):
        if arg in ("-c", "-e", "--eval", "-p"):
            code = call.args[at + 1] if at + 1 < len(call.args) else ""
            yield from effects_of_script(code or "")
            return
        if arg is None or not arg.startswith("-"):
            return
        if arg == "-":
            break
    yield from effects_of_script(call.body)


def _is_bsd_suffix(args: Args, at: int) -> bool:
    """Whether the word behind `-i` is BSD's suffix and not the script."""
    word = args[at]
    return word == "" or (word is not None and _BSD_SUFFIX.fullmatch(word) is not None)


def formatter(call: Invocation) -> Iterator[Effect]:
    """A formatter of the table; the whole tree (`.`) is no named path."""
    kind = FORMATTERS[call.name]
    args = call.args
    if words := kind.words.split():
        if not args or args[0] not in words:
            return
        args = args[1:]
    options = split_options(args, kind.valued, LONG["formatters"])
    writes = kind.any_of.split()
    if options.has(*kind.none_of.split()) or (writes and not options.has(*writes)):
        return
    for path in options.known:
        if path.rstrip("/") not in ("", ".", "-", "./...") and not path.endswith("/..."):
            yield Effect("change", path)


def ruff(call: Invocation) -> Iterator[Effect]:
    """`ruff check --fix path`, `ruff format path`."""
    options = split_options(call.args, "", LONG["formatters"])
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


_MODULES: Mapping[str, Handler] = {**dict.fromkeys(FORMATTERS, formatter), "ruff": ruff}


_VALUED = {
    "head": "nc", "tail": "ncs", "nl": "bdfhilnsvw", "less": "jptTx", "bat": "lHpr",
    "od": "AjNtw", "xxd": "lscg", "hexdump": "ens", "strings": "net",
}  # fmt: skip
_LONG = ("--lines", "--bytes", "--language", "--line-range", "--style", "--theme")
_WITH_PLUS = frozenset(("tail", "less", "more"))  # where `+5` is a place and no file
_AWK_VARIABLE = Regex(r"[A-Za-z_]\w*=")


def read(call: Invocation) -> Iterator[Effect]:
    """`cat`, `head`, `tail`, `nl`, `less`, `wc` and their like."""
    paths = _operands(call.name, call.args) if call.args else []
    if call.source:
        paths.append(call.source)
    for path in paths:
        if path and path != "-" and not is_device(path):
            yield Effect("read", path)


def sed(call: Invocation) -> Iterator[Effect]:
    """`sed` that prints, or that changes its files in place."""
    files, in_place = _sed_files(call.args)
    if in_place:
        yield from (Effect("change", path) for path in files)
        return
    for path in (*files, call.source):
        if path and path != "-":
            yield Effect("read", path)


def awk(call: Invocation) -> Iterator[Effect]:
    """`awk` over files, in place with `-i inplace`."""
    options = split_options(call.args, "FvfiEe", ("--file", "--assign", "--include", "--source"))
    operands = options.operands
    if not options.has("-f", "--file", "-e", "--source"):
        operands = operands[1:]
    in_place = "inplace" in (options.value("-i", "--include") or "")
    for path in (*operands, call.source):
        if path and path != "-" and not _AWK_VARIABLE.match(path) and not is_device(path):
            yield Effect("change" if in_place else "read", path)


def _operands(name: str, args: Args) -> list[str]:
    found = split_options(args, _VALUED.get(name, ""), _LONG).known
    return [path for path in found if not (path.startswith("+") and name in _WITH_PLUS)]


_READERS = ("cat", "tac", "head", "tail", "nl", "less", "more", "wc", "bat", "batcat", "od", "xxd",
            "hexdump", "strings")  # fmt: skip
HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys(_READERS, read),
    "sed": sed,
    "gsed": sed,
    **dict.fromkeys(("awk", "gawk", "mawk"), awk),
    **dict.fromkeys(("perl", "ruby"), perl),
    "patch": patch,
    **dict.fromkeys(("apply_patch", "applypatch"), apply_patch),
    "yq": yq,
    **dict.fromkeys(("node", "bun", "deno"), interpreter),
    **_MODULES,
    **dict.fromkeys(("python", "python3", "python2", "py", "ipython", "pypy3"), python),
}
