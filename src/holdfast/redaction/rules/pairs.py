"""Passwords that stand beside their user without a name: arguments, tuples, what is encoded."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_Q = r"\\{0,6}[\"'`]"
_QUOTED = rf"{_Q}(?P<value>[^\"'`\r\n\\\x00]{{3,80}}){_Q}"
_MADE = r"(?:[rbu]|@|\[\]byte\(|new String\(|String::from\()?"
_AFTER = r"(?:\.[a-z_]{2,16}\([a-z0-9_\"'.-]{0,16}\))?\)?\s{0,24}[,)\]]"
"""What may stand around a string: `b"…"`, `[]byte("…")`, `"…".toCharArray()`."""
_USER = (
    rf"(?:(?:user(?:_?name)?|login|email|account) ?[=:] ?)?(?:{_Q}[^\"'`\r\n\\\x00/{{]{{1,64}}"
    rf"(?:\\{{1,4}}[\w.-]{{1,64}})?{_Q}|[\w.$>()\[\]\"'-]{{0,32}}?(?:user|name|login|mail|account|usr|uid)\w{{0,10}})"
)
"""A user: any string, or a variable that calls itself one."""
_HOST = (
    rf"(?:{_Q}(?:localhost|127\.[\d.]{{3,12}}|jdbc:[^\"'\r\n\x00]{{1,300}}|[a-z]{{2,10}}:host=[^\"'\r\n\x00]{{1,200}}"
    rf"|[\w-]{{1,63}}\.[\w.-]{{1,100}}|)(?::\d{{2,5}})?{_Q}"
    r"|[\w.$>\[\]\"'-]{0,32}?(?:host|url|server|dsn|addr|string)\w{0,12})"
)
_PORT = r"(?:\d{2,5},\s{0,8}|[\w.]{0,24}port,\s{0,8})?"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="command",
        anchors=(
            "auth(", "basic(", "resttemplate(", "s3connection(", "connect_s3(", "credentials.new(",
            "staticprovider::new(", "twilioclient(", "twilio.init(", "oauth2client(",
            "oauth2session(",
            "oauth2::client.new(", "oauth1(", "oauthhandler(", "oauth1session(", "auth_str(",
            "authprovider(",
            "authentication(", "authenticator(",
            "credential(", "credentials(", "credentials.basic(", "credential.from(",
            "credentials.from(", "credentials::new(", "credential::new(", "userpassword(",
            "usernamepassword(", "userpass(", "pw_set(", "login(", "log_in(", "sign_in(",
            "signin(", "authenticate(", "auth::new(", "usernamepasswordauthenticationtoken(",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:o?auth(?:_str|provider|entication|enticator|1|1session|handler)?(?:::new)?"
        r"|credentials?(?:\.basic|\.from|::new|\.new)?|basic|resttemplate|s3connection|connect_s3"
        r"|staticprovider::new|twilioclient|twilio\.init|oauth2(?:client|session|::client\.new)|user(?:name)?pass(?:word)?|pw_set|log_?in|sign_?in"
        r"|authenticate|usernamepasswordauthenticationtoken)"
        rf"\(\s{{0,24}}{_USER},\s{{0,24}}{_MADE}{_QUOTED}{_AFTER}",
        gate="chosen",
        true=(
            ("requests.get(url, auth=HTTPProxyAuth('bob', '", "bye", "'))"),
            ("HttpNtlmAuth('CORP\\\\bob', '", "sesame", "')"),
            ('url.UserPassword("bob", "', "open sesame", '")'),
            ('imap.login(user, "', "sesame", '")'),
            ('new PasswordAuthentication("bob", "', "sesame", '".toCharArray())'),
            ("request.auth('bob', '", "sesame", "', true)"),
            ('client.username_pw_set("bob", "', "sesame", '")'),
            ('Credentials.basic("bob", "', "sesame", '")'),
            ("pika.PlainCredentials(username='bob', '", "sesame", "')"),
        ),
        false=(
            'login("user", "page")', 'client.login("https://example.com", "callback")',
            "auth=('user', 'pass')", "authenticate('basic', 'token')", 'login("bob", password)',
            '@app.route("/login", "login")', 'login(request, "done")', "auth('api', 'token')",
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=tuple(
            f"{name}{tie}"
            for name in ("auth", "credentials", "creds")
            for tie in (
                "=(", " = (", "=[", " = [", ": [", ": (", "' => [", '" => [', " => [", "': [",
                '": [', "': (", '": (', " == (", " == [", ":[",
            )
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # a pair, and nothing else
        pattern=r"(?:auth|credentials|creds)[\"']?(?: ?={1,2} ?| => |: ?)[\[(]\s{0,24}"
        rf"(?:{_Q}[^\"'`\r\n\\\x00/{{]{{1,64}}{_Q}|[\w.]{{0,24}}user\w{{0,8}}),\s{{0,24}}b?{_QUOTED}"
        r"\s{0,24}[)\]]",
        gate="chosen",
        true=(
            ("requests.get(url, auth=('bob', '", "bye", "'))"),
            ("'auth' => ['bob', '", "sesame", "'],"),
            ('assert session.auth == ("bob", "', "sesame", '")'),
            ("auth: ['bob', '", "sesame", "']"),
        ),
        false=(
            "auth=('user', 'pass')", "auth: ['/login', 'x']", "auth = ['basic', 'token', 'x']",
            "creds = (user, password)",
        ),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=tuple(
            f",{blank}{word}" for blank in (" ", "") for word in ("passw", "pass ", "pass=", "pwd",
            "pw ", "passphrase", "secret", "$pass", "pass)", "pwd)", "pw)")
        ),
        ignore_case=True,
        open_end=True,
        inside_word=True,
        # user, password = "bob", "…"
        pattern=r", ?\$?(?:pass(?:wd|word|phrase)?|pwd|pw|secret)\w{0,8}\)?\]? {0,2}(?::=|={1,3})"
        r" {0,2}"
        rf"[(\[]?b?{_Q}[^\"'`\r\n\\\x00]{{0,64}}{_Q},\s{{0,24}}b?{_QUOTED}",
        gate="chosen",
        true=(
            ('user, password = "bob", "', "sesame", '"'),
            ("username, passwd = ('bob', '", "sesame", "')"),
            ('assert (user, password) == ("bob", "', "sesame", '")'),
            ('USER, PASS := "bob", "', "sesame", '"'),
        ),
        false=(
            'user, password = "bob", "password"', "user, password = get()",
            'f(user, password="a")',
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("basic_authorize ", ":basic_auth, ", ":basic, ", "sign_in ", "provider :"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # the same without brackets
        pattern=r"(?:basic_authorize |:basic_auth, |:basic, |sign_in |provider :\w{2,24}, ?)"
        rf"(?:{_Q}[^\"'`\r\n\\\x00/{{]{{1,64}}{_Q}|[\w.]{{0,24}}(?:user|mail|name)[\w.]{{0,12}}),\s{{0,8}}{_QUOTED}",
        gate="chosen",
        true=(
            ("basic_authorize 'bob', '", "sesame", "'"), ("f.request :basic_auth, 'bob', '",
            "sesame", "'"),
            ('sign_in user.email, "', "sesame", '"'), ("provider :github, 'id', '", "sesame27",
            "'"),
        ),
        false=("sign_in user", "basic_authorize user, password",
        "provider :github, ENV['A'], ENV['B']"),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=('"cn=', "'cn=", '"uid=', "'uid=", '"ou=', "'ou="),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # what a directory is bound with: a name of it and its password
        pattern=rf"[\"'](?:cn|uid|ou)=[^\"'\r\n\x00]{{1,160}}[\"'],\s{{0,24}}{_MADE}{_QUOTED}\s{{0,16}}[,)]",
        gate="chosen",
        true=(
            ('ldap.simple_bind_s("cn=admin,dc=x", "', "sesame", '")'),
            ("Connection(server, 'uid=bob,dc=x', '", "sesame", "')"),
        ),
        false=("search('ou=people,dc=x', '(uid=bob)')", 'bind("cn=admin", password)'),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=tuple(
            f"{{{word}," for word in ("password", "pass", "passwd", "secret", "db_password",
            "passphrase")
        ),
        open_end=True,
        inside_word=True,
        # what Erlang and its kin call a property
        pattern=r"\{(?:db_)?(?:password|passwd|pass|passphrase|secret),\s{0,4}(?:<<)?"
        r"\"(?P<value>[^\"'`\r\n\\\x00]{3,80})\"(?:>>)?\}",
        gate="chosen",
        true=(('{password, "', "tiger", '"}'), ('{pass, <<"', "tiger", '">>},')),
        false=('{password, Password}', '{password, "password"}', '{password, "Enter it"}'),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(
            "connect(", "getconnection(", "mysqli(", "pdo(", "ftp(", "ftp_tls(", "sequelize(",
            "mysql_pconnect(", "smbconnection(", "url.create(", "ftp.open(", "smtp.start(",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # host or address, perhaps a port, user, password
        pattern=rf"(?:(?:p?connect|getconnection)\(\s{{0,24}}{_HOST},\s{{0,24}}{_PORT}"
        rf"|(?:mysqli?(?:_p?connect)?|pdo|ftp(?:_tls|\.open)?|sequelize|url\.create)\(\s{{0,24}}"
        rf"(?:{_Q}[^\"'\r\n\x00]{{0,200}}{_Q}|[\w.$>-]{{1,32}}),\s{{0,24}}"
        rf"|smbconnection\(\s{{0,24}}|smtp\.start\((?:[^,()\r\n\x00]{{1,60}},\s{{0,8}}){{3}})(?:{_Q}[^\"'`\r\n\\\x00/{{\d][^\"'`\r\n\\\x00/{{]{{0,63}}{_Q}"
        rf"|[\w.$>-]{{0,32}}?user\w{{0,10}}),\s{{0,24}}{_MADE}{_QUOTED}",
        gate="chosen",
        true=(
            ("pymysql.connect('localhost','root','", "tiger", "','db')"),
            ('getConnection(url, "root", "', "tiger", '")'),
            ("new PDO('mysql:host=h;dbname=x', 'root', '", "tiger", "')"),
            ('ssh.connect("db.host.io", 22, "bob", "', "tiger", '")'),
            ("new Sequelize('shop', 'root', '", "tiger", "', {})"),
            ("FTP('ftp.host.io', 'bob', '", "tiger", "')"),
            ('mysql_connect($host, $user, "', "tiger", '")'),
        ),
        false=(
            'connect("localhost", "8080", "utf8")', 'connect("amqp", "guest", "queue12")',
            'connect("db.host.io", "app", password)', "ftp('a', 'b')",
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("oracle.connect(", "oracledb.connect(", 'connect("', "connect('"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=rf"(?:oracle(?:db)?\.connect\(\s{{0,8}}{_Q}\w{{1,30}}{_Q},\s{{0,8}}{_Q}"
        r"|connect\([\"']\w{1,30}/)(?P<value>[^\"'`\r\n\\\x00/@]{3,80})(?:\\{0,6}[\"'`],|@\w)",
        gate="chosen",
        true=(
            ('cx_Oracle.connect("scott", "', "tiger", '", "orcl")'),
            ("cx_Oracle.connect('scott/", "tiger", "@orcl')"),
        ),
        false=("cx_Oracle.connect('/@orcl')", 'oracledb.connect("scott", password)'),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("wifi.begin(", "wlan.connect(", "wifi.connect(", "sta_if.connect(", ".softap(",
                 "wifi.softap(", "wifi_connect("),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:wifi\.begin|(?:wlan|wifi|sta_if)[._]connect|(?:wifi)?\.softap)\(\s{0,8}"
        rf"(?:{_Q}[^\"'`\r\n\x00]{{1,32}}{_Q}|\w{{1,32}}),\s{{0,8}}{_QUOTED}",
        gate="chosen",
        true=(
            ('WiFi.begin("HomeNet", "', "sesame22", '");'), ("wlan.connect(SSID, '", "sesame", "')")
        ),
        false=('WiFi.begin("HomeNet", password)', 'WiFi.begin("HomeNet", "your-password")'),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(
            "b64encode(", "btoa(", "buffer.from(", "base64_encode(", "encode64(",
            "encodetostring(", "tobase64string(", "base64.encode(", "base64::encode(",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # what basic authentication encodes: user and password with a colon between them
        pattern=r"(?:b64encode|btoa|buffer\.from|base64_encode|encode64|encodetostring"
        r"|tobase64string|base64(?:\.|::)encode)\((?:[\w.]{1,32}\()?\s{0,8}(?:\[\]byte\()?b?"
        rf"{_Q}[\w.@+-]{{1,64}}:(?P<value>[^\"'`\r\n\\\x00;]{{3,80}}){_Q}",
        gate="chosen",
        true=(
            ('b64encode(b"bob:', "sesame", '")'), ("btoa('bob:", "sesame", "')"),
            ('EncodeToString([]byte("bob:', "sesame", '"))'),
            ("Buffer.from('bob:", "open sesame", "').toString('base64')"),
        ),
        false=(
            'b64encode(b"user:password")', "btoa('https://example.com/a')", 'btoa("a:" + b)',
            "Buffer.from('data:text/plain;base64,SGVsbG8=')",
        ),
    ),
)  # fmt: skip
