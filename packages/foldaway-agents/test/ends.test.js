import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

// `foldaway` on the path is the stand-in
const folder = mkdtempSync(join(tmpdir(), "foldaway-agents-"));
const fake = fileURLToPath(new URL("./fake.js", import.meta.url));
writeFileSync(join(folder, "foldaway"), `#!/bin/sh\nexec "${process.execPath}" "${fake}" "$@"\n`);
chmodSync(join(folder, "foldaway"), 0o755);
process.env.PATH = `${folder}${delimiter}${process.env.PATH}`;
after(() => rmSync(folder, { recursive: true }));

const { default: piEnd } = await import("../pi.js");
const { Foldaway } = await import("../opencode.js");
const { default: register } = await import("../openclaw.js");

/** Pi as far as the end knows it. */
function startPi(session) {
  const handlers = {};
  const tools = [];
  piEnd({ on: (name, done) => (handlers[name] = done), registerTool: (one) => tools.push(one) });
  const sessionManager = { getSessionId: () => session };
  const ctx = { sessionManager, model: { id: "m", contextWindow: 9 }, cwd: "/p" };
  return { handlers, tools, ctx, stop: () => handlers.session_shutdown() };
}

test("Pi: the view takes the place of its list, or nothing does", async () => {
  const messages = ["a", "b", "c", "d"];
  for (const [session, wanted] of [
    ["short", { messages: ["a", { put: "view" }, "d"] }],
    ["same", undefined],
    ["dies", undefined],
  ]) {
    const pi = startPi(session);
    assert.deepEqual(await pi.handlers.context({ messages }, pi.ctx), wanted);
    pi.stop();
  }
});

test("Pi: its own compaction gets a summary, or goes its own way", async () => {
  const preparation = {
    previousSummary: "before",
    messagesToSummarize: [1],
    turnPrefixMessages: [2],
    firstKeptEntryId: "e",
    tokensBefore: 5,
  };
  const event = { preparation, customInstructions: "tests" };
  const pi = startPi("told");
  const { compaction } = await pi.handlers.session_before_compact(event, pi.ctx);
  assert.deepEqual(JSON.parse(compaction.summary), {
    deed: "summary",
    model: "m",
    window: 9,
    cwd: "/p",
    messages: [{ role: "compactionSummary", summary: "before" }, 1, 2],
    focus: "tests",
  });
  assert.equal(compaction.firstKeptEntryId, "e");
  pi.stop();
  const other = startPi("same");
  assert.equal(await other.handlers.session_before_compact(event, other.ctx), undefined);
  other.stop();
});

test("Pi: a tool is answered, and says so if nobody answers", async () => {
  const pi = startPi("told");
  const recall = pi.tools.find((one) => one.name === "foldaway_recall");
  const done = await recall.execute("id", { ref: "fa-1" }, undefined, undefined, pi.ctx);
  assert.match(done.content[0].text, /"tool":"foldaway_recall","arguments":\{"ref":"fa-1"\}/);
  pi.stop();
  const other = startPi("dies");
  const said = await recall.execute("id", {}, undefined, undefined, other.ctx);
  assert.match(said.content[0].text, /does not answer/);
});

const user = (sessionID) => ({
  info: { role: "user", sessionID, model: { modelID: "m" } },
  parts: [],
});

test("OpenCode: the very list that it gave is changed, or left alone", async () => {
  const hooks = await Foldaway({ directory: "/p" });
  const transform = hooks["experimental.chat.messages.transform"];
  const messages = [user("short"), user("short"), user("short"), user("short")];
  const first = messages[0];
  await transform({}, { messages });
  assert.deepEqual(messages, [first, { put: "view" }, first]);
  for (const session of ["same", "dies"]) {
    const own = [user(session)];
    await transform({}, { messages: own });
    assert.deepEqual(own, [user(session)]);
  }
  await transform({}, { messages: [] });
  await hooks.dispose();
});

test("OpenCode: the window of a model is that of its last request", async () => {
  const hooks = await Foldaway({ directory: "/p" });
  await hooks["chat.params"]({ model: { id: "m", limit: { context: 400, input: 270 } } });
  const messages = [user("window"), user("window")];
  await hooks["experimental.chat.messages.transform"]({}, { messages });
  assert.deepEqual(messages, [{ window: 270, deed: "view" }]);
  await hooks.dispose();
});

test("OpenCode: its own compaction gets facts, and its summary those that it left out", async () => {
  const hooks = await Foldaway({ directory: "/p" });
  const [summary, context] = [{ text: "summary" }, []];
  await hooks["experimental.text.complete"]({ sessionID: "short" }, summary);
  assert.equal(summary.text, "summary");
  await hooks["experimental.session.compacting"]({ sessionID: "short" }, { context });
  assert.deepEqual(context, ["facts"]);
  const messages = [user("short")];
  await hooks["experimental.chat.messages.transform"]({}, { messages });
  assert.deepEqual(messages[1], { put: "head" });
  await hooks["experimental.text.complete"]({ sessionID: "short" }, summary);
  assert.equal(summary.text, "summary\n\ndropped");
  await hooks["experimental.text.complete"]({ sessionID: "short" }, summary);
  assert.equal(summary.text, "summary\n\ndropped");
  await hooks.dispose();
});

test("OpenClaw: a view, or the list as it is with an estimate", async () => {
  const engines = {};
  register({ registerContextEngine: (id, make) => (engines[id] = make()) });
  const engine = engines["foldaway-agents"];
  assert.equal(engine.info.id, "foldaway-agents");
  const messages = ["a", "b", "c", "d"];
  assert.deepEqual(await engine.assemble({ sessionId: "short", messages }), {
    messages: ["a", { put: "view" }, "d"],
    estimatedTokens: 7,
  });
  const passed = await engine.assemble({ sessionId: "dies", messages });
  assert.equal(passed.messages, messages);
  assert.equal(passed.estimatedTokens, 5);
  assert.deepEqual(await engine.commitTurn({}), { status: "committed" });
});
