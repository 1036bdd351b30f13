"""`foldaway`, and `python -m foldaway`: a hook, which must start quickly, or the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Run what the arguments of the process ask for, and exit."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
        from foldaway.agents.hooks import main as answer_hook

        answer_hook(sys.argv[2:])
    from foldaway.cli import main as run_command

    run_command()


if __name__ == "__main__":
    main()
