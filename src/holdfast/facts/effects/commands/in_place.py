"""Programs that change the files that they are given: sed -i, perl -pi, patch, yq -i."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.invocation import Handler, Invocation
from holdfast.facts.effects.options import Args, split_options
from holdfast.facts.effects.patches import effects_of_patch
from holdfast.facts.effects.paths import place
from holdfast.facts.effects.scripts import effects_of_script

_BSD_SUFFIX = re.compile(r"\.[\w~-]{1,12}")


class SedParts(Struct, frozen=True):
    """The arguments of sed: script, files, and what `-i` says."""

    script: str
    files: list[str]
    quiet: bool
    in_place: bool


def sed_parts(args: Args) -> SedParts:
    """Read the arguments of GNU and BSD sed; `-i ''` and `-i .bak` are BSD's."""
    scripts: list[str] = []
    operands: list[str | None] = []
    quiet = in_place = scripted = False
    at, count = 0, len(args)
    while at < count:
        arg = args[at]
        at += 1
        if arg is None or arg[:1] != "-" or arg == "-":
            operands.append(arg)
        elif arg == "--":
            operands += args[at:]
            break
        elif arg[1] == "-":
            name, _, value = arg.partition("=")
            quiet = quiet or name in ("--quiet", "--silent")
            if name == "--in-place":
                in_place = True
            elif name in ("--expression", "--file"):
                scripted = True
                if not value and at < count:
                    value, at = args[at] or "", at + 1
                scripts.append(value if name == "--expression" else "")
        else:
            for place_, letter in enumerate(arg[1:], 2):
                rest = arg[place_:]
                quiet = quiet or letter == "n"
                if letter == "i":
                    in_place = True
                    at += not rest and at < count and _is_bsd_suffix(args, at)
                    break
                if letter in "efl":
                    if not rest and at < count:
                        rest, at = args[at] or "", at + 1
                    scripted = scripted or letter != "l"
                    scripts.append(rest if letter == "e" else "")
                    break
    if not scripted and operands:
        scripts.append(operands.pop(0) or "")
    files = [path for path in operands if path]
    return SedParts(";".join(scripts), files, quiet, in_place)


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
            yield Effect(effect.action, place(directory, effect.path), to, effect.lines)


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


HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys(("perl", "ruby"), perl),
    "patch": patch,
    **dict.fromkeys(("apply_patch", "applypatch"), apply_patch),
    "yq": yq,
    **dict.fromkeys(("node", "bun", "deno"), interpreter),
}
