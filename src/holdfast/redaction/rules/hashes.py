"""Hashes of passwords that their own form gives away: crypt and its kin, LDAP, frameworks.

What can be tried against a list of words is worth hiding. A bare hexadecimal digest has no form of
its own: the field beside which it stands must say that it is of a password.
"""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_D = r"\\?\${1,2}"
"""The sign between two parts; settings of containers double it, shells put a backslash before."""
_B = "[./A-Za-z0-9]"
_S = "[^$:\\s\"'`\\x00\\\\]"
_B64 = "[A-Za-z0-9+/._-]"
_CRYPTS = {
    "1": rf"(?:1|apr1){_D}{_S}{{0,8}}{_D}{_B}{{20,22}}",
    "2": rf"2[abxy]?{_D}[0-9]{{1,2}}{_D}{_B}{{22,53}}",
    "5": rf"[56]{_D}(?:rounds=[0-9]{{1,9}}{_D})?{_S}{{0,16}}{_D}{_B}{{43,86}}",
    "8": rf"[89]{_D}{_B}{{14}}{_D}{_B}{{43}}",
    "y": rf"(?:y|gy|7|sm3){_D}{_B}{{1,24}}{_D}(?:{_B}{{1,86}}{_D})?{_B}{{43}}",
    "argon": rf"argon2(?:id|i|d){_D}(?:v=[0-9]{{1,3}}{_D})?[a-z=0-9,]{{5,64}}"
    rf"{_D}{_B64}{{4,128}}={{0,2}}{_D}{_B64}{{8,512}}={{0,2}}",
    "phpass": rf"[PH]{_D}{_B}{{31}}|S{_D}{_B}{{52}}",
    "pbkdf": rf"(?:pbkdf2|cisco_type4)(?:-[a-z0-9]{{1,12}})?{_D}[0-9]{{1,9}}{_D}{_B64}{{0,128}}"
    rf"{_D}{_B64}{{20,256}}",
    "scrypt": rf"(?:scrypt|s0|7s){_D}[a-z0-9=,]{{3,40}}{_D}{_B64}{{1,128}}={{0,2}}"
    rf"{_D}{_B64}{{20,256}}={{0,2}}",
    "sha": rf"(?:sha1|md5|bcrypt-sha256)(?:[,$][a-z]{{0,8}}=?[a-z0-9=,]{{1,24}})?{_D}{_B64}{{2,64}}"
    rf"{_D}{_B64}{{20,64}}",
    "nt": rf"(?:NT{_D}|3{_D}{_D}|B{_D}{_S}{{0,16}}{_D})[0-9A-Fa-f]{{32}}",
}
_NAMES = (
    "1", "2", "2a", "2b", "2x", "2y", "3", "5", "6", "7", "8", "9", "y", "gy", "sm3", "apr1",
    "P", "H", "S", "B", "NT", "argon2i", "argon2d", "argon2id", "pbkdf2", "pbkdf2-sha1",
    "pbkdf2-sha256", "pbkdf2-sha512", "scrypt", "s0", "7s", "sha1", "md5", "bcrypt-sha256",
)  # fmt: skip
_SALTED = "c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"
_LONG = "k7Zq1.Vn0TtYc8/Rw2LpXd5HsGf3Jm9BvQe4Ua6Ko0Ni1Ws2Ez3Rx4Tc5Yv6Ub7In8Om9Pl0Kj1Hg2Fd3Sa4Q"
_HEX = "939e7578ed9e3c518a452acee763bce9a1b04f7d"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password-hash",
        family="key",
        anchors=("$md5,", *(f"${name}{sign}" for name in _NAMES for sign in "$\\")),
        inside_word=True,
        open_end=True,
        pattern=rf"\$(?:{'|'.join(_CRYPTS.values())})",
        true=(
            ("root:", "$6$" "hT3yq1Zp$" + _LONG[:86], ":18000:0:99999:7:::"),
            ("x: ", "$5$" "rounds=110000$QZxDTqR6lKBtmqYJ$" + _LONG[:43], "\n"),
            ("admin:", "$2y$" "05$" + _SALTED, "\n"),
            ("users=admin:$", "$2y$$" "05$$" + _SALTED, ""),
            ("printf 'a:", "$apr1" "\\$H6uskkkW\\$IgXLP6ewTrSuBkTrqE8wj/", "'"),
            ('"', "$1$" "tGu7CW5z$" + _LONG[:22], '"'),
            ("enable secret 9 ", "$9$" "nhEmQVczB7dqsO$" + _LONG[:43], "\n"),
            ("x: ", "$y$" "j9T$F5Jx5fExrKuPp53xLKQ..1$" + _LONG[:43], "\n"),
            ("b'", "$argon2id$" "v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b/dWRWJ", "'"),
            ("``", "$P$" "8ohUJ.1sdFw09/bMaAQPTGDNi2BIUt1", "``"),
            ("see ", "$S$" "D" + _LONG[:51], " here"),
            ("see ", "$pbkdf2-sha256$" "29000$N2YMIWQsBWBMae09x1jrPQ$" + _LONG[:43], " here"),
            ("see ", "$scrypt$" "ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$" + _LONG[:43], " here"),
            ("see ", "$sha1$" "480000$vfsIIghi$" + _LONG[:28], " here"),
            ("see ", "$bcrypt-sha256$" "v=2,t=2b,r=12$n79VH.0Q2TMWmt3Oqt9uku$" + _LONG[:31], ""),
        ),
        false=(
            'text.replace(/(a)(b)/, "$1$2")',
            "crypt(pw, '$6$saltsalt$')",
            "$2a$10$",
            "a hash starts with `$2b$`, `$argon2id$` or `$6$`",
            "s/(x)/$1$x/",
            "echo $1$2$3",
        ),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=(
            "{ssha", "{sha", "{smd5}", "{md5", "{crypt}", "{cram-md5}", "{pbkdf2", "{argon2",
            "{bcrypt}", "{blf-crypt}", "{scram-sha", "{pkcs5s2}", "{fshp", "{x-", "{scrypt}",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"\{(?:s?sha(?:1|224|256|384|512)?|s?md5|cram-md5|x-[a-z0-9-]{3,16}|pkcs5s2|scrypt"
        r"|fshp[0-9|]{1,16}|(?:sha(?:256|512)|md5|blf)-crypt|crypt|bcrypt"
        r"|(?:pbkdf2|argon2|scram-sha)[a-z0-9-]{0,16})(?:\.hex|\.b64)?\}"
        r"(?:\$?[A-Za-z0-9+/.,$=:-]{20,400}={0,2}|[./A-Za-z0-9]{13})",
        gate="mixed",
        true=(
            ("userPassword: ", "{SSHA}" "DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3", "\n"),
            ("jane:", "{SHA}" "W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "\n"),
            ("``", "{SMD5}" "jNoSMNY0cybfuBWiaGlFw3Mfi/U=", "``"),
            ('"', "{CRYPT}" "rl0uE5IkYFcDQ", '"'),
            ('"', "{SSHA512}" + _LONG[:64].replace(".", "+") + "==", '"'),
            ("x:", "{PBKDF2-SHA256}" "10000$0cb5a2ce$kYJ1c7Zq0TtRw2LpXd5HsGf3", ""),
        ),
        false=(
            "{SHA}", "https://host/commits/{sha}/status", "{sha256}  {name}", "f'{md5}-{name}'",
            "{x-internal}documentation-of-it", "{sha}abcdef",
        ),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=(
            "pbkdf2_sha", "pbkdf2:sha", "pbkdf2:md5", "scrypt:", "scrypt$", "argon2$argon2",
            "bcrypt_sha256$", "bcrypt$", "sha1$", "sha256$", "sha512$", "md5$", "crypt$$",
            "grub.pbkdf2.", "scram-sha-1$", "scram-sha-256$", "scram-sha-512$",
        ),
        ignore_case=True,
        open_end=True,
        pattern=r"(?:pbkdf2_sha[0-9]{1,3}\$[0-9]{1,9}\$[^$\s\"'\x00]{0,64}\$"
        r"[A-Za-z0-9+/]{20,128}={0,2}"
        r"|pbkdf2:(?:sha[0-9]{1,3}|md5)(?::[0-9]{1,9})?\$[^$\s\"'\x00]{0,64}\$[0-9a-f]{32,128}"
        r"|scrypt(?::[0-9]{1,9}){3}\$[^$\s\"'\x00]{0,64}\$[0-9a-f]{32,128}"
        r"|scrypt\$[^\s\"'\x00]{1,96}\$[A-Za-z0-9+/]{20,128}={0,2}"
        r"|argon2\$argon2(?:id|i|d)\$[^\s\"'\x00]{16,256}"
        r"|bcrypt(?:_sha256)?\$\$2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{53}"
        r"|(?:md5|sha1|sha256|sha512)\$[^$\s\"'\x00]{0,64}\$[0-9a-f]{32,128}"
        r"|crypt\$\$[./A-Za-z0-9]{13}|grub\.pbkdf2\.sha[0-9]{1,3}\.[0-9]{1,9}\.[0-9A-F.]{64,600}"
        r"|scram-sha-[0-9]{1,3}\$[0-9]{1,9}:[A-Za-z0-9+/=]{4,128}\$[A-Za-z0-9+/=]{20,128}"
        r":[A-Za-z0-9+/=]{20,128})",
        gate="mixed",
        true=(
            ("'", "pbkdf2_sha256$" "260000$V0FyZXNhbHQx$" + _LONG[6:49] + "=", "'"),
            ("'", "pbkdf2:sha256:" "150000$AbCdEfGh$" + _HEX, "'"),
            ("'", "scrypt:32768:8:1" "$DdbIPADqKg2nniws$" + _HEX, "'"),
            ("'", "sha1$" "3da19$" + _HEX, "'"),
            ("'", "md5$$" + _HEX[:32], "'"),
            ("'", "argon2$argon2id$" "v=19$m=102400,t=2,p=8$c29tZXNhbHQ$RdescudvJCsgt3ub", "'"),
            ("'", "bcrypt_sha256$" "$2b$12$" + _SALTED, "'"),
            ("", "grub.pbkdf2.sha512." "10000." + _HEX.upper() * 2 + "." + _HEX.upper(), "\n"),
            (
                "PASSWORD '",
                "SCRAM-SHA-256$" "4096:MTIzNDU2Nzg5MDEyMzQ1Ng==$bGFzdHN0b3JlZGtleQb7KvJa=:c2Vyd"
                "mVya2V5aXNoZXJlMTIz=",
                "'",
            ),
        ),
        false=(
            "sha1$salt$hash", "pbkdf2_sha256$iterations$salt$hash", "md5$(cat x)", "sha256$DIGEST",
            "scrypt:n:r:p",
        ),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=(),
        needs="*",
        pattern=r"\*[0-9A-F]{40}",  # MySQL; always in capitals
        true=(
            ("IDENTIFIED BY PASSWORD '", "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19", "'"),
            ("``", "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19", "``"),
        ),
        false=("*2470C0C06DEE42FD1618", "*" + "0" * 40, "* 2470C0C06DEE42FD1618BB99005ADCA2EC9D1E"),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=("0x0100", "0x0200"),
        ignore_case=True,
        in_pieces=True,
        # SQL Server: a salt of eight digits, and one or two digests
        pattern=r"0x0100[0-9A-F]{48}(?:[0-9A-F]{40})?|0x0200[0-9A-F]{60,136}",
        gate="random",
        true=(
            ("'", "0x0100624C0961B28E39FEE13FD0C35F57B4523F0DA1861C11D5A5", "'"),
            ("'", "0x0200" + "a0d961e49fc45ec4922793c4f0b278587e977b281c" * 2, "'"),
        ),
        false=("0x0100", "0x0100" + "0" * 48, "0x02000000", "0x0100624C0961B28E39FEE13FD0C3"),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=(":::", "aad3b435b51404ee"),
        ignore_case=True,
        inside_word=True,
        before=72,
        # Windows: two digests, the first of them often of the empty password
        pattern=r"[0-9a-f]{32}:[0-9a-f]{32}",
        gate="mixed",
        true=(
            ("Administrator:500:", "aad3b435b51404eeaad3b435b51404ee:" + _HEX[:32], ":::"),
            ("-hashes ", "aad3b435b51404eeaad3b435b51404ee:" + _HEX[:32], " x"),
        ),
        false=("aad3b435b51404eeaad3b435b51404ee", "a:::b", _HEX[:32] + ":" + _HEX[:32]),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=("ha1",),
        ignore_case=True,
        # what HTTP digest authentication knows of a password
        pattern=r"ha1\\{0,6}[\"'`]?\]?[ \t]{0,4}(?::=|={1,2}>?|:|,)[ \t]{0,4}b?\\{0,6}[\"'`]?"
        r"(?P<value>[0-9a-f]{32}|[0-9a-f]{64})",
        gate="mixed",
        true=(("HA1 = '", _HEX[:32], "'"), ('"ha1": "', _HEX[:32], '"')),
        false=("ha1 = md5(a)", "sha1: " + _HEX),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=("nthash", "nt_hash", "lmhash", "lm_hash", "ntlm", "nt hash", "lm hash",
        "sambantpassword",
                 "sambalmpassword"),
        ignore_case=True,
        pattern=r"(?:samba)?(?:nt|lm|ntlm)[_ -]?(?:hash|password)?[a-z_]{0,8}\\{0,6}[\"'`]?\]?[ \t"
        r"]{0,4}"
        r"(?::=|={1,3}>?|:|,|\()[ \t]{0,4}(?:\w{1,16}\()?b?\\{0,6}[\"'`]?(?P<value>[0-9a-f]{32})",
        gate="mixed",
        true=(
            ("nt_hash = '", _HEX[:32], "'"), ('var ntlmHashHex = "', _HEX[:32], '"'),
            ("sambaNTPassword: ", _HEX[:32].upper(), "\n"), ("lmhash=", _HEX[:32], "\n"),
        ),
        false=("nt_hash = md4(x)", "lmhash: 32 digits", f"ntlm commit {_HEX}"),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=('"salt"', "'salt'", '\\"salt\\"'),
        inside_word=True,
        before=420,
        # what was made of a password and its salt
        pattern=r"[\"'](?:hash|digest|key|derived_?key|stored_?key|verifier)\\{0,2}[\"'] ?: ?\\{0,"
        r"2}[\"']"
        r"(?P<value>[A-Za-z0-9+/_-]{24,700}={0,2})\\{0,2}[\"'][^{}\x00]{0,120}?[\"']salt\\{0,2}[\"']",
        gate="random",
        open_end=True,
        true=(
            ('{"hash": "', _HEX, '", "salt": "c2FsdA"}'),
        ),
        false=('{"hash": "sha256", "salt": "x"}', '{"salt": "x", "iterations": 10}'),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=('"salt"', "'salt'", '\\"salt\\"'),
        inside_word=True,
        pattern=r"\\?[\"']salt\\{0,2}[\"'] ?: ?\\{0,2}[\"'][^\"'\r\n\x00]{0,400}[\"'],[^{}\x00]{0,"
        r"120}?"
        r"[\"'](?:hash|digest|key|derived_?key|stored_?key|verifier)\\{0,2}[\"'] ?: ?\\{0,2}[\"']"
        r"(?P<value>[A-Za-z0-9+/_-]{24,700}={0,2})",
        gate="random",
        open_end=True,
        true=(
            ('{"salt": "c2FsdA", "hash": "', _HEX, '"}'),
        ),
        false=('{"salt": "x", "hash": "sha256"}', '{"salt": "x", "iterations": 10}'),
    ),
    Rule(
        kind="password-hash",
        family="key",
        anchors=("$krb5", "$DCC2$", "$NETNTLM"),
        inside_word=True,
        open_end=True,
        # what crackers of tickets and cached logons take
        pattern=r"\$(?:krb5[a-z]{2,6}|DCC2|NETNTLM(?:v2)?)\$[^\s\"'`\x00]{32,1000}",
        gate="mixed",
        true=(("hash: ", "$krb5tgs$" "23$*bob$CORP.ORG$http/h*$" + _HEX + _HEX, "\n"),),
        false=("$krb5cc_1000", "$DCC2$10240#tom#"),
    ),
    Rule(
        kind="password",
        family="key",
        anchors=("{noop}", "{plain}", "{cleartext}"),
        ignore_case=True,
        inside_word=True,
        # a password in clear where a hash could stand
        pattern=r"\{(?:noop|plain|cleartext)\}(?P<value>[^\s\"'`<>{},;:\\\x00]{4,64})",
        gate="real",
        true=(('withUser("a").pw("{noop}', "letmein27", '")'),),
        false=("{noop}", "{plain} text", "{noop}${PASSWORD}"),
    ),
    Rule(
        kind="password-hash",
        family="prose",
        anchors=tuple(
            f"{word}{joint}{of} " for word in ("hash", "hashes", "digest", "hash string")
            for joint in (" ", " (") for of in ("of", "for")
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # the hash of (the string) "password" is …
        pattern=r"(?:hash(?:es| string)?|digest) \(?(?:of|for) [^\r\n\x00]{0,40}?"
        r"pass(?:word|wd|phrase)?[\"'`)]{0,4}[^\r\n\x00.`\"']{0,30}\)? (?:is|=|was):? [\"'`]{1,3}"
        r"(?P<value>[A-Za-z0-9+/=._$*{}-]{8,200})[\"'`]",
        gate="mixed",
        true=(("An example hash (of ``password``) is ``", "_EQ0.jzhSVeUyoSqLupI", "``."),),
        false=("the hash of the password is `hashed`", "hash of the password is stored"),
    ),
)  # fmt: skip
