"""Programs that print what is in a file, and which lines of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from holdfast.facts.effects.commands.in_place import sed_parts
from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.invocation import Handler, Invocation
from holdfast.facts.effects.options import Args, split_options
from holdfast.facts.effects.paths import is_device

_RANGE = re.compile(r"(\d{1,9})(?:,(?:(\d{1,9})|(\$)|\+(\d{1,9})))?p")
_QUIT = re.compile(r"(?:\d{1,9}|\$)?q")
_AWK_RANGE = re.compile(r"NR ?(>=?) ?(\d{1,9}) ?&& ?NR ?(<=?) ?(\d{1,9})")
_AWK_FROM_TO = re.compile(r"NR ?== ?(\d{1,9}) ?, ?NR ?== ?(\d{1,9})")
_VALUED = {
    "head": "nc", "tail": "ncs", "nl": "bdfhilnsvw", "less": "jptTx", "bat": "lHpr",
    "od": "AjNtw", "xxd": "lscg", "hexdump": "ens", "strings": "net",
}  # fmt: skip
_LONG = ("--lines", "--bytes", "--language", "--line-range", "--style", "--theme")
_WITH_PLUS = frozenset(("tail", "less", "more"))  # where `+5` is a place and no file
_COUNT = re.compile(r"-(\d{1,9})")
_AWK_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


def read(call: Invocation) -> Iterator[Effect]:
    """`cat`, `head`, `tail`, `nl`, `less`, `wc` and their like."""
    paths = _operands(call.name, call.args) if call.args else []
    if call.source:
        paths.append(call.source)
    lines = _shown(call.name, call.args) if paths else None
    for path in paths:
        if path and path != "-" and not is_device(path):
            yield Effect("read", path, lines=lines)


def sed(call: Invocation) -> Iterator[Effect]:
    """`sed` that prints, or that changes its files in place."""
    parts = sed_parts(call.args)
    if parts.in_place:
        for path in parts.files:
            yield Effect("change", path)
        return
    ranges = _sed_ranges(parts.script) if parts.quiet else []
    for path in (*parts.files, call.source):
        if path and path != "-":
            for lines in ranges or (None,):
                yield Effect("read", path, lines=lines)


def awk(call: Invocation) -> Iterator[Effect]:
    """`awk` over files, in place with `-i inplace`."""
    options = split_options(call.args, "FvfiEe", ("--file", "--assign", "--include", "--source"))
    operands = options.operands
    script = None
    if not options.has("-f", "--file", "-e", "--source"):
        script, operands = (operands[0] if operands else None), operands[1:]
    in_place = "inplace" in (options.value("-i", "--include") or "")
    for path in (*operands, call.source):
        if path and path != "-" and not _AWK_VARIABLE.match(path) and not is_device(path):
            lines = None if in_place else _awk_lines(script or "")
            yield Effect("change" if in_place else "read", path, lines=lines)


def shown_lines(args: Args) -> tuple[int, int] | None:
    """Return which lines of its input a filter lets through, where that is a range of lines."""
    name = args[0]
    if name == "sed":
        parts = sed_parts(args[1:])
        ranges = _sed_ranges(parts.script) if parts.quiet and not parts.files else []
        return ranges[0] if len(ranges) == 1 else None
    if name in ("head", "tail") and not _operands(name, args[1:]):
        return _shown(name, args[1:])
    return None


def narrowed(lines: tuple[int, int] | None, shown: tuple[int, int]) -> tuple[int, int]:
    """Return the lines of the file that are left, when a filter shows these of what it got."""
    if lines is None:
        return shown
    first = lines[0] + shown[0] - 1
    last = lines[0] + shown[1] - 1 if shown[1] else lines[1]
    return first, min(last, lines[1]) if lines[1] else last


def _operands(name: str, args: Args) -> list[str]:
    found = split_options(args, _VALUED.get(name, ""), _LONG).known
    return [path for path in found if not (path.startswith("+") and name in _WITH_PLUS)]


def _shown(name: str, args: Args) -> tuple[int, int] | None:
    if name not in ("head", "tail"):
        return None
    count: str | None = "10"
    for at, arg in enumerate(args):
        if arg is None or arg in ("-c", "--bytes"):
            count = None if arg else count
        elif arg in ("-n", "--lines"):
            count = args[at + 1] if at + 1 < len(args) else None
        elif arg.startswith(("-n", "--lines=")):
            count = arg[2:] if arg[1] == "n" else arg[8:]
        elif arg.startswith(("-c", "--bytes")):
            count = None
        elif found := _COUNT.fullmatch(arg):
            count = found[1]
    if not count:
        return None
    if name == "tail":
        number = count[1:]
        whole = count[0] == "+" and number.isascii() and number.isdigit() and len(number) < 10
        return (max(int(number), 1), 0) if whole else None
    whole = count.isascii() and count.isdigit() and len(count) < 10 and int(count) > 0
    return (1, int(count)) if whole else None


def _sed_ranges(script: str) -> list[tuple[int, int]]:
    """Return the ranges that a script of `sed -n` prints; empty where it does anything else."""
    ranges: list[tuple[int, int]] = []
    for part in script.replace("\n", ";").split(";", 64):
        part = part.strip()
        if not part or _QUIT.fullmatch(part):
            continue
        found = _RANGE.fullmatch(part)
        if found is None or int(found[1]) == 0:
            return []
        first = int(found[1])
        last = int(found[2]) if found[2] else first + int(found[4]) if found[4] else first
        ranges.append((first, 0 if found[3] else max(last, first)))
    return ranges


def _awk_lines(script: str) -> tuple[int, int] | None:
    if "NR" not in script:
        return None
    if found := _AWK_RANGE.search(script):
        first, last = int(found[2]), int(found[4])
        return (first + (found[1] == ">"), max(last - (found[3] == "<"), first))
    if found := _AWK_FROM_TO.search(script):
        return int(found[1]), int(found[2])
    return None


HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys(
        ("cat", "tac", "head", "tail", "nl", "less", "more", "wc", "bat", "batcat",
         "od", "xxd", "hexdump", "strings"),
        read,
    ),
    "sed": sed,
    "gsed": sed,
    **dict.fromkeys(("awk", "gawk", "mawk"), awk),
}  # fmt: skip
