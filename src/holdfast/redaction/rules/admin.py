"""What administrators' tools are given and leave behind: Windows, directories, vaults, clusters."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_HEX = "939e7578ed9e3c518a452acee763bce9a1b04f7d"
_DPAPI = "01000000D08C9DDF0115D1118C7A00C04FC297EB"
_TINK = (
    "dHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUuY3J5cHRvLnRpb",
    "R5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLmNyeXB0by50aW",
    "0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5jcnlwdG8udGlu",
)
"""`type.googleapis.com/google.crypto.tink` in base64, at each of the three places in a group."""
_CRACKED = (
    "krb5asrep", "krb5tgs", "krb5pa", "mskrb5", "keepass", "office", "oldoffice", "pkzip", "pkzip2",
    "zip2", "zip3", "rar3", "rar5", "RAR3", "7z", "bitlocker", "ansible", "sshng", "ethereum",
    "bitcoin", "electrum", "monero", "multibit", "telegram", "pdf", "luks", "gpg", "postgres",
    "mysqlna", "netntlm", "netntlmv2", "xmpp-scram", "sip", "radius", "fvde", "dmg", "keychain",
    "lp", "axcrypt", "truecrypt", "vnc", "rakp", "snmp", "snmpv3", "bks", "jksprivk", "odf",
    "itunes_backup", "blockchain", "mozilla", "dashlane", "agilekeychain", "cloudkeychain",
    "DCC2", "krb18", "krb17", "racf", "sspr", "saph", "oracle12c", "o5logon", "postgres_scram",
)  # fmt: skip
"""What crackers of passwords call the hash of a file or of an answer."""

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password-hash",
        family="key",
        anchors=tuple(f"${name}{sign}" for name in _CRACKED for sign in "$*"),
        inside_word=True,
        open_end=True,
        pattern=rf"\$(?:{'|'.join(_CRACKED)})[$*][^\s\"'`<>\\\x00]{{24,}}",
        gate="mixed",
        true=(
            ("", "$krb5asrep$23$" "svc@corp.local:" + _HEX[:32] + "$" + _HEX * 6, "\n"),
            ("", "$krb5tgs$23$" "*svc$CORP.LOCAL$http/web*$" + _HEX[:32] + "$" + _HEX * 6, "\n"),
            ("db:", "$keepass$" "*2*60000*0*" + _HEX * 3, "\n"),
            ("", "$DCC2$" "10240#bob#" + _HEX[:32], " "),
        ),
        false=("echo $office$ext", "$sip$", "$pdf$page", "$zip2$*0*3*0*"),
    ),
    Rule(
        kind="ntlm-response",
        family="key",
        anchors=(),
        inside_word=True,
        open_end=True,
        # user::DOMAIN:challenge:answer:blob, and the older form
        pattern=r"::[A-Za-z0-9_.-]{0,40}:(?P<value>[0-9A-Fa-f]{16}:[0-9A-Fa-f]{32}:[0-9A-Fa-f]{40,1000}"
        r"|[0-9A-Fa-f]{48}:[0-9A-Fa-f]{48}:[0-9A-Fa-f]{16})",
        gate="mixed",
        true=(("bob::CORP:", f"{_HEX[:16]}:{_HEX[:32]}:{_HEX * 4}", "\n"),),
        false=("std::string:1122334455667788", "a::b:" + _HEX[:16] + ":" + _HEX[:32]),
    ),
    Rule(
        kind="protected-blob",
        family="key",
        anchors=(_DPAPI,),
        ignore_case=True,
        inside_word=True,
        # a password that Windows keeps for one user: `password 51:b:…`, secure strings
        pattern=_DPAPI + "[0-9A-F]{8,}",
        gate="any",
        true=(("saved as ", _DPAPI + _HEX.upper(), "\n"),),
        false=(_DPAPI,),
    ),
    Rule(
        kind="protected-blob",
        family="key",
        anchors=("AQAAANCMnd8BFdERjHoAwE/Cl+s",),
        open_end=True,
        pattern="AQAAANCMnd8BFdERjHoAwE/Cl\\+s[A-Za-z0-9+/]{40,}={0,2}",
        gate="any",
        true=(('"', "AQAAANCMnd8BFdERjHoAwE/Cl+sBAAAA" + "mF9B5f41JqM8Zq2TxW" * 4, '"'),),
        false=("AQAAANCMnd8BFdERjHoAwE/Cl+s",),
    ),
    Rule(
        kind="keyset",
        family="key",
        anchors=_TINK,
        before=80,
        inside_word=True,
        open_end=True,
        pattern=rf"[A-Za-z0-9+/_-]{{0,72}}(?:{'|'.join(_TINK)})[A-Za-z0-9+/_-]{{4,1000}}={{0,2}}",
        gate="any",
        true=(("keyset: ", "CLDq4s8KEmQKWAow" + _TINK[1] + "5rLkFlc0djbUtleRIaEhk=", "\n"),),
        false=(_TINK[0],),
    ),
    Rule(
        kind="keyset",
        family="key",
        anchors=("google.crypto.tink.",),
        inside_word=True,
        open_end=True,
        # the secret halves; public keys stay
        pattern=r"google\.crypto\.tink\.(?:[A-Za-z0-9]{0,40}(?:Private|Aead|Siv|Prf|Poly1305|Hmac"
        r"|AesGcm|AesEax|AesCmac)[A-Za-z0-9]{0,16})\\{0,6}\"\s{0,20},\s{0,20}\\{0,6}\"value\\{0,6}\""
        r"\s{0,4}:\s{0,4}\\{0,6}\"(?P<value>[A-Za-z0-9+/_-]{4,1000}={0,2})",
        gate="any",
        true=(('"a.com/google.crypto.tink.AesGcmKey", "value": "', "GhDk8s+QwX==", '"'),),
        false=('google.crypto.tink.EcdsaPublicKey", "value": "GhDk8s+QwX=="',),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("networkcredential",),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"networkcredential(?:\]::new)?\s{0,2}\(\s{0,8}\\{0,6}[\"'][^\"'\r\n\\\x00]{0,64}\\{0,6}[\"'],"
        r"\s{0,8}\\{0,6}[\"'](?P<value>[^\"'\r\n\\\x00]{3,128})\\{0,6}[\"']",
        gate="chosen",
        true=(
            ('[Net.NetworkCredential]::new("admin", "', "W1nter!", '")'),
            ('new NetworkCredential("svc", "', "tiger", '", "CORP");'),
        ),
        false=('new NetworkCredential("svc", password)', 'NetworkCredential("", securePassword)'),
    ),
    Rule(
        kind="command-password",
        family="command",
        anchors=("psexec", "paexec", "wmic /node", "schtasks ", "winexe ", "cmdkey ", "net use "),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:(?:psexec|paexec)[^\r\n\x00]{0,300}?\s[-/]p\s{1,4}"
        r"|wmic [^\r\n\x00]{0,200}?/password:"
        r"|(?:schtasks|cmdkey) [^\r\n\x00]{0,200}?\s/(?:rp|pass:|p)[ :]?"
        r"|winexe [^\r\n\x00]{0,200}?-U ?[\"']?[^\s%\"']{1,64}%"
        r"|net use [^\r\n\x00]{1,120}? /user:[^\s\"'\\\x00]{1,64}(?:\\{1,4}[^\s\"'\\\x00]{1,64})? )"
        r"[\"']?(?P<value>[^\s\"'%$<\x00-][^\s\"'\x00]{2,127})",
        gate="chosen",
        true=(
            ("psexec \\\\10.0.0.9 -u Administrator -p ", "braksha7", " cmd"),
            ("PsExec.exe \\\\host -u CORP\\bob -p ", "dev_adm1n", " -i calc.exe"),
            ("wmic /node:10.0.0.9 /user:bob /password:", "Reach!task99", " os"),
            ("cmdkey /add:srv /user:bob /pass:", "s3cr3tpw27", "\n"),
        ),
        false=("psexec -u bob -p %PW% cmd", "psexec -u bob -p $Password", "cmdkey /list"),
    ),
    Rule(
        kind="unseal-key",
        family="command",
        anchors=("operator unseal ", "operator rekey ", "operator generate-root "),
        open_end=True,
        pattern=r"operator (?:unseal|rekey|generate-root) "
        r"(?:-[a-z-]{2,30}(?:=[^\s\"'\\\x00]{1,80})? ){0,4}[\"']?(?P<value>[A-Za-z0-9+/=]{40,90})",
        gate="random",
        true=(("vault operator unseal ", "kV7mo2ylRhVbOi+3o5ub6PbP343ocFUVORgSYeypMDjh", "\n"),),
        false=("vault operator unseal $KEY", "vault operator unseal -reset"),
    ),
    Rule(
        kind="crumb",
        family="header",
        anchors=("jenkins-crumb", ".crumb"),
        ignore_case=True,
        inside_word=True,
        pattern=r"(?:jenkins-crumb|\.crumb)\\{0,6}[\"']?\s?[:=,]\s{0,2}\\{0,6}[\"']?"
        r"(?P<value>[A-Za-z0-9+/=_.-]{16,200})",
        gate="random",
        true=(("-H 'Jenkins-Crumb:", _HEX[:32], "'"), (".crumb=", _HEX, "&json=")),
        false=("Jenkins-Crumb: $CRUMB", "jq .crumb: the name of it"),
    ),
    Rule(
        kind="bootstrap-token",
        family="command",
        anchors=("kubeadm token ",),
        pattern=r"kubeadm token (?:create|delete) (?P<value>[a-z0-9]{6}\.[a-z0-9]{16})",
        gate="mixed",
        true=(("kubeadm token create ", "07401b.f395accd246ae52d", "\n"),),
        false=("kubeadm token list", "kubeadm token create --print-join-command"),
    ),
)  # fmt: skip
