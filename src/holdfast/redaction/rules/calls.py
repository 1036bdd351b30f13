"""Keys that a call gives away: what signs, seals or decodes takes a literal only as its key."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_Q = r"\\{0,6}[\"'`]"
_KEY = "s3cr3t-k3y-27xY"
_HEX = "4e1243bd22c66e76c2ba9eddc1f91394"
_BASE64 = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
_SAFE = "qC57l_uxcm7Nm3K-ct4GFjx8tM1U8CZ0NLBvdQstiS8"
_DECODE = (
    "b64decode(", "unhexlify(", "fromhex(", "hex2bin(", "base64_decode(", "decode64(",
    "base64.decode(", "hex.decodestring(", "base64.stdencoding.decodestring(", "buffer.from(",
    "hex::decode(", "frombase64string(", "hex.decode(", "decodehex(", "parsehexbinary(",
    "from_hex(",
    "decodebase64(", "from_base64(", "hextobytes(", "hexstringtobytearray(", "unhex(",
    "decode_hex(",
    "hex_to_bytes(",
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    Rule(
        kind="signing-key",
        family="key",
        anchors=tuple(
            f"jwt{joint}{name}(" for joint in (".", "::")
            for name in ("encode", "decode", "sign", "verify")
        ),
        ignore_case=True,
        inside_word=True,
        pattern=r"jwt(?:\.|::)(?:encode|decode|sign|verify)\(\s{0,16}"
        r"(?:\{[^{}\x00]{0,200}(?:\{[^{}\x00]{0,100}\}[^{}\x00]{0,100})?\}|[^\r\n\"'`{}\x00]{1,80"
        r"}?),\s{0,16}(?:key ?= ?|secret ?= ?)?b?"
        rf"{_Q}(?P<value>[^\"'`\r\n\x00\\]{{6,128}}){_Q}",
        true=(
            ('jwt.encode(payload, "', _KEY, '", algorithm="HS256")'),
            ('jwt.encode({"some": "payload"}, "', _KEY, '")'),
            ("jwt.sign({ id: 1 }, '", "whysosilly?", "')"),
            ("JWT::decode($token, '", _KEY, "')"),
        ),
        false=(
            "jwt.decode(token, key, algorithms=['HS256'])", "jwt.encode(payload, 'secret')",
            'jwt.decode(token, os.environ["SECRET"])',
        ),
    ),
    Rule(
        kind="signing-key",
        family="key",
        anchors=(
            "hmac.new(", "createhmac(", "fernet(", "aes.new(", "urlsafeserializer(",
            "timedserializer(",
            "signatureserializer(", " serializer(", "signer(",
            "createcipheriv(", "createdecipheriv(", "createcipher(", "createdecipher(",
            "secretkeyspec(", "hmacsha256(", "hmacsha1(", "hmacsha512(", "hash_hmac(",
            "hmac256(", "hmac384(", "hmac512(", "hmacshakeyfor(", "from_secret(",
            "signedstring(", "signwith(", "symmetricsecuritykey(", "hexdigest(", "hmac.digest(",
            "cookieparser(", "algorithms.aes(", "newcipher(", "aesgcm(", "poly1305(",
            "aes.encrypt(", "aes.decrypt(", "openssl_encrypt(", "openssl_decrypt(",
            "secretbox(", "des.new(", "des3.new(", "blowfish.new(", "arc4.new(",
            "cookiestore(", "setsigningkey(", "new_from_slice(b",
        ),
        ignore_case=True,
        inside_word=True,
        pattern=rf"(?:(?:(?:aes|des3?|blowfish|arc4)\.new|fernet|signer|secretkeyspec|hmac(?:256|384|512)"
        rf"|hmacshakeyfor|from_secret|cookieparser|algorithms\.aes|aesgcm|poly1305|secretbox"
        rf"|hmacsha(?:1|256|512)|setsigningkey)\(\s{{0,16}}"
        rf"|hmac\.new\(\s{{0,16}}(?:\w{{2,12}}\.new,\s{{0,8}}(?:\[\]byte\()?)?"
        rf"|(?:signedstring|newcipher|cookiestore)\((?:\[\]byte\()?"
        rf"|signwith\(\s{{0,8}}[\w.]{{2,40}},\s{{0,8}}"
        rf"|symmetricsecuritykey\([\w.]{{0,40}}getbytes\("
        rf"|(?:hmac\.|hex)digest\(\s{{0,8}}{_Q}sha-?[0-9]{{1,3}}{_Q},\s{{0,8}}|new_from_slice\("
        rf"|(?:urlsafe|timed|signature)serializer\(\s{{0,16}}| (?-i:Serializer)\(\s{{0,16}}"
        rf"|create(?:hmac|(?:de)?cipher(?:iv)?)\(\s{{0,8}}{_Q}[\w-]{{3,24}}{_Q},\s{{0,16}}"
        rf"|openssl_(?:en|de)crypt\([^\r\n,\x00]{{1,80}},\s{{0,8}}{_Q}[\w-]{{3,24}}{_Q},\s{{0,8}}"
        rf"|hash_hmac\(\s{{0,8}}{_Q}[\w-]{{3,24}}{_Q},[^\r\n,\x00]{{1,80}},\s{{0,16}}"
        rf"|aes\.(?:en|de)crypt\([^\r\n,\x00]{{1,80}},\s{{0,16}}"
        rf"|hmacsha256\([^\r\n,\x00]{{1,80}},\s{{0,16}})(?:key ?= ?|secret_key ?= ?)?b?"
        rf"{_Q}(?P<value>[^\"'`\r\n\x00\\]{{6,128}}){_Q}",
        gate="chosen",
        true=(
            ("hmac.new(b'", _KEY, "', body, sha256)"),
            ("createHmac('sha256', '", _KEY, "')"),
            ("Fernet(b'", "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=", "')"),
            ("AES.new(b'", "Sixteen byte k27", "', AES.MODE_CBC, iv)"),
            ('URLSafeTimedSerializer("', _KEY, '")'),
            ("hash_hmac('sha256', $data, '", _KEY, "')"),
            ('Algorithm.HMAC256("', "swordfish", '")'),
            ('token.SignedString([]byte("', "swordfish", '"))'),
            ('EncodingKey::from_secret("', "swordfish", '".as_ref())'),
            ('hmac.New(sha256.New, []byte("', "swordfish", '"))'),
            ("OpenSSL::HMAC.hexdigest('SHA256', '", "swordfish", "', data)"),
            ("OpenSSL::HMAC.digest('sha256', '", "swordfish", "', data)"),
            ('HmacSha256::new_from_slice(b"', "swordfish", '")'),
            ("CryptoJS.AES.encrypt(text, '", "swordfish", "')"),
            ("openssl_encrypt($d, 'aes-256-cbc', '", "swordfish", "')"),
            ("itsdangerous.Signer('", "swordfish", "')"),
        ),
        false=(
            "hmac.new(key, b'message of it')", "Fernet(key)", 'createHash("sha256")',
            "m.hexdigest()", "Signer(key)", "hmac.new(secret, 'some-message')",
        ),
    ),
    Rule(
        kind="key",
        family="key",
        anchors=_DECODE,
        ignore_case=True,
        inside_word=True,
        before=96,
        not_after=r"pub[^\r\n]{0,76}|nonce[^\r\n]{0,76}|salt[^\r\n]{0,76}|iv ?:?=[^\r\n]{0,76}",
        # key = base64.b64decode("…"), secret, _ := hex.DecodeString("…")
        pattern=r"(?:key|secret|psk|password|seed)[A-Za-z0-9_]{0,16}\]?(?:,[ ]?[a-z_]{1,4})?"
        r"[ \t]{0,4}(?::?=|:)[ \t]{0,4}[A-Za-z_][\w.:]{0,40}\((?:\s|b)?"
        rf"{_Q}(?P<value>[A-Za-z0-9+/_-]{{16,}}={{0,2}}){_Q}",
        gate="random",
        true=(
            ("key = base64.b64decode('", _BASE64, "')"),
            ('key, _ := hex.DecodeString("', _HEX, '")'),
            ("aesKey = Buffer.from('", _HEX, "', 'hex')"),
            ("secret := hex.DecodeString('", _HEX, "')"),
        ),
        false=(
            f"public_key = base64.b64decode('{_BASE64}')", f"digest = bytes.fromhex('{_HEX}')",
            "key = base64.b64decode(text)",
        ),
    ),
    Rule(
        kind="key",
        family="key",
        anchors=(
            "key = b", "key=b", "key: b", 'key = "', 'key="', "key = '", "key='",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        not_after=r"(?:pub|nonce|salt|sort|iv)[^\r\n]{0,60}",
        # key material byte by byte: "\x2b\x7e…", {0x2b, 0x7e, …}
        pattern=r"key(?:\[\d{0,3}\])?[ \t]{0,4}(?::=|=|:)[ \t]{0,4}b?[\"'](?P<value>(?:\\{1,2}x[0-"
        r"9a-f]{2}|[ !#-&(-Z^-~]){6,256})[\"']",
        gate="escaped",
        true=(
            ('key = b"', "\\x2b\\x7e\\x15\\x16\\x28\\xae\\xd2\\xa6", '"'),
        ),
        false=('key = b"plain"', 'key = "\\x00"', "key = [1, 2, 3]"),
    ),
    Rule(
        kind="key",
        family="key",
        anchors=(
            "key = [", "key = {", "key[] = {", "key := []byte{", "key = new byte[", "key: [",
            "key = bytes([", "key = bytearray([", "key = vec![", "key[16] = {", "key[32] = {",
            "key[24] = {", "key[8] = {", "key = (byte[]){", "key{", "key = uint8array",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        not_after=r"(?:pub|nonce|salt|sort|iv)[^\r\n]{0,60}",
        # {0x2b, 0x7e, …}
        pattern=r"key(?:\[\d{0,3}\])?[ \t]{0,4}(?::=|=|:|)[ \t]{0,4}(?:new )?[\w\[\]().!]{0,24}\s?"
        r"[\[{(]{1,2}\s{0,16}"
        r"(?P<value>0x[0-9a-f]{1,2}(?:,\s{0,24}0x[0-9a-f]{1,2}){7,})",
        gate="any",
        true=(
            ("byte[] key = {", "0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6", "};"),
            ("key := []byte{", "0x2b, 0x7e, 0x15, 0x16,\n 0x28, 0xae, 0xd2, 0xa6", "}"),
        ),
        false=("key = [0x01, 0x02]",
        "public_key = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6}"),
    ),
    Rule(
        kind="key",
        family="key",
        anchors=("priv:", "privateexponent:", "prime1:", "prime2:", "exponent1:", "exponent2:",
                 "coefficient:"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # what openssl prints of a private key
        pattern=r"(?:priv|privateexponent|prime[12]|exponent[12]|coefficient):\s{1,24}"
        r"(?P<value>(?:[0-9a-f]{2}:\s{0,24}){7,}[0-9a-f]{2})",
        gate="any",
        true=(("priv:\n    ", "00:e4:f2:01:aa:bc:17:92:3c:\n    44:5f:61", "\npub:"),),
        false=("pub:\n    04:e4:f2:01:aa:bc:17:92:3c", "priv: yes"),
    ),
    Rule(
        kind="key",
        family="key",
        anchors=("\"k\":", "'k':", "\"k\" :", "'k' :"),
        inside_word=True,
        in_pieces=True,
        # the symmetric part of a JSON web key
        pattern=r"[\"']k[\"'] ?: ?[\"'](?P<value>[A-Za-z0-9_-]{22,1000})",
        gate="unnamed",
        true=(
            ("{\"alg\": \"HS256\", \"k\":\"", _SAFE, "\"}"),
            ("'\"k\":\"", _SAFE[:30], "' + \\\n    b'", _SAFE[30:], "\"}'"),
        ),
        false=('{"k": "a_long_name_of_the_thing_in_it"}', '{"k": 20, "n": 1}'),
    ),
    Rule(
        kind="authorization-code",
        family="key",
        anchors=(
            "code_verifier", "codeverifier", "code-verifier", "authorization_code", "auth_code",
            "authorizationcode", "authcode", "device_code", "devicecode",
        ),
        ignore_case=True,
        inside_word=True,
        pattern=r"(?:code[_-]?verifier|auth(?:orization)?_?code|device_?code)(?:\\{0,6}[\"'`])?\]?"
        r"[ \t]{0,4}(?:[:=]{1,3}>?|,)[ \t]{0,4}b?\\{0,6}[\"'`]?"
        r"(?P<value>[A-Za-z0-9._~/+%-]{12,256})",
        gate="unnamed",
        true=(
            ("&code_verifier=", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "&x=1"),
            ('"code_verifier": "', "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", '"'),
            ("authorization_code = '", "SplxlOBeZQQYbYS6WxSbIA", "'"),
        ),
        false=(
            "grant_type=authorization_code&client_id=s6BhdRkqt3", "code_verifier = make_verifier()",
            "'authorization_code', 'client_credentials_grant'",
        ),
    ),
    Rule(
        kind="authorization-code",
        family="key",
        anchors=("code=",),
        ignore_case=True,
        # code=…&state=…, grant_type=authorization_code&code=…
        pattern=r"code=(?P<value>[A-Za-z0-9._~%/+-]{6,256})&(?:amp;)?"
        r"(?:state|client_id|redirect_uri|grant_type|scope|session_state|client_secret|iss)=",
        gate="mixed",
        open_end=True,
        true=(
            ("grant_type=authorization_code&code=", "i1WsRn1uB1", "&client_id=s6"),
            ('"code=', "SplxlOBeZQQYbYS6WxSbIA", '&state=xyz"'),
        ),
        false=("code=invalid&state=x", "code=404"),
    ),
    Rule(
        kind="authorization-code",
        family="key",
        anchors=("oauth_verifier", "oauthverifier", "user_code", "usercode", "device?code="),
        ignore_case=True,
        inside_word=True,
        pattern=r"(?:oauth_?verifier|user_?code|device\?code=)\\{0,6}[\"'`]?\]?[ \t]{0,4}(?:={1,3}"
        r">?|:|,|)[ \t]{0,4}"
        r"(?:b?\\{0,6}[\"'`])?(?P<value>[A-Za-z0-9]{4}-[A-Za-z0-9]{4}|[A-Za-z0-9_.~-]{6,128})\\{0,6}[\"'`&\s,)]",
        gate="ticket",
        open_end=True,
        true=(
            ("&oauth_verifier=", "hfdp7dh39dks9884", "&x=1"), ('"oauth_verifier": "', "473f82d3",
            '"'),
            ('"user_code": "', "WDJB-MJHT", '"'), ("login/device?code=", "BCDF-GHJK", " "),
        ),
        false=(
            "oauth_verifier = request.args", "user_code: str ", 'oauth_verifier="verifier"',
            "user_code = make_user_code ",
        ),
    ),
    Rule(
        kind="authorization-code",
        family="key",
        anchors=('"code"', "'code'", "code="),
        # the code that is given for a token, where the words beside it say so
        pattern=r"[\"']?code[\"']?[ ]?[:=,][ ]?[\"'](?P<value>[A-Za-z0-9._~/+-]{12,256})[\"']"
        r"[^{}\x00]{0,200}(?:authorization_code|redirect_uri|client_id|client_secret|[\"']state[\"']|grant_type)",
        gate="unnamed",
        inside_word=True,
        open_end=True,
        true=(
            ('"code": "', "SplxlOBeZQQYbYS6WxSbIA", '", "grant_type": "authorization_code"'),
            ("code='", "SplxlOBeZQQYbYS6WxSbIA", "', redirect_uri=x"),
        ),
        false=('"code": "invalid_grant_of_it", "client_id": 1', '"code": "SplxlOBeZQQYbYS6WxSbIA"'),
    ),
    Rule(
        kind="cookie",
        family="header",
        anchors=("cookie",),
        ignore_case=True,
        inside_word=True,
        # cookies={"session": "…"}, set_cookie("sid", "…"), cookies["session"] == "…"
        pattern=r"cookies?(?:jar)?[\"'`]?[\])]{0,2}[ \t]{0,4}(?:[:=]{1,2}[ \t]{0,4}[{\[(]?\s{0,16}"
        r"(?:dict\()?|\.[a-z_]{2,12}\(|\(|\[)\s{0,16}"
        r"(?:[\"'`][\w.-]{1,40}[\"'`]: ?[\"'`][^\"'`\r\n\x00]{0,80}[\"'`],\s{0,24}){0,3}[\"'`]"
        r"[\w.-]{0,24}(?:sess|sid|auth|token|csrf|xsrf|jwt|remember|login)[\w.-]{0,24}[\"'`]"
        r"[\])]{0,2}[ \t]{0,3}(?:={1,3}>?|!=|:|,)[ \t]{0,3}b?"
        r"[\"'`](?P<value>[^\s\"'`;,\\\x00]{5,1000})[\"'`]",
        gate="mixed",
        true=(
            ("cookies={'session': '", "test123", "'}"),
            ('cookies = {"lang": "en", "sessionid": "', "38afes7a8", '"}'),
            ("response.set_cookie('session_id', '", "zx81kk20a", "')"),
            ("client.cookies.set('sid', '", "zx81kk20a", "')"),
            ('new Cookie("JSESSIONID", "', "zx81kk20a", '")'),
            ('data["request_cookies"].get("session") == "', "zx81kk20a", '"'),
        ),
        false=(
            'cookies={"theme": "dark2024"}', 'cookies["session"] = session_id',
            "COOKIE_NAME = 'session'", 'set_cookie("session", "")',
        ),
    ),
    Rule(
        kind="environment",
        family="field",
        anchors=("setenv(", "putenv(", "set_env(", "setenvironmentvariable(", "setproperty("),
        ignore_case=True,
        inside_word=True,
        pattern=rf"(?:setenv|putenv|set_env|setenvironmentvariable|setproperty)\(\s{{0,16}}{_Q}"
        r"[\w.-]{0,60}(?:token|secret|passw(?:or)?d|pwd|key|pat|credentials?)"
        rf"(?:=|{_Q},\s{{0,16}}{_Q})(?P<value>[^\s\"'`\\\x00]{{6,256}}){_Q}",
        gate="mixed",
        true=(
            ('monkeypatch.setenv("PYPI_TOKEN", "', "magic-two7", '")'),
            ("putenv('API_KEY=", "zx81kk20a", "')"),
            ('t.Setenv("DB_PASSWORD", "', "zx81kk20a", '")'),
        ),
        false=('setenv("TOKEN", "secret")', 'setenv("KEY", value)', 'setenv("PATH", "/a1/b2c3")'),
    ),
)  # fmt: skip
