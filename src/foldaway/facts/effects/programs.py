"""What programs do to files, read from their arguments: `HANDLERS`, by name."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from foldaway._core import Regex, read_table
from foldaway.facts.effects.effect import (
    Effect,
    base_name,
    effects_of_patch,
    effects_of_script,
    inside,
    is_device,
    names_directory,
    place,
)

Args: TypeAlias = Sequence[str | None]
"""The words behind a command's name; None for one whose value is not known."""


class Invocation(Struct, frozen=True, gc=False):
    """A program and what it is given; paths are still as written."""

    name: str
    args: Args
    body: str = ""
    """The text of its heredoc or here-string."""
    source: str = ""
    """The file that `<` feeds it."""
    made: Container[str] = ()
    """Directories that the same command has made, as written."""


Handler: TypeAlias = Callable[[Invocation], Iterable[Effect]]
"""From an invocation to its effects, paths as written; the caller places them."""


class Wrapper(Struct, frozen=True):
    """A program of [wrappers] in `programs.toml`, where the fields are explained."""

    takes: str = ""
    operands: int = 0
    words: str = ""


class _Programs(Struct, frozen=True):
    formatters: dict[str, str]
    wrappers: dict[str, Wrapper]
    looks: dict[str, str]
    purposes: dict[str, str]
    git_takes: str


PROGRAMS = read_table("programs", _Programs, "foldaway.facts")
WRAPPERS = {name: row for names, row in PROGRAMS.wrappers.items() for name in names.split()}
_FORMATTERS = {name: row for names, row in PROGRAMS.formatters.items() for name in names.split()}
_ONLY_LOOKS = frozenset(("--check", "--diff", "--check-only", "--dry-run", "--version", "-c"))
"""With one of these a formatter writes nothing."""
_ONLY_TELLS = frozenset(("--dry-run", "-n", "--check", "--stat", "--cached"))
"""With one of these `git apply`, `git rm` and `git mv` leave the files."""
_SETTINGS = ("--config", "--config-path", "--ignore-path", "--exclude", "--include")
"""Options of formatters whose next word is a file that they do not change."""
_INTO = ("--target-directory", "--suffix", "--mode", "--owner", "--group", "--reference", "--date")
_SUFFIX = Regex(r"(?:\.[\w~-]{1,12})?\Z")


class CommandOptions(Struct, frozen=True):
    """`given` maps `-x` and `--long` to their values, an empty one if they take none."""

    given: dict[str, list[str | None]]
    operands: list[str | None]

    def has(self, *names: str) -> bool:
        """Whether any of these options is given."""
        return any(name in self.given for name in names)

    def value(self, *names: str) -> str | None:
        """Return the last known value among these options."""
        return next((self.given[name][-1] for name in names if name in self.given), None)

    @property
    def known(self) -> list[str]:
        """The operands whose value is known."""
        return [operand for operand in self.operands if operand]


def split_options(
    args: Args, valued: str = "", long: Sequence[str] = (), ending: str = ""
) -> CommandOptions:
    """Return options and operands in the manner of getopt.

    `valued` holds the letters that take a value, `long` the long names that take one as the
    next word, `ending` the letters whose value is what is left of the word, if anything is. Behind
    `--` everything is an operand.
    """
    given: dict[str, list[str | None]] = {}
    operands: list[str | None] = []
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
            name, equals, value = arg.partition("=")
            if not equals and name in long:
                given.setdefault(name, []).append(args[at] if at < count else None)
                at += 1
            else:
                given.setdefault(name, []).append(value)
        else:
            for end, letter in enumerate(arg[1:], 2):
                values = given.setdefault("-" + letter, [])
                if letter in ending or (letter in valued and end < len(arg)):
                    values.append(arg[end:])
                    break
                if letter in valued:
                    values.append(args[at] if at < count else None)
                    at += 1
                else:
                    values.append("")
    return CommandOptions(given, operands)


def _remove(call: Invocation) -> Iterator[Effect]:
    yield from (Effect("delete", path) for path in split_options(call.args).known)


def _make_directory(call: Invocation) -> Iterator[Effect]:
    yield from (Effect("mkdir", path) for path in split_options(call.args, "mZ", _INTO).known)


def _touch(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "rtdm", _INTO)
    if not options.has("-c", "--no-create"):
        yield from (Effect("create", path) for path in options.known)


def _move(call: Invocation) -> Iterator[Effect]:
    """`mv`: a rename for each source; one from an unknown place writes its target."""
    for source, target in _pairs(call, "tS"):
        if source:
            yield Effect("rename", source, to=target)
        elif target:
            yield Effect("write", target)


def _copy(call: Invocation) -> Iterator[Effect]:
    """`cp`, `install`: each target is written."""
    if call.name != "install" or "-d" not in call.args:
        targets = (target for _, target in _pairs(call, "tSmog" if call.name == "install" else "t"))
        yield from (Effect("write", one) for one in targets if one and not is_device(one))


def _pairs(call: Invocation, valued: str) -> Iterator[tuple[str, str]]:
    """Yield source and target of a copy or move, an empty text for one that is not known."""
    options = split_options(call.args, valued, _INTO)
    operands = options.operands
    directory = options.value("-t", "--target-directory")
    into = directory is not None
    if not into:
        if len(operands) < 2:
            return
        directory, operands = operands[-1], operands[:-1]
        into = directory is not None and (
            len(operands) > 1 or names_directory(directory) or directory in call.made
        )
    for source in operands:
        if directory is None or (into and source is None):
            yield source or "", ""
        else:
            yield source or "", inside(directory, source) if into and source else directory


def _tee(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args)
    for path in options.known:
        if not is_device(path):
            adds = options.has("-a", "--append")
            yield Effect("append" if adds else "create" if call.body else "write", path)


def _read(call: Invocation) -> Iterator[Effect]:
    """`cat`, `head`, `tail`, `nl`, `wc`; a number is how much of the file."""
    valued = "nc" if call.name in ("head", "tail") else ""
    for path in (*split_options(call.args, valued).known, call.source):
        if path and path != "-" and path[0] != "+" and not path.isdigit() and not is_device(path):
            yield Effect("read", path)


def _awk(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "Fvfi")
    for path in (*options.operands[not options.has("-f") :], call.source):
        if path and path != "-" and "=" not in path and not is_device(path):
            yield Effect("read", path)


def _sed(call: Invocation) -> Iterator[Effect]:
    """`sed` that prints, or that changes its files in place; `''` and `.bak` are BSD's."""
    options = split_options(call.args, "ef", ("--expression", "--file"), ending="il")
    operands = options.operands
    in_place = options.has("-i", "--in-place")
    if in_place and operands and operands[0] is not None and _SUFFIX.match(operands[0]):
        del operands[0]
    if not options.has("-e", "-f", "--expression", "--file"):
        del operands[:1]
    for path in options.known if in_place else (*options.known, call.source):
        if path and path != "-":
            yield Effect("change" if in_place else "read", path)


def _perl(call: Invocation) -> Iterator[Effect]:
    """`perl -pi -e`, `ruby -i -pe`: the files are changed; anything else of perl is not known."""
    options = split_options(call.args, "eE", ending="iIMmFxC")
    if options.has("-i"):
        paths = options.known[0 if options.has("-e", "-E") else 1 :]
        yield from (Effect("change", path) for path in paths)


def _patch(call: Invocation) -> Iterator[Effect]:
    """`patch file < diff` changes the file; with the diff in a heredoc its files are known."""
    options = split_options(call.args, "pidorBDFVYz", ("--input", "--directory", "--strip"))
    if not options.has("--dry-run", "-C", "-d", "--directory"):
        paths = options.known[:1]
        yield from [Effect("change", paths[0])] if paths else effects_of_patch(call.body)


def _apply_patch(call: Invocation) -> Iterator[Effect]:
    """`apply_patch`, with its text as an argument or in a heredoc."""
    yield from effects_of_patch(next(filter(None, call.args), "") or call.body)


def _formatter(call: Invocation) -> Iterator[Effect]:
    """A formatter of the table; a word without a full stop is a folder, or what it is to do."""
    wanted = _FORMATTERS[call.name].split()
    if _ONLY_LOOKS.isdisjoint(call.args) and (not wanted or not set(wanted).isdisjoint(call.args)):
        for path in split_options(call.args, long=_SETTINGS).known:
            if "." in base_name(path).strip("."):
                yield Effect("change", path)


def _interpreter(call: Invocation) -> Iterator[Effect]:
    """`python -c`, `python - <<EOF`, `node -e`: files that the code names literally."""
    for arg, after in zip(call.args, [*call.args[1:], ""], strict=False):
        if arg in ("-c", "-e", "--eval", "-p"):
            yield from effects_of_script(after or "")
            return
        if arg == "-m" and after in _FORMATTERS:
            yield from _formatter(Invocation(after, call.args[2:]))
        if arg is None or not arg.startswith("-") or arg == "-m":
            return
        if arg == "-":
            break
    yield from effects_of_script(call.body)


def _swe_agent_create(call: Invocation) -> Iterator[Effect]:
    if len(call.args) == 1 and call.args[0]:
        yield Effect("create", call.args[0])


def _swe_agent_open(call: Invocation) -> Iterator[Effect]:
    """SWE-agent's `open file [line]`."""
    path, line = (*call.args, "1") if len(call.args) == 1 else (*call.args[:2], "", "")[:2]
    if path and path[0] != "-" and "://" not in path and line and line.isdigit():
        yield Effect("read", path)


_LINES = Regex(r"[0-9]{1,9}:[0-9]{1,9}\Z")


def _swe_agent_edit(call: Invocation) -> Iterator[Effect]:
    """SWE-agent's `edit 3:9` or bare `edit`, a change of the file that is open."""
    if not call.args or (len(call.args) == 1 and _LINES.match(call.args[0] or "")):
        yield Effect("change")


def _kill(call: Invocation) -> Iterator[Effect]:
    """`kill 12`, `kill -9 %1`; `kill -0` and `kill -l` only ask."""
    named = [arg for arg in call.args if arg and arg[0] != "-"]
    if named and call.args[0] not in ("-0", "-l", "-L"):
        yield Effect("stop", detail=" ".join(named))


_GLOBAL_VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path")
_FILE_NAME = Regex(r"(?:^|/)\.?[\w@+-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}$")


def _git(call: Invocation) -> Iterator[Effect]:
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
    handler = _GIT.get(word or "")
    if handler is None:
        return
    for effect in handler(Invocation(word or "", args[at + 1 :], call.body, "", call.made)):
        if directory and effect.path:
            to = place(directory, effect.to) if effect.to else ""
            yield Effect(effect.action, place(directory, effect.path), to, effect.detail)
        else:
            yield effect


def _commit(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "mFCcSt", PROGRAMS.git_takes.split())
    if options.has("--dry-run"):
        return
    messages = [*options.given.get("-m", ()), *options.given.get("--message", ())]
    detail = "\n\n".join(message for message in messages if message)
    if not messages and options.value("-F", "--file") in ("-", "/dev/stdin"):
        detail = call.body
    yield Effect("commit", detail=detail.strip())


def _unless_told(handler: Handler) -> Handler:
    """Return a handler of what only tells with some options."""
    return lambda call: handler(call) if _ONLY_TELLS.isdisjoint(call.args) else ()


def _checkout(call: Invocation) -> Iterator[Effect]:
    """A new or another branch, or files as they were."""
    dashes = call.args.index("--") if "--" in call.args else None
    options = split_options(call.args[:dashes], "bB", ("--orphan", "--conflict"))
    named = options.operands
    if options.has("-b", "-B", "--orphan"):
        named = [options.value("-b", "-B", "--orphan")]
    elif dashes is not None:
        named = [None, *call.args[dashes + 1 :]]
    if len(named) == 1 and (options.has("-b", "-B", "--orphan") or not _is_file(named[0] or "")):
        yield from [Effect("branch", detail=named[0])] if named[0] not in (None, "-") else ()
        return
    for path in named[len(named) > 1 and not options.has("--ours", "--theirs") :]:
        if path:
            yield Effect("change", path)


def _switch(call: Invocation) -> Iterator[Effect]:
    new = ("-c", "-C", "--create", "--force-create", "--orphan")
    options = split_options(call.args, "cC", new[2:])
    name = options.value(*new) if options.has(*new) else next(iter(options.operands), None)
    if name and name != "-":
        yield Effect("branch", detail=name)


def _branch(call: Invocation) -> Iterator[Effect]:
    """Only `git branch -m new` changes the branch that one is on."""
    options = split_options(call.args, "u")
    if options.has("-m", "-M", "--move") and len(options.operands) == 1 and options.operands[0]:
        yield Effect("branch", detail=options.operands[0])


def _restore(call: Invocation) -> Iterator[Effect]:
    options = split_options(call.args, "s", ("--source", "--conflict"))
    if options.has("-W", "--worktree") or not options.has("-S", "--staged"):
        yield from (Effect("change", path) for path in options.known)


def _apply(call: Invocation) -> Iterator[Effect]:
    yield from effects_of_patch(call.body)


def _is_file(name: str) -> bool:
    """Whether `git checkout name` is more likely about a file than about a branch."""
    if name in (".", "..") or name.startswith(("./", "../", "/", ":/")) or name.endswith("/"):
        return True
    return "*" in name or _FILE_NAME.search(name) is not None


_GIT: Mapping[str, Handler] = {
    "commit": _commit,
    "rm": _unless_told(_remove),
    "mv": _unless_told(_move),
    "checkout": _checkout,
    "switch": _switch,
    "branch": _branch,
    "restore": _restore,
    **dict.fromkeys(("apply", "am"), _unless_told(_apply)),
}
HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys(("rm", "unlink", "trash"), _remove),
    "mkdir": _make_directory,
    "touch": _touch,
    "mv": _move,
    **dict.fromkeys(("cp", "install"), _copy),
    "tee": _tee,
    "git": _git,
    **dict.fromkeys(("cat", "tac", "head", "tail", "nl", "less", "more", "wc"), _read),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk"), _awk),
    **dict.fromkeys(("perl", "ruby"), _perl),
    "patch": _patch,
    **dict.fromkeys(("apply_patch", "applypatch"), _apply_patch),
    **dict.fromkeys(("python", "python3", "node", "bun", "deno"), _interpreter),
    **dict.fromkeys(_FORMATTERS, _formatter),
    "create": _swe_agent_create,
    "open": _swe_agent_open,
    "edit": _swe_agent_edit,
    "kill": _kill,
}
