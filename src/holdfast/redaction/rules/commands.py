"""Secrets in command lines and in the files that command-line tools read."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        kind="curl-user",
        family="command",
        anchors=("curl", "wget", "http "),
        ignore_case=True,
        open_end=True,
        pattern=r"(?:(?:curl|wget)\b[^\r\n\x00]{0,400}?\s"
        r"(?:-[a-zA-Z]{0,4}[uU][ =]?|--(?:proxy-)?user[ =])"
        r"|http\b[^\r\n\x00]{0,400}?\s-a[ =]?)[ ]?\\{0,6}[\"']?[^\s:\"'\\/]{0,64}:"
        r"(?P<value>[^\s\"'\\\x00/0-9][^\s\"'\\\x00]{2,255}|[0-9]{6}[^\s\"'\\\x00]{0,255}"
        r"|[0-9]{1,5}[^\s\"'\\\x00/0-9:][^\s\"'\\\x00]{1,255})",
        gate="password",
        true=(
            ("curl -u admin:", "s3cr3tpw27", " https://x.example.com"),
            ("curl -sSL --user 'svc:", "Reach!task99", "' x"),
            ("curl -usvc:", "4Reach!task99", " x"),
            ("http -a jane:", "s3cr3tpw27", " example.com"),
        ),
        false=(
            "curl -u", "curl -u user: https://x", "curl -u $USER:$PASS x",
            "curl --user-agent=curl:7.88.1-x x", "curl x | tool -u https://host2.example.com:8443/a1",
            "docker run curl -u 1000:1000 x", "curl -a ftp:s3cr3tpw27",
        ),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=(
            "docker login", "sshpass", "redis-cli", "mysql", "mongo", "az login", "podman login",
            "helm registry login", "ldapsearch", "keytool", "openssl", "htpasswd",
        ),
        pattern=r"(?:(?:docker|podman|az|helm registry) login\b[^\r\n\x00]{0,200}?\s-p[ =]?"
        r"|sshpass\s+-p\s?"
        r"|redis-cli\b[^\r\n\x00]{0,200}?\s-a\s+|(?:mysql|mysqldump"
        r"|mysqladmin)\b[^\r\n\x00]{0,200}?\s-p"
        r"|mongo(?:sh|dump|restore|export)?\b[^\r\n\x00]{0,200}?\s-p\s+"
        r"|ldapsearch\b[^\r\n\x00]{0,200}?\s-w\s+"
        r"|keytool\b[^\r\n\x00]{0,200}?\s-(?:storepass|keypass)\s+"
        r"|htpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+"
        r"|openssl\b[^\r\n\x00]{0,200}?\spass:)\\{0,6}[\"']?(?P<value>[^\s\"'\\\x00]{4,256})",
        open_end=True,
        gate="password",
        true=(
            ("docker login -u admin -p ", "asT1T0woqQBHo62", " registry.example.com"),
            ("redis-cli -h 10.2.3.4 -a ", "Reach!task99", " ping"),
            ("sshpass -p '", "hunter2024", "' ssh root@h"),
            ("mysql -uroot -p", "Str0ngPass", " db"),
        ),
        false=("docker run -p 8080:80 img", "mysql -u root -p db", "redis-cli -a $REDIS_PASS ping"),
    ),
    Rule(
        kind="netrc-password",
        family="command",
        anchors=("machine ", "machine\t"),
        open_end=True,
        pattern=r"machine\s{1,4}\S{1,128}\s{1,16}(?:login\s{1,4}\S{1,128}\s{1,16})?"
        r"(?:account\s{1,4}\S{1,128}\s{1,16})?"
        r"password\s{1,4}[\"']?(?P<value>[^\s\"'\\\x00]{3,256})",
        gate="real",
        true=(
            ("machine api.example.com\n  login deploy\n  password ", "asT1T0woqQBHo62", "\n"),
            ("machine x login a password ", "green-authority-near", ""),
        ),
        false=("the machine is up", "machine x login a password $PASS"),
    ),
    Rule(
        kind="npm-auth",
        family="command",
        anchors=(":_authtoken", ":_password", ":_auth"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r":_(?:authtoken|password"
        r"|auth)[ \t]*=[ \t]*[\"']?(?P<value>[A-Za-z0-9+/=._-]{8,512})",
        gate="real",
        true=(("//registry.npmjs.org/:_authToken=", "zEpto598ElxyxXGUS+bTr4plN", "\n"),),
        false=("//registry.npmjs.org/:_authToken=${NPM_TOKEN}", "basic_auth = get_auth()"),
    ),
    Rule(
        kind="pgpass",
        family="command",
        anchors=(":5432:", ":5433:", ":6432:", ":*:"),
        before=80,
        inside_word=True,
        open_end=True,
        pattern=r"[A-Za-z0-9.*-]{1,64}:(?:\d{4}"
        r"|\*):[\w*-]{1,63}:[\w*.-]{1,63}:(?P<value>[^\s:\"'/\x00]{4,128})",
        gate="real",
        true=(("db.internal:5432:app:readonly:", "asT1T0woqQBHo62", "\n"),),
        false=("localhost:5432:app", "0.0.0.0:5432:5432"),
    ),
    Rule(
        kind="sql-password",
        family="command",
        anchors=(
            "identified by", "identified with", "with password", "set password", "password('",
            "encrypted password",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:identified (?:with \w+ )?by(?: password)?|(?:with |encrypted )password"
        r"|set password(?: for \S{1,64})?"
        r"(?:\s*=)?|password)\s{0,3}(?:password)?\(?\s{0,2}\\{0,6}[\"'](?P<value>"
        r"[^\"'\r\n\\\x00]{4,128})[\"'\\]",
        gate="real",
        true=(
            ("ALTER USER readonly IDENTIFIED BY '", "asT1T0woqQBHo62", "';"),
            ("CREATE USER svc WITH PASSWORD '", "adm1nP4ss75", "';"),
            ("SET PASSWORD = '", "travel-around-produce-detail", "';"),
        ),
        false=("IDENTIFIED BY 'your_password'", "log in with password or key"),
    ),
    Rule(
        kind="sql-password",
        family="command",
        anchors=("insert into",),
        ignore_case=True,
        open_end=True,
        pattern=r"insert into [^\s(]{1,80}\s?\([^()\r\n\x00]{0,200}passw(?:or)?d"
        r"[^,()\r\n\x00]{0,20}\)\s{0,4}values\s{0,4}"
        r"\([^()\r\n\x00]{0,300},\s{0,4}\\{0,6}[\"'](?P<value>[^\"'\r\n\\\x00]{4,128})\\{0,6}"
        r"[\"']\s{0,2}\)",
        gate="real",
        true=(("INSERT INTO users(name,password) VALUES ('jdoe','", "s3cr3tpw40", "');"),),
        false=("INSERT INTO users(name,age) VALUES ('jdoe','30');",),
    ),
)  # fmt: skip
