"""Archives, coarsely: the archive that is written, the directory that is filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.invocation import Handler, Invocation
from holdfast.facts.effects.options import split_options

_TAR_LONG = ("--file", "--directory", "--exclude", "--transform", "--files-from")
_SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "gunzip": ".gz", "bunzip2": ".bz2",
             "unxz": ".xz"}  # fmt: skip


def tar(call: Invocation) -> Iterator[Effect]:
    """`tar c` writes its archive, `tar x -C dir` the directory."""
    args = list(call.args)
    if args and args[0] and args[0][0] != "-":
        args[0] = "-" + args[0]
    options = split_options(args, "fCTXbI", _TAR_LONG)
    archive = options.value("-f", "--file")
    if options.has("-c", "--create", "-r", "--append", "-u", "--update"):
        if archive and archive != "-":
            yield Effect("write", archive)
    elif options.has("-x", "--extract", "--get"):
        directory = options.value("-C", "--directory")
        if directory and directory != ".":
            yield Effect("mkdir", directory, detail=f"from {archive}" if archive else "")


def unzip(call: Invocation) -> Iterator[Effect]:
    """`unzip -d dir`."""
    options = split_options(call.args, "dPx")
    directory = options.value("-d")
    if directory and not options.has("-l", "-p", "-t", "-Z", "-v"):
        archive = options.known[0] if options.known else ""
        yield Effect("mkdir", directory, detail=f"from {archive}" if archive else "")


def zip_(call: Invocation) -> Iterator[Effect]:
    """`zip out.zip files`."""
    options = split_options(call.args, "xitbnP", ("--exclude", "--include"))
    if len(options.operands) > 1 and options.operands[0] not in (None, "-"):
        yield Effect("write", options.operands[0] or "")


def compress(call: Invocation) -> Iterator[Effect]:
    """`gzip file` and `gunzip file.gz` put one file in the place of another."""
    options = split_options(call.args, "S")
    if options.has("-c", "--stdout", "-t", "--test", "-l", "--list"):
        return
    suffix = _SUFFIXES[call.name]
    undo = "un" in call.name or options.has("-d", "--decompress")
    for path in options.known:
        if path == "-" or path.endswith(suffix) != undo:
            continue
        to = path.removesuffix(suffix) if undo else path + suffix
        yield Effect("write", to) if options.has("-k", "--keep") else Effect("rename", path, to=to)


HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys(("tar", "bsdtar", "gtar"), tar),
    "unzip": unzip,
    "zip": zip_,
    **dict.fromkeys(_SUFFIXES, compress),
}
