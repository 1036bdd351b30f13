"""`holdfast completion`: the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from holdfast.cli import COMPLETE_VARIABLE, holdfast


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script of a shell.

    \b
    eval "$(holdfast completion bash)"          in ~/.bashrc
    eval "$(holdfast completion zsh)"           in ~/.zshrc
    holdfast completion fish | source           in ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"No completion for {shell!r}")
    script = found(holdfast, {}, "holdfast", COMPLETE_VARIABLE)
    click.echo(script.source_template % script.source_vars())
    return 0
