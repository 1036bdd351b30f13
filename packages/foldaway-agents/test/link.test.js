import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Link, applied } from "../link.js";

const FAKE = [process.execPath, fileURLToPath(new URL("./fake.js", import.meta.url))];
const view = (session) => ({ do: "view", session, messages: [1, 2, 3, 4] });

test("what stays is the agent's own message, the rest is put in", () => {
  const own = [{ a: 1 }, { b: 2 }, { c: 3 }, { d: 4 }];
  const made = applied(own, [[0, 1], [{ put: 1 }], [], [3, 4]]);
  assert.deepEqual(made, [{ a: 1 }, { put: 1 }, { d: 4 }]);
  assert.equal(made[0], own[0]);
});

test("answers are told apart by their number, other lines are passed over", async () => {
  const link = new Link("pi", { command: FAKE });
  const [one, two] = await Promise.all([link.ask(view("short")), link.ask(view("same"))]);
  assert.equal(one.tokens, 7);
  assert.equal(two.edits, undefined);
  link.stop();
});

test("no answer in time is undefined", async () => {
  const link = new Link("pi", { command: FAKE, limitMs: 50 });
  assert.equal(await link.ask(view("silent")), undefined);
  link.stop();
});

test("a fault of Foldaway is undefined", async () => {
  const link = new Link("pi", { command: FAKE });
  assert.equal(await link.ask(view("fails")), undefined);
  link.stop();
});

test("a process that died is undefined at once, and the next request starts another", async () => {
  const link = new Link("pi", { command: FAKE });
  assert.equal(await link.ask(view("dies")), undefined);
  assert.equal((await link.ask(view("short"))).tokens, 7);
  link.stop();
});

test("a command that is not there is undefined", async () => {
  const link = new Link("pi", { command: ["/nowhere/foldaway", "follow", "pi"] });
  assert.equal(await link.ask(view("short")), undefined);
});

test("after three faults in a row nothing is started for a while", async () => {
  const link = new Link("pi", { command: FAKE, pauseMs: 1_000_000 });
  for (let turn = 0; turn < 3; turn++) await link.ask(view("fails"));
  assert.equal(link.child, undefined);
  assert.equal(await link.ask(view("short")), undefined);
  assert.equal(link.child, undefined);
});
