"""What points to a secret or names its kind: key stores, classes, algorithms, files."""

from __future__ import annotations

import re

from holdfast.redaction.randomness import looks_random


def is_reference(value: bytes) -> bool:
    """Whether a value says where a secret is or what sort it is of."""
    found = _REFERENCE.match(value)
    return found is not None and (found[1] is None or not looks_random(value))


_REFERENCE = re.compile(
    rb"""(?x)
      (?: urn | pkcs11 | spiffe | did | ref | secretref | secretsmanager | ssm | keyring | awskms
        | azurekeyvault | gcpkms | kms | classpath | resource ) : \S
    | \#/ [\w/.-]+ $                                            # within a document
    | ( [A-Za-z_]\w* (?: \. [A-Za-z_]\w* )+ : [A-Za-z_][\w.]* ) $   # a class of a module
    | [A-Z][A-Za-z0-9]* (?: :: [A-Z][A-Za-z0-9]* )+ $           # a type
    | (?i: aes | 3?des | rsa | ecdsa | ec | sha | chacha | camellia | blowfish | [hrep]s )
      -? [0-9]{1,4} (?: [-_][A-Za-z0-9]{1,12} )* $              # an algorithm
    | [^\s,]* ,/ [\w./-]+ ,                                     # a file of passwords and its realm
    | [\w./-]* \. ht(?:passwd|digest) $
    | \{ [A-Za-z_][\w.]* [(\[]                                # an expression in a string
    """
)
