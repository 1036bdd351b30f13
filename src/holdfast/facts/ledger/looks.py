"""Command lines: which only look at something, and which hide that a part of them failed."""

from __future__ import annotations

import re

_LOOKS = re.compile(
    r"(?:cd|pwd|ls|cat|head|tail|sed -n|grep|egrep|rg|find|fd|wc|nl|which|type|command -v|echo"
    r"|printf|sort|uniq|cut|tr|jq|awk|tree|stat|file|du|df|less|bat|column|true|test|date|\["
    r"|git (?:-C \S{1,200} |--no-pager )?(?:status|log|diff|show|rev-parse|blame|ls-files"
    r"|ls-tree|remote(?! \w)|remote show|branch(?! -[dDmMcCfu])|grep|cat-file|merge-base"
    r"|describe|for-each-ref|reflog|shortlog)"
    r"|go (?:doc|list|env|version))(?![\w-])"
)
_ACTS = re.compile(r"-delete|-exec|(?<![0-9&=-])>(?!\s*(?:/dev/null|&))|\btee\b")
"""What makes something else of a look."""
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_JOINTS = re.compile(r"&&|\|\||[;|\n]")
_MASKS = re.compile(r"\|\||[;|\n]")
_FILTERS = re.compile(
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
