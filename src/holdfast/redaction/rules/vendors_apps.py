"""Tokens of applications, wallets, feature flags and publishing."""

from __future__ import annotations

from holdfast.redaction.rules.vendor_form import alnum, hexes, lower, token, url_safe

RULES = (
    token(
        "zuplo-key",
        "zpka_",
        r"[A-Za-z0-9]{32}_[0-9a-f]{8}",
        "zpka_" + alnum(32) + "_" + hexes(8),
        false=("zpka_key",),
    ),
    token(
        "aiven-password",
        "AVNS_",
        r"[\w-]{12,40}",
        "AVNS_" + url_safe(19),
        false=("AVNS_NAME", "AVNS_SERVICE_HOST"),
        gate="random",
    ),
    token(
        "endor-key",
        "endr+",
        r"[A-Za-z0-9-]{16}",
        "endr+" + alnum(16),
        false=("endr+x",),
    ),
    token(
        "socket-key",
        "sktsec_",
        r"[A-Za-z0-9_-]{20,80}",
        "sktsec_" + alnum(40) + "_api",
        false=("sktsec_key",),
    ),
    token(
        "honeycomb-key",
        ("hcxmk_", "hcxlk_", "hcxik_", "hcamk_", "hcalk_", "hcbik_"),
        r"[a-z0-9]{32,80}",
        "hcxmk_" + lower(58),
        false=("hcxmk_01",),
    ),
    token(
        "rootly-key",
        "rootly_",
        r"[0-9a-f]{64}",
        "rootly_" + hexes(64),
        false=("rootly_incident",),
    ),
    token(
        "voiceflow-key",
        "VF.DM.",
        r"[0-9a-f]{24}\.[A-Za-z0-9]{16}",
        "VF.DM." + hexes(24) + "." + alnum(16),
        false=("VF.DM.key",),
    ),
    token(
        "stackhawk-key",
        "hawk.",
        r"[\w-]{20}\.[\w-]{20}",
        "hawk." + url_safe(20) + "." + url_safe(20),
        false=("hawk.yml", "hawk.config.file"),
    ),
    token(
        "retool-key",
        "retool_01",
        r"[a-z0-9]{20,40}",
        "retool_01" + lower(26),
        false=("retool_01",),
    ),
    token(
        "growthbook-key",
        ("secret_admin_", "secret_readonly_", "secret_user_"),
        r"[A-Za-z0-9+/=]{32,64}",
        "secret_admin_" + alnum(40),
        false=("secret_admin_password", "secret_user_name"),
        gate="random",
    ),
    token(
        "percy-token",
        ("web_", "app_", "auto_", "ss_"),
        r"[0-9a-f]{64}",
        "web_" + hexes(64),
        false=("web_" + hexes(32), "app_name"),
        inside=False,
    ),
    token(
        "lichess-token",
        "lip_",
        r"[A-Za-z0-9]{20}",
        "lip_" + alnum(20),
        false=("lip_sync",),
        gate="random",
    ),
    token(
        "close-key",
        "api_",
        r"[A-Za-z0-9]{22}\.[A-Za-z0-9]{22}",
        "api_" + alnum(22) + "." + alnum(22),
        false=("api_key.value", "api_client.get"),
    ),
    token(
        "facebook-token",
        "EAACEdEose0cBA",
        r"[A-Za-z0-9]{20,400}",
        "EAACEdEose0cBA" + alnum(60),
        false=("EAACEdEose0cBA",),
    ),
    token(
        "snowflake-token",
        "ver:1-hint:",
        r"\d{4,20}-[A-Za-z0-9+/=_-]{40,1000}",
        "ver:1-hint:8198449225-ETMs" + alnum(150),
        false=("ver:1-hint:x",),
    ),
    token(
        "wallet-key",
        ("xprv", "yprv", "zprv", "tprv"),
        r"[1-9A-HJ-NP-Za-km-z]{100,112}",
        "xprv9s21ZrQH143K"
        + "3GJpoapnV8SFfukcVBSfeCficPSGfubmSFDxo1kuHnLisriDvSn"
        + "RRuL2Qrg5ggqHKNVpxR86QEC8w35uxmGoggxtQTPvfU",
        false=("xprv", "xprv9s21"),
        inside=False,
    ),
    token(
        "nostr-key",
        "nsec1",
        r"[02-9ac-hj-np-z]{58}",
        "nsec1" + "vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5",
        false=("nsec1", "nsec1abc"),
        inside=False,
    ),
)
