"""Programs that make, move and remove files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.invocation import Handler, Invocation
from holdfast.facts.effects.options import Options, split_options
from holdfast.facts.effects.paths import base_name, inside, is_device, names_directory

_INTO = ("--target-directory", "--suffix", "--mode", "--owner", "--group", "--size", "--reference")


def remove(call: Invocation) -> Iterator[Effect]:
    """`rm`, `unlink`, `shred -u`, `trash`; `rmdir` takes away no file."""
    for path in split_options(call.args).known:
        if path:
            yield Effect("delete", path)


def make_directory(call: Invocation) -> Iterator[Effect]:
    """`mkdir`."""
    for path in split_options(call.args, "mZ", _INTO).known:
        if path:
            yield Effect("mkdir", path)


def touch(call: Invocation) -> Iterator[Effect]:
    """`touch`, `mkfifo`: a file is there afterwards."""
    options = split_options(call.args, "rtdm", ("--reference", "--date", "--time"))
    if not options.has("-c", "--no-create"):
        for path in options.known:
            if path and path != "-":
                yield Effect("create", path)


def move(call: Invocation) -> Iterator[Effect]:
    """`mv`: a rename for each source; one from an unknown place writes its target."""
    for source, target in _pairs(call, split_options(call.args, "tS", _INTO)):
        if source:
            yield Effect("rename", source, to=target)
        elif target:
            yield Effect("write", target)


def copy(call: Invocation) -> Iterator[Effect]:
    """`cp`, `install`, `ditto`: each target is written."""
    valued = "tSmogfl" if call.name == "install" else "tS"
    options = split_options(call.args, valued, _INTO)
    if call.name == "install" and options.has("-d"):
        for path in options.known:
            yield Effect("mkdir", path)
        return
    for _, target in _pairs(call, options):
        if target and not is_device(target):
            yield Effect("write", target)


def link(call: Invocation) -> Iterator[Effect]:
    """`ln`: the link is created."""
    options = split_options(call.args, "tS", _INTO)
    if len(options.operands) == 1 and not options.has("-t", "--target-directory"):
        if target := options.operands[0]:
            yield Effect("create", base_name(target))
        return
    for _, name in _pairs(call, options):
        if name:
            yield Effect("create", name)


def tee(call: Invocation) -> Iterator[Effect]:
    """`tee`, `sponge`: every operand is written."""
    options = split_options(call.args, "", ("--output-error",))
    for path in options.known:
        if path and not is_device(path):
            if options.has("-a", "--append"):
                yield Effect("append", path)
            else:
                yield Effect("create" if call.body else "write", path)


def disk_dump(call: Invocation) -> Iterator[Effect]:
    """`dd of=…`."""
    for arg in call.args:
        if arg and arg.startswith("of=") and arg != "of=" and not is_device(arg[3:]):
            yield Effect("write", arg[3:])


def truncate(call: Invocation) -> Iterator[Effect]:
    """`truncate -s 0 file`."""
    for path in split_options(call.args, "sr", _INTO).known:
        if path:
            yield Effect("change", path)


def _pairs(call: Invocation, options: Options) -> Iterator[tuple[str, str]]:
    """Yield source and target of a copy or move, an empty text for one that is not known."""
    operands = options.operands
    directory = options.value("-t", "--target-directory")
    if directory is None:
        if len(operands) < 2:
            return
        directory, operands = operands[-1], operands[:-1]
        into = directory is not None and (
            len(operands) > 1 or names_directory(directory) or directory in call.made
        )
    else:
        into = True
    for source in operands:
        if directory is None or (into and source is None):
            yield source or "", ""
        else:
            yield source or "", inside(directory, source) if into and source else directory


HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys(("rm", "unlink", "shred", "trash", "grm"), remove),
    "mkdir": make_directory,
    **dict.fromkeys(("touch", "mkfifo"), touch),
    **dict.fromkeys(("mv", "gmv"), move),
    **dict.fromkeys(("cp", "gcp", "install", "ditto"), copy),
    "ln": link,
    **dict.fromkeys(("tee", "sponge"), tee),
    "dd": disk_dump,
    "truncate": truncate,
}
