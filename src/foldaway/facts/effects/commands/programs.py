"""Other programs: compressed files, those of SWE-agent, processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foldaway.facts.effects.effect import Effect
from foldaway.facts.effects.invocation import Handler, Invocation, split_options

_SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "gunzip": ".gz", "bunzip2": ".bz2",
             "unxz": ".xz"}  # fmt: skip


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


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


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
    **dict.fromkeys(_SUFFIXES, compress),
    "create": swe_agent_create,
    "open": swe_agent_open,
    "edit": swe_agent_edit,
    "kill": kill,
    "pkill": kill_by_name,
    "killall": kill_by_name,
    "docker": docker,
    "docker-compose": docker,
}
