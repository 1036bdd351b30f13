"""Tokens of vendors with more structure than a prefix, keys of chains, keys in addresses."""

from __future__ import annotations

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules.vendor_form import (
    ANY_UUID,
    UUID,
    alnum,
    base32,
    digits,
    hexes,
    lower,
    shape,
    token,
    url_safe,
)

_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
_BECH32 = "[02-9ac-hj-np-z]"
_DRAWN58 = "".join(c for c in alnum(480) if c not in "0OIl")
_DRAWN32 = "".join(c for c in lower(480) if c not in "1bio")

RULES = (
    token(
        "convex-key",
        ("prod:", "dev:", "preview:", "project:"),
        r"[\w-]{2,60}(?::[\w-]{2,60})?\|[\w.+/-]{40,1000}={0,2}",
        "prod:happy-otter-123|" + alnum(60) + "==",
        "preview:my-team:my-project|eyJ" + url_safe(40) + "." + url_safe(30) + "==",
        false=("prod:|a", "dev:a|b", "preview:team:project|"),
        gate="mixed",
        inside=False,
    ),
    shape(
        "bitwarden-token",
        (),
        rf"0\.{ANY_UUID}\.[A-Za-z0-9]{{28,32}}:[A-Za-z0-9+/]{{22}}={{0,2}}",
        f"0.{UUID}." + alnum(30) + ":" + alnum(22) + "==",
        false=("0.5", f"0.{UUID}"),
    ),
    shape(
        "azure-runtime-key",
        "IR@",
        rf"IR@{ANY_UUID}@[\w.@-]{{2,160}}@[A-Za-z0-9+/=]{{40,60}}",
        f"IR@{UUID}@factory@ServiceEndpoint@" + alnum(43) + "=",
        false=("IR@home",),
    ),
    token(
        "ebay-token",
        "v^1.1#",
        r"[A-Za-z0-9^#+/=]{60,1000}",
        "v^1.1#i^1#p^3#r^1#f^0#I^3#t^" + alnum(120) + "==",
        false=("v^1.1#i^1",),
    ),
    shape(
        "lambda-key",
        "secret_",
        r"secret_[\w-]{1,40}_[0-9a-f]{32}\.[A-Za-z0-9]{32}",
        "secret_laptop_" + hexes(32) + "." + alnum(32),
        false=("secret_key_name.value",),
    ),
    # who writes so says that it is a secret (RFC 8959)
    token(
        "secret-token",
        "secret-token:",
        r"[A-Za-z0-9._~!$&'()*+,;=:@%-]{12,300}",
        "secret-token:" + url_safe(40),
        false=("secret-token:",),
        gate="random",
    ),
    token(
        "django-key",
        "django-insecure-",
        r"[a-z0-9!@#$%^&*(_=+)-]{30,70}",
        "django-insecure-" + "k#9x!v2@q$w7e^r&t*y(u_i=o+p)a-s1d3f5g8h0j#l2z4x6c8",
        false=("django-insecure-key",),
    ),
    token(
        "laravel-key",
        "base64:",
        "(?:[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{22}==)",
        "base64:" + alnum(43) + "=",
        false=("base64:" + "QUJD", "data:image/png;base64:"),
        gate="random",
    ),
    shape(
        "stripe-client-secret",
        "_secret_",
        r"(?:pi|seti|cs|src|ctoken|ek|acss|cus|pst|si)_[A-Za-z0-9_]{10,80}_secret_[A-Za-z0-9]{16,80}",
        "pi_" + alnum(24) + "_secret_" + alnum(25),
        false=("pi_secret_value", "client_secret_of_the_session"),
        gate="random",
        before=90,
    ),
    shape(
        "stellar-key",
        (),
        "S[A-Z2-7]{55}",
        "SB" + base32(54),
        false=("S" * 56, "SB" + base32(20)),
        gate="random",
    ),
    token(
        "sui-key",
        "suiprivkey1",
        _BECH32 + "{55,64}",
        "suiprivkey1" + _DRAWN32[:58],
        false=("suiprivkey1abc",),
    ),
    token(
        "cardano-key",
        ("ed25519_sk1", "ed25519e_sk1", "addr_xsk1", "acct_xsk1", "root_xsk1", "stake_xsk1"),
        _BECH32 + "{50,210}",
        "ed25519_sk1" + _DRAWN32[:58],
        "addr_xsk1" + _DRAWN32[:160],
        false=("ed25519_sk1", "addr_xsk1abc"),
    ),
    token(
        "aptos-key",
        ("ed25519-priv-0x", "secp256k1-priv-0x"),
        "[0-9a-fA-F]{64}",
        "ed25519-priv-0x" + hexes(64),
        false=("ed25519-priv-0x" + hexes(12),),
    ),
    token(
        "near-key",
        ("ed25519:", "secp256k1:"),
        _BASE58 + "{84,90}",
        "ed25519:" + _DRAWN58[:88],
        false=("ed25519:" + _DRAWN58[:44],),
        gate="random",
    ),
    token(
        "tezos-key",
        ("edsk", "edesk1", "spsk", "p2sk"),
        f"(?:{_BASE58}{{94}}|{_BASE58}{{83}}|{_BASE58}{{50}})",
        "edsk" + _DRAWN58[:50],
        "edsk" + _DRAWN58[:94],
        false=("edsk", "edsk" + _DRAWN58[:20]),
        gate="random",
    ),
    token(
        "lightning-macaroon",
        "0201036c6e64",
        "[0-9a-f]{80,1000}",
        "0201036c6e64" + hexes(200),
        false=("0201036c6e64",),
        inside=False,
    ),
    # Zhipu, Ollama, Codefresh, Fal: an id and its secret
    shape(
        "dotted-key",
        (),
        r"[0-9a-f]{32}\.[A-Za-z0-9_-]{16}(?:[A-Za-z0-9_-]{8})?|[0-9a-f]{24}\.[0-9a-f]{32}"
        rf"|{ANY_UUID}:[0-9a-f]{{32}}",
        hexes(24) + "." + hexes(32),
        UUID + ":" + hexes(32),
        hexes(32) + "." + alnum(16),
        hexes(32) + "." + url_safe(24),
        false=(hexes(32) + ".production.min.js", hexes(32) + ".jpg", hexes(32) + "." + "x" * 16),
        gate="random",
    ),
    shape(
        "ngrok-token",
        (),
        "[12][A-Za-z0-9]{26}_[1-9][A-Za-z0-9]{19,21}",
        "2" + alnum(26) + "_" + "7" + alnum(20),
        false=("2" + "a" * 26 + "_7",),
        gate="random",
    ),
    token(
        "locationiq-key",
        "pk.",
        "[0-9a-f]{32}",
        "pk." + hexes(32),
        false=("pk.id",),
        inside=False,
    ),
    token(
        "tiktok-token",
        ("act.", "clt.", "rft."),
        r"[A-Za-z0-9]{30,120}![0-9]{3,5}(?:\.[a-z0-9]{1,4})?",
        "act." + alnum(60) + "!4521.e1",
        false=("act.then", "act." + alnum(12)),
        inside=False,
    ),
    # Mailgun's newer keys
    shape(
        "mailgun-key",
        (),
        "[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}",
        hexes(32) + "-" + hexes(8) + "-" + hexes(48)[40:],
        false=(hexes(32) + "-" + hexes(8), UUID),
        gate="random",
    ),
    # what Laravel gives to a client: the number of the row and the token
    shape(
        "sanctum-token",
        (),
        r"[0-9]{1,7}\|[A-Za-z0-9]{48}",
        digits(2) + "|" + alnum(48),
        false=("1|2|3", "1|" + hexes(40)),
        gate="random",
    ),
    Rule(
        kind="rpc-key",
        family="vendor",
        anchors=(
            ".alchemyapi.io/", ".g.alchemy.com/", ".infura.io/", ".quiknode.pro/", "rpc.ankr.com/",
            ".p2pify.com/", ".core.chainstack.com/", "go.getblock.io/", ".blastapi.io/",
            ".gateway.tenderly.co/", ".nodereal.io/", ".blockpi.network/", ".pokt.network/",
            ".moralis.io/", ".moralis-nodes.com/", ".rpcpool.com/", "api.zan.top/", ".dwellir.com/",
            ".publicnode.com/", ".allthatnode.com/", ".bdnodes.net/", ".unifra.io/",
        ),
        pattern=r"[a-z0-9.-]{8,30}/(?:[a-z0-9_-]{1,20}/){0,5}(?P<value>[A-Za-z0-9_-]{20,90})",
        inside_word=True,
        gate="random",
        true=(
            ("https://eth-mainnet.g.alchemy.com/v2/", url_safe(32), '"'),
            ("https://eth-goerli.alchemyapi.io/v2/", alnum(32), " "),
            ("wss://mainnet.infura.io/ws/v3/", hexes(32), "\n"),
            ("https://old-wild.solana-mainnet.quiknode.pro/", hexes(40), "/"),
            ("https://rpc.ankr.com/eth/", hexes(64), ""),
            ("https://nd-123-456-789.p2pify.com/", hexes(32), ""),
        ),
        false=(
            "https://docs.infura.io/api/networks/ethereum/json-rpc-methods/eth_getblockbynumber",
            "https://mainnet.infura.io/v3/YOUR-PROJECT-ID",
            "https://ethereum.publicnode.com/",
        ),
    ),
    Rule(
        kind="webhook-url",
        family="vendor",
        anchors=("https://outlook.office.com/webhook", "https://outlook.office365.com/webhook"),
        pattern=rf"https://outlook\.office(?:365)?\.com/webhook(?:b2)?/{ANY_UUID}@{ANY_UUID}"
        rf"/[A-Za-z]{{4,40}}/[0-9a-f]{{32}}/{ANY_UUID}(?:/[\w-]{{10,80}})?",
        inside_word=True,
        true=(
            (
                "post to ",
                f"https://outlook.office.com/webhook/{UUID}@{UUID}/IncomingWebhook/"
                + hexes(32)
                + f"/{UUID}",
                " now",
            ),
        ),
        false=("https://outlook.office.com/webhook/", "https://outlook.office.com/mail/inbox"),
    ),
    Rule(
        kind="webhook-url",
        family="vendor",
        anchors=(
            "/with/key/", "hc-ping.com/", "hook.us1.make.com/", "hook.us2.make.com/",
            "hook.eu1.make.com/", "hook.eu2.make.com/", "hook.integromat.com/", "cronitor.link/p/",
            "uptime.betterstack.com/api/v1/heartbeat/", "sctapi.ftqq.com/", "api.day.app/",
        ),
        pattern=r"[a-z0-9./-]{8,50}/(?P<value>[A-Za-z0-9_-]{20,64})",
        inside_word=True,
        gate="random",
        true=(
            ("https://maker.ifttt.com/trigger/door/with/key/", url_safe(43), " "),
            ("https://hook.eu1.make.com/", lower(32), '"'),
            ("https://api.day.app/", alnum(22), "/hello"),
        ),
        false=("https://hc-ping.com/your-uuid-here", "https://maker.ifttt.com/trigger/x/with/key/"),
    ),
    Rule(
        kind="function-key",
        family="vendor",
        anchors=(".azurewebsites.net/",),
        pattern=r"\.azurewebsites\.net/[\w/.-]{0,120}\?(?:[\w-]{1,30}=[^&\s\"']{0,80}&){0,4}"
        r"code=(?P<value>[A-Za-z0-9_/+=%-]{20,120})",
        inside_word=True,
        open_end=True,
        gate="mixed",
        true=(("https://f.azurewebsites.net/api/Job?code=", url_safe(54) + "==", " "),),
        false=("https://f.azurewebsites.net/api/Job?code=<key>", "https://f.azurewebsites.net/api"),
    ),
)  # fmt: skip
