"""Authorization and its kin: Bearer, Basic, Digest, SigV4, and what stands in such headers."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        kind="authorization",
        family="header",
        anchors=("authorization",),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"authorization\\{0,6}[\"'`]?\]?\)?\s{0,4}[:=]{1,2}>?\s{0,4}[fb]?\\{0,6}[\"'`]?\s{0,2}"
        r"(?:(?:bearer|basic|token|apikey|api-key|key|negotiate|ntlm|jwt|oauth|sso-key|geniekey|bot"
        r"|splunk|aws|hawk|mac|[a-z][a-z-]{1,15})(?:\s{1,4}|=|%20|:\s?))?"
        r"(?P<value>[A-Za-z0-9._~+/|:=%-]{6,})",
        gate="header",
        true=(
            ("Authorization: Bearer ", "mF_9.B5f-4.1JqM", "\r\n"),
            ("> authorization: Basic ", "amRvZTpuaHkxa0tOaEtXRA==", "\nHost: x"),
            ('{"headers": {"Authorization": "', "4e1243bd22c66e76c2ba9eddc1f91394", '"}}'),
            ('-H "Authorization: token ', "a1b2c3d4e5f60718293a", '"'),
        ),
        false=(
            "the authorization model is fully open",
            "Authorization: Bearer XXXXXXXXXXXX",
            "Authorization: Bearer $TOKEN",
            'headers["Authorization"] = f"Bearer {token}"',
            'set("Authorization", "Bearer "+accessToken)',
        ),
    ),
    Rule(
        kind="authorization",
        family="header",
        anchors=("authorization",),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"authorization\\{0,6}[\"'`]\)?,\s{0,4}[fb]?\\{0,6}[\"'`]\s{0,2}"
        r"(?:[a-z][a-z-]{1,15}(?:\s{1,4}|%20|:\s?))?(?P<value>[A-Za-z0-9._~+/|:=%-]{6,})",
        gate="unnamed",
        true=(
            ('req.Header.Set("Authorization", "', "4e1243bd22c66e76c2ba9eddc1f91394", '")'),
            ("add('Authorization', 'GenieKey ", "mF9B5f41JqM8Zq2T", "')"),
        ),
        false=(
            "('Authorization', 'Cache-Control', 'Expires')",
            '("authorization", "x-amz-content-sha256", "x-amz-date")',
        ),
    ),
    Rule(
        kind="authorization",
        family="header",
        anchors=("authorization", "x-auth", "x-access-token"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # any word that is all of a string after its scheme
        pattern=r"(?:authorization|x-auth[a-z-]{0,16}|x-access-token)\\{0,6}[\"'`]?\]?\)?\s{0,4}"
        r"(?:[:=]{1,3}>?|,)\s{0,4}[fb]?\\{0,6}[\"'`](?:bearer|token|apikey|api-key|bot|jwt|oauth|key)"
        r"(?:\s|=|:\s?)\\{0,6}[\"']?(?P<value>[A-Za-z0-9._~+/|=!@#$%^&*-]{3,80})\\{0,6}[\"'`]",
        gate="chosen",
        true=(
            ("{'Authorization': 'Bearer ", "swordfish", "'}"),
            ('setHeader("Authorization", "Bearer ', "swordfish", '")'),
            ('assert headers["Authorization"] == "Token ', "swordfish", '"'),
        ),
        false=(
            "'Authorization': 'Bearer token'",
            "'Authorization': 'Bearer %s'",
            "'Authorization': 'Bearer invalid'",
            "'Authorization': 'Bearer ' + token",
        ),
    ),
    Rule(
        kind="bearer-token",
        family="header",
        anchors=('"bearer ', "'bearer ", "`bearer "),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # all of a string
        pattern=r"[\"'`]bearer (?P<value>[A-Za-z0-9._~+/=-]{3,80})\\{0,6}[\"'`]",
        gate="chosen",
        true=(("== 'Bearer ", "abc123", "'"), ('"Bearer ', "swordfish", '"')),
        false=(
            '"Bearer token"',
            "'Bearer authentication'",
            '"Bearer scheme"',
            "'Bearer invalid_token'",
        ),
    ),
    Rule(
        kind="bearer-token",
        family="header",
        anchors=("bearer ", "bearer%20"),
        ignore_case=True,
        open_end=True,
        pattern=r"bearer(?:\s{1,4}|%20)\\{0,6}[\"'`]?(?: ?[+.] ?\\{0,6}[\"'`])?"
        r"(?P<value>[A-Za-z0-9._~+/|-]{12,}={0,2})",
        gate="header",
        true=(
            ("curl -H 'X: Bearer ", "eh0Yz2lkpQ81mvT6", "' x"),
            ('"Bearer " + "', "eh0Yz2lkpQ81mvT6", '"'),
        ),
        false=("Bearer authentication", "the bearer authenticates himself", "Bearer <your-token>"),
    ),
    Rule(
        kind="basic-credential",
        family="header",
        anchors=("basic ", "basic%20", 'basic": "', "basic': '", "basic_auth", "basicauth"),
        ignore_case=True,
        # any base64 with a colon in it: a user and a password, short or in another language
        pattern=r"basic(?: {1,2}|%20|(?:_?auth[a-z_]{0,12})?[\"']?(?: ?[:=] ?)b?[\"'])(?:\\{0,6}["
        r"\"'`] ?[+.,] ?|%s\\{0,6}[\"'`] ?% ?\(?b?|\\{0,6}[\"'`]\) ?\+ ?)?\\{0,6}[\"'`]?"
        r"(?P<value>[A-Za-z0-9+/_-]{4,400}(?:=|%3[Dd]){0,2})",
        gate="basic",
        true=(
            ("== 'Basic ", "dXNlcjpwYXNz", "'"),
            ('("Authorization", "Basic ', "dGVzdDp0ZXN0MTIz", '")'),
            ('b"Basic ', "am9zw6k6c8mZY3LJmXQ=", '"'),
            ("Proxy-Authorization: Basic ", "dXNlcjpwYXNz", "\r\n"),
            ('"Basic " + "', "dXNlcjpwYXNz", '"'),
            ('"Basic %s" % "', "dXNlcjpwYXNz", '"'),
        ),
        false=(
            "basic authentication is used",
            "Basic realm",
            "a basic function of it",
            "Basic Og==",
            "Basic dXNlcm5hbWU=",
        ),
    ),
    Rule(
        kind="request-signature",
        family="header",
        anchors=("-signature", "-hmac-sha"),
        ignore_case=True,
        inside_word=True,
        # Webhook-Signature: v1,…  X-Hub-Signature-256: sha256=…  Stripe-Signature: t=…,v1=…
        pattern=r"-(?:signature(?:-v?[0-9]{1,3})?|hmac-sha(?:1|256|512))\\{0,6}[\"'`]?\]?\)?"
        r"[ \t]{0,4}(?:[:=]{1,2}>?|,)[ \t]{0,4}[bf]?\\{0,6}[\"'`]?"
        r"(?:t=[0-9]{9,13},)?(?:(?:v[0-9][a-z]?|sha(?:1|256|384|512))[=,:])?"
        r"(?P<value>[A-Za-z0-9+/_-]{26,100}={0,2})",
        gate="random",
        true=(
            ('"Webhook-Signature": "v1,', "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", '"'),
            ("X-Hub-Signature-256: sha256=", "4e1243bd22c66e76c2ba9eddc1f913940a1b2c3d", "\n"),
            ("X-Shopify-Hmac-Sha256: ", "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "\n"),
            ("Stripe-Signature: t=1492774577,v1=", "4e1243bd22c66e76c2ba9eddc1f91394", ",x"),
        ),
        false=(
            "X-Hub-Signature: sha256",
            "request-signature: the_name_of_the_thing_that_signs_it",
            "x-signature: v1,",
        ),
    ),
    Rule(
        kind="request-signature",
        family="header",
        anchors=("v0=", "v1="),
        pattern=r"v[01]=(?P<value>[0-9a-f]{64})",
        gate="random",
        true=((",v0=", "4e1243bd22c66e76c2ba9eddc1f91394" * 2, "\n"),),
        false=("v1=4e1243bd22c66e76c2ba9eddc1f91394", "v1=abc"),
    ),
    Rule(
        kind="digest-response",
        family="header",
        anchors=("digest ",),
        ignore_case=True,
        pattern=r"digest\s[^\r\n\x00]{0,400}?response=\\{0,6}[\"']?(?P<value>[0-9a-f]{32,128})",
        true=(
            (
                'Authorization: Digest username="a", realm="x", nonce="84d0df4e", response="',
                "538a40168995882e6d90a5a1e2b7000c",
                '", qop=auth',
            ),
        ),
        false=('WWW-Authenticate: Digest realm="x", nonce="84d0df4e52260d90", qop="auth"',),
    ),
    Rule(
        kind="aws-signature",
        family="header",
        anchors=("signature=",),
        ignore_case=True,
        inside_word=True,
        pattern=r"signature=(?P<value>[0-9a-f]{64}|[A-Za-z0-9%+/]{26,60}(?:=|%3D))",
        true=(
            (
                "SignedHeaders=host;range, Signature=",
                "fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024",
                "",
            ),
            (
                "https://b.s3.amazonaws.com/k?X-Amz-Signature=",
                "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
                "&x=1",
            ),
        ),
        false=("signature=none", "def f(signature=inspect.signature(x)): ..."),
    ),
    Rule(
        kind="sas-signature",
        family="url",
        anchors=("sig=",),
        inside_word=False,
        pattern=r"sig=(?P<value>[A-Za-z0-9%+/_-]{40,90}(?:=|%3[Dd]|))",
        gate="random",
        true=(
            ("?sv=2022-11-02&ss=b&sig=", "mZ3kYf0q%2Bv1Q8sT4uW7xY9zA2bC4dE6fG8hJ0kL2mN4%3D", "&x"),
        ),
        false=("sig=inspect.signature(f)", "sig=abc"),
    ),
)
