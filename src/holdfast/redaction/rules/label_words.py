"""What texts about a password are made of, and passwords are not, as data."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LABEL_WORDS = _words(
    """
    password passwords passwd passphrase passcode pass pwd pw psw pin secret secrets token tokens
    key keys api apikey access auth authorization authentication authenticated bearer client cred
    creds credential credentials user users username name names login logout signin signup value
    values val string strings str text input output prompt param params parameter field fields
    config configuration setting settings environ environment env variable var result response
    request default defaults required require requires optional option options invalid incorrect
    missing expired expire expires expiry valid validate validation validator null none nil
    undefined undef object array list dict map number numeric integer int float double boolean bool
    bytes byte char varchar nvarchar unicode buffer bytearray blob uuid any void never unknown hash
    hashed hashing hasher crypt bcrypt argon scrypt pbkdf encrypted encrypt encryption plain
    plaintext clear cleartext hidden hide show visible mask masked redact redacted filtered sample
    example fake dummy demo mock stub test tests testing foo bar baz qux quux foobar xxx abc enter
    type typed your my our his their the an some this that these new old current existing
    previous next confirm confirmed confirmation again repeat retype reset change changed changeme
    update updated forgot forgotten lost generate generated random manual auto automatic vault file
    filename path dir url uri http https empty blank exist exists enabled disabled enable disable
    wrong correct bad good match matches matching mismatch need needs needed found not is was are be
    been has have must should will can cannot no yes off too short long weak strong medium fair min
    max minimum maximum length size least most than characters chars character letter letters digit
    digits special symbol symbols uppercase lowercase allow allowed deny denied reject rejected
    error errors fail failed failure success ok false true sha1 sha256 sha512 md5 base64 utf8 aes
    rsa arg args data db database server service app application session id temp temporary header
    headers query body json form label title message msg hint help description desc and or of for to
    in on with as from at by store manager provider helper grant oauth oauth2 jwt basic digest
    signature sign encoded encoder encode decode private public shared account email mail phone code
    otp mfa totp policy rule rules backend module class method function attr attribute property
    column table row schema model view page button link icon placeholder symbol operator identifier
    keyword literal comment scope scopes callback redirect realm guard utf ascii latin
    scheme header prefix format bearertoken
    end start begin eof set unset get put only self all already used
    please protection support based only less protected prompts manager managers database databases
    stdin stdout keychain keyring interactive interactively rotation recovery managed
    """
)
"""A value that consists of these alone, with joints and a small number, says nothing itself."""

SECRET_LABELS = _words(
    """
    password passwords passwd passphrase passcode pass pwd pw psw pin secret secrets token tokens
    key keys auth authentication cred creds credential credentials user username login reset
    """
)
"""Those that speak of a secret wherever they stand: `current-db-password`."""

MESSAGE_WORDS = _words(
    """
    must required requires require enter please invalid incorrect wrong your cannot should least
    characters confirm forgot forgotten reset match matches empty missing optional needed password
    passwords password's passphrase field value default user users username when where which
    whether used using error failed click
    """
)
"""Any of these among several words makes them a message or a label."""

FOREIGN_WORDS = (
    r"passwor[td]|kennwort|mot de passe|contrase|senha|wachtwoord|l\xc3\xb6senord|adgangskode"
    r"|salasana|has\xc5\x82o|parola|parol\xc4\x83|heslo|jelsz|lozinka|geslo|slapta|\xc5\x9fifre|contrasenya"
    r"|passord|parool|palavra|clave|m\xe1\xba\xadt kh\xe1\xba\xa9u|kata sandi|sandi"
)
"""The word for a password in other languages of Latin letters, as bytes of UTF-8."""

HASH_WORDS = _words("hash hashed hasher encrypted")
"""What a call does with a password that it is given."""

NAME_SAYS_MORE = _words(
    """
    error errors err label labels message messages msg placeholder placeholders text texts i18n
    translation translations locale help hint hints title titles validator validators validation
    rule rules type types schema field fields column columns icon strength policy reset forgot
    forgotten change show hide toggle invalid missing wrong bad no has is require requires required
    hash hashed hasher encrypted
    """
)
"""Beside the secret word these make a name that of a text about it: `errors.password`."""

READING_VERBS = _words(
    """
    get read ask prompt input find load fetch delete remove has forgot reset request display label
    show hide toggle is need require clear lookup retrieve query select render open parse no
    invalid missing bad wrong unknown expect generate random print log warn error raise fail
    enter confirm include contain contains filter mask scrub redact
    """
)
"""What starts the name of a call whose argument is no password: `get_password("section")`."""
