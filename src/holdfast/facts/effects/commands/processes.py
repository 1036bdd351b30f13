"""Programs that start and stop other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.invocation import Handler, Invocation
from holdfast.facts.effects.options import split_options


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
    "kill": kill,
    "pkill": kill_by_name,
    "killall": kill_by_name,
    "docker": docker,
    "docker-compose": docker,
}
