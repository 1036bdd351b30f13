"""Kubernetes manifests: true examples cut at their values, and what must stay."""

from __future__ import annotations

_YAML = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\n"
_JSON = '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "app"}, '

TRUE: tuple[tuple[str, ...], ...] = (
    (_YAML + "stringData:\n  first: ", "sunshine", "\n  second: ", "5432", "\ntype: Opaque\n"),
    (_YAML + "stringData:\n  first: \"", "blue horse", "\"\n  second: '", "x", "' # why\n"),
    (_YAML + "stringData:\n  a.conf: |\n    ", "host one\n    user: two\n\n    x: y", "\n  b: ",
     "z1", "\nimmutable: true\n"),
    (_YAML + "data:\n  first: ", "c3Vuc2hpbmU=", "\n  second: >-\n    ", "c3Vuc2hp\n    bmU=",
     "\n"),
    # as `kubectl get secret -o yaml` prints it: the kind comes later
    ("apiVersion: v1\ndata:\n  user: ", "YWRtaW4=", "\n  x: ", "aGVsbG8=",
     "\nkind: Secret\nmetadata:\n  uid: ab12\n"),
    ("apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    x: ", "aGVsbG8=",
     "\n  kind: Secret\n  metadata:\n    name: a\n- apiVersion: v1\n  data:\n    x: d29ybGQ=\n"
     "  kind: ConfigMap\nkind: List\n"),
    ("kind: ConfigMap\ndata:\n  a: one\n---\nkind: Secret\nstringData:\n  a: ", "hello",
     "\n---\nkind: ConfigMap\ndata:\n  a: two\n"),
    # a listing with numbers, and a diff
    ("  1\tkind: Secret\n  2\tstringData:\n  3\t  first: ", "sunshine", "\n  4\ttype: Opaque\n"),
    ("+kind: Secret\n+stringData:\n+  first: ", "sunshine", "\n+type: Opaque\n"),
    (_JSON + '"stringData": {"first": "', "sunshine", '", "second": "', "a {b", '"}, "type": "x"}'),
    (_JSON + '"data": {"first": "', "c3Vuc2hpbmU=", '"}}, {"kind": "ConfigMap"}'),
    ('{\n  "data": {\n    "first": "', "YWRtaW4=", '"\n  },\n  "kind": "Secret"\n}\n'),
    (r'"text": "{\"data\":{\"x\":\"', "aGVsbG8=", r'\"},\"kind\":\"Secret\",\"type\":\"Opaque\"}"'),
)  # fmt: skip
FALSE: tuple[str, ...] = (
    "apiVersion: v1\nkind: ConfigMap\ndata:\n  first: aGVsbG8=\nstringData:\n  a: hello\n",
    _YAML + "stringData:\n  a: ${FIRST}\n  b: '{{ .Values.first }}'\n  c: <first>\ntype: Opaque\n",
    _YAML + "data:\n  a: {{ .Values.first | b64enc }}\n",
    "kind: SecretStore\ndata:\n  first: aGVsbG8=\n",
    "kind: SealedSecret\ndata:\n  first: aGVsbG8=\n",
    "- kind: Secret\n  name: app\n- kind: ConfigMap\n  data:\n    first: aGVsbG8=\n",
    '{"a": {"kind": "Secret", "name": "x"}, "data": {"first": "aGVsbG8="}}',
    '[{"kind": "Secret"}, {"kind": "ConfigMap", "data": {"first": "aGVsbG8="}}]',
    "the object of kind: Secret\ndata:\n  first: aGVsbG8=\n",
)
