#!/bin/sh
# Two transcripts that a provider refuses for ever, checked, mended, and checked again; then a real
# session compressed, one original recalled and held against the input, and all of it undone.
set -eu
cd "$(dirname "$0")/.."
holdfast="${BIN:-.venv/bin}/holdfast"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

step() {
  printf '\n$ holdfast %s\n' "$*"
  status=0
  "$holdfast" "$@" || status=$?
}

for name in broken-chat broken-anthropic; do
  step check "examples/$name.json"
  [ "$status" -eq 1 ]
  step repair "examples/$name.json" -o "$out/$name.json"
  [ "$status" -eq 0 ]
  step check "$out/$name.json"
  [ "$status" -eq 0 ]
done

step compress examples/session.json.gz -o "$out/small.json" --target-tokens 12000
[ "$status" -eq 0 ]
step check "$out/small.json"
[ "$status" -eq 0 ]
reference=$(grep -o 'digest: original at hf-[0-9a-f]*' "$out/small.json" | head -n 1 | sed 's/.* //')
printf '\n$ holdfast recall %s --originals %s > original.json\n' \
  "$reference" "$out/small.json.originals.jsonl"
"$holdfast" recall "$reference" --originals "$out/small.json.originals.jsonl" > "$out/original.json"
gzip -dc examples/session.json.gz > "$out/session.json"
LC_ALL=C grep -qF -f "$out/original.json" "$out/session.json"
printf '%s bytes, the same as in the input\n' "$(($(wc -c < "$out/original.json") - 1))"
step undo "$out/small.json"
cmp "$out/session.json" "$out/small.json"
echo 'byte for byte the input'
