"""Passwords in lists of arguments, as programs give them to other programs."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_Q = r"\\{0,6}[\"'`]"
_NEXT = rf"{_Q},\s{{0,24}}{_Q}"
_MORE = r"[^\r\n\[\](){}\x00]{0,200}?"
_VALUE = rf"(?P<value>[^\s\"'`\\\x00$<-][^\"'`\r\n\\\x00]{{2,127}}){_Q}"
_APART = (
    r"(?:sshpass|mongo(?:sh|dump|restore|export|import)?|twine|cqlsh|oc|cf"
    r"|useradd|usermod|beeline|htpasswd|mysql_config_editor)"
)
_NAMES = (
    "sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "docker", "podman", "helm", "twine",
    "cqlsh", "oc", "cf", "useradd", "usermod", "mysql", "mysqldump", "mysqladmin", "mysqlimport",
    "mariadb", "mariadb-dump", "redis-cli", "curl", "wget", "ldapsearch", "ldapadd", "ldapmodify",
    "sqlcmd", "bcp", "unzip", "zip", "7z", "plink", "pscp", "smbclient", "snmpwalk", "snmpget",
    "ssh-keygen", "ipmitool", "mosquitto_pub", "mosquitto_sub", "keytool", "http",
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    Rule(
        kind="command-password",
        family="command",
        anchors=tuple(f"{name}{quote}," for name in _NAMES for quote in ("\"", "'", "\\\"")),
        open_end=True,
        # flag and value in one string or in two, after the name of the program
        pattern=rf"(?:(?:mysql(?:dump|admin|import)?|mariadb(?:-dump)?|7z){_Q},{_MORE}{_Q}-p"
        rf"|sshpass{_Q},\s{{0,24}}{_Q}-p(?:{_NEXT})?"
        rf"|{_APART}{_Q},{_MORE}{_Q}-p{_NEXT}"
        rf"|(?:docker|podman|helm|skopeo|oras|az){_Q},{_MORE}{_Q}login{_Q},{_MORE}{_Q}-p{_NEXT}"
        rf"|redis-cli{_Q},{_MORE}{_Q}-a{_NEXT}"
        rf"|(?:curl|wget|http){_Q},{_MORE}{_Q}(?:-u|-U|-a|--(?:proxy-)?user)(?:{_NEXT}|=)?"
        r"[\w.@+\\-]{1,64}:"
        rf"|ldap(?:search|add|modify){_Q},{_MORE}{_Q}-w{_NEXT}"
        rf"|(?:sqlcmd|bcp|unzip|zip|ipmitool|mosquitto_(?:pub|sub)){_Q},{_MORE}{_Q}-P(?:{_NEXT})?"
        rf"|(?:plink|pscp){_Q},{_MORE}{_Q}-pw{_NEXT}"
        rf"|smbclient{_Q},{_MORE}{_Q}-U(?:{_NEXT})?[\w.\\/-]{{1,64}}%"
        rf"|snmp(?:walk|get){_Q},{_MORE}{_Q}-[cAX]{_NEXT}"
        rf"|ssh-keygen{_Q},{_MORE}{_Q}-[NP]{_NEXT}"
        rf"|keytool{_Q},{_MORE}{_Q}-(?:store|key)pass{_NEXT}){_VALUE}",
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
