#!/bin/sh
# Two transcripts that a provider refuses for ever, checked, mended, and checked again.
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
