"""Credentials inside URLs: database and broker strings, userinfo, bare tokens before the host."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_DIGEST = "4e1243bd22c66e76c2ba9eddc1f91394"
_AT_PORT = (
    r":(?P<value>[^\s\"'`/\\\x00@:,;(){}]{4,100})"
    r"@[A-Za-z0-9][A-Za-z0-9.-]{2,100}:[0-9]{2,5}(?:[/\"'`,;) \r\n]|$)"
)
_CREDENTIALS = (
    "auth", "bearer", "jwt", "ticket", "service_ticket", "sas", "cred", "creds", "xsrf", "sso",
    "sid", "sessionid", "phpsessid", "jsessionid", "assertion", "samlart", "samlresponse",
    "oauth_signature", "x-amz-signature", "x-goog-signature", "signature", "sig", "hmac",
    "magic_link", "sharekey", "auth_code", "authcode", "device_code",
)  # fmt: skip
"""Parameters that let in whoever has their value."""
_ONE_TIME = (
    "otp", "totp", "otp_code", "mfa_code", "one_time_code", "verification_code", "invite_code",
)  # fmt: skip
_PARAMETERS = (
    *(f"{sign}{name}=" for sign in "?&#;" for name in (
        "code", "id_token", "state", "ticket", "sig", "key", "auth", "sid", "session", "sessionid",
        "otp", "jwt", "nonce", "invite", "magic", "assertion", "hash", "confirmation", "verify",
        "reset", "signature", "credential", "hmac", "sign", *_CREDENTIALS, *_ONE_TIME,
    )),
    *(f"{sign}{name}=" for sign in "?&" for name in "tks"),
)  # fmt: skip
"""As literals: a shape of so many counted characters is dear wherever another one matches."""

RULES: tuple[Rule, ...] = (
    Rule(
        kind="url-token",
        family="url",
        anchors=(),
        needs="@",
        inside_word=True,
        open_end=True,
        # a user that calls itself a token or a password, and is more than that word
        pattern=r"/\\?/(?P<value>[A-Za-z0-9]{0,40}(?:[pP][aA][sS][sS][wW]|[sS][eE][cC][rR][eE][tT]"
        r"|[tT][oO][kK][eE][nN])[A-Za-z0-9]{4,60})(?::x-oauth-basic|:)?@[A-Za-z0-9]",
        gate="real",
        true=(
            ("git clone https://", "TopSecretWord", "@github.com/a/b.git"),
            ("ftp://", "ftptoken482913", "@ftp.mailhost.org/a"),
        ),
        false=(
            "https://oauth2accesstoken@gcr.io/a", "https://x-access-token@github.com/a",
            "https://token@git.mailhost.org/a", "https://password@host/a",
        ),
    ),
    Rule(
        kind="url-password",
        family="url",
        anchors=(),
        needs="@",
        inside_word=True,
        open_end=True,
        # where both are digests they are the two keys of one account
        pattern=r"/\\?/(?P<value>[0-9a-f]{32}:[0-9a-f]{32})@[A-Za-z0-9]",
        gate="real",
        true=(("https://", f"{_DIGEST}:{_DIGEST[::-1]}", "@o1.host.io/1"),),
        false=("http://4e1243bd22c66e76c2ba9eddc1f91394:8080/a@b",),
    ),
    Rule(
        kind="url-password",
        family="url",
        anchors=(),
        needs="@",
        inside_word=True,
        open_end=True,
        # where the user is the number of a key, both are the secret
        pattern=r"/\\?/(?P<value>[0-9]{12,24}:[A-Za-z0-9_.~%+-]{8,256})@[A-Za-z0-9]",
        gate="real",
        true=(("cloudinary://", "715268876851676:" "V-fwwRhcp3VrRPAqaFk", "@demo"),),
        false=("http://10.0.0.1:8080/a@b", "//123456789012:8080/a@b"),
    ),
    Rule(
        kind="url-password",
        family="url",
        anchors=(),
        needs="@",
        inside_word=True,
        open_end=True,
        # a domain may stand before the user; a backslash before n, r, t or u is an escape
        pattern=r"/\\?/[^\s:@/\"'`<>\\\x00()\[\]{}]{0,128}(?:\\{1,4}[a-mo-qsv-zA-Z][\w.-]{0,63})?:"
        r"(?P<value>[^\s\"'`<>/\\\x00]{1,256})\\{0,2}@[A-Za-z0-9\[$*{_]",
        gate="userinfo",
        true=(
            ("DSN=postgresql://root:", "zZdBCsbd9G%40%2F%23T02l", "@localhost/app"),
            ("conn mysql://deploy:", "H6DljvKFqiV4Fj@ASP1C", "@db.corp.example.org:1234/app"),
            ("redis://:", "s3cr3tpw27", "@db.corp.example.org:6379/0"),
            ("//readonly:", "necessary-will-only-evidence", "@host.example.com/x"),
            ("http_proxy=http://corp\\bob:", "W1nd0ws!", "@proxy:8080"),
            ('"url": "amqp:\\/\\/app:', "key-whose-each", '@db.internal:5432\\/app"'),
            ("redis://:", "abc123", "@localhost"),
            ("ftp://bob:", "bye", "@h.org/"),
            ('re.match(r"^mailto://bob:', "abcd123", '\\@h.org/.*")'),
        ),
        false=(
            "https://maps.example.com/@52.5200,13.4050,12z",
            "http://localhost:8080/a@b",
            "postgresql://user:${DB_PASSWORD}@host/db",
            "postgres://user:<password>@host/db",
            "// see: foo@bar",
            "//wiki\\nauthor:jane@mailhost",
        ),
    ),
    Rule(
        kind="url-password",
        family="url",
        anchors=(),
        needs="@",
        inside_word=True,
        open_end=True,
        ignore_case=True,
        pattern=r"(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|mssql|oracle)"
        r"(?:\+[a-z0-9]{1,16})?://[^\s:@/\"'`<>\\\x00]{0,128}:"
        # up to the last @ before a slash, or a slash within the password
        r"(?P<value>[^\s\"'`<>/\\\x00]{1,256}|[^\s\"'`<>\\\x00@]{1,200})@[a-z0-9.-]{1,100}[:/]",
        gate="real",
        true=(
            ("mysql://app:", "a/b#c9Q", "@db.internal:3306/x"),
            ("postgres://app:", "p@ss:w0rd", "@db:5432/app"),
        ),
        false=("mysql://app@db.internal:3306/x",),
    ),
    Rule(
        kind="url-password",
        family="url",
        anchors=(),
        needs="@",
        inside_word=True,
        open_end=True,
        # brackets in the user: only after a scheme
        pattern=r"[a-z0-9]:/\\?/[^\s:@/\"'`<>\\\x00()\[\]{}]{0,64}[()\[\]{}]"
        r"[^\s:@/\"'`<>\\\x00]{0,64}:(?P<value>[^\s\"'`<>/\\\x00@]{1,256})@[A-Za-z0-9\[]",
        gate="userinfo",
        true=(("http://user(test):", "pass*word", "@mailhost.org/"),),
        false=("http://[::1]:8080/@x", "http://{user}:{password}@host/", "http://f(x):8080/a@b"),
    ),
    Rule(
        kind="url-password",
        family="url",
        anchors=(),
        needs="@",
        inside_word=True,
        open_end=True,
        # no host: only after a scheme
        pattern=r"[a-z0-9]:/\\?/[^\s:@/\"'`<>\\\x00]{0,128}:"
        r"(?P<value>[^\s\"'`<>/\\\x00@]{1,256})@(?:/[\w?]|:[0-9]|%2[fF])",
        gate="userinfo",
        true=(
            ('"mysql+pymysql://root:', "tiger", '@/mydb"'),
            ("amqp://guest:", "tiger", "@:5672/"),
            ("postgres://u:", "tiger", "@%2Fvar%2Frun/db"),
        ),
        false=("see http://host:8080/@/x", "http://[::1]:8080/@x", "https://u:${PW}@/db"),
    ),
    Rule(
        kind="url-token",
        family="url",
        anchors=(),
        needs="@",
        inside_word=True,
        open_end=True,
        pattern=r"/\\?/(?P<value>[A-Za-z0-9_.~%-]{16,256})(?::x-oauth-basic|:)?@[A-Za-z0-9]",
        gate="random",
        true=(
            ("git remote add origin https://", "MfN21drwlo7889Og4Weps0x", "@github.com/a/b.git"),
            ("https://", "AJcHbP4BRCuwYZCSyOFjg56xXLtoYo", "@sentry.example.com/42"),
        ),
        false=("https://deployment-user@git.example.com/a.git", "ssh://git@github.com/a/b"),
    ),
    Rule(
        kind="url-parameter",
        family="url",
        anchors=_PARAMETERS,
        inside_word=True,
        open_end=True,
        ignore_case=True,
        pattern=r"[?&#;][a-z_-]{1,20}=(?P<value>[A-Za-z0-9._~%+/=:|@*$!-]{12,1000})",
        gate="unnamed",
        true=(("https://x.example.com/cb#code=", "4P7q9Zx2Lm8Kd3Vb", "&view=public"),),
        false=("https://x.example.com/?state=new-york-city-hall", "a?key=value&t=12",
               "r=s&255;s=Math.floor(s/256),t?e[i-1]", "this.#t=t&&!!t.portableInOtherPlaces9"),
    ),
    Rule(
        kind="url-parameter",
        family="url",
        anchors=tuple(
            f"{sign}{name}=" for sign in "?&;" for name in (*_CREDENTIALS, *_ONE_TIME)
        ),
        inside_word=True,
        open_end=True,
        ignore_case=True,
        # what lets somebody in is a secret however little of it is random
        pattern=r"[?&;][a-z_-]{3,20}=(?P<value>[A-Za-z0-9_%+/=~.-]{12,1000})",
        gate="mixed",
        true=(("https://x.mailhost.org/f?signature=", "opaque123value45", "&view=public"),
              ("GET /f?a=1&sig=", "letmein-2024-please", " HTTP/1.1"),
              ("https://x.mailhost.org/?auth=", "hunter2hunter2", "&a=1"),
              ("https://x.mailhost.org/cas?ticket=", "ST-20-user-at-host", ""),
              ("https://x.mailhost.org/a;jsessionid=", "0123abcd-node1", "?a=1"),
              ("https://x.s3.mailhost.org/o?X-Amz-Signature=", "9f86d081884c7d65", "&a=1")),
        false=("https://x.mailhost.org/?signature=required-for-delivery", "a?sig=short9&b=1",
               "https://x.mailhost.org/?signature=${SIGNATURE_2}",
               "https://x.mailhost.org/?auth=required-for-delivery", "a?sid=section9&b=1"),
    ),
    Rule(
        kind="url-parameter",
        family="url",
        anchors=tuple(f"{sign}{name}=" for sign in "?&" for name in _ONE_TIME),
        inside_word=True,
        ignore_case=True,
        pattern=r"[?&][a-z_]{3,20}=(?P<value>[0-9]{4,8})",
        gate="code",
        true=(("https://x.mailhost.org/login?otp=", "482913", "&a=1"),
              ("/verify?a=1&verification_code=", "7391", "")),
        false=("https://x.mailhost.org/?otp=1", "/login?otp=6000", "/login?otp=111111"),
    ),
    Rule(
        kind="connection-password",
        family="connection",
        anchors=("@tcp(", "@tcp6(", "@unix(", "@cloudsql(", "@/"),
        before=180,
        inside_word=True,
        open_end=True,
        # what Go's drivers take: no scheme, and the network before the host
        pattern=r"[\w.%+-]{1,64}:(?P<value>[^\s\"'`/\\\x00]{1,100})@"
        r"(?:(?:tcp6?|unix|cloudsql)\(|/[\w-]{1,64}(?:[\"'`?]|$))",
        gate="userinfo",
        true=(
            ('"root:', "tiger", '@tcp(127.0.0.1:3306)/db"'),
            ("app:", "p@ss:w0rd", "@unix(/tmp/mysql.sock)/db"),
            ('sql.Open("mysql", "root:', "tiger", '@/db?charset=utf8")'),
        ),
        false=('"user@tcp(localhost:3306)/db"', "%s:%s@tcp(%s)/%s", "import x from '@/lib:a'"),
    ),
    Rule(
        kind="url-password",
        family="url",
        anchors=(),
        needs="@",
        open_end=True,
        # a proxy or a server without a scheme: its port tells
        pattern=r"[A-Za-z][\w.%+-]{0,255}" + _AT_PORT,
        pivot=":",
        gate="mixed",
        true=(
            ("HTTP_PROXY=bob:", "tiger9", "@proxy.mailhost.org:8080"),
            ("--proxy bob:", "tiger9", "@proxy:3128 x"),
        ),
        false=("repo/img:1.2@sha256:98765", "topic:part@broker:9092", "http://host2:8080/a@b:80"),
    ),
    Rule(
        kind="connection-password",
        family="connection",
        anchors=("sqlplus ", "sqlldr ", "expdp ", "impdp ", "rman target ", "userid="),
        ignore_case=True,
        open_end=True,
        pattern=r"(?:sqlplus|sqlldr|expdp|impdp|rman target|userid=)(?: ?-[a-z] ?){0,3} ?[\"']?"
        r"[a-z][\w$#]{0,29}/(?P<value>[^\s\"'`@/\\\x00]{3,64})@",
        gate="userinfo",
        true=(("sqlplus -s scott/", "tiger", "@orcl @x.sql"), ("userid=hr/", "s3cr3t", "@xe")),
        false=("sqlplus /@orcl", "sqlplus scott/$PW@orcl", "sqlplus scott@orcl"),
    ),
    Rule(
        kind="connection-password",
        family="connection",
        anchors=(";pwd={", ";password={"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # braces quote a value of ODBC and of SQL Server; a closing one in it is doubled
        pattern=r";(?:pwd|password)=\{(?P<value>(?:[^{}\r\n\x00]|\}\}){4,128})\}(?:[;\"'\s]|$)",
        gate="bare",
        true=(
            ("Server=x;UID=sa;PWD={", "br4ce;Pw", "};"),
            ("user=sa;password={", "S@;Pw1}}", "};encrypt=true"),
        ),
        false=('f";password={password};"', 'f"a;pwd={pw1};x"', 'f"password={password!r}"'),
    ),
    Rule(
        kind="jdbc-password",
        family="connection",
        anchors=("jdbc:oracle:",),
        ignore_case=True,
        open_end=True,
        pattern=r"jdbc:oracle:[a-z]{2,6}:[^\s/@\"']{1,64}/(?P<value>[^\s\"'@]{1,128})@",
        gate="real",
        true=(("jdbc:oracle:thin:postgres/", "s3cr3tpw40", "@localhost:1521:XE"),),
        false=("jdbc:oracle:thin:@localhost:1521:XE",),
    ),
    Rule(
        kind="webhook-url",
        family="url",
        anchors=(
            "https://hooks.slack.com/", "https://discord.com/api/webhooks/",
            "https://discordapp.com/api/webhooks/", "https://hooks.zapier.com/hooks/",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # who has the address can post: all of it is the secret
        pattern=r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)/"
        r"|discord(?:app)?\.com/api/webhooks/|hooks\.zapier\.com/hooks/catch/)"
        r"[A-Za-z0-9_/@-]{16,300}",
        gate="mixed",
        true=(
            (
                "posted to ",
                "https://hooks.slack.com/services/T0DCUJB1Q/B0DD08H5G/" "bJtrpFi1fO1JMcwy9WzEz7Oj",
                " by a",
            ),
        ),
        false=("https://hooks.slack.com/services/ is the address",),
    ),
    Rule(
        kind="webhook-url",
        family="url",
        anchors=(
            "hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
            "webhook.office.com/", "hooks.zapier.com/hooks/",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/"
        r"|discord(?:app)?\.com/api/webhooks/"
        r"|webhook\.office\.com/webhookb2/"
        r"|hooks\.zapier\.com/hooks/catch/)(?P<value>[A-Za-z0-9_/@-]{16,300})",
        gate="mixed",
        true=(
            (
                "curl hooks.slack.com/services/",
                "T0DCUJB1Q/B0DD08H5G/" "bJtrpFi1fO1JMcwy9WzEz7Oj",
                " posted",
            ),
        ),
        false=("https://hooks.slack.com/services/ is the address", "discord.com/api/webhooks/:id"),
    ),
    Rule(
        kind="webhook-url",
        family="url",
        anchors=("//hooks.", "//webhook", "/webhooks/", "/webhook/", "/hooks/"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"/{1,2}(?:web)?hooks?[a-z0-9.-]{0,60}/(?:[a-z0-9_.@-]{1,40}/){0,4}"
        r"(?P<value>[A-Za-z0-9_=-]{20,200})",
        gate="unnamed",
        true=(("https://hooks.zentrix.io/in/", "T0DCUJB1QbJtrpFi1fO1JMcwy9WzEz7Oj", " posted"),
              ("https://x.zentrix.io/webhook/", "bJtrpFi1fO1JMcwy9WzEz7Oj", ""),),
        false=("https://docs.example.com/webhooks/how-they-are-registered-and-used",
               "src/hooks/useAuthenticatedUserSession.ts"),
    ),
)  # fmt: skip
