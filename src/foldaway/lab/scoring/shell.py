"""Which files a shell command touches, by the grammar of tree-sitter-bash."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from foldaway.errors import MissingExtra
from foldaway.lab.scoring.session import TOOL_WORDS

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\([$`\"\\\n])")
_UNKNOWN = "$("
"""What stands in a word for text that only a run would show; `Touched.add` refuses it."""
_OPERATORS = frozenset({"&&", "||", ";", "|", "|&", "&", "\n", ";;"})
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>"})
_CLOSED = frozenset(
    {"command_substitution", "string", "concatenation", "heredoc_body", "test_command"}
)
"""Nodes whose inner commands are not looked at: their output is text of another command."""
_COMPOUND = frozenset(TOOL_WORDS["compound"])
_FORMATTERS = TOOL_WORDS["formatters"]
_SHELLS = ("sh", "bash", "zsh", "dash")
_RUNS = re.compile(r"-[a-z]*c")
_PREFIXES = ("sudo", "env", "time", "nohup", "command", "exec", "builtin", "nice")
_WRITES = re.compile(r"open\(\s*['\"]([^'\"\n]{1,200})['\"]\s*,\s*['\"][wax]")
_WRITES_TEXT = re.compile(r"Path\(\s*['\"]([^'\"\n]{1,200})['\"]\s*\)\.write_(?:text|bytes)")
_SCRIPTED = re.compile(r"['\"]([\w./~-]{1,200}\.\w{1,8})['\"]")
_PATCHED = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]{1,300})", re.MULTILINE)
_PATCH_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,300})$", re.MULTILINE)
_PATCH_MOVE = re.compile(r"^\*\*\* Move to: (.{1,300})$", re.MULTILINE)
_INSIDE = frozenset({"file_redirect", "heredoc_redirect", "process_substitution"})
"""What is not a word although it is among the words of a command."""


@dataclass
class ShellCommand:
    """One simple command of a line: its words, where its output goes, its here-document."""

    words: list[str] = field(default_factory=list[str])
    targets: list[str] = field(default_factory=list[str])
    document: str = ""
    is_sure: bool = True
    """Whether it runs if the line succeeds; what follows `||` may not."""


@lru_cache(maxsize=1)
def shell_parser() -> Parser:
    """Return the parser; raises `MissingExtra` if tree-sitter-bash is not installed."""
    try:
        import tree_sitter_bash
        from tree_sitter import Language, Parser
    except ModuleNotFoundError as error:
        raise MissingExtra("lab", "scoring a run of the lab") from error
    return Parser(Language(tree_sitter_bash.language()))


def shell_commands(line: str) -> list[ShellCommand]:
    """Return the simple commands of a line in order.

    Commands in a substitution are left out. An explicit stack: a line may nest without bounds.
    """
    found: list[ShellCommand] = []
    waiting: list[tuple[Node | None, bool]] = [
        (shell_parser().parse(line.encode(errors="replace")).root_node, True)
    ]
    while waiting:
        node, is_sure = waiting.pop()
        if node is None:
            found.append(ShellCommand(is_sure=is_sure))
            continue
        inner: list[tuple[Node | None, bool]] = []
        if node.type in ("command", "declaration_command", "variable_assignment"):
            found.append(ShellCommand(list(_words(node)), is_sure=is_sure))
            inner = [row for row in _read_children(node, is_sure) if row[0].type in _INSIDE]
        elif node.type == "file_redirect":
            _redirect(node, found)
        elif node.type not in _CLOSED:
            inner.extend(_read_children(node, is_sure))
            body = node.child_by_field_name("body")
            if node.type == "heredoc_redirect" and found:
                found[-1].document = _document(node)
            elif node.type == "redirected_statement" and (body is None or body.type in _COMPOUND):
                inner.insert(0 if body is None else 1, (None, is_sure))
        waiting.extend(reversed(inner))
    return [row for row in found if row.words or row.targets]


def _read_children(node: Node, is_sure: bool) -> Iterator[tuple[Node, bool]]:
    """Yield the named children, and of each whether it runs for sure."""
    after_or = False
    for child in node.children:
        if child.type in _OPERATORS:
            after_or = child.type == "||"
        elif child.is_named:
            yield child, is_sure and not after_or


def _words(node: Node) -> Iterator[str]:
    if node.type == "variable_assignment":
        yield _value(node)
        return
    for child in node.children:
        if child.type not in _INSIDE and child.type != "herestring_redirect":
            yield _value(child)


def _redirect(node: Node, found: list[ShellCommand]) -> None:
    """Note where the output of the last command goes."""
    target = node.child_by_field_name("destination")
    if target is None or not any(child.type in _WRITING for child in node.children):
        return
    if not found:
        found.append(ShellCommand())
    found[-1].targets.append(_value(target))


def _document(node: Node) -> str:
    return next((_text(child) for child in node.children if child.type == "heredoc_body"), "")


def _value(node: Node, *, in_quotes: bool = False) -> str:
    """Return a word without its quotes; what a run would fill in becomes `_UNKNOWN`."""
    match node.type:
        case "raw_string":
            return _text(node)[1:-1]
        case "ansi_c_string":
            return _text(node)[2:-1]
        case "command_substitution" | "process_substitution" | "array":
            return _UNKNOWN
        case "simple_expansion" | "expansion" | "arithmetic_expansion":
            return _text(node)
        case _ if not node.children:
            pattern = _ESCAPED_IN_QUOTES if in_quotes else _ESCAPED
            return pattern.sub(_unescape, _text(node))
        case _:
            return _join_values(node)


def _join_values(node: Node) -> str:
    """Return the values of all children, with the text between them, which has no nodes."""
    in_quotes = node.type == "string"
    source, start = node.text or b"", node.start_byte
    parts: list[str] = []
    at = start
    for child in node.children:
        parts.append(source[at - start : child.start_byte - start].decode(errors="replace"))
        if child.type != '"':
            parts.append(_value(child, in_quotes=in_quotes))
        at = child.end_byte
    return "".join(parts)


def _unescape(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


@dataclass
class Touched:
    """The files that were touched for sure, and those of which the text cannot tell."""

    sure: set[str] = field(default_factory=set[str])
    unsure: set[str] = field(default_factory=set[str])

    def add(self, path: str, *, is_sure: bool = True) -> None:
        """Take a path; what cannot be resolved is left out."""
        path = path.strip()
        if not path or path.startswith(("/dev/", "&")) or any(mark in path for mark in "$`*?\n{"):
            return
        (self.sure if is_sure else self.unsure).add(posixpath.normpath(path))

    def join(self, other: Touched, *, is_sure: bool = True) -> None:
        """Take what another found."""
        (self.sure if is_sure else self.unsure).update(other.sure)
        self.unsure.update(other.unsure)


def find_touched(command: str, folder: str = "") -> Touched:
    """Return the files that a command line writes, moves or deletes, if it succeeds."""
    found = Touched()
    variables: dict[str, str] = {}
    for simple in shell_commands(command):
        words = _drop_assignments(simple.words, variables)
        words = [_expand_variables(word, variables) for word in words]
        if words[:1] == ["cd"] and len(words) > 1:
            folder = posixpath.join(folder, words[1])
            continue
        here = Touched()
        for target in simple.targets:
            here.add(_expand_variables(target, variables))
        for path, is_sure in _files(words, simple.document):
            here.add(path, is_sure=is_sure)
        found.join(_place_in_folder(here, folder), is_sure=simple.is_sure)
    return found


def find_patched_files(patch: str) -> set[str]:
    """Return the files of a patch in the form of the `apply_patch` tools."""
    rows = [*_PATCH_FILE.findall(patch), *_PATCH_MOVE.findall(patch)]
    return {posixpath.normpath(row.strip()) for row in rows}


def _place_in_folder(touched: Touched, folder: str) -> Touched:
    """Return the paths below the folder that the command runs in."""

    def place(path: str) -> str:
        return posixpath.normpath(posixpath.join(folder, path)) if path[0] != "~" else path

    if not folder or "$" in folder:
        return touched
    return Touched(set(map(place, touched.sure)), set(map(place, touched.unsure)))


def _drop_assignments(words: list[str], variables: dict[str, str]) -> list[str]:
    """Return the words after assignments and prefixes; remembers what was assigned."""
    while words:
        found = _ASSIGNMENT.fullmatch(words[0])
        if found is None and words[0] not in _PREFIXES:
            break
        if found is not None:
            variables[found.group(1)] = _expand_variables(found.group(2), variables)
        words = words[1:]
    return words


def _expand_variables(word: str, variables: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return variables.get(match.group(1), match.group())

    return _VARIABLE.sub(value, word) if "$" in word else word


_Files: TypeAlias = Iterator[tuple[str, bool]]
"""Paths, and of each whether it is touched for sure."""


def _files(words: Sequence[str], document: str) -> _Files:
    """Yield the files that a command touches by its name."""
    if not words:
        return
    name, rest = posixpath.basename(words[0]), list(words[1:])
    paths, flags = _paths(rest), [word for word in rest if word.startswith("-")]
    if name == "git" and paths:
        yield from _git(paths, flags, document)
    elif name in _SHELLS and len(paths) == 1 and any(_RUNS.fullmatch(flag) for flag in flags):
        inner = find_touched(paths[0])
        yield from [*_mark_all(inner.sure), *_mark_all(inner.unsure, is_sure=False)]
    elif name in _FORMATTERS:
        if name == "black" or {"-w", "--write", "--fix", "-i"} & set(flags):
            yield from _mark_all(paths, is_sure=False)
    elif name.startswith("python") and (document or words[1:2] == ["-c"]):
        yield from _script(document or " ".join(words[2:3]))
    elif name in ("apply_patch", "patch") and document:
        yield from _mark_all(find_patched_files(document) | set(_PATCHED.findall(document)))
    elif name in _HANDLERS:
        yield from _HANDLERS[name](rest)
    else:  # what a build writes, if anything is to be built
        yield from _mark_all((path for flag, path in pairwise(rest) if flag == "-o"), is_sure=False)


def _mark_all(paths: Iterable[str], *, is_sure: bool = True) -> _Files:
    return ((path, is_sure) for path in paths)


def _paths(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _is_file(path: str) -> bool:
    """Return whether a name is one of a file; without an ending it may be a folder."""
    return not path.endswith("/") and "." in posixpath.basename(path).strip(".")


def _write(words: list[str]) -> _Files:
    return _mark_all(_paths(words))


def _truncate(words: list[str]) -> _Files:
    sizes = {value for flag, value in pairwise(words) if flag == "-s"}
    return _mark_all(path for path in _paths(words) if path not in sizes)


def _remove(words: list[str]) -> _Files:
    deep = any(word.startswith("-") and "r" in word.lower() for word in words)
    return ((path, not deep and _is_file(path)) for path in _paths(words))


def _move(words: list[str]) -> _Files:
    paths = _paths(words)
    if len(paths) > 1:
        yield from ((path, _is_file(path)) for path in paths[:-1])
        yield from _destination(paths)


def _copy(words: list[str]) -> _Files:
    paths = _paths(words)
    if any(word.startswith("-") and word[1:2] in "rRa" for word in words):
        yield from _mark_all(paths[-1:] if len(paths) > 1 else (), is_sure=False)
    elif len(paths) > 1:
        yield from _destination(paths)


def _destination(paths: list[str]) -> _Files:
    """Yield where files went; a target without an ending may be a folder or a file."""
    target = paths[-1]
    below = [posixpath.join(target, posixpath.basename(path)) for path in paths[:-1]]
    if len(paths) > 2 or target.endswith("/") or target in (".", ".."):
        yield from ((path, _is_file(path)) for path in below)
    elif _is_file(target):
        yield target, True
    else:
        yield from _mark_all((target, *below), is_sure=False)


def _sed_files(words: list[str]) -> _Files:
    """Yield the files of `sed -i` and `perl -i`; the script is not a file."""
    if not any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words):
        return
    paths: list[str] = []
    has_script = False
    for before, word in zip(["", *words], words, strict=False):
        if re.fullmatch(r"-[a-zA-Z]*[ef]|--expression|--file", before):
            has_script = True
        elif word and not word.startswith("-"):
            paths.append(word)
    yield from _mark_all(paths if has_script else paths[1:])


def _download(words: list[str]) -> _Files:
    flags = ("-o", "--output", "-O", "--output-document")
    return _mark_all(
        value for flag, value in pairwise(words) if flag in flags and not value.startswith("http")
    )


def _disk(words: list[str]) -> _Files:
    return _mark_all(word[3:] for word in words if word.startswith("of="))


def _link(words: list[str]) -> _Files:
    paths = _paths(words)
    return _mark_all(paths[-1:] if len(paths) > 1 else ())


_HANDLERS: dict[str, Callable[[list[str]], _Files]] = {
    "tee": _write,
    "touch": _write,
    "unlink": _write,
    "truncate": _truncate,
    "rm": _remove,
    "mv": _move,
    "cp": _copy,
    "install": _copy,
    "sed": _sed_files,
    "gsed": _sed_files,
    "perl": _sed_files,
    "curl": _download,
    "wget": _download,
    "dd": _disk,
    "ln": _link,
}


def _git(words: list[str], flags: list[str], document: str) -> _Files:
    verb, paths = words[0], words[1:]
    if "--cached" in flags or ("--staged" in flags and "--worktree" not in flags):
        return  # the index alone, no file
    if verb == "mv":
        yield from _move(paths)
    elif verb == "rm":
        yield from _mark_all(paths)
    elif verb in ("checkout", "restore"):
        yield from _mark_all(path for path in paths if re.search(r"\.\w{1,8}$", path))
    elif verb == "apply":
        yield from _mark_all(_PATCHED.findall(document))


def _script(document: str) -> _Files:
    """Yield what an inline script writes; file names beside a write may or may not be meant."""
    yield from _mark_all((*_WRITES.findall(document), *_WRITES_TEXT.findall(document)))
    if re.search(r"write|\.dump\(|rename|unlink|remove", document):
        yield from _mark_all(_SCRIPTED.findall(document), is_sure=False)
