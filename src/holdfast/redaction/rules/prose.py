"""Passwords beside the word for it in other languages than English and German."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.redaction.rule import Rule

_WORDS = (
    "contrase\u00f1a", "Contrase\u00f1a", "mot de passe", "Mot de passe", "senha", "Senha",
    "has\u0142o", "Has\u0142o", "wachtwoord", "Wachtwoord", "l\u00f6senord", "L\u00f6senord",
    "parola", "Parola",
    "adgangskode", "Adgangskode", "salasana", "Salasana", "kennwort", "Kennwort", "\u015fifre",
    "\u015eifre", "m\u1eadt kh\u1ea9u", "M\u1eadt kh\u1ea9u",
    "\u043f\u0430\u0440\u043e\u043b\u044c",
    "\u041f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4",
    "\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
    "\u05e1\u05d9\u05e1\u05de\u05d4",
)  # fmt: skip
"""Spanish, French, Portuguese, Polish, Dutch, Swedish, Italian and Turkish, Danish, Finnish,
German, Vietnamese, Russian, Chinese, Japanese, Korean, Arabic, Hebrew."""


_IS = (
    "is", "ist", "lautet", "lautet:", "est", "est:", "es", "es:", "\u00e9", "\u00e9:", "\u00e8",
    "\u00e8:", "jest", "jest:", "to", "\u00e4r", "er", "on", "\u044d\u0442\u043e", "\u2014", "-",
)  # fmt: skip
"""How these languages say that it is; a blank stands on either side."""
_IS_TIGHT = (":", "=", "\uff1a", "\u306f", "\u662f", "\u4e3a", "\ub294", "\uc740")
"""The same without blanks: the colon of full width, and what Chinese, Japanese and Korean have."""


def _bytes_of(word: str) -> str:
    return "".join(chr(b) if b < 128 else f"\\x{b:02x}" for b in word.encode())


def _any_of(words: Sequence[str]) -> str:
    return f"(?:{'|'.join(map(_bytes_of, words))})"


RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="prose",
        anchors=_WORDS,
        inside_word=True,
        open_end=True,
        # what the password is for may stand between; words of three bytes a letter are no value
        pattern=rf"{_any_of(_WORDS)}\\{{0,6}}[\"'`]?"
        r"(?:[ \t][^\s:=\"'`\\\x00]{1,24}){0,4}?[ \t]{0,4}"
        rf"(?:{_any_of(_IS_TIGHT)}[ \t]{{0,8}}|[ \t]{_any_of(_IS)}[ \t]{{1,4}})"
        r"\\{0,6}[\"'`]?(?P<value>[^\s\"'`\\\x00,;\xe0-\xff]{6,128})",
        gate="bare",
        true=(
            ("contrase\u00f1a: ", "s3cr3tpw27", "\n"),
            ("\u5bc6\u7801\uff1a", "Reach!task99", "\n"),
            ("\u041f\u0430\u0440\u043e\u043b\u044c: ", "s3cr3tpw27", "\n"),
            ("Mot de passe : ", "s3cr3tpw27", "\n"),
            ("La contrase\u00f1a de la base es ", "Reach!task99", " y nada m\u00e1s"),
            ("le mot de passe est ", "s3cr3tpw27", "\n"),
            ("A senha \u00e9 ", "s3cr3tpw27", "\n"),
            ("\u043f\u0430\u0440\u043e\u043b\u044c \u0431\u0430\u0437\u044b: ", "s3cr3tpw27", "\n"),
            ("\u30d1\u30b9\u30ef\u30fc\u30c9\u306f", "s3cr3tpw27", "\u3067\u3059"),
            ("\ube44\ubc00\ubc88\ud638\ub294 ", "s3cr3tpw27", " \uc785\ub2c8\ub2e4"),
        ),
        false=(
            "mot de passe : obligatoire", "\u5bc6\u7801: <password>", "parola: una",
            "senha: ${SENHA}", "La contrase\u00f1a es obligatoria, 8 o m\u00e1s",
            "A senha \u00e9 inv\u00e1lida", "\u5bc6\u7801\uff1a\u81f3\u5c118\u4f4d",
            "\u30d1\u30b9\u30ef\u30fc\u30c9\u306f8\u6587\u5b57\u4ee5\u4e0a\u3067\u3059",
            "le mot de passe est obligatoire (8 caract\u00e8res)",
        ),
    ),
    Rule(
        kind="password",
        family="prose",
        anchors=tuple(
            f"{word} {tie}{quote}"
            for word in ("password", "passphrase")
            for tie in (
                "", "of ", "is ", "such as ", "like ", "supplied as ", "set to ", "was ", "be ",
                "as ", "to ", "e.g. ", "will be ", "would be ", "being ",
            )
            for quote in ("\"", "'", "`")
        ),
        before=24,
        inside_word=True,
        ignore_case=True,
        open_end=True,
        # a sentence names it, in quotes
        pattern=r"(?:^|[\s(])(?:the|a|with|using|use|default|its|and|is|as|root|admin|user|whose|h"
        r"as|my|for a)"
        r" (?:default |new |old |initial |root |admin |user )?(?:password|passphrase) (?:of |is |s"
        r"uch as |like |supplied as |set to |was |(?:will |would )?be |as |to "
        r"|being |e\.g\. )?[\"'`]{1,3}(?P<value>[^\s\"'`\\\x00]{3,64})[\"'`]{1,3}",
        gate="chosen",
        true=(
            ('using the password "', "swordfish", '".'),
            ("For a password such as ``\"", "P@ssw%rd", "\"``::"),
            ("the default password is `", "raspberry", "`"),
            ("with password '", "tiger", "' for bob"),
        ),
        false=(
            'the password "field" is needed', "a password 'must' be set",
            'use the password "prompt"',
            "with password `None`", 'the password "%s" is too short',
        ),
    ),
    Rule(
        kind="password",
        family="prose",
        anchors=("password> ", "passwd> ", "password:> ", "password for ", "enter password: ",
                 "(password: ", "password? "),
        ignore_case=True,
        open_end=True,
        # what somebody answers to a prompt, alone up to the end of its line
        pattern=r"(?:(?:password|passwd):?> |\(password: |(?:enter password|password for [\w.@'-]{"
        r"1,40}): "
        r"|password\? )(?P<value>[^\s\"'`<>(){}\[\]$\\\x00,;.]{4,40})"
        r"(?:[ \t]{0,4}(?:\r?\n|$)|\)|\.(?:\s|$))",
        gate="chosen",
        true=(
            ("username> bob\npassword> ", "passw0rd", "\n"), ("(password: ", "raspberry", ")"),
            ("Enter password: ", "raspberry", "\n"),
            ("[sudo] password for bob: ", "raspberry", "\n"),
        ),
        false=(
            "login with password authentication", "Enter password: \n", "password> ",
            "(password: str)",
            "with password protection.", "Enter password: ****\n", "with password hashing.\n",
        ),
    ),
    Rule(
        kind="password",
        family="prose",
        anchors=(
            "and password ", "and password: ", ", password: ", "/ password: ", ", password ",
            "; password: ", "/password: ", "and the password ", "and pass: ", ", pass: ",
        ),
        before=64,
        ignore_case=True,
        open_end=True,
        # a user is named before it
        pattern=r"(?:user(?:name)?|login|account)(?: is|:| name:?)? ?"
        r"[\"'`*]{0,2}[\w.@-]{1,32}[\"'`*]{0,2}"
        r"(?:[,;]? and(?: the)?|[,;]| ?/) ?pass(?:word)?(?: is)?:? [\"'`*]{0,2}"
        r"(?P<value>[^\s\"'`,;.(){}\[\]<>$\\\x00*]{4,40})[\"'`*]{0,2}(?:[\s.,;)]|$)",
        gate="chosen",
        true=(
            ("Log in with user pi and password ", "raspberry", ".\n"),
            ("username: pi, password: ", "raspberry", "\n"),
            ("(user: admin, password: ", "admin1", ")"),
            ("use login `root` / password: `", "calvin", "`"),
        ),
        false=(
            "user name and password are needed", "a user and password authentication",
            "username: str, password: str", "the user admin and password field",
            "login and password protection", "&BasicAuth{Username: user, Password: pass}",
            "def f(user: User, password: SecretStr)",
        ),
    ),
)  # fmt: skip
