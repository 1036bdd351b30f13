"""True and false examples of values that stand a step away from the name of their field."""

from __future__ import annotations

_ONE, _TWO = "mF9B5f41JqM8Zq2TxWab", "4e1243bd22c66e76c2ba9eddc1f91394"

TRUE: tuple[tuple[str, ...], ...] = (
    # lists and maps
    ('API_KEYS = ["', _ONE, '", "', _TWO, '"]'),
    ("api_keys: [", _ONE, ", ", _TWO, "]"),
    ('"tokens": ["', _TWO, '"]'),
    ("tokens:\n  - ", _ONE, "\n  - ", _TWO, "\n"),
    ('"apiKeys": {"prod": "', _ONE, '", "dev": "', _TWO, '"}'),
    ("secrets:\n  zentrix: ", _TWO, "\n"),
    ('"token": {"value": "', _ONE, '"}'),
    ('{"Key": "ZENTRIX_TOKEN", "Value": "', _ONE, '"}'),
    # calls and alternatives
    ('token = String::from("', _ONE, '")'),
    ('apiKey := []byte("', _TWO, '")'),
    ('Token: aws.String("', _ONE, '"),'),
    ('token = token or "', _TWO, '"'),
    ('token = os.getenv("TOKEN") or "', _ONE, '"'),
    ('token = var.x != "" ? var.x : "', _ONE, '"'),
    # further lines
    ('"token":\n    "', _ONE, '"'),
    ('token = (\n    "', _TWO, '"\n)'),
    ("token = <<EOF\n", _ONE, "\nEOF"),
    # other marks between the two
    ('api_key <- "', _ONE, '"'),
    ("token (", _TWO, ")"),
    ("token;", _ONE, ""),
    ("* **API Key**: ", _TWO, ""),
    ("**Token:** `", _ONE, "`"),
    ('/* token */ "', _TWO, '"'),
    ('<meta name="api-key" content="', _ONE, '">'),
    ("ZENTRIX_SK=", _ONE, "\n"),
    # the argument before a secret
    ('Zentrix("', _ONE, '", secret="', _TWO, '")'),
)

FALSE: tuple[str, ...] = (
    "const apiKey = request.headers.get('X-Nimbus-Api-Key')",
    "...(reviewGithubToken ? { 'X-Review-Github-Token': x } : {})",
    "uses: actions/create-github-app-token@1b10c78c7865c340bc4f6099eb2f838309f1e8c3",
    '"tokens": {"sha256": "4e1243bd22c66e76c2ba9eddc1f91394"}',
    '"tokens": {"request_id": "mF9B5f41JqM8Zq2TxWab"}',
    '"token": null, "commit": "4e1243bd22c66e76c2ba9eddc1f91394"',
    "token (create_access_token_for_user_v2)",
    'tokens = [tokenizer.encode("a_long_word_of_the_text_2")]',
    '"max_tokens": 8192, "tokens": [128000, 128001, 128009, 128256]',
)
