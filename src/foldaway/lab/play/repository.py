"""A repository to be changed in several rounds: tests decide."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from msgspec import Struct

from foldaway.lab.play.stage import Draw, Round, Stage, Story, vocabulary
from foldaway.lab.play.task import Move, Task, fill

_ACTS = ("replace", "append")
_CHECK = "check"
"""What the acceptance tests look at: a file and a name in it."""


def make(seed: int, number: int) -> Task:
    """Return a task of the repository."""
    work = _Work(Draw(f"repository {seed} {number}"))
    work.write()
    story, project = work.story, work.project
    words = vocabulary()["repository"]
    shop = words["shops"][words["packages"].index(project.package)]
    return story.task(seed, number, lambda: RepositoryWorld(story, project), shop=shop)


class _Project(Struct, kw_only=True):
    """A repository as it is cloned."""

    key: str
    package: str
    files: dict[str, str]
    functions: dict[str, str]
    """The file of each function; every one has a test."""
    warnings: dict[str, str]
    """The ids of the warnings that the first test run shows, by function."""
    commits: dict[str, str]
    """The hash of each commit, by subject."""
    renamed: dict[str, str]


class _Job(Struct, frozen=True):
    """One line of what the maintainer asks for, and how it is done."""

    text: str
    moves: tuple[Move, ...]


class _Work:
    """The rounds of a repository while they are drawn."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.words = draw, vocabulary()["repository"]
        self.story = Story("repository")
        self.steps = int(66 * (385 / 66) ** draw.random())
        self.bulk = draw.uniform(1.5, 2.6) * (150 / self.steps) ** 0.4
        package, words = draw.one(self.words["packages"]), self.words
        subjects = [f"{one} ({area})" for one in words["subjects"] for area in words["areas"]]
        self.project = _Project(
            key=draw.code(10),
            package=package,
            files={},
            functions={},
            warnings={},
            commits={one: draw.code(9) for one in draw.sample(subjects, 90)},
            renamed={},
        )
        self.symbols: list[tuple[str, str]] = []
        for module in words["modules"]:
            self._module(f"src/{package}/{module}.py", module)
        draw.shuffle(self.symbols)
        self.free = draw.sample(list(self.project.functions), len(self.project.functions))
        for function in self.free[: min(len(self.free), 45)]:
            self.project.warnings[function] = draw.number(5, "DEP-")

    def _module(self, path: str, module: str) -> None:
        """Add a module with settings and functions."""
        draw, words, project = self.draw, self.words, self.project
        parts = [fill(words["code"]["head"], {"module": module, "package": project.package})]
        for _ in range(draw.randint(4, 9)):
            symbol = f"{draw.one(words['limits_first'])}_{draw.one(words['limits_last'])}"
            symbol = f"{module.upper()}_{symbol}"
            if all(symbol != one for _, one in self.symbols):
                self.symbols.append((path, symbol))
                parts.append(f"{symbol} = {draw.randint(2, 90)}\n")
        for _ in range(min(22, int(draw.randint(3, 8) * self.bulk) + 1)):
            name = draw.once(lambda: f"{draw.one(words['verbs'])}_{draw.one(words['nouns'])}")
            project.functions[name] = path
            parts.append("\n" + fill(draw.one(words["code"]["bodies"]), {"name": name}))
        project.files[path] = "".join(parts).lstrip()

    def write(self) -> None:
        """Draw the changes and put them into rounds, with what is reversed between them."""
        draw, words, story = self.draw, self.words, self.story
        codes = {area: draw.number(5, "E-") for area in words["areas"]}
        prefix = f"{''.join(draw.sample('BFGHKLQVXZ', 3))}{draw.randint(2, 9)}_"
        spaces = [f"{''.join(draw.sample('bfghkqvxz', 2))}{at}{draw.one('kmrt')}" for at in (4, 7)]
        limits, owner = [draw.number(4) for _ in range(2)], draw.person()
        opening = words["opening"].format(
            package=self.project.package,
            codes="\n".join(f"- {area}: {code}" for area, code in codes.items()),
            prefix=prefix,
            namespace=spaces[0],
            limit=limits[0],
            owner=owner,
            jobs="{jobs}",
        )
        early, far = self._pairs()
        area, more = draw.one(words["areas"]), 1 + self.steps // 150
        far += [
            self._add("errors", f"error code for {area} timeouts", codes[area], "code", area=area),
            self._add(
                "settings", "environment variable of the cache, ours", f"{prefix}CACHE", "prefix"
            ),
            self._add("shipping", "owner of this new module", owner, "owner"),
            *[self._warned() for _ in range(more)],
            *[self._pinned() for _ in range(more)],
        ]
        last = [
            self._add(
                "clients", "most ms that a call of the new client may take", limits[1], "limit"
            ),
            self._add("flags", "new flag for eager flushes", f"{spaces[1]}.eager", "namespace"),
        ]
        story.script += [story.move("run_tests warnings=yes"), story.move("show_log")]
        taken = 2.0 + sum(len(one.moves) for one in (*early, *far, *last)) + 8
        small: list[_Job] = []
        while taken < self.steps:
            small.append(self._small())
            taken += len(small[-1].moves) + 0.45
        cut, end = max(1, len(small) // 4), len(small) * 3 // 4
        before, late = [*early, *small[:cut]], [*small[end:], *far]
        draw.shuffle(before)
        draw.shuffle(late)
        changed = draw.one(words["changed"]).format(limit=limits[1], namespace=spaces[1])
        self._ask(before, opening)
        self._ask(small[cut:end], f"{changed}\n\n{{jobs}}")
        self._ask([*late, *last])

    def _ask(self, jobs: Sequence[_Job], first: str = "") -> None:
        """Ask for the changes, two to five at a time."""
        draw, story, at = self.draw, self.story, 0
        while at < len(jobs):
            some = jobs[at : at + draw.randint(2, 5)]
            at += len(some)
            says = first or draw.one(self.words["rounds"])
            first = ""
            asked = "\n".join(f"- {one.text}" for one in some)
            story.rounds.append(Round(says.replace("{jobs}", asked), _ACTS))
            for one in some:
                story.script += one.moves
            story.script += [story.move("run_tests")] * (draw.random() < 0.6)
            story.script.append(Move(text=draw.one(self.words["done"])))

    def _want(self, path: str, name: str, value: str) -> None:
        self.story.want(_CHECK, target=f"{path} {name}", value=value)

    def _replace(self, path: str, old: str, new: str, **words: str) -> Move:
        long = {"old": old, "new": new}
        return self.story.move(f"replace path={path}", long=long, words={**words, "path": path})

    def _read(self, path: str) -> Move:
        return self.story.move(f"read_file path={path}", self.draw.one(self.words["thinking"]))

    def _small(self) -> _Job:
        """Return a change that needs nothing from before."""
        kind = self.draw.random()
        if kind < 0.6 and self.symbols:
            job, (path, _), _ = self._set()
            if kind < 0.15:
                return _Job(job.text, (*job.moves, self.story.move(f"diff path={path}")))
            return job
        return self._rename()[0]

    def _set(self) -> tuple[_Job, tuple[str, str], str]:
        path, symbol = self.symbols.pop()
        value = self.draw.number(4)
        self._want(path, symbol, value)
        change = self._replace(path, "{line}", f"{symbol} = {{given}}", symbol=symbol)
        return (
            _Job(f"in {path} set {symbol} to {value}", (self._read(path), change)),
            (path, symbol),
            value,
        )

    def _rename(self) -> tuple[_Job, str, str]:
        draw, words, project = self.draw, self.words, self.project
        old = self.free.pop()
        path = project.functions[old]
        new = draw.once(
            lambda: (
                f"{draw.one(words['verbs'])}_{draw.one(words['areas'])}_{draw.one(words['nouns'])}"
            )
        )
        project.renamed[old] = new
        self._want(path, f"def {new}", "(")
        moves = (
            self.story.move(f"search text={old}"),
            self._read(path),
            self._replace(path, f"def {old}(", "def {renamed}(", function=old),
        )
        return _Job(f"rename {old} in {path} to {new}", moves), old, new

    def _pairs(self) -> tuple[list[_Job], list[_Job]]:
        """Return changes of the beginning, and those that need what was changed."""
        changed, (path, symbol), value = self._set()
        renaming, old, new = self._rename()
        # no later change shows these files again
        mine = {path, self.project.functions[old]}
        self.symbols = [one for one in self.symbols if one[0] not in mine]
        self.free = [one for one in self.free if self.project.functions[one] not in mine]
        what = f"line that says what {symbol} is now"
        stated = self._add("limits", what, value, "setting", symbol=symbol, path=path)
        what, path = f"entry with the new name of {old}", self.project.functions[old]
        entry = self._add("registry", what, new, "name", function=old, path=path)
        return [changed, renaming], [stated, entry]

    def _warned(self) -> _Job:
        """Return a notice with the id of a warning of the first test run."""
        function = self.draw.choice([one for one in self.free if one in self.project.warnings])
        self.free.remove(function)
        what, value = (
            f"DEP id that the first test run has for {function}",
            self.project.warnings[function],
        )
        return self._add("notices", what, value, "warning", function=function)

    def _pinned(self) -> _Job:
        """Return a line with the hash of a commit that the log showed."""
        subject, value = self.draw.choice(list(self.project.commits.items()))
        return self._add(
            "pins", f'hash of the commit "{subject}"', value, "commit", subject=subject
        )

    def _add(self, file: str, what: str, value: str, need: str, **words: str) -> _Job:
        """Return a line to be added: a name, and a value that was said or seen long before."""
        path, name = (
            f"src/{self.project.package}/{file}.py",
            f"{need.upper()}_{self.draw.number(3)}",
        )
        self._want(path, name, value)
        tail = {"prefix": "CACHE", "namespace": ".eager"}.get(need, "")
        text = f'\n{name} = "{{{need}}}{tail}"\n'
        move = self.story.move(f"append path={path}", long={"text": text}, words=words)
        says = f", ending in {tail}" if tail else ""
        return _Job(f"add {name} to {path}: the {what}{says}", (move,))


class RepositoryWorld(Stage):
    """The files of a repository, with what was changed in them."""

    def __init__(self, story: Story, project: _Project) -> None:
        """Start with the repository as it is cloned."""
        super().__init__(story)
        self._project, self._words = project, vocabulary()["repository"]
        self._files = dict(project.files)

    def do_list_files(self) -> str:
        """Return the files, those without code too."""
        draw, package = Draw(f"{self._project.key} files"), self._project.package
        rows = {path: len(text) for path, text in self._files.items()}
        rows |= {f"tests/test_{one}.py": draw.randint(900, 9000) for one in self._words["modules"]}
        for at in range(1, 60):
            name = f"{draw.one(self._words['verbs'])}_{draw.one(self._words['nouns'])}"
            rows[f"src/{package}/migrations/{at:04}_{name}.sql"] = draw.randint(200, 4000)
        return "\n".join(f"{size:>7}  {path}" for path, size in sorted(rows.items()))

    def do_read_file(self, path: str, start: int = 1, lines: int = 400) -> str:
        """Return lines of a file with their numbers."""
        if path not in self._files:
            return f"Error: no file {path[:80]!r}"
        first, text = max(0, start - 1), self._files[path].splitlines()
        shown = text[first : first + max(1, lines)]
        return (
            "\n".join(f"{first + at:>4}  {line}" for at, line in enumerate(shown, 1)) or "(empty)"
        )

    def do_search(self, text: str) -> str:
        """Return the lines with a text, those of the tests too."""
        found = [
            f"{path}:{at}: {line}"
            for path, content in self._files.items()
            for at, line in enumerate(content.splitlines(), 1)
            if text and text in line
        ]
        draw = Draw(f"{self._project.key} {text}")
        for _ in range(draw.randint(3, 12) if found else 0):
            module = draw.one(self._words["modules"])
            found.append(
                f"tests/test_{module}.py:{draw.randint(8, 300)}:     assert {text}  # {module}"
            )
        return "\n".join(found[:60]) or "no match"

    def do_replace(self, path: str, old: str, new: str) -> str:
        """Change a text of a file."""
        if path not in self._files:
            return f"Error: no file {path[:80]!r}"
        count = self._files[path].count(old) if old else 0
        if count != 1:
            return f"Error: the text is in {path} {count} times, not once"
        self._write(path, self._files[path].replace(old, new))
        return f"Changed {path}"

    def do_append(self, path: str, text: str) -> str:
        """Add lines to a file."""
        self._write(path, self._files.get(path, "") + text)
        return f"Wrote {len(text)} characters to the end of {path}"

    def _write(self, path: str, text: str) -> None:
        """Change a file: a name with a wrong value is wrong, and so is a test that fails now."""
        was, self._files[path] = self._files.get(path, ""), text
        for tool, target in self._met:
            file, _, name = target.partition(" ")
            if file == path:
                value = _value_of(name, text)
                is_right = value == self._story.aims[tool, target].must["value"]
                self.wrong += not is_right and value != _value_of(name, was)
                self._met[tool, target] = is_right
        self.wrong += sum(
            self._passes(function, was) and not self._passes(function, text)
            for function, file in self._project.functions.items()
            if file == path
        )

    def _passes(self, function: str, text: str) -> bool:
        """Return whether the test of a function finds it, by its old name or its new one."""
        names = (function, self._project.renamed.get(function, function))
        return any(f"def {name}(" in text for name in names)

    def do_run_tests(self, warnings: str = "") -> str:
        """Return the log of a test run."""
        project, lines, failed = self._project, list[str](), list[str]()
        total = len(project.functions)
        for at, (function, path) in enumerate(project.functions.items(), 1):
            passed = self._passes(function, self._files[path])
            module = path.rpartition("/")[2].removesuffix(".py")
            test = f"tests/test_{module}.py::test_{function}"
            lines.append(f"{test} {'PASSED' if passed else 'FAILED':<10} [{at * 100 // total:>3}%]")
            failed += [] if passed else [f"FAILED {test} - ImportError: cannot import {function!r}"]
        if warnings.lower() == "yes":
            lines.append("================ warnings summary ================")
            draw = Draw(f"{project.key} warnings")
            for function, number in project.warnings.items():
                place = f"{project.functions[function]}:{draw.randint(20, 140)}"
                about = draw.one(self._words["warnings"])
                lines += [f"  {place}: DeprecationWarning: {function} {about} ({number})", ""]
        elif project.warnings:
            lines.append(f"{len(project.warnings)} warnings")
        passed = (
            f"{len(failed)} failed, {total - len(failed)} passed" if failed else f"{total} passed"
        )
        return "\n".join([*lines, *failed, f"================ {passed} in 8.31s ================"])

    def do_show_log(self) -> str:
        """Return the commits."""
        draw = Draw(f"{self._project.key} log")
        lines: list[str] = []
        for subject, commit in self._project.commits.items():
            day = f"2026-0{draw.randint(1, 5)}-{draw.randint(10, 28)}"
            lines.append(f"{commit} {day} {draw.person():<18} {subject}")
        return "\n".join(lines)

    def do_diff(self, path: str) -> str:
        """Return what was changed in a file."""
        was, now = (files.get(path, "") for files in (self._project.files, self._files))
        lines = difflib.unified_diff(
            was.splitlines(), now.splitlines(), f"a/{path[:80]}", f"b/{path[:80]}", "", "", 12, ""
        )
        return "\n".join(lines) or "no change"


def _value_of(name: str, text: str) -> str:
    """Return the last value that a name has in a file; for `def x` how it goes on."""
    if name.startswith("def "):
        return "(" if f"{name}(" in text else ""
    values = re.findall(rf"^{re.escape(name)}\s*=\s*[\"']?([^\"'\n]*)", text, re.M)
    return values[-1].strip() if values else ""
