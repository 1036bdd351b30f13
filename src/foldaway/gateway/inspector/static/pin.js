// What can be done with a message: pin it, so that no compaction folds it, or show a secret in it.
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

/** Show the secret behind a button; `address` is that of the page of its session. */
export async function reveal(button, address) {
  const row = button.closest("[data-position]");
  try {
    const { secret } = await act("POST", `${address}/secret`, {
      position: Number(row?.dataset.position ?? -1), mark: button.dataset.mark,
    });
    const shown = document.createElement("span");
    shown.className = "secret shown";
    shown.textContent = secret;
    button.replaceWith(shown);
  } catch (error) {
    say(error.message, true);
  }
}
