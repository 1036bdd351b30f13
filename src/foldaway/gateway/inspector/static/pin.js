// Pins: messages that no compaction folds.
import { act, say } from "./page.js";

/** Pin or unpin the message that a button belongs to; `address` is that of its session in the API. */
export async function pin(button, address) {
  const row = button.closest("[data-position]");
  const isPinned = Boolean(button.dataset.pinned);
  try {
    await act(isPinned ? "DELETE" : "POST", `${address}/pins/${row.dataset.position}`);
  } catch (error) {
    say(error.message, true);
    return;
  }
  button.dataset.pinned = isPinned ? "" : "yes";
  button.textContent = isPinned ? "pin" : "unpin";
  button.setAttribute("aria-label", `${isPinned ? "Pin" : "Unpin"} message ${row.dataset.position}`);
  row.querySelector(".pinned")?.remove();
  const rest = row.querySelector(".rest");
  if (!isPinned && rest) {
    const chip = document.createElement("span");
    chip.className = "chip pinned";
    chip.textContent = "pinned";
    rest.before(chip);
  }
  say(isPinned ? "Compactions may fold it again." : "No compaction folds it from now on.");
}
