"""How a call ended, as far as its result tells, and what a command is known by."""

from __future__ import annotations

import re
from zlib import crc32

from msgspec import Struct

from foldaway._core import Regex
from foldaway.facts.ledger.lines import cut, whole_words
from foldaway.facts.tables import WORDS
from foldaway.facts.tools import FAMILIES, Family
from foldaway.reduction import Signs, signals

_LOOKS = Regex(
    r"(?:cd|pwd|ls|cat|head|tail|sed -n|grep|egrep|rg|find|fd|wc|nl|which|type|command -v|echo"
    r"|printf|sort|uniq|cut|tr|jq|awk|tree|stat|file|du|df|less|bat|column|true|test|date|\["
    r"|xargs (?:-\S+ )*(?:ls|cat|head|tail|grep|rg|wc|stat)|ps|diff|cmp|whoami|uname"
    r"|readlink|realpath|strings|xxd|gh (?:pr|issue|run|repo|release) (?:view|list|diff|checks"
    r"|status)|docker (?:ps|images|logs|inspect)|kubectl (?:get|describe|logs)"
    r"|(?:npm|pnpm|yarn) (?:ls|list|view|info|outdated|why)|(?:uv )?pip (?:show|list|freeze)"
    r"|git (?:-C \S{1,200} |--no-pager )?(?:status|log|diff|show|rev-parse|blame|ls-files"
    r"|ls-tree|remote(?! \w)|remote show|branch(?! -[dDmMcCfu])|grep|cat-file|merge-base"
    r"|describe|for-each-ref|reflog|shortlog)"
    r"|go (?:doc|list|env|version))(?![\w-])"
)
_ACTS = Regex(r"-delete|-exec|(?<![0-9&=-])>(?!\s*(?:/dev/null|&))|\btee\b")
"""What makes something else of a look."""
_QUOTED = Regex(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_JOINTS = Regex(r"&&|\|\||[;|\n]")
_MASKS = Regex(r"\|\||[;|\n]")
_FILTERS = Regex(
    r"\|\s*(?:head|tail|grep|egrep|rg|tee|sort|uniq|cut|tr|sed|awk|wc|cat|less)\b[^|&;\n]*"
    r"|(?:^|[;\n&|])\s*(?:echo|printf|cd|true|date|pwd|ls|which|type|command -v|test|\[)"
    r"(?![\w-])[^|&;\n]*"
)
"""Parts that show nothing of their own."""
_SIGNS = "|;&\n"
_READ_CHARS = 2_000
"""Of a longer command line no more is read."""


def is_look(command: str) -> bool:
    """Return whether a command line looks at things and does nothing else."""
    start = command.lstrip()
    if not _LOOKS.match(start):
        return False
    bare = _unquoted(start)
    if _ACTS.search(bare):
        return False
    if not any(sign in bare for sign in _SIGNS):
        return True
    return all(_LOOKS.match(part) for part in _parts(bare))


def masks_failures(command: str) -> bool:
    """Return whether a part of a command line may have failed although the whole did not.

    A line that also looks at something is none: what it shows may be about failures.
    """
    bare = _unquoted(command)
    if not _MASKS.search(bare):
        return False
    return not any(_LOOKS.match(part) for part in _parts(_FILTERS.sub("", bare)))


def _parts(bare: str) -> list[str]:
    return [part for piece in _JOINTS.split(bare) if (part := piece.strip(" \t\r&(){}!"))]


def _unquoted(command: str) -> str:
    text = command[:_READ_CHARS]
    return _QUOTED.sub("''", text) if "'" in text or '"' in text else text


_MOST_ERRORS = 12
"""Lines that are kept of one failure."""
_READ_ERRORS = 5 * _MOST_ERRORS
"""So many are read, because a warning that comes a hundred times may stand before the rest."""
_LOG_LINE = Regex(r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d")
"""A line with a time is what a program logged; it does not say that the program failed."""
_KIND_CHARS = 12
"""Error lines that begin with the same characters are of one kind."""
_MOST_OF_A_LOOK = 3
"""Of a look that found nothing."""
_MOST_MENTIONED = 6
"""Of a command that did its work and tells of failures."""
_HEAD_CHARS = 400
"""Of the first line, where a refusal stands."""
_FRAME_CHARS = 1_000
"""Within so much the lines that a runner puts before the output end."""
_WHOLE_CHARS = 300
"""A refusal without an error line is told by its start."""
_FAILURES = Signs((
    "rror", "FAIL", "ailed", "xception", "atal", "anic", "not found", "enied", "o such",
    "Traceback", "ERR", "not ok ", "imed out", "borted", "ailure", "FATAL", "\nE  ", "✗", "✖", "✘",
    "✕", "❌", "\n×", "\n ×",
))  # fmt: skip
_REJECTIONS = WORDS["rejections"]
_UNDONE = WORDS["undone"]
_REFUSALS = tuple(_UNDONE | WORDS["refusals"])
_COMPLAINTS = tuple(WORDS["complaints"])
_MISSES = ("no such file or directory", "[errno ")
_MISSING = Regex(
    r"[Nn]o such file|not found|ermission denied|s a directory|[Nn]ot a directory"
    r"|^(?:fatal|error)\b|does not exist|<tool_use_error>|cannot access|ambiguous argument"
)
"""How a look that found nothing says so; other words of failure are what it found."""
_RUNNING = Regex(
    r"[Rr]unning (?:with session|in (?:the )?background(?: with)?) ID:? ?(\w[\w-]{0,63})"
)
_FRAMES = ("Chunk ID:", "Wall time:")
_OUTPUT = "\nOutput:\n"


class CallOutcome(Struct, frozen=True):
    """What a result tells of its call."""

    code: int | None
    failed: bool
    rejected: str
    """The first line where the user did not let it go ahead, otherwise ""."""
    looked: bool
    """It looked at something and can have done nothing else."""
    running: str
    """The id under which it goes on in the background, "" where it does not."""
    errors: tuple[str, ...]
    """The lines that tell what went wrong."""
    mentioned: tuple[str, ...] = ()
    """Lines that look as if something went wrong, of a call that reports success."""
    undone: bool = False
    """An editor says that it left the file as it was."""


def outcome_of(
    family: Family, command: str, output: str, *, is_error: bool, by_status: bool = False
) -> CallOutcome:
    """Return how a call ended; `command` is "" where there is none.

    An exit status tells of the last part of a command line only: what stands before a pipe or a
    semicolon may have failed all the same, and then says so itself. With `by_status` that is not
    looked for, and no lines are found.
    """
    traits = FAMILIES[family]
    code = signals.exit_status(output)
    first = _first_line(output)
    start = first.lower()
    looked = is_look(command) if command else traits.looks
    refused = is_error or _is_refusal(start)
    is_rejected = is_error or (refused and not looked)  # what a look shows is somebody's text
    if not refused and traits.does == "act":
        refused = start.startswith(_COMPLAINTS) or any(words in start for words in _MISSES)
    failed = refused if code is None else code != 0
    errors: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    if not by_status:
        if looked:
            errors = _of_look(output, first, is_known=refused or code not in (None, 0))
            failed = failed or (code is None and bool(errors))
            if not failed and signals.has_diagnostics(first):
                mentioned = (whole_words(first, signals.SHOWN_CHARS),)
        elif traits.runs or failed:
            errors = _of_work(command, output, code, refused=refused)
            went_well = code == 0 and not masks_failures(command)
            only_logs = code is None and not refused and all(map(_LOG_LINE.search, errors))
            if went_well or only_logs:
                errors, mentioned = (), errors[:_MOST_MENTIONED]
            failed = failed or (traits.runs and bool(errors))
        if refused and not errors and output.strip():
            errors = (cut(output, _WHOLE_CHARS),)
    may_run = code is None and (command or family == "process")
    return CallOutcome(
        code,
        failed,
        first if is_rejected and any(words in start for words in _REJECTIONS) else "",
        looked,
        _running_in(output) if may_run else "",
        errors,
        mentioned,
        undone=refused and any(words in start for words in _UNDONE),
    )


def _running_in(output: str) -> str:
    """Return the id under which a call goes on, "" if it does not."""
    found = _RUNNING.search(output[:_HEAD_CHARS])
    return found[1] if found else ""


def _of_look(output: str, first: str, *, is_known: bool) -> tuple[str, ...]:
    """Return what a look failed to find; what it did find may well be about errors."""
    if not is_known:
        return (whole_words(first, signals.SHOWN_CHARS),) if _MISSING.search(first) else ()
    if not _has_sign(output):
        return ()
    found = (line for line in signals.error_lines(output, _MOST_ERRORS) if _MISSING.search(line))
    return tuple(whole_words(line, signals.SHOWN_CHARS) for line in found)[:_MOST_OF_A_LOOK]


def _of_work(command: str, output: str, code: int | None, *, refused: bool) -> tuple[str, ...]:
    """Return the lines that look as if something went wrong, whatever the status says."""
    if code == 0 and not command:
        return ()
    if not (code or refused or _has_sign(output)):
        return ()
    found = signals.error_lines(output, _READ_ERRORS)
    if found and code == 0:
        counts = signals.test_counts(output)
        if counts is not None and counts.passed and not counts.failed:
            return ()
    if len(found) > _MOST_ERRORS:
        found = _of_all_kinds(found)
    return tuple(whole_words(line, signals.SHOWN_CHARS) for line in found)


def _of_all_kinds(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return some lines, in order: the first of each kind, then the second, as far as they go."""
    rounds: dict[str, int] = {}
    order: list[tuple[int, int]] = []
    for place, line in enumerate(lines):
        # what a compiler says of a place is one kind, whichever file it is about
        kind = "" if signals.has_diagnostics(line) else line[:_KIND_CHARS]
        rounds[kind] = rounds.get(kind, 0) + 1
        order.append((rounds[kind], place))
    kept = sorted(place for _, place in sorted(order)[:_MOST_ERRORS])
    return tuple([lines[place] for place in kept])


def _has_sign(output: str) -> bool:
    return _FAILURES.any_in(output) or signals.has_diagnostics(output)


def _first_line(output: str) -> str:
    """Return the first line of what was printed, after the lines that a runner puts before it."""
    head = output[:_FRAME_CHARS]
    if head.startswith(_FRAMES):
        head = head.partition(_OUTPUT)[2] or head
    return head.lstrip().partition("\n")[0][:_HEAD_CHARS].rstrip()


def _is_refusal(start: str) -> bool:
    """Return whether a result begins by saying that nothing was done."""
    if start.startswith(("error", "<error", "aborted by user")):
        return True
    for words in _REFUSALS:  # noqa: SIM110 a generator costs more
        if words in start:
            return True
    return False


COMMAND_CHARS = 240
"""Of a command, in a fact."""
_TRAILER = Regex(r"(?<=\S)\s*(?:2>&1|>\s?/dev/null|\|\s?(?:head|tail|grep|tee)\b[^|&;\n\"']*)\Z")
"""What says how much of a command's output is wanted: the command is the same without it."""
_MOST_TRAILERS = 4
"""So many are taken off one command."""
_TRAILER_CHARS = 200
"""So many characters at the end of a command are searched for them."""


def command_key(command: str) -> str:
    """Return what a command is known by when it comes again.

    A long one is cut, and a sum of the whole keeps it apart from others that begin alike.
    """
    line = command.strip()
    for _ in range(_MOST_TRAILERS):
        # only the end is looked at, so that a long line costs no more
        start = max(len(line) - _TRAILER_CHARS, 1)
        if line.find("|", start) < 0 and line.find(">", start) < 0:
            break
        found = _TRAILER.search(line, start)
        if found is None:
            break
        line = line[: found.start()]
    return cut_apart(line, COMMAND_CHARS)


def cut_apart(text: str, most: int) -> str:
    """Return `text` on one line, cut to `most` characters; others that begin alike differ."""
    shown = cut(text, most)
    if not shown.endswith("…"):
        return shown
    return f"{shown}#{crc32(text.encode('utf-8', 'surrogatepass')):08x}"
