"""Tokens of many more vendors, a line each: kind, prefixes, body.

A body is written in pieces with separators between them, such as `h32_a8-12`: a letter for the
characters, and how many of them there are.

    h  hexadecimal, small letters    l  small letters and digits    a  letters and digits
    H  hexadecimal in any case       u  capitals and digits         b  base64, padded or not
    d  digits                        w  letters, digits, _ and -    uuid

Where letters may stand there must be a digit too; with `~` at its end, and where `w` stands after a
short prefix or is short itself, a token must look random.
"""

from __future__ import annotations

import re

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules.vendor_form import (
    ANY_UUID,
    UUID,
    alnum,
    digits,
    hexes,
    lower,
    token,
    upper,
    url_safe,
)

_MODELS = """
agentmail-key       am_                                     h64
ai71-key            ai71-api-                               uuid
arize-key           ak-                                     uuid-w20-60
baidu-key           bce-v3/                                 ALTAK-a21/h40
braintrust-key      bt-st-                                  w40-60
browser-use-key     bu_                                     w43
chutes-key          cpk_                                    h32.h32.a32
coderabbit-key      cr-                                     h40-64
composio-key        ak_ uak_                                w20-32
confident-ai-key    confident_us_ confident_eu_             b40-80
continue-key        con-                                    h64
coze-token          pat_ sat_                               a64
devin-key           apk_user_ apk_                          b40-200~
factory-key         fk-                                     w40-90
featherless-key     rc_                                     h64
humanloop-key       hl_sk_                                  h48-64
inference-net-key   inference-                              h32-64
litellm-key         sk-                                     w22
logfire-token       pylf_v1_ pylf_v2_                       l2_w40-100
minimax-key         sk-api- sk-cp-                          w60-140
mongodb-model-key   al-                                     w43
murf-key            ap2_                                    uuid
novita-key          sk_                                     w43
openai-key          ek_                                     h32-80
openpipe-key        opk_                                    h32-64
openrouter-key      sk-or-                                  w40-90
parasail-key        psk-                                    w40-64
pollinations-key    plln_sk_ plln_pk_                       a32
predibase-key       pb_                                     w22
promptlayer-key     pl_                                     h32
pyx-token           sk-pyx-                                 w40-100
ragie-key           tnt_                                    a10-20_a20-80
relace-key          rlc-                                    w30-60
retell-key          key_                                    h28
runway-key          key_                                    h128
scrapfly-key        scp-live- scp-test-                     h32
sk-key              sk- sk_                                 uuid
targon-key          sn4_                                    l28
traceloop-key       tl_                                     h32-64
upstage-key         up_                                     a32~
v0-key              v1:                                     a20-28:a20-28
vectara-key         zut_ zwt_ zqt_                          w36
venice-key          VENICE-INFERENCE-KEY- VENICE-ADMIN-KEY- VENICE_INFERENCE_KEY_  w24-64
venice-key          VENICE_ADMIN_KEY_                       w24-64
warp-key            wk-1.                                   h64
xai-key             xai-token-                              w60-100
zep-key             z_1                                     b60-300~
"""

_HOSTS = """
aikido-token        AIK_SECRET_ AIK_CLIENT_ AIK_CI_ AIK_RUNTIME_ AIK_PLATFORM_  w20-100
appwrite-key        standard_                               h128-256
backblaze-key       K001 K002 K003 K004 K005                b27~
bitgo-token         v2x                                     h64
block-protocol-key  b10ck5.                                 h32.uuid
boundary-token      at_                                     a10_a40-300
buildkite-token     bkar_ bkcs_ bkpr_ bkps_ bkrt_ bkss_ bkst_ bkut_  a32-64
cfxre-key           cfxk_                                   a10-24_a4-10
chromatic-token     chpt_                                   h12-16
databento-key       db-                                     a29
deepsource-token    dsp_ dsn_                               a38-42
digitalocean-key    DO00 DO801                              u15-16
edgedb-token        edbt1_ edbt_ nbwt1_ nbwt_               w40-400
firehydrant-key     fhb-                                    h32-64
fullstory-key       na1. eu1.                               b60-120
gc-notify-key       gcntfy-                                 w2-40-uuid-uuid
gitbook-token       gb_api_                                 a36-64
hex-token           hxtp_ hxtw_                             h64-128
hop-token           ptk_                                    a30-80~
infracost-key       ico-                                    a32
iterative-token     isat_                                   uuid
iterative-token     isat_                                   w30-80
jd-cloud-key        JDC_                                    u28
kong-token          kpat_ spat_                             a40-64
lambdatest-key      LT_                                     a40-64~
lichess-token       lio_ lip_                               a20-24~
localstack-token    ls-                                     a8-a4-a4-a4-a8-16
logicmonitor-token  lmb_                                    b60-300
materialize-key     mzp_                                    h64
mergefreeze-token   mfb_ mfo_                               a20-40
mintlify-key        mint_ mint_dsc_                         a22-64~
netbird-token       nbp_                                    a30-40
packagist-token     packagist_ack_ packagist_act_ packagist_pat_                  h40-128
packagist-token     packagist_acs_ packagist_ort_ packagist_cut_ packagist_out_   h40-128
packagist-token     packagist_uut_ packagist_uat_ packagist_ust_ packagist_oat_   h40-128
pangea-token        pts_                                    l32~
phylum-token        ph0_                                    w40-60
qlty-token          qltcp_ qltcw_                           a16-40
qstash-key          sig_                                    a27-28~
replay-key          rwk_ rwuk_                              a30-60
salesforce-key      3MVG9                                   w60-110
scalingo-token      tk-us-                                  w44-50
sonar-token         sqb_                                    h40
sourcegraph-token   sgamp_user_ sgamp_                      w40-140
sqreen-token        org_ env_org_                           h60-64
testkube-token      tkcapi_ tkcroot_ tkcagnt_               h24-40
things-network-key  NNSXS.                                  u39.u52
thunderstore-token  tss_                                    a30-60~
tigris-key          tid_ tsec_                              w40-80
trieve-key          tr-                                     a32~
ubidots-token       BBFF- BBUS-                             a30
veracode-key        vera01ei- vera01es-                     h32-160
workato-token       wrkus- wrkeu- wrkjp- wrkaus- wrksg-     w40-900
yandex-key          YCAJ                                    w21
yandex-key          YCM YCN YCO YCP                         w37
zoho-token          1000.                                   h32.h32
zoho-token          1000.                                   u30~
"""

_BUSINESS = """
bannerbear-key      bb_pr_ bb_ma_                           h24-40
basis-theory-key    key_prod_us_pvt_ key_prod_eu_pvt_ key_test_us_pvt_ key_test_eu_pvt_  a20-40
bitget-key          bg_                                     h32
blockfrost-key      mainnet preprod preview testnet         a32~
cal-com-key         cal_                                    h32
cashfree-key        cfsk_ma_prod_ cfsk_ma_test_             h32_h8
chapa-key           CHASECK- CHASECK_TEST-                  a32
circle-key          TEST_API_KEY: LIVE_API_KEY: SAND_API_KEY:  h32:h32
coingecko-key       CG-                                     a24~
conekta-key         key_                                    a22~
covalent-key        ckey_                                   h27
covalent-key        cqt_r cqt_w                             a26
crossmint-key       ck_staging_ ck_production_ ck_development_  a24-300
crossmint-key       sk_staging_ sk_production_ sk_development_  a24-300
datadog-key         ddapp_ ddpat_                           a34-80
dub-key             dub_                                    a24~
dynamic-key         dyn_                                    a56
ebay-secret         PRD- SBX-                               h12-h4-h4-h4-h4
fleetbase-key       flb_live_ flb_test_                     a20-40
foursquare-key      fsq3                                    b43-44
gocardless-token    sandbox_                                w40
hcaptcha-secret     ES_                                     h32
imagekit-key        private_                                b26-28~
kit-key             kit_                                    h32
lob-key             test_pub_ live_pub_                     h31-35
meta-quest-token    OC|                                     d14-17|h32
mexc-key            mx0                                     a15-30~
mollie-key          access_                                 a40~
ntfy-token          tk_                                     l29
omise-key           skey_                                   l18-24~
omise-key           skey_test_ skey_live_                   l18-24
pagerduty-key       pdus+ pdeu+                             w16-60
persona-key         persona_production_ persona_sandbox_    a24-64
pinterest-token     pina_ pinc_ pinr_                       a60-200
plaid-token         link-sandbox- link-production- link-development-        uuid
plaid-token         public-sandbox- public-production- public-development-  uuid
posthog-key         pha_ phr_                               a40-60
privy-secret        privy_app_secret_                       a40-120
quicknode-key       QN_                                     h32
radar-key           prj_live_sk_ prj_test_sk_               h40
revolut-token       oa_prod_ oa_sand_                       w40-80
samsara-token       samsara_api_                            a30
shopify-token       shpit_ shprt_ atkn_                     a30-60
slack-token         xwfp-                                   d9-13-d9-13-a20-80
smtp2go-key         api-                                    u32~
square-token        sandbox-sq0idb- sandbox-sq0atb- sandbox-sq0csb-  w22-60
square-token        sq0idb- sq0atb- sq0csb-                 w22-60
stripe-key          ek_live_ ek_test_                       a16-260
secret-key          rk_                                     a24-128~
stripe-key          sk_acct_ rk_acct_                       a16-200
sumsub-token        sbx: prd:                               a24.a32
svix-key            testsk_                                 w24-64
tally-key           tly-                                    a32-64
threads-token       THAA                                    w100-300
turnstile-secret    0x4AAAAAAA                              w24-30
wompi-key           prv_test_ prv_prod_                     a32
worldpay-key        T_S_ L_S_                               uuid
zerion-key          zk_dev_ zk_prod_                        h32
"""

_CHARS = {
    "h": "[0-9a-f]", "H": "[0-9a-fA-F]", "d": "[0-9]", "l": "[a-z0-9]", "u": "[A-Z0-9]",
    "a": "[A-Za-z0-9]", "w": r"[\w-]", "b": "[A-Za-z0-9+/]",
}  # fmt: skip
_DRAWN = {
    "h": hexes, "H": hexes, "d": digits, "l": lower, "u": upper, "a": alnum, "w": url_safe,
    "b": alnum,
}  # fmt: skip
_PIECE = re.compile(r"uuid|(?P<chars>[hHdluawb])(?P<least>\d+)(?:-(?P<most>\d+))?|.")


def _rules(table: str) -> tuple[Rule, ...]:
    return tuple(_rule(*line.split()) for line in table.strip().splitlines())


def _rule(kind: str, *columns: str) -> Rule:
    *prefixes, body = columns
    pieces = list(_PIECE.finditer(body.rstrip("~")))
    wide = [int(piece["least"]) for piece in pieces if piece["chars"] == "w"]
    plain = bool(wide) and (max(wide) < _LONG or min(map(len, prefixes)) < _RARE)
    lettered = any((piece["chars"] or "h") in "aulwb" for piece in pieces)
    value = "".join(map(_drawn, pieces))
    return token(
        kind,
        tuple(prefixes),
        "".join(map(_written, pieces)),
        *(prefix + value for prefix in prefixes),
        false=tuple(prefix if prefix.endswith(":") else prefix + value[:5] for prefix in prefixes),
        gate="random" if plain or body.endswith("~") else "mixed" if lettered else "real",
    )


_LONG, _RARE = 24, 5
"""What is longer and stands after a longer prefix is no name, however it looks."""


def _written(piece: re.Match[str]) -> str:
    if piece[0] == "uuid":
        return ANY_UUID
    if not piece["chars"]:
        return re.escape(piece[0])
    most = f",{piece['most']}" if piece["most"] else ""
    padding = "={0,2}" if piece["chars"] == "b" else ""
    return f"{_CHARS[piece['chars']]}{{{piece['least']}{most}}}{padding}"


def _drawn(piece: re.Match[str]) -> str:
    if not piece["chars"]:
        return UUID if piece[0] == "uuid" else piece[0]
    return _DRAWN[piece["chars"]](int(piece["most"] or piece["least"]))


RULES = (*_rules(_MODELS), *_rules(_HOSTS), *_rules(_BUSINESS))
