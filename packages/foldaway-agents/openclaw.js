// foldaway-agents: the end for OpenClaw, a context engine.
//
// OpenClaw keeps its transcript, and still compacts by itself: what Foldaway does is the view.
import { Link, applied } from "./link.js";

/** About how many characters a token has; only for a list that Foldaway did not count. */
const CHARS_PER_TOKEN = 4;

/** Of the plug-in and of the engine. */
const ID = "foldaway-agents";

const link = new Link("openclaw");

/** @param {any} params */
const about = (params) => ({
  session: params.sessionId, // a key goes on with another transcript after /new
  model: params.model ?? "",
  window: params.tokenBudget ?? 0,
});

const engine = {
  info: {
    id: ID,
    name: "Foldaway",
    ownsCompaction: false,
    transcriptSemantics: {
      currentTurnFence: "before-current-turn-entry-v1",
      turnAdvancementIdempotency: "atomic-idempotent-v1",
    },
  },

  // every list is followed as a whole, so single messages need not be taken
  ingest: async () => ({ ingested: false }),
  commitTurn: async () => ({ status: "committed" }),

  /** @param {any} params */
  async assemble(params) {
    const messages = params.messages;
    const answer = await link.ask({ do: "view", ...about(params), messages });
    return {
      messages: answer?.edits ? applied(messages, answer.edits) : messages,
      estimatedTokens:
        answer?.tokens ?? Math.ceil(JSON.stringify(messages).length / CHARS_PER_TOKEN),
    };
  },

  // /compact, and a request that was too long: OpenClaw's own way, with the facts of the log
  /** @param {any} params */
  async compact(params) {
    const focus = params.customInstructions ?? "";
    const answer = await link.ask({ do: "facts", ...about(params), focus });
    const { delegateCompactionToRuntime } = await import("openclaw/plugin-sdk/core");
    const customInstructions = [focus, answer?.text].filter(Boolean).join("\n\n") || undefined;
    return delegateCompactionToRuntime({ ...params, customInstructions });
  },
};

/** @param {any} api */
export default function register(api) {
  api.registerContextEngine(ID, () => engine);
}
