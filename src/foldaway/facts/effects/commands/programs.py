"""Other programs: archives, compilers and generators, downloads, processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foldaway.facts.effects.effect import (
    Effect,
    inside,
    is_device,
    names_directory,
    place,
)
from foldaway.facts.effects.invocation import LONG, OUTPUTS, Handler, Invocation, split_options
from foldaway.regex import Regex

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


_MADE_DIRECTORY = frozenset((("cargo", "new"), ("django-admin", "startproject"), ("rails", "new")))


def make(call: Invocation) -> Iterator[Effect]:
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
            yield Effect("change")


def _output(call: Invocation) -> Iterator[Effect]:
    options = OUTPUTS.get(call.name, "").split()
    for at, arg in enumerate(call.args):
        name, equals, value = (arg or "").partition("=")
        if name in options:
            path = value if equals else call.args[at + 1] if at + 1 < len(call.args) else None
            if path and path != "-" and not is_device(path):
                yield Effect("write", path)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


_REMOTE = Regex(r"[^/]+:")
_CURL_VALUED = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"


def curl(call: Invocation) -> Iterator[Effect]:
    """`curl -o file`, `-O`, and the files for headers and cookies."""
    options = split_options(call.args, _CURL_VALUED, LONG["curl"])
    directory = options.value("--output-dir") or ""
    for name in ("-o", "--output"):
        for path in options.given.get(name, ()):
            if path and path != "-" and not is_device(path):
                yield Effect("write", place(directory, path))
    if options.has("-O", "--remote-name", "--remote-name-all"):
        for url in (*options.known, options.value("--url")):
            if url and (file := _file_of(url)):
                yield Effect("write", place(directory, file))
    for name in ("-D", "--dump-header", "-c", "--cookie-jar"):
        path = options.value(name)
        if path and path != "-" and not is_device(path):
            yield Effect("write", path)


def wget(call: Invocation) -> Iterator[Effect]:
    """`wget -O file`, or the name that the address ends with."""
    options = split_options(call.args, "OPoaeiUTtwQBADRXI", LONG["wget"])
    if options.has("--spider", "--version", "--help", "-r", "--recursive", "-m", "-i"):
        return
    if options.has("-O", "--output-document"):
        path = options.value("-O", "--output-document")
        if path and path != "-" and not is_device(path):
            yield Effect("write", path)
        return
    directory = options.value("-P", "--directory-prefix") or ""
    for url in options.known:
        if file := _file_of(url):
            yield Effect("write", place(directory, file))


def remote_copy(call: Invocation) -> Iterator[Effect]:
    """`rsync` and `scp` whose target is local."""
    valued = "ef" if call.name == "rsync" else "iPoFcSlJD"
    options = split_options(call.args, valued, LONG["rsync"])
    operands = options.operands
    if len(operands) < 2 or (call.name == "rsync" and options.has("-n", "--dry-run")):
        return
    target = operands[-1]
    if not target or _REMOTE.match(target):
        return
    for source in operands[:-1]:
        whole = source is None or source.endswith("/")
        if len(operands) == 2 and (whole or not names_directory(target)):
            yield Effect("write", target)
        elif source is not None and not whole:
            yield Effect("write", inside(target, source.rpartition(":")[2]))


def _file_of(url: str) -> str:
    """Return the file name at the end of an address; empty where it has none."""
    path = url.partition("://")[2] or url
    path = path.partition("#")[0].partition("?")[0]
    return path.rpartition("/")[2] if "/" in path else ""


def kill(call: Invocation) -> Iterator[Effect]:
    """`kill 12`, `kill -9 %1`; `kill -0` and `kill -l` only ask."""
    args = call.args
    if args and args[0] in ("-0", "-l", "-L"):
        return
    if args and args[0] in ("-s", "-n"):
        args = args[2:]
    named = [arg for arg in args if arg is None or arg[0:1] != "-"]
    if named:
        yield Effect("stop", detail=" ".join(arg for arg in named if arg))


def kill_by_name(call: Invocation) -> Iterator[Effect]:
    """`pkill -f pattern`, `killall name`."""
    options = split_options(call.args, "uUgGPtFs", ("--signal",))
    known = [name for name in options.known if name]
    if known and not options.has("-0", "-l"):
        yield Effect("stop", detail=" ".join(known))


def docker(call: Invocation) -> Iterator[Effect]:
    """`docker stop name`, `docker compose up -d`, `docker compose down`, `docker run -d`."""
    words = [arg for arg in call.args if arg]
    detail = " ".join([call.name, *words])
    if call.name == "docker" and words[:1] != ["compose"]:
        if words[:1] in (["stop"], ["kill"]):
            yield Effect("stop", detail=" ".join(words[1:]))
        elif words[:1] == ["run"] and any(word in ("-d", "--detach", "-dit") for word in words):
            yield Effect("start", detail=detail)
        return
    if "up" in words and any(word in ("-d", "--detach", "--wait") for word in words):
        yield Effect("start", detail=detail)
    elif "down" in words or "stop" in words:
        yield Effect("stop", detail=detail)


HANDLERS: Mapping[str, Handler] = {
    "curl": curl,
    "wget": wget,
    "rsync": remote_copy,
    "scp": remote_copy,
    **dict.fromkeys(("tar", "bsdtar", "gtar"), tar),
    "unzip": unzip,
    "zip": zip_,
    **dict.fromkeys(_SUFFIXES, compress),
    **dict.fromkeys((words[0] for words in _MADE_DIRECTORY), make),
    **dict.fromkeys(OUTPUTS, make),
    "virtualenv": virtualenv,
    "create": swe_agent_create,
    "open": swe_agent_open,
    "edit": swe_agent_edit,
    "kill": kill,
    "pkill": kill_by_name,
    "killall": kill_by_name,
    "docker": docker,
    "docker-compose": docker,
}
