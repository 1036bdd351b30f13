// foldaway-agents: the end for Pi, an extension.
import { Link, applied } from "./link.js";
import { TOOLS } from "./tools.js";

/** @param {any} ctx */
const about = (ctx) => ({
  session: ctx.sessionManager.getSessionId(),
  model: ctx.model?.id ?? "",
  window: ctx.model?.contextWindow ?? 0,
  cwd: ctx.cwd,
});

/** @param {any} pi */
export default function foldaway(pi) {
  const link = new Link("pi");
  pi.on("session_start", () => link.start());
  pi.on("session_shutdown", () => link.stop());

  // before each request: the view of Pi's list
  pi.on("context", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
    const messages = event.messages;
    const answer = await link.ask({ do: "view", ...about(ctx), messages });
    return answer?.edits ? { messages: applied(messages, answer.edits) } : undefined;
  });

  // Pi compacts by itself: the summary, so that no model is asked for one
  pi.on("session_before_compact", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
    const { preparation } = event;
    const { previousSummary, firstKeptEntryId, tokensBefore } = preparation;
    const before = previousSummary ? [{ role: "compactionSummary", summary: previousSummary }] : [];
    const messages = [
      ...before,
      ...preparation.messagesToSummarize,
      ...preparation.turnPrefixMessages,
    ];
    const focus = event.customInstructions ?? "";
    const answer = await link.ask({ do: "summary", ...about(ctx), messages, focus });
    if (!answer?.text) return undefined;
    return { compaction: { summary: answer.text, firstKeptEntryId, tokensBefore } };
  });

  for (const tool of TOOLS)
    pi.registerTool({
      ...tool,
      label: tool.name,
      async execute(
        /** @type {string} */ _id,
        /** @type {any} */ args,
        /** @type {any} */ _signal,
        /** @type {any} */ _update,
        /** @type {any} */ ctx,
      ) {
        const asked = { do: "call", ...about(ctx), tool: tool.name, arguments: args };
        const answer = await link.ask(asked);
        const text = answer?.text || "Foldaway does not answer; go on without it";
        return { content: [{ type: "text", text }], details: {} };
      },
    });
}
