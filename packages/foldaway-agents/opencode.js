// foldaway-agents: the end for OpenCode, a plug-in.
import { Link, applied } from "./link.js";

const link = new Link("opencode");

/** @param {{directory: string}} input */
export const Foldaway = async ({ directory }) => {
  /** @type {Map<string, number>} */
  const windows = new Map();
  /** @type {Set<string>} */
  const compacting = new Set();
  link.start();
  return {
    // after each request: the window of its model, for the next one
    "chat.params": async (/** @type {any} */ input) => {
      const limit = input.model?.limit;
      const window = limit?.input || limit?.context;
      if (window) windows.set(input.model.id, window);
    },

    // before each request: the view of OpenCode's list
    "experimental.chat.messages.transform": async (
      /** @type {any} */ _input,
      /** @type {{messages: any[]}} */ output,
    ) => {
      const messages = output.messages;
      const info = messages.findLast((one) => one.info.role === "user")?.info;
      if (!info) return;
      const model = info.model?.modelID ?? "";
      const answer = await link.ask({
        do: compacting.has(info.sessionID) ? "head" : "view",
        session: info.sessionID,
        model,
        window: windows.get(model) ?? 0,
        cwd: directory,
        messages,
      });
      // OpenCode goes on with the very list that it gave
      if (answer?.edits) messages.splice(0, messages.length, ...applied(messages, answer.edits));
    },

    // OpenCode compacts by itself: facts for its summary, and those that the summary left out
    "experimental.session.compacting": async (
      /** @type {{sessionID: string}} */ { sessionID },
      /** @type {{context: string[]}} */ output,
    ) => {
      compacting.add(sessionID);
      const answer = await link.ask({ do: "facts", session: sessionID });
      if (answer?.text) output.context.push(answer.text);
    },
    "experimental.text.complete": async (
      /** @type {{sessionID: string}} */ { sessionID },
      /** @type {{text: string}} */ output,
    ) => {
      if (!compacting.delete(sessionID)) return;
      const answer = await link.ask({ do: "dropped", session: sessionID, summary: output.text });
      if (answer?.text) output.text += `\n\n${answer.text}`;
    },

    dispose: async () => link.stop(),
  };
};
