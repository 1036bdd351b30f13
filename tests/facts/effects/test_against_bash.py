"""The same commands given to a real shell: afterwards the files are where the effects say."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.effects.effect import Effect
from foldaway.facts.effects.run import effects_of_command

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="no bash here")

NAMES = st.text(
    st.sampled_from("abcé .'\"$*?[]{},\\#&;|<>()!~=-\n"), min_size=1, max_size=6
).filter(lambda name: name not in (".", "..", "~", "-"))
FORMS = (
    "echo x > {a}", "printf x >> {a}", "echo x >| {a}", ": > {a}", "> {a}",
    "echo x | tee -- {a} {b} > /dev/null", "tee -a -- {a} <<< x >/dev/null",
    "cat > {a} <<'EOF'\nrm {b}\n> {b}\nEOF", "cat <<-EOF > {a}\n\tx\n\tEOF",
    "touch -- {a} {b}", "touch -- {a}; mv -- {a} {b}", "touch -- {a} && mv -- {a} D1/",
    "touch -- {a}; cp -- {a} {b}", "touch -- {a} {b}; mv -t D2 -- {a} {b}",
    "touch -- {a}\nrm -f -- {a} {b}",
    "touch -- {a}; sed -i s/x/y/ -- {a}",
    # the copy that sed keeps is no effect of its own
    "touch -- {a}; sed -i.orig -e s/x/y/ -- {a}; rm -- {a}.orig",
    "touch -- {a}; install -- {a} {b}", "touch -- {a} && unlink {a2}",
    "mkdir -p D3/x D3/y; touch D3/x/{a}", "(cd D1 && touch -- {a}); touch -- {b}",
    "cd D1; touch -- {a}; cd ..; touch -- {b}",
    "pushd D2 >/dev/null; touch -- {a}; popd >/dev/null",
    'x={a}; touch -- "$x$x"',
    "bash -c {nested}", "echo $(touch -- {a})", "eval {nested}",
    "if true; then touch -- {a}; fi", "{{ touch -- {a}; }} > {b}", "true && touch -- {a} || true",
    "case x in y) ;; x) touch -- {a};; esac", "f() {{ touch -- {a}; }}; f",
    "touch -- {a} # rm {b2}", "env X=1 touch -- {a}", "timeout 9 touch -- {a}",
    "echo {a} | while read -r l; do : > D2/w; done", "touch -- {a} 2>&1 | cat > {b}",
    'cat > {a} <<EOF\n"(echo \'\nEOF\ntouch -- {b}', "[[ b > a ]] && : > {a}",
    "echo $((2>1)) > {a}",
)  # fmt: skip


@st.composite
def commands(draw: st.DrawFn) -> str:
    """Return one of the forms with two names in it."""
    a, b = draw(NAMES), draw(NAMES)
    return draw(st.sampled_from(FORMS)).format(
        a=shlex.quote(a),
        b=shlex.quote(b),
        a2=shlex.quote("./" + a),
        b2=shlex.quote(b).replace("\n", " "),
        nested=shlex.quote(f"touch -- {shlex.quote(a)}"),
    )


@given(st.lists(commands(), min_size=1, max_size=4))
def test_the_files_are_where_the_effects_say(parts: list[str]) -> None:
    """Carried out on a list of files, the effects leave the files that bash leaves."""
    command = "\n".join(parts)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("D1", "D2"):
            (Path(folder) / name).mkdir()
        assert BASH is not None
        done = subprocess.run(
            [BASH, "-c", "set -e\n" + command], cwd=folder, capture_output=True, timeout=30
        )
        if done.returncode:  # two names that are one, or a name that is an option
            return
        real = {str(path.relative_to(folder)) for path in Path(folder).rglob("*")}
    assert carried_out(effects_of_command(command)) == real - {"D1", "D2"}, command


def carried_out(effects: tuple[Effect, ...]) -> set[str]:
    """Return the paths that are there after the effects."""
    there: set[str] = set()
    for effect in effects:
        path = effect.path.removeprefix("./")
        match effect.action:
            case "create" | "write" | "append" | "change":
                there.add(path)
            case "mkdir":
                there |= {path, path.rpartition("/")[0]} - {""}
            case "delete":
                there.discard(path)
            case "rename":
                there.discard(path)
                there.add(effect.to.removeprefix("./"))
            case _:
                pass
    return there
