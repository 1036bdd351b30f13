"""Passwords that a call hashes, wraps or opens a key with, or that answer a prompt in a test."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_Q = r"\\{0,6}[\"'`]"
_VALUE = rf"b?{_Q}(?P<value>[^\"'`\r\n\\\x00]{{3,80}}){_Q}"
_OTHER = (
    rf"(?:b?{_Q}[^\"'`\r\n\\\x00]{{0,120}}{_Q}|[\w.:$>\[\]-]{{1,48}}"
    r"(?:\([^()\r\n\x00]{0,40}\)[.\w]{0,16}(?:\(\))?)?)"
)
"""An argument before it."""

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="command",
        anchors=(
            "hashpw(", "crypt.hash(", "crypt.hashsync(", "crypt.compare(", "crypt.comparesync(",
            "crypt.encrypt(", "crypt.verify(", "frompassword([]byte(", "password([]byte(",
            "password_hash(", "password_verify(", "argon2.hash(", "argon2.verify(",
            "_sha1.hash(", "_sha256.hash(", "_sha512.hash(", "_sha1.encrypt(", "_sha256.encrypt(",
            "_sha512.encrypt(", "_sha256.verify(", "_sha512.verify(", "passwordencoder.encode(",
            "hasher.hash(", "hasher.verify(", "context.hash(", "context.verify(",
            "context.encrypt(", "hash_password(", "hashpassword(", "encrypt_password(",
            "encryptpassword(", "encode_password(", "encodepassword(", "compare_password(",
            "comparepassword(", "crypt.crypt(", "= crypt(", "secretstr(", "secretbytes(",
            "secretstring(", "securestring(", "secretstring::from(", "secretstring::new(",
            "secret::new(", "secret.from_token(", "secret.from_string(", "unsafeplaintext(",
            "bestavailableencryption(", "pbekeyspec(",
            "redis.auth(", "jedis.auth(", "communitydata(", "hash::make(", "bcrypt(",
            "setbearerauth(",
            "azurekeycredential(",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:hashpw|(?:crypt|argon2|_sha(?:1|256|512)|hasher|context)"
        r"\.(?:hash|compare|encrypt|verify)(?:sync)?|crypt\.crypt|= crypt"
        r"|(?:from)?password\(\[\]byte|password_(?:hash|verify)"
        r"|passwordencoder\.encode|(?:hash|encrypt|encode|compare)_?password"
        r"|(?:secret|secure)(?:str|bytes|string)(?:::from|::new)?|secret::new|secret\.from_(?:token|string)"
        r"|unsafeplaintext|bestavailableencryption|pbekeyspec"
        rf"|(?:redis|jedis)\.auth|communitydata|hash::make|bcrypt|setbearerauth|azurekeycredential"
        rf")\(\s{{0,16}}(?:secret ?= ?|password ?= ?)?{_VALUE}",
        gate="chosen",
        true=(
            ("bcrypt.hashpw(b'", "sesame", "', salt)"),
            ("bcrypt.hashSync('", "sesame", "', 10)"),
            ('bcrypt.GenerateFromPassword([]byte("', "sesame", '"), 10)'),
            ("generate_password_hash('", "sesame", "')"),
            ('SecretStr("', "keyboard cat", '")'),
            ("pbkdf2_sha256.hash('", "sesame", "')"),
            ("sha512_crypt.encrypt('", "sesame", "')"),
            ("crypt.crypt('", "sesame", "', salt)"),
            ('SecretString::from("', "sesame", '")'),
            ("BestAvailableEncryption(b'", "sesame", "')"),
            ('new PBEKeySpec("', "sesame", '".toCharArray(), salt)'),
            ("hash_password('", "sesame", "')"),
        ),
        false=(
            "bcrypt.hash('password', 10)", "generate_password_hash(password)",
            "password_hash('sha256')", 'SecretStr("your-key-here")', "cipher.encrypt('hello you')",
            "decrypt('some data of it')", "crypt.crypt(word, salt)",
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(
            "password_hash(", "checkpw(", "pem_private_key(", "der_private_key(", "importkey(",
            "import_key(", "private_key_file(", "load_pkcs12(", "key_and_certificates(",
            "pkcs12.decode(", "withpassphrase(", "hashandpassword([]byte(", "keystore.load(",
            "ks.load(", "execute_command(", "create_secret(", "put_secret(", "set_secret(",
            "store_secret(", "write_secret(", "add_secret(", "update_secret(",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # the hash, the key or the file comes first
        pattern=r"(?:password_hash|checkpw|(?:pem|der)_private_key|import_?key|private_key_file"
        r"|load_pkcs12|key_and_certificates|pkcs12\.decode|withpassphrase|hashandpassword"
        rf"|(?:keystore|ks)\.load|execute_command|(?:create|put|set|store|write|add|update)_secret)\(\s{{0,16}}(?:\[\]byte\()?{_OTHER}\)?,\s{{0,16}}"
        rf"(?:\[\]byte\(|password ?= ?|passphrase ?= ?)?{_VALUE}",
        not_after=r"execute_command\(\s{0,16}(?:[^\"'a]|[\"'][^a]|[\"']a[^u])[^\r\n]{0,60}",
        gate="chosen",
        true=(
            ("check_password_hash(stored, '", "sesame", "')"),
            ("load_pem_private_key(data, b'", "sesame", "', backend)"),
            ('RSA.importKey(open("a.pem").read(), "', "sesame", '")'),
            ("RSAKey.from_private_key_file(path, '", "sesame", "')"),
            ('keyStore.load(in, "', "sesame", '".toCharArray());'),
            ('CompareHashAndPassword([]byte(hash), []byte("', "sesame", '"))'),
            ("execute_command('AUTH', '", "sesame", "')"),
            ("client.create_secret(NAME, '", "sesame", "')"),
        ),
        false=(
            "check_password_hash(stored, password)", "load_pem_private_key(data, None, backend)",
            "execute_command('GET', 'sesame')", 'importKey("raw", "key")',
            "import_key(path, 'public')",
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("getpass", "read_password", "prompt_password", "ask_password", "password_prompt"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # what a test answers in place of a prompt
        pattern=r"(?:getpass|(?:read|prompt|ask)_password|password_prompt)[\w.]{0,16}[\"']?,?\s{0,8}"
        r"(?:[\"']\w{1,24}[\"'],\s{0,8})?[^\r\n\"'`=\x00]{0,24}"
        r"(?:\.return_value ?= ?|return_value ?= ?|side_effect ?= ?\[?"
        rf"|(?:= |, )?lambda[^:\r\n\x00]{{0,24}}: ?){_VALUE}",
        gate="chosen",
        true=(
            ("getpass.getpass = lambda: '", "sesame", "'"),
            ("mock_getpass.return_value = '", "sesame", "'"),
            ("@patch('getpass.getpass', return_value='", "sesame", "')"),
            ("monkeypatch.setattr('getpass.getpass', lambda _: '", "sesame", "')"),
            ("monkeypatch.setattr(getpass, 'getpass', lambda prompt: '", "sesame", "')"),
            ("getpass.side_effect = ['", "sesame", "', 'other']"),
        ),
        false=(
            "getpass.getpass('Password: ')", "getpass.getuser = lambda: name",
            "@patch('getpass.getpass', return_value='password')", "getpass.return_value = pw",
        ),
    ),
)  # fmt: skip
