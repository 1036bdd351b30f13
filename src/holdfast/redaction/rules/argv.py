"""Passwords in lists of arguments, as programs give them to other programs."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_Q = r"\\{0,6}[\"'`]"
_NEXT = rf"{_Q},\s{{0,24}}{_Q}"
_MORE = r"[^\r\n\[\](){}\x00]{0,200}?"
_VALUE = rf"(?P<value>[^\s\"'`\\\x00$<-][^\"'`\r\n\\\x00]{{2,127}}){_Q}"
_USER = r"[\w.@+\\-]{1,64}:"
_FLAGS: tuple[tuple[str, str], ...] = (
    ("mysql mysqldump mysqladmin mysqlimport mariadb mariadb-dump 7z", rf"{_MORE}{_Q}-p"),
    ("sshpass", rf"\s{{0,24}}{_Q}-p(?:{_NEXT})?"),
    (
        "mongo mongosh mongodump mongorestore mongoexport mongoimport twine cqlsh oc cf useradd"
        " usermod beeline",
        rf"{_MORE}{_Q}-p{_NEXT}",
    ),
    ("docker podman helm skopeo oras az", rf"{_MORE}{_Q}login{_Q},{_MORE}{_Q}-p{_NEXT}"),
    ("redis-cli", rf"{_MORE}{_Q}-a{_NEXT}"),
    ("curl wget http", rf"{_MORE}{_Q}(?:-u|-U|-a|--(?:proxy-)?user)(?:{_NEXT}|=)?{_USER}"),
    ("ldapsearch ldapadd ldapmodify", rf"{_MORE}{_Q}-w{_NEXT}"),
    ("sqlcmd bcp unzip zip ipmitool mosquitto_pub mosquitto_sub", rf"{_MORE}{_Q}-P(?:{_NEXT})?"),
    ("plink pscp", rf"{_MORE}{_Q}-pw{_NEXT}"),
    ("smbclient", rf"{_MORE}{_Q}-U(?:{_NEXT})?[\w.\\/-]{{1,64}}%"),
    ("snmpwalk snmpget", rf"{_MORE}{_Q}-[cAX]{_NEXT}"),
    ("ssh-keygen", rf"{_MORE}{_Q}-[NP]{_NEXT}"),
    ("keytool", rf"{_MORE}{_Q}-(?:store|key)pass{_NEXT}"),
)
"""Programs, and what stands between the name of one in its string and the password."""
_NAMES = tuple(name for names, _ in _FLAGS for name in names.split())
_CALLS = "|".join(f"(?:{'|'.join(names.split())}){_Q},{flag}" for names, flag in _FLAGS)

RULES: tuple[Rule, ...] = (
    Rule(
        kind="command-password",
        family="command",
        anchors=tuple(f"{name}{quote}," for name in _NAMES for quote in ("\"", "'", "\\\"")),
        open_end=True,
        # flag and value in one string or in two, after the name of the program
        pattern=f"(?:{_CALLS}){_VALUE}",
        gate="chosen",
        true=(
            ('["mysql", "-uroot", "-p', "hunter22", '"]'),
            ("['mysqldump', '-u', 'root', '-p", "tiger", "', 'db']"),
            ('["redis-cli", "-a", "', "tiger", '", "ping"]'),
            ('["docker", "login", "-u", "bob", "-p", "', "tiger", '"]'),
            ("subprocess.run(['curl', '-u', 'bob:", "tiger", "', url])"),
            ('CMD ["curl", "--user", "bob:', "tiger", '"]'),
            ('Command("sshpass", "-p', "tiger", '", "ssh")'),
            ('["unzip", "-P", "', "tiger", '", "a.zip"]'),
            ('["skopeo", "login", "-u", "bob", "-p", "', "tiger", '"]'),
            ('["mongoexport", "-u", "bob", "-p", "', "tiger", '"]'),
            ('{"cmd": "[\\"mysql\\", \\"-p', "tiger", '\\"]"}'),
        ),
        false=(
            '["docker", "run", "-p", "8080:80"]', '["mysql", "-p"]', "['mysql', '-p' + password]",
            '["curl", "-u", user]', '["mysql", "-P", "3306"]',
            '["docker", "login", "-p", password]',
            '["docker", "run", "-p", "127.0.0.1:80:80"]',
        ),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=tuple(
            f"{flag}{quote}," for flag in ("--user", "--proxy-user") for quote in ("\"", "'")
        ),
        inside_word=True,
        open_end=True,
        pattern=rf"--(?:proxy-)?user{_NEXT}[A-Za-z][\w.@+-]{{0,63}}:{_VALUE}",
        gate="chosen",
        true=(('args: ["--user", "bob:', "tiger", '"]'),),
        false=('["--user", "1000:1000"]', '["--user", "bob"]', "['--user', 'user:password']"),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=tuple(
            f"{flag}{quote}," for flag in ("--password", "--passphrase", "--passwd", "--pass")
            for quote in ("\"", "'")
        ),
        inside_word=True,
        open_end=True,
        pattern=rf"--(?:password|passphrase|passwd|pass){_NEXT}{_VALUE}\s{{0,24}}[,\])]",
        gate="chosen",
        true=(('["--password", "', "tiger", '"]'), ("['gpg', '--passphrase', '", "tiger", "']")),
        false=(
            "['--password', '--user']", 'add_argument("--password", "password")',
            "option('--password', 'the password of the user')", "['--pass', 'Your pass']",
        ),
    ),
)  # fmt: skip
