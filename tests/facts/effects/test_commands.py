"""What single commands do: one line of the table a form that occurs."""

from __future__ import annotations

import pytest
from tests.testing.rows import each_row

from foldaway.facts.effects.effect import Effect
from foldaway.facts.effects.run import effects_of_command


def told(command: str) -> list[str]:
    """Return the effects in short: action, path, target."""
    return [short(effect) for effect in effects_of_command(command)]


def short(effect: Effect) -> str:
    """Return e.g. "rename a -> b" or "read f"."""
    words = [effect.action, effect.path]
    if effect.to:
        words += ["->", effect.to]
    if effect.detail:
        words.append(f"({effect.detail})")
    return " ".join(word for word in words if word)


FILES = {
    "rm a 'b c' -rf d": ["delete a", "delete b c", "delete d"],
    "rm -- -rf": ["delete -rf"],
    "unlink a; rmdir b": ["delete a"],
    "mkdir -p -m 755 a/b c": ["mkdir a/b", "mkdir c"],
    "touch -d yesterday a b": ["create a", "create b"],
    "touch -c a": [],
    "mv a b": ["rename a -> b"],
    "mv a dir/": ["rename a -> dir/a"],
    "mv x/a .": ["rename x/a -> a"],
    "mv a b dir": ["rename a -> dir/a", "rename b -> dir/b"],
    "mv -t dir a b": ["rename a -> dir/a", "rename b -> dir/b"],
    "mkdir d && mv a d": ["mkdir d", "rename a -> d/a"],
    "mv $X b": ["write b"],
    "mv a $X": ["rename a"],
    "cp -r a b": ["write b"],
    "cp a.txt /tmp": ["write /tmp/a.txt"],
    "cp $X dir/": [],
    "install -m 644 a b": ["write b"],
    "echo x | tee a b": ["write a", "write b"],
    "echo x | tee -a a > /dev/null": ["append a"],
    "chmod +x a; chown me b": [],
}
REDIRECTIONS = {
    "echo hi > a": ["write a"],
    "echo hi >> a": ["append a"],
    "echo hi >| a": ["write a"],
    "make &> log": ["write log"],
    "make &>> log": ["append log"],
    "make > out 2> err": ["write out", "write err"],
    "make >& both": ["write both"],
    "make 2>&1 1>&2 >&- 2> /dev/null": [],
    "echo 2 > two": ["write two"],
    "echo a2>f": ["write f"],
    "> empty": ["write empty"],
    "echo x > /dev/stderr": [],
    "echo x > /dev/shm/a": ["write /dev/shm/a"],
    'echo "a > b"': [],
    "echo a \\> b": [],
    "[[ a > b ]] && [ 1 \\> 2 ]": [],
    "echo $((1 > 2)) $(( 3 >> 1 ))": [],
    "(( x > 3 )) && echo y": [],
    "for ((i=0; i<3; i++)); do echo x > a; done": ["write a"],
    "diff <(sort a) <(cat b)": ["read b"],
    "make > >(tee log)": ["write log"],
    "wc -l < a": ["read a"],
    "echo x > $OUT": [],
    'echo x > "$OUT/a"': [],
    "jq '.a > 3' f.json": [],
    "grep '^<<<<' f": [],
}
HEREDOCS = {
    "cat > a <<EOF\nrm x\n> y\nEOF\nrm b": ["create a", "delete b"],
    "cat <<'EOF' > a\nx\nEOF": ["create a"],
    "cat >> a <<-EOF\n\tx\n\tEOF\nrm b": ["append a", "delete b"],
    "cat <<A <<B > f\n1\nA\n2\nB\nrm b": ["create f", "delete b"],
    "tee a <<EOF >/dev/null\nx\nEOF": ["create a"],
    "cat <<EOF | tee a\nrm x\nEOF": ["write a"],
    "cat > a <<EOF && rm b\nx\nEOF": ["create a", "delete b"],
    "cat <<EOF\nnever closed\nrm x": [],
    "bash <<'EOF'\nrm x\nEOF": ["delete x"],
    "ssh host <<EOF\nrm x\nEOF": [],
    "cat <<< 'rm x' > a": ["create a"],
    "cat > a <<'EOF'\r\nrm x\r\nEOF\r\nrm b": ["create a", "delete b"],
    "git commit -F - <<EOF\nIt's (done)\nEOF": ["commit (It's (done))"],
}
EDITS = {
    "sed -i 's/a/b/' f g": ["change f", "change g"],
    "sed -i '' 's/a/b/' f": ["change f"],
    'sed -i "" -e s/a/b/ f': ["change f"],
    "sed -i.bak 's/a/b/' f": ["change f"],
    "sed -i .bak 's/a/b/' f": ["change f"],
    "sed -Ei 's/a/b/' f": ["change f"],
    "sed --in-place -e 's/a/b/' -e 's/c/d/' f": ["change f"],
    "sed -i '5d;7,9d' f": ["change f"],
    "perl -pi -e 's/a/b/' f g": ["change f", "change g"],
    "perl -0pi -e 's/a/b/' f": ["change f"],
    "perl -i.bak -pe 's/a/b/' f": ["change f"],
    "perl -ne 'print' f": [],
    "ruby -i -pe 'x' f": ["change f"],
    "patch f < x.diff": ["change f"],
    "patch -p1 < x.diff": [],
    "patch -p1 <<EOF\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\nEOF": ["change x"],
    "gofmt -s -w a.go b.go": ["change a.go", "change b.go"],
    "gofmt -l .": [],
    "black src tests/a.py": ["change tests/a.py"],
    "black --check src": [],
    "python -m black -l 100 a.py": ["change a.py"],
    "ruff check --fix a.py": ["change a.py"],
    "ruff check a.py; ruff format b.py": ["change b.py"],
    "npx prettier --write 'src/**/*.ts'": ["change src/**/*.ts"],
    "prettier --check a.ts; eslint --fix b.ts": ["change b.ts"],
    "black .": [],
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF": ["create a"],
}
READS = {
    "cat a b": ["read a", "read b"],
    "cat -n a | grep x": ["read a"],
    "cat a | head -50": ["read a"],
    "head -n 20 a": ["read a"],
    "head -5 a; head a; head -c 9 a": ["read a", "read a", "read a"],
    "tail -n +7 a": ["read a"],
    "tail -n 20 a; tail -f a": ["read a", "read a"],
    "tail -n +7 a | head -n 3": ["read a"],
    "sed -n '5,9p' a": ["read a"],
    "sed -n 5p a": ["read a"],
    "sed -n '5,$p' a": ["read a"],
    "sed -n '5,+4p' a": ["read a"],
    "sed -n '1,3p;7,9p' a": ["read a"],
    "sed -n -e 1,3p a": ["read a"],
    "sed -n '/x/,/y/p' a": ["read a"],
    "sed 's/a/b/' a": ["read a"],
    "nl -ba a | sed -n '5,9p'": ["read a"],
    "cat a | grep x | head -3": ["read a"],
    "cat a; ls | head -3": ["read a"],
    "awk 'NR>=5 && NR<=9 {print}' a": ["read a"],
    "awk -F: '{print $1}' /etc/passwd": ["read /etc/passwd"],
    "less +5 a; nl a; wc -l a": ["read a", "read a", "read a"],
    "go test ./... | tail -5": [],
    "cat - < a": ["read a"],
    "cat /dev/null": [],
}
GIT = {
    "git mv a b && git rm -r c": ["rename a -> b", "delete c"],
    "git rm --cached a": [],
    "git checkout -- a b": ["change a", "change b"],
    "git checkout HEAD~1 -- a": ["change a"],
    "git checkout main src/a.py": ["change src/a.py"],
    "git checkout a.py; git checkout .": ["change a.py", "change ."],
    "git checkout main": ["branch (main)"],
    "git checkout release/1.2": ["branch (release/1.2)"],
    "git checkout -b new origin/main": ["branch (new)"],
    "git switch -c new; git switch old": ["branch (new)", "branch (old)"],
    "git checkout -": [],
    "git branch new; git branch -d old": [],
    "git branch -m better": ["branch (better)"],
    "git restore a; git restore --staged b": ["change a"],
    "git restore --source=HEAD~2 a": ["change a"],
    "git commit -am 'one' -m two": ["commit (one\n\ntwo)"],
    "git commit --amend --no-edit": ["commit"],
    'git commit -m "$(cat <<\'EOF\'\nIt\'s "it" (x)\n\n- y\nEOF\n)" && git push': [
        'commit (It\'s "it" (x)\n\n- y)'
    ],
    "git -C sub rm a": ["delete sub/a"],
    'git -C "$D" rm a': [],
    "git -c user.name=x commit -m y": ["commit (y)"],
    "git reset a; git stash; git add b; git diff c": [],
    "git show HEAD:a > b": ["write b"],
    "git apply <<EOF\ndiff --git a/x b/x\ndeleted file mode 100644\nEOF": ["delete x"],
}
OTHERS = {
    "curl https://h/x": [],
    "wget -qO- https://h/x": [],
    "rsync -a a host:b; rsync -n a b": [],
    "tar tf a.tar; tar xf a.tar": [],
    "npm init -y; npm install; pip install x": [],
    "go test -coverprofile=/tmp/c.out -cpuprofile cpu.out ./...": [],
    "docker exec c rm x; ssh host rm y": [],
    "kill -9 12; kill -0 13": ["stop (12)"],
    "python -c \"open('a','w').write('x')\"": ["write a"],
    "node -e \"fs.writeFileSync('a.json', x)\"": ["write a.json"],
}
WRAPPED = {
    "sudo -u me rm a": ["delete a"],
    "env A=1 B=2 rm a": ["delete a"],
    "A=1 rm a": ["delete a"],
    "timeout -k 5 10s rm a": ["delete a"],
    "time nice -n 5 rm a": ["delete a"],
    "nohup rm a": ["delete a"],
    "/bin/rm a": ["delete a"],
    "command rm a": ["delete a"],
    "ls | xargs rm -f": [],
    "ls | xargs -I{} mv {} old/": [],
    "ls | xargs -n 1 sed -i s/a/b/": [],
    "bash -lc 'rm a && echo > b'": ["delete a", "write b"],
    "sh -c \"rm 'a b'\"": ["delete a b"],
    "eval 'rm a'": ["delete a"],
    "bash script.sh": [],
    "bash -c \"bash -c 'rm a'\"": ["delete a"],
    "echo $(rm a) `rm b`": ["delete a"],
    'echo "$(cat a | head -2)"': ["read a"],
    "(rm a); { rm b; }": ["delete a", "delete b"],
    "time (rm a)": ["delete a"],
    "if rm a; then rm b; else rm c; fi": ["delete a", "delete b", "delete c"],
    "while read f; do rm $f; done < list": [],
    "case $x in a) rm a;; b|c) rm b;; esac": ["delete a", "delete b"],
    "x=$(case y in y) echo;; esac); rm a": ["delete a"],
    "clean() { rm a; }; clean": ["delete a"],
    "arr=(a b > c); rm d": ["delete d"],
    "rm a # rm b": ["delete a"],
    "rm a#b": ["delete a#b"],
    "rm a \\\n  b": ["delete a", "delete b"],
    "rm a || true; rm b & rm c": ["delete a", "delete b", "start (rm b)", "delete c"],
    "npm start > log 2>&1 &": ["write log", "start (npm start > log 2>&1)"],
    "(cd a && make) &": ["start ((cd a && make))"],
}
VALUES = {
    "f=a; rm $f ${f}.b": ["delete a", "delete a.b"],
    "f=a; f=$(x); rm $f": [],
    "export D=/tmp/x; mkdir -p $D/y": ["mkdir /tmp/x/y"],
    'F="a b"; rm $F': ["delete a", "delete b"],
    'F="a b"; rm "$F"': ["delete a b"],
    "for f in a b; do rm $f x; done": ["delete x"],
    "rm a.{b,c} $'d' e": ["delete a.{b,c}", "delete e"],
    "rm $X a ${Y:-b} $1 $@": ["delete a"],
}  # fmt: skip
DIRECTORIES = {
    "rm ./a//b": ["delete ./a//b"],
    "cd sub && rm a": ["chdir sub", "delete sub/a"],
    "cd /r/s; rm ../a ./b /c ~/d": [
        "chdir /r/s", "delete /r/a", "delete /r/s/b", "delete /c", "delete ~/d",
    ],
    "(cd sub && rm a); rm b": ["delete sub/a", "delete b"],
    "cd a && make & cd b && rm c": ["start (cd a && make)", "chdir b", "delete b/c"],
    "cd a; cd -; rm b": ["chdir a", "delete b"],
    "pushd a; rm b; popd; rm c": ["chdir a", "delete a/b", "delete c"],
    'cd "$D" && rm a /b': ["delete /b"],
    'cd "$D" && git commit -m x': [],
    "cd; rm a": ["chdir ~", "delete ~/a"],
    "cd a; mv b ../c": ["chdir a", "rename a/b -> c"],
    "bash -c 'cd a; rm b'; rm c": ["delete a/b", "delete c"],
    "x=$(cd a && pwd); rm c": ["delete c"],
}  # fmt: skip
SWE_AGENT = {
    "create a.py": ["create a.py"],
    "open a.py 40": ["read a.py"],
    "open https://host": [],
    "edit 3:9\nrm x\nend_of_edit\n": ["change"],
    "edit\nrm x\nend_of_edit": ["change"],
}
OTHER_SHELLS = {
    "grep -rn Remove-Item . | head": [],
    "cat > a.ps1 <<'EOF'\nRemove-Item b\nEOF": ["create a.ps1"],
    "f=Move-Item; rm ';Move-Item' $f": ["delete ;Move-Item", "delete Move-Item"],
}
TABLE = [
    pytest.param(command, expected, id=command[:60])
    for table in (
        FILES, REDIRECTIONS, HEREDOCS, EDITS, READS, GIT, OTHERS, WRAPPED, VALUES, DIRECTORIES,
        SWE_AGENT, OTHER_SHELLS,
    )
    for command, expected in table.items()
]  # fmt: skip


@each_row(("command", "expected"), TABLE)
def test_a_command_does_what_the_table_says(command: str, expected: list[str]) -> None:
    """Each form of a command has exactly these effects, in this order."""
    assert told(command) == expected


def test_a_known_directory_is_joined_with_relative_paths_only() -> None:
    """It stands before every relative path, which is then normalized; others stay."""
    assert told("cd /r/s && rm ./a ../b /c ~/d") == [
        "chdir /r/s", "delete /r/s/a", "delete /r/b", "delete /c", "delete ~/d",
    ]  # fmt: skip
    assert told("cd /r; cd x && mv a b")[1:] == ["chdir /r/x", "rename /r/x/a -> /r/x/b"]


def test_a_commit_message_is_kept_whole() -> None:
    """The detail of a commit is its message, however long."""
    message = "word " * 5_000
    (effect,) = effects_of_command(f"git commit -m '{message}'")
    assert effect.detail == message.strip()
