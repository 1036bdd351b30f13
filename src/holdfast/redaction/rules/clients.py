"""Passwords that clients of databases, brokers, networks and hosts are given."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_ARGUMENT = r"(?:[\s=]{1,4}(?:\\{0,6}[\"'])?|\\{0,6}[\"'],\s{0,4}\\{0,6}[\"'])"
"""Between a flag and its value, in a shell or in a list of arguments."""
_BARE = r"[^\s\"'\\\x00]"
"""Of an argument before it: without quotes, which may close the string that the command is in."""
_VALUE = r"(?P<value>[^\s\"'\\\x00$<-][^\s\"'\\\x00]{3,255})"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="command-password",
        family="command",
        anchors=(
            "sqlcmd", "bcp ", "isql", "osql", "plink", "pscp", "psftp", "putty", "twine upload",
            "beeline", "cqlsh", "oc login", "cf login", "ipmitool", "mosquitto_", "evil-winrm",
            "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami", "useradd", "usermod",
            "sshpass", "xfreerdp", "wlfreerdp", "mstsc",
        ),
        open_end=True,
        # what each of them calls the flag
        pattern=r"(?:(?:sqlcmd|bcp|isql|osql|ipmitool|mosquitto_(?:pub|sub))\b[^\r\n\x00]{0,300}?"
        rf"\s-P(?:{_ARGUMENT})?"
        rf"|(?:plink|pscp|psftp|putty)\b[^\r\n\x00]{{0,300}}?\s-pw{_ARGUMENT}"
        r"|(?:twine upload|beeline|cqlsh|(?:oc|cf) login|evil-winrm|useradd|usermod|sshpass)\b"
        rf"[^\r\n\x00]{{0,300}}?[\s\"']-p{_ARGUMENT}"
        rf"|ldap(?:modify|add|delete|passwd|whoami)\b[^\r\n\x00]{{0,300}}?\s-w{_ARGUMENT}"
        rf"|(?:[xw]l?freerdp|mstsc)\b[^\r\n\x00]{{0,300}}?\s/p:[\"']?){_VALUE}",
        gate="given",
        true=(
            ("sqlcmd -S db -U sa -P ", "Reach!task99", ' -Q "select 1"'),
            ("plink -ssh root@h -pw ", "s3cr3tpw27", " ls"),
            ("twine upload -u a -p ", "s3cr3tpw27", " dist/*"),
            ("sudo useradd -m -p '", "s3cr3tpw27", "' bob"),
            ('["sshpass", "-p", "', "s3cr3tpw27", '", "ssh"]'),
            ("xfreerdp /u:bob /p:", "Reach!task99", " /v:10.0.0.9"),
            ("mosquitto_pub -u a -P ", "s3cr3tpw27", " -t x"),
        ),
        false=(
            "sqlcmd -P $SA_PASSWORD -Q x", "twine upload -p \"$PYPI_TOKEN\" dist/*",
            'sudo useradd -m -p "$HASH" bob', "oc login -p <password>", "ipmitool -P", "useradd -p",
            "xfreerdp /u:bob /p:$PW", "mosquitto_pub -p 1883 -t topic2",
        ),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=(
            "rabbitmqctl add_user ", "rabbitmqctl change_password ", "wpa_passphrase ",
            "ssh-keygen ", "nmcli ", "rclone config ", "smbclient ", "rpcclient ", "sudo -s <<<",
            "mc alias set ", "mc config host add ", "convertto-securestring",
        ),
        ignore_case=True,
        open_end=True,
        pattern=rf"(?:rabbitmqctl (?:add_user|change_password) {_BARE}{{1,64}}\s{{1,4}}"
        r"|wpa_passphrase (?:[^\s\"'\\\x00]{1,64}|\\{0,6}[\"'][^\"'\\\x00]{1,64}\\{0,6}[\"']) "
        r"|ssh-keygen [^\r\n\x00]{0,200}?(?-i:-[NP]) ?"
        r"|nmcli [^\r\n\x00]{0,200}? (?:password|[\w.-]*psk) "
        r"|rclone config [^\r\n\x00]{0,200}? pass(?:word)?[ =]"
        r"|(?:smb|rpc)client [^\r\n\x00]{0,200}?-U ?[\"'][^\s%\"']{1,64}%"
        r"|(?-i:sudo -S) <<< ?"
        rf"|mc (?:alias set|config host add) {_BARE}{{1,64}} {_BARE}{{1,200}} {_BARE}{{1,128}} "
        r"|convertto-securestring\s{1,4}(?:-(?:string|asplaintext|force) {1,4}){0,3})"
        rf"\\{{0,6}}[\"']?{_VALUE}",
        gate="given",
        true=(
            ("rabbitmqctl add_user worker ", "s3cr3tpw27", "\n"),
            ("wpa_passphrase HomeNet ", "Reach!task99", "\n"),
            ("nmcli dev wifi connect HomeNet password ", "s3cr3tpw27", "\n"),
            ("smbclient //srv/share -U 'bob%", "s3cr3tpw27", "'"),
            ("sudo -S <<< '", "s3cr3tpw27", "' apt update"),
            ("mc alias set s3 https://h minio ", "mF9B5f41JqM8Zq2T", "\n"),
            ('(ConvertTo-SecureString "', "Reach!task99", '" -AsPlainText -Force)'),
        ),
        false=(
            "rabbitmqctl add_user worker $PASS", "ssh-keygen -t ed25519 -N '' -f id",
            "nmcli dev wifi list", "sudo -S <<< $PW ls", "ConvertTo-SecureString $pw -AsPlainText",
        ),
    ),
    Rule(
        kind="device-password",
        family="command",
        anchors=(
            "snmp-server community ", "enable secret ", "enable password ", "password 7 ",
            "password 0 ", "secret 5 ", "secret 8 ", "secret 9 ", "set password enc ",
            "set psksecret enc ", "pre-shared-key ", "key-string ", "tacacs-server key ",
            "radius-server key ",
        ),
        ignore_case=True,
        open_end=True,
        # settings of routers and firewalls; the number says how a password is hidden
        pattern=r"(?:snmp-server community|(?:enable )?(?:secret|password)(?: \d)?"
        r"|set (?:password|psksecret) enc|pre-shared-key(?: (?:ascii-text|local|remote|\d))?"
        r"|key-string(?: \d)?|(?:tacacs|radius)-server key(?: \d)?)"
        r" [\"']?(?P<value>[^\s\"'\\\x00]{6,200})",
        gate="mixed",
        true=(
            ("snmp-server community ", "s3cr3tpw27", " RO"),
            ("username admin password 7 ", "0822455D0A16", "\n"),
            ("enable secret 9 ", "s3cr3tpw27", "\n"),
            (" set password ENC ", "mF9B5f41JqM8Zq2TxW", "\n"),
        ),
        false=(
            "snmp-server community public RO", "enable password protection", "password 7 days",
            "enable secret 5", "password 0 of 12",
        ),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=("-keypass ", "-storepass ", "-srcstorepass ", "-deststorepass ", "-destkeypass "),
        inside_word=True,
        open_end=True,
        pattern=rf"-(?:src|dest)?(?:store|key)pass [\"']?{_VALUE}",
        gate="given",
        true=(("keytool -storepass ", "s3cr3tpw27", " -keypass ", "Reach!task99", " -x"),),
        false=("keytool -storepass $PW -keypass <password>",),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=('send "', 'send -- "', 'sendline("', "sendline('"),
        before=120,
        inside_word=True,
        open_end=True,
        ignore_case=True,
        # what a script answers to the prompt
        pattern=r"p?ass(?:word|phrase)[^\r\n\x00]{0,40}[\s;{]{1,16}(?:[a-z_.]{0,24}\.)?send"
        r"(?:line\([\"']|(?: --)? \")(?P<value>[^\"'\r\n\\\x00$]{4,64})(?:\\[rn]|[\"']\))",
        gate="real",
        true=(
            ('expect "password:" ; send "', "s3cr3tpw27", '\\r"'),
            ("child.expect('Password:')\nchild.sendline('", "s3cr3tpw27", "')"),
        ),
        false=('expect "password:"; send "$pw\\r"', 'send "hello\\r"'),
    ),
    Rule(
        kind="device-password",
        family="command",
        anchors=(
            "bindpw", "rootpw", "wpa-psk", "requirepass", "masterauth", "rocommunity",
            "rwcommunity", ': PSK "', ': EAP "', ': XAUTH "', ': NTLM "', ": psk '",
        ),
        ignore_case=True,
        open_end=True,
        inside_word=True,
        # lines of settings that hold nothing but a name and its password
        pattern=r"(?:(?:bindpw|rootpw|wpa-psk|requirepass|masterauth|r[ow]community)[ \t]{1,16}"
        r"|: (?:psk|eap|xauth|ntlm) )[\"']?(?P<value>[^\s\"'\\\x00<>$]{3,64})[\"']?[ \t]{0,4}(?:"
        r"\r?\n|$)",
        gate="chosen",
        true=(
            ("bindpw ", "sesame", "\n"), ("requirepass ", "sesame", "\n"), (': PSK "', "sesame",
            '"\n'),
            ("wpa-psk ", "sesame", "\n"),
        ),
        false=("the bindpw directive is used", "rootpw secret\n", "requirepass <password>\n"),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=(
            "-passin pass:", "-passout pass:", "-password pass:", "-passin\", \"pass:",
            "--username ", "--username=", "--user ", "chpasswd <<<", "htpasswd -n", "unrar ",
            "unzip -P", "zip -P", "snmpwalk ", "snmpget ", "7z x ", "7z a ",
        ),
        inside_word=True,
        open_end=True,
        pattern=r"(?:-pass(?:in|out|word)(?: |\", \")pass:|--user(?:name)?[ =][^\s\x00]{1,64} --?p"
        r"ass(?:word|wd)?[ =]"
        r"|chpasswd <<< ?[\"']?[\w.-]{1,32}:|htpasswd -n\w*b\w* [^\s\"'\x00]{1,64} |(?:un)?zip -P ?"
        r"|(?:unrar|7z) [a-z] [^\r\n\x00]{0,80}?-p|snmp(?:walk|get) [^\r\n\x00]{0,80}?-c )"
        r"[\"']?(?P<value>[^\s\"'\\\x00$<-][^\s\"'\\\x00$]{2,80})",
        gate="chosen",
        true=(
            ("openssl rsa -passin pass:", "sesame", " -in a"),
            ("svn co --username bob --password ", "sesame", " url"),
            ("htpasswd -nb bob ", "sesame", "\n"), ("unrar x -p", "sesame", " a.rar"),
            ("snmpwalk -v2c -c ", "sesame", " host"),
        ),
        false=(
            "--user bob --password-file x", "snmpwalk -v2c -c public host", "zip -P $PW a.zip",
            "--username bob --password password",
        ),
    ),
    Rule(
        kind="device-password",
        family="command",
        anchors=("community", "username "),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:community[\"']?(?:[ \t]{0,4}[:=][ \t]{0,4}|,[ ])[\"']?|username [^\s\"']{1,64"
        r"}(?: p"
        r"rivilege \d{1,2})?"
        r" (?:password|secret) (?:\d )?)(?P<value>[^\s\"'\\\x00<>$,;(){}\[\]]{4,64})[\"']?(?:[ \t"
        r"]{0,4}(?:\r?\n|$)|[,)])",
        not_after=r"(?:^|[^\w-])community[\"']?[ \t]{0,4}[:=,][ \t]{0,4}[\"']?",
        gate="mixed",
        true=(
            ("snmp_community: ", "sesame2", "\n"), ("username bob password ", "sesame2", "\n"),
            ("username bob privilege 15 secret 0 ", "sesame2", "\n"),
        ),
        false=("snmp_community: public\n", "community: rust2024\n",
        "username and password required\n"),
    ),
)  # fmt: skip
