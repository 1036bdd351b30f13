"""Import this first: the judge of this tree, the writer of the tree that PYTHONPATH names.

So another branch is measured with the same judge. Without PYTHONPATH both are of this tree.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

OWN = Path(__file__).resolve().parents[2] / "src"
if not os.environ.get("PYTHONPATH"):
    sys.path.insert(0, str(OWN))

import foldaway.lab  # noqa: E402  the tree is chosen above

foldaway.lab.__path__ = [str(OWN / "foldaway" / "lab")]


def measured_tree() -> Path:
    """Return the tree whose Foldaway is measured."""
    return Path(foldaway.__file__).parent
