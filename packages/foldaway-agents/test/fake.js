// A stand-in for `foldaway follow`: answers by what the session is called.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: deed, session, ...rest } = JSON.parse(line);
  if (session === "dies") process.exit(1);
  if (session === "silent") continue;
  const answers = {
    same: {},
    fails: { error: "StoreUnavailable" },
    short: { edits: [[0, 1], [{ put: deed }], [3, 4]], tokens: 7, text: `${deed}` },
    window: { edits: [[{ window: rest.window, deed }]] },
    told: { text: JSON.stringify({ deed, ...rest }) },
  };
  process.stdout.write(`not for us\n${JSON.stringify({ id, ...answers[session] })}\n`);
}
