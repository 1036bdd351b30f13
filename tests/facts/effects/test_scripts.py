"""Code on the command line: only files that it names literally."""

from __future__ import annotations

from tests.testing.rows import each_row

from foldaway.facts.effects.effect import effects_of_script

CODE = {
    "open('a.txt', 'w').write(x)": ["write a.txt"],
    "with open('a.txt', mode='a') as f: pass": ["append a.txt"],
    "open('a.txt').read()": ["read a.txt"],
    "p = 'a.py'\ns = open(p).read()\nopen(p, 'w').write(s)": ["read a.py", "change a.py"],
    "p = 'a.py'\np = find()\nopen(p, 'w')": [],
    "open(p, 'w')\nopen(f'{x}.py', 'w')\nopen('a' + b, 'w')": [],
    "Path('a').write_text(x)": ["write a"],
    "from pathlib import Path\np = Path('a')\np.write_text(p.read_text())": ["write a", "read a"],
    "p = 'a'\nfor p in ['b', 'c']:\n    open(p, 'w')": [],
    "for p in glob('*'):\n    open(p, 'w')": [],
    "os.remove('a'); os.rename('b', 'c'); shutil.copy('d', 'e')": [
        "delete a",
        "rename b",
        "write e",
    ],
    "os.makedirs('d', exist_ok=True)": ["mkdir d"],
    "s.replace('a', 'b'); x.open('c', 'w')": [],
    "fs.writeFileSync('a.json', y); fs.readFile('b')": ["write a.json", "read b"],
    "print('open the door')": [],
}


@each_row(("code", "expected"), CODE.items())
def test_code_touches_the_files_that_it_names(code: str, expected: list[str]) -> None:
    """A file that is read before it is written is changed; what is not literal is left out."""
    found = [f"{effect.action} {effect.path}" for effect in effects_of_script(code)]
    assert found == expected
