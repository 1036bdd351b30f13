"""Programs that make, move, copy and remove files, and git."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foldaway._core import Regex
from foldaway.facts.effects.effect import (
    Effect,
    base_name,
    effects_of_patch,
    inside,
    is_device,
    names_directory,
    place,
)
from foldaway.facts.effects.invocation import (
    LONG,
    Args,
    CommandOptions,
    Handler,
    Invocation,
    split_options,
)

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


def _pairs(call: Invocation, options: CommandOptions) -> Iterator[tuple[str, str]]:
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


_GLOBAL_VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path")
_FILE_NAME = Regex(r"(?:^|/)\.?[\w@+-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}$")


def git(call: Invocation) -> Iterator[Effect]:
    """Any git command; paths behind `-C dir` are under that directory."""
    directory = ""
    at, args = 0, call.args
    while at < len(args) and (arg := args[at]) and arg[0] == "-":
        if arg in _GLOBAL_VALUED:
            value = args[at + 1] if at + 1 < len(args) else None
            if arg == "-C":
                if value is None:
                    return
                directory = place(directory, value)
            at += 1
        at += 1
    word = args[at] if at < len(args) else None
    handler = _COMMANDS.get(word or "")
    if handler is None:
        return
    inner = Invocation(word or "", args[at + 1 :], call.body, call.source, call.made)
    for effect in handler(inner):
        if directory and effect.path:
            to = place(directory, effect.to) if effect.to else ""
            path = place(directory, effect.path)
            yield Effect(effect.action, path, to, effect.detail)
        else:
            yield effect


def _commit(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "mFCcSt", LONG["git-commit"])
    if options.has("--dry-run"):
        return
    messages = [*options.given.get("-m", ()), *options.given.get("--message", ())]
    detail = "\n\n".join(message for message in messages if message)
    if not messages and options.value("-F", "--file") in ("-", "/dev/stdin"):
        detail = call.body
    yield Effect("commit", detail=detail.strip())


def _remove(call: Invocation) -> Iterator[Effect]:
    if not any(arg in ("--cached", "-n", "--dry-run") for arg in call.args):
        yield from remove(call)


def _move(call: Invocation) -> Iterator[Effect]:
    if not any(arg in ("-n", "--dry-run") for arg in call.args):
        yield from move(call)


def _checkout(call: Invocation) -> Iterator[Effect]:
    """A new or another branch, or files as they were."""
    before, files = _at_dashes(call.args)
    options = split_options(before, "bB", ("--orphan", "--conflict", "--pathspec-from-file"))
    if options.has("-b", "-B", "--orphan"):
        if name := options.value("-b", "-B", "--orphan"):
            yield Effect("branch", detail=name)
        return
    named = options.operands
    if files is None:
        if len(named) == 1 and named[0] and not _is_file(named[0]):
            if named[0] != "-":
                yield Effect("branch", detail=named[0])
            return
        files = named if len(named) == 1 or options.has("--ours", "--theirs") else named[1:]
    for path in files:
        if path:
            yield Effect("change", path)


def _switch(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "cC", ("--create", "--force-create", "--orphan"))
    name = options.value("-c", "-C", "--create", "--force-create", "--orphan")
    if not options.has("-c", "-C", "--create", "--force-create", "--orphan"):
        name = options.operands[0] if options.operands else None
    if name and name != "-":
        yield Effect("branch", detail=name)


def _branch(call: Invocation) -> Iterator[Effect]:
    """Only `git branch -m new` changes the branch that one is on."""
    options = split_options(call.args, "u")
    if options.has("-m", "-M", "--move") and len(options.operands) == 1 and options.operands[0]:
        yield Effect("branch", detail=options.operands[0])


def _restore(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "s", ("--source", "--conflict"))
    if options.has("-S", "--staged") and not options.has("-W", "--worktree"):
        return
    for path in options.known:
        yield Effect("change", path)


def _reset(call: Invocation) -> Iterator[Effect]:
    if "--hard" in call.args:
        known = [arg for arg in call.args if arg]
        yield Effect("change", detail=" ".join(["git reset", *known]))


def _apply(call: Invocation) -> Iterator[Effect]:
    if call.body and not any(arg in ("--check", "--stat", "--cached") for arg in call.args):
        yield from effects_of_patch(call.body)


def _clone(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "bocju", LONG["git-clone"])
    operands = options.operands
    if len(operands) > 1:
        if operands[1]:
            yield Effect("mkdir", operands[1])
    elif operands and operands[0]:
        name = base_name(operands[0].rpartition(":")[2])
        if not options.has("--bare", "--mirror"):
            name = name.removesuffix(".git")
        if name and name not in (".", ".."):
            yield Effect("mkdir", name)


def _init(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "b", ("--initial-branch", "--template", "--object-format"))
    for path in options.known[:1]:
        if path != ".":
            yield Effect("mkdir", path)


def _at_dashes(args: Args) -> tuple[Args, Args | None]:
    """Return what stands before and behind `--`; None behind where there is none."""
    for at, arg in enumerate(args):
        if arg == "--":
            return args[:at], args[at + 1 :]
    return args, None


def _is_file(name: str) -> bool:
    """Whether `git checkout name` is more likely about a file than about a branch."""
    if name in (".", "..") or name.startswith(("./", "../", "/", ":/")) or name.endswith("/"):
        return True
    return "*" in name or _FILE_NAME.search(name) is not None


_COMMANDS: Mapping[str, Handler] = {
    "commit": _commit,
    "rm": _remove,
    "mv": _move,
    "checkout": _checkout,
    "switch": _switch,
    "branch": _branch,
    "restore": _restore,
    "reset": _reset,
    "apply": _apply,
    "am": _apply,
    "clone": _clone,
    "init": _init,
}


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
    "git": git,
}
