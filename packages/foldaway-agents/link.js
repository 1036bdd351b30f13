// foldaway-agents: asks the local Foldaway, a process of its own behind a pipe.
//
// No port, no other host. Whatever goes wrong, `ask` gives undefined in time, and the agent goes on
// with its own list.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** What a call may take, in milliseconds; as `foldaway hook`. */
const LIMIT_MS = 5_000;
/** Faults in a row after which Foldaway is left alone for a while. */
const MOST_FAULTS = 3;
/** How long it is left alone, in milliseconds. */
const PAUSE_MS = 60_000;

/**
 * @typedef {{edits?: Array<Array<any>>, tokens?: number, text?: string, error?: string}} Answer
 */

/**
 * The command that answers: the one that `foldaway install` wrote beside this file, or `foldaway`
 * on the path.
 * @param {string} agent
 * @returns {string[]}
 */
export function commandFor(agent) {
  try {
    return JSON.parse(readFileSync(new URL("./foldaway.json", import.meta.url), "utf8")).command;
  } catch {
    return ["foldaway", "follow", agent];
  }
}

/**
 * What to send: the agent's own messages by their places, and those that Foldaway wrote.
 * @template T
 * @param {T[]} own
 * @param {Array<Array<any>>} edits
 * @returns {T[]}
 */
export function applied(own, edits) {
  return edits.flatMap((edit) =>
    typeof edit[0] === "number" ? own.slice(edit[0], edit[1]) : edit,
  );
}

/** A process that answers requests, one line of JSON each; started when it is needed. */
export class Link {
  /**
   * @param {string} agent
   * @param {{command?: string[], limitMs?: number, pauseMs?: number}} [options]
   */
  constructor(agent, options = {}) {
    this.command = options.command ?? commandFor(agent);
    this.limitMs = options.limitMs ?? LIMIT_MS;
    this.pauseMs = options.pauseMs ?? PAUSE_MS;
    /** @type {Map<number, (answer: Answer | undefined) => void>} */
    this.waiting = new Map();
    /** @type {import("node:child_process").ChildProcess | undefined} */
    this.child = undefined;
    this.count = 0;
    this.faults = 0;
    this.pausedUntil = 0;
  }

  /** Start the process, unless it runs. It ends with the agent, whose pipe it reads. */
  start() {
    if (this.child || Date.now() < this.pausedUntil) return;
    const [program, ...rest] = this.command;
    let child;
    try {
      child = spawn(program, rest, { stdio: ["pipe", "pipe", "ignore"], detached: true });
    } catch {
      this.fail();
      return;
    }
    this.child = child;
    const ended = () => this.end(child);
    child.on("error", ended);
    child.on("exit", ended);
    child.stdin.on("error", ended);
    child.stdout.on("error", ended);
    let held = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (piece) => {
      const lines = (held + piece).split("\n");
      held = lines.pop() ?? "";
      for (const line of lines) this.take(line);
    });
    // nothing here keeps the agent from ending
    for (const one of [child, child.stdin, child.stdout]) /** @type {any} */ (one).unref?.();
  }

  /**
   * The answer to a request, undefined if there is none in time.
   * @param {Record<string, any>} request
   * @returns {Promise<Answer | undefined>}
   */
  async ask(request) {
    this.start();
    const child = this.child;
    if (!child) return undefined;
    const id = ++this.count;
    /** @type {Answer | undefined} */
    const answer = await new Promise((resolve) => {
      const timer = setTimeout(() => settle(undefined), this.limitMs);
      const settle = (/** @type {Answer | undefined} */ found) => {
        clearTimeout(timer);
        this.waiting.delete(id);
        resolve(found);
      };
      this.waiting.set(id, settle);
      try {
        child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`);
      } catch {
        settle(undefined);
      }
    });
    if (!answer || answer.error) {
      this.fail();
      return undefined;
    }
    this.faults = 0;
    return answer;
  }

  /** End the process; a later request starts another one. */
  stop() {
    this.child?.stdin?.end();
    this.end(this.child);
  }

  /** @param {string} line */
  take(line) {
    try {
      const answer = JSON.parse(line);
      this.waiting.get(answer.id)?.(answer);
    } catch {
      // not for us
    }
  }

  /** @param {import("node:child_process").ChildProcess | undefined} child */
  end(child) {
    if (child !== this.child) return;
    this.child = undefined;
    for (const settle of [...this.waiting.values()]) settle(undefined);
  }

  fail() {
    this.faults += 1;
    if (this.faults < MOST_FAULTS) return;
    this.faults = 0;
    this.pausedUntil = Date.now() + this.pauseMs;
    this.child?.kill("SIGKILL"); // it may hang
    this.end(this.child);
  }
}
