#!/bin/sh
# Two transcripts that a provider refuses for ever, checked, mended, and checked again; then a real
# session compressed, one original recalled and held against the input, and all of it undone; then
# the session kept in a store of its own, searched, compacted, and an original recalled from there.
set -eu
cd "$(dirname "$0")/.."
foldaway="${BIN:-.venv/bin}/foldaway"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

step() {
  printf '\n$ foldaway %s\n' "$*"
  status=0
  "$foldaway" "$@" || status=$?
}

for name in broken-chat broken-anthropic; do
  step check "examples/$name.json"
  [ "$status" -eq 1 ]
  step repair "examples/$name.json" -o "$out/$name.json"
  [ "$status" -eq 0 ]
  step check "$out/$name.json"
  [ "$status" -eq 0 ]
done

step compact examples/session.json.gz -o "$out/small.json" --context-length 64000
[ "$status" -eq 0 ]
step check "$out/small.json"
[ "$status" -eq 0 ]
reference=$(grep -oE '\[(in part|left out): fa-[0-9a-f]+' "$out/small.json" | head -n 1 | sed 's/.* //')
printf '\n$ foldaway recall %s --originals %s > original.json\n' \
  "$reference" "$out/small.json.originals.jsonl"
"$foldaway" recall "$reference" --originals "$out/small.json.originals.jsonl" > "$out/original.json"
gzip -dc examples/session.json.gz > "$out/session.json"
LC_ALL=C grep -qF -f "$out/original.json" "$out/session.json"
printf '%s bytes, the same as in the input\n' "$(($(wc -c < "$out/original.json") - 1))"
step undo "$out/small.json"
cmp "$out/session.json" "$out/small.json"
echo 'byte for byte the input'

FOLDAWAY_HOME="$out/home"
export FOLDAWAY_HOME
step import "$out/session.json"
[ "$status" -eq 0 ]
step search "cannot use" --most 2
[ "$status" -eq 0 ]
session=$("$foldaway" sessions list --json | grep -o '"session":"[^"]*"' | head -n 1 | cut -d '"' -f 4)
step compact "$session" --context-length 64000
[ "$status" -eq 0 ]
"$foldaway" sessions export "$session" --view > "$out/view.jsonl"
reference=$(grep -oE '\[(in part|left out): fa-[0-9a-f]+' "$out/view.jsonl" | head -n 1 | sed 's/.* //')
printf '\n$ foldaway recall %s > kept.json\n' "$reference"
"$foldaway" recall "$reference" > "$out/kept.json"
"$foldaway" sessions export "$session" > "$out/log.jsonl"
LC_ALL=C grep -qxF -f "$out/kept.json" "$out/log.jsonl"
printf '%s bytes, the same as in the log\n' "$(($(wc -c < "$out/kept.json") - 1))"
