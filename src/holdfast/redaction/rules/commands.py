"""Secrets in command lines and in the files that command-line tools read."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_SAME = r"[^\r\n\x00;&|]{0,200}?"
"""What may stand between a command and its flag: no other command."""
_VARIABLE = (
    r"[ \t]{1,4}(?-i:[A-Z][A-Z0-9_]{0,40})"
    r"(?-i:PASSWORD|PASSWD|SECRET|TOKEN|KEY|PASS|PWD)[ \t]{1,4}"
)
"""The name of a variable of the environment that holds a secret."""
_BARE_VALUE = r"\\{0,6}[\"']?(?P<value>[^\s\"'\\\x00<-][^\s\"'\\\x00]{5,256})"

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
        gate="given",
        true=(
            ("curl -u admin:", "s3cr3tpw27", " https://x.example.com"),
            ("curl -s -u root:", "sunshine", " https://x.example.com"),
            ("curl -s -u root:", "blue-horse", " https://x.example.com"),
            ("curl -sSL --user 'svc:", "Reach!task99", "' x"),
            ("curl -usvc:", "4Reach!task99", " x"),
            ("http -a jane:", "s3cr3tpw27", " example.com"),
        ),
        false=(
            "curl -u", "curl -u user: https://x", "curl -u user:password x", "curl -u user:pass x",
            "curl -u <user:password> x", "curl -u $USER:$PASS x", "curl -u xxx:yyy",
            "curl --user-agent=curl:7.88.1-x x", "curl x | tool -u https://host2.example.com:8443/a1",
            "docker run curl -u 1000:1000 x", "curl -a ftp:s3cr3tpw27",
        ),
    ),
    Rule(
        kind="curl-user",
        family="command",
        anchors=("curl", "wget", "http "),
        ignore_case=True,
        open_end=True,
        # services that take a key as the user, without a password
        pattern=r"(?:(?:curl|wget)\b[^\r\n\x00]{0,400}?\s"
        r"(?:-[a-zA-Z]{0,4}[uU][ =]?|--(?:proxy-)?user[ =])"
        r"|http\b[^\r\n\x00]{0,400}?\s-a[ =]?)[ ]?\\{0,6}[\"']?"
        r"(?P<value>[A-Za-z0-9_.+=~-]{16,200}):",
        gate="unnamed",
        true=(
            ("curl https://api.zentrix.io/v1/charges -u ", "mF9B5f41JqM8Zq2TxW", ":"),
            ('curl --user "', "4e1243bd22c66e76c2ba9eddc1f91394", ':x" https://zentrix.io'),
        ),
        false=("curl -u service-account-of-zentrix-2: x", "curl -u https://api.zentrix.io:8443"),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=("--from-literal",),
        open_end=True,
        pattern=r"--from-literal[= ]\\{0,6}[\"']?[\w.-]{1,64}=\\{0,6}[\"']?"
        r"(?P<value>[^\s\"'\\\x00]{12,256})",
        gate="unnamed",
        true=(("kubectl create secret generic x --from-literal=a=", "mF9B5f41JqM8Zq2TxW", "\n"),),
        false=("--from-literal=log.level=debug_everything", "--from-literal=host=db-1.my.svc"),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=(
            "docker login", "sshpass", "redis-cli", "mysql", "mongo", "az login", "podman login",
            "helm registry login", "ldapsearch", "keytool", "openssl", "htpasswd",
        ),
        pattern=rf"(?:(?:docker|podman|az|helm registry) login\b{_SAME}\s-p[ =]?"
        r"|sshpass\s+-p\s?"
        rf"|redis-cli\b{_SAME}\s-a\s+|(?:mysql|mysqldump|mysqladmin)\b{_SAME}\s-p"
        rf"|mongo(?:sh|dump|restore|export)?\b{_SAME}\s-p\s+"
        rf"|ldapsearch\b{_SAME}\s-w\s+|keytool\b{_SAME}\s-(?:storepass|keypass)\s+"
        r"|htpasswd\s+-\w*b\w*\s+[^\s\"']+\s+[^\s\"']+\s+"
        rf"|openssl\b{_SAME}\spass:)"
        r"\\{0,6}[\"']?(?P<value>[^\s\"'\\\x00]{4,256})",
        open_end=True,
        gate="given",
        true=(
            ("docker login -u admin -p ", "asT1T0woqQBHo62", " registry.example.com"),
            ("docker login -u admin -p ", "quiet_river", " registry.example.com"),
            ("redis-cli -h 10.2.3.4 -a ", "sunshine", " ping"),
            ("redis-cli -h 10.2.3.4 -a ", "Reach!task99", " ping"),
            ("sshpass -p '", "hunter2024", "' ssh root@h"),
            ("mysql -uroot -p", "Str0ngPass", " db"),
        ),
        false=(
            "docker run -p 8080:80 img", "docker login && docker run -p 8080:80 img",
            "mysql -u root -p db", "redis-cli -a $REDIS_PASS ping",
            "redis-cli -a password ping",
        ),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=(
            "net user ", "net use ", "unzip ", "zip -", "7z ", "smbclient", "vault login",
            "_authtoken ", "enc -", "setenv ", "set -",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:net user [^\s\"'\\]{1,64} |net use [^\s\"'\\]{1,16}:? \\\\[^\s\"']{1,128} "
        r"|(?:un)?zip\b[^\r\n\x00]{0,120}?\s(?-i:-P) ?"
        r"|7z [a-z]\b[^\r\n\x00]{0,120}?\s-p|smbclient\b[^\r\n\x00]{0,120}?\s-U ?[^\s%\"']{1,64}%"
        r"|vault login (?:token=)?|_authtoken "
        r"|enc (?:-[^\r\n\x00]{0,120}?\s)?-(?:k|pass) (?:pass:)?"
        rf"|(?:setenv|set -(?-i:[xgUu]){{1,3}}){_VARIABLE}){_BARE_VALUE}",
        gate="bare",
        true=(
            ("net user svc ", "Reach!task99", " /add"),
            ("unzip -P ", "s3cr3tpw27", " a.zip"),
            ("7z x -p", "Reach!task99", " a.7z"),
            ("smbclient -U svc%", "s3cr3tpw27", " //host/share"),
            ("vault login ", "asT1T0woqQBHo62", ""),
            ("openssl enc -aes-256-cbc -k ", "s3cr3tpw27", " -in a"),
            ("set -gx API_TOKEN ", "asT1T0woqQBHo62", "\n"),
        ),
        false=(
            "net user bob /add", "unzip -P $PW a.zip", "vault login -method=userpass", "set -x",
            "7z x -pv1", "set -euxo pipefail",
        ),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=("ENV ",),
        inside_word=True,
        open_end=True,
        pattern=rf"ENV{_VARIABLE}{_BARE_VALUE}",
        gate="bare",
        true=(("ENV SECRET_KEY ", "asT1T0woqQBHo62", "\n"),),
        false=("env PATH=/usr/bin python3", "ENV SECRET_KEY ${SECRET_KEY}", "ENV KEY abcdef12"),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=("echo ", "printf "),
        open_end=True,
        pattern=r"(?:echo|printf)(?: -[neE]{1,3})? (?:[\"']?%s(?:\\{1,2}n)?[\"']? )?\\{0,6}[\"']?"
        r"(?P<value>[^\s\"'\\|\x00$]{4,128})\\{0,6}[\"']? ?\| ?"
        r"(?:sudo -S\b|(?:sudo )?(?:docker|podman|helm registry|az acr|oras|skopeo) login\b"
        r"|[a-z0-9 -]{1,80}--password-stdin"
        r"|(?:sudo )?(?:passwd --stdin|cryptsetup |chpasswd))",
        gate="real",
        true=(
            ('echo "', "Reach!task99", '" | docker login -u a --password-stdin'),
            ("echo ", "hunter2024", " | sudo -S ls"),
            ("printf '%s\\n' \"", "hunter2024", '" | sudo -S ls'),
        ),
        false=(
            "echo $TOKEN | docker login --password-stdin", "echo done | grep d",
            'echo "a b" | sudo tee x',
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(
            "basicauth(", ".auth(", "auth=(", "auth = (", "login(", "credentials(", "basic_auth(",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:basic_?auth|\.auth|auth ?= ?|login|credentials)\("
        r"\s{0,4}\\{0,6}[\"'][^\"'\r\n\\\x00]{1,64}\\{0,6}[\"'],\s{0,8}"
        r"\\{0,6}[\"'](?P<value>[^\"'\r\n\\\x00]{6,128})\\{0,6}[\"']\s{0,4}[,)]",
        gate="mixed",
        true=(
            ('requests.get(url, auth=("svc", "', "s3cr3tpw27", '"))'),
            ("HTTPBasicAuth('svc', '", "Reach!task99", "')"),
            ('client.login("admin", "', "s3cr3tpw27", '")'),
        ),
        false=('login("admin", password)', 'auth=("user", "pass")', 'credentials("a", "scope")'),
    ),
    Rule(
        kind="netrc-password",
        family="command",
        anchors=("machine ", "machine\t", "default login "),
        open_end=True,
        pattern=r"(?:machine\s{1,4}\S{1,128}|default)\s{1,16}(?:login\s{1,4}\S{1,128}\s{1,16})?"
        r"(?:account\s{1,4}\S{1,128}\s{1,16})?"
        r"password\s{1,4}[\"']?(?P<value>[^\s\"'\\\x00]{3,256})",
        gate="real",
        true=(
            ("machine api.example.com\n  login deploy\n  password ", "asT1T0woqQBHo62", "\n"),
            ("machine x login a password ", "green-authority-near", ""),
            ("default login anonymous password ", "s3cr3tpw27", ""),
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
        true=(("//registry.example.com/:_authToken=", "zEpto598ElxyxXGUS+bTr4plN", "\n"),),
        false=("//registry.example.com/:_authToken=${NPM_TOKEN}", "basic_auth = get_auth()"),
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
            "identified by", "identified with", "with password", "set password",
            "encrypted password", "create user ", "create role ", "alter user ", "alter role ",
            "create login ", "alter login ", "create user\t",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:identified (?:with \w+ )?by(?: password)?|(?:with |encrypted )password(?:\s?="
        r")?"
        r"|(?:create|alter) (?:user|role|login)\s[^\r\n;\x00]{1,160}?\spassword(?:\s?=)?"
        r"|set password(?: for \S{1,64})?"
        r"(?:\s*=)?)\s{0,3}(?:password)?\(?\s{0,2}\\{0,6}[\"'](?P<value>"
        r"[^\"'\r\n\\\x00]{4,128})[\"'\\]",
        gate="real",
        true=(
            ("ALTER USER readonly IDENTIFIED BY '", "asT1T0woqQBHo62", "';"),
            ("CREATE USER svc WITH PASSWORD '", "adm1nP4ss75", "';"),
            ("SET PASSWORD = '", "travel-around-produce-detail", "';"),
            ("CREATE ROLE svc LOGIN PASSWORD '", "sesame", "';"),
            ("ALTER USER svc PASSWORD '", "sesame", "'"),
            ("CREATE LOGIN svc WITH PASSWORD = '", "sesame", "'"),
        ),
        false=("IDENTIFIED BY 'your_password'", "log in with password or key"),
    ),
    Rule(
        kind="sql-password",
        family="command",
        anchors=("password('",),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"password\('(?P<value>[^\"'\r\n\\\x00]{4,128})'",
        not_after=r"(?:get|has|read|find|delete|ask|load|fetch|need|forgot)[a-z_]{0,16}password\('",
        gate="password",
        true=(("UPDATE users SET pw = PASSWORD('", "asT1T0woqQBHo62", "')"),),
        false=(
            "await read.password('Password:')", "read.password('New password: ')",
            "keyring.get_password('section1', 'bob')",
        ),
    ),
    Rule(
        kind="credential",
        family="command",
        anchors=("login(", "basicauth(", "basic_auth(", "auth=(", "authenticate(", "client("),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:login|basic_?auth|auth=|authenticate|client)\(\s{0,8}\\{0,6}[\"'`]"
        r"(?P<value>[A-Za-z0-9_.+/=~-]{16,200})[\"'`\\]",
        gate="unnamed",
        true=(
            ('req.SetBasicAuth("', "mF9B5f41JqM8Zq2TxW", '", "")'),
            ("client = zentrix.Client('", "4e1243bd22c66e76c2ba9eddc1f91394", "')"),
            ("requests.get(url, auth=('", "mF9B5f41JqM8Zq2TxW", "', ''))"),
            ("bot.login('", "mF9B5f41JqM8Zq2TxW", "')"),
        ),
        false=(
            'Client("https://api.example.com/v1/endpoint2")',
            "client('organizations-management-v2')",
            "login('first_name_last_name_2024')",
        ),
    ),
    *(
        Rule(
            kind="sql-password",
            family="command",
            anchors=("insert into", "replace into"),
            ignore_case=True,
            open_end=True,
            # the column of the password is the same in both lists
            pattern=r"(?:insert|replace) into [^\s(]{1,80}\s?\(\s{0,4}(?:[^,()\x00]{1,60},\s{0,24}"
            r"){"
            + str(before)
            + r"}[\"'`\[]?\w{0,24}(?:passw(?:or)?d|passphrase|pwd)[\"'`\]]?\s{0,4}[,)][^()\x00]{0,"
            r"300}?"
            r"\)?\s{0,24}values\s{0,4}\(\s{0,4}(?:(?:[\w.$:@?-]{1,60}|\\{0,2}[\"'][^\"'\r\n\\\x00]{0,120}"
            r"\\{0,2}[\"']|\w{1,24}\([^()\x00]{0,60}\)),\s{0,24}){" + str(before) + r"}(?:\w{1,16}"
            r"\()?"
            r"\\{0,6}[\"'](?P<value>[^\"'\r\n\\\x00]{3,128})\\{0,6}[\"']",
            gate="given",
            true=(
                (
                    f"INSERT INTO users ({'a, ' * before}password, x) VALUES ({'1, ' * before}'",
                    "s3cr3tpw40",
                    "', 1);",
                ),
            ),
            false=(
                "INSERT INTO users(name,age) VALUES ('jdoe','30');",
                "INSERT INTO users (a, password) VALUES (?, ?)",
                "INSERT INTO users (a, password) VALUES ('a', 'password')",
            ),
        )
        for before in range(6)
    ),
)  # fmt: skip
