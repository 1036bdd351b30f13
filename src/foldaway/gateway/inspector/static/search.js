// Search: the words of files, copied in the background, then searched with the rest.
import { act, say } from "./page.js";

/** Replace the hits, and what is said about files, by what the server writes now. */
async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-part]")) {
    const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
    if (other) part.innerHTML = other.innerHTML;
  }
}

/** Follow the copying; show what it found at its end. */
async function follow() {
  for (;;) {
    const place = document.getElementById("copying");
    if (!place) return;
    const isReading = place.dataset.step === "reading";
    const address = isReading ? "/inspector/reading?known=reading" : "/inspector/search/files?known=copying";
    const state = await fetch(address).then((answer) => answer.json()).catch(() => null);
    if (!state) return;
    if (state.step !== place.dataset.step) {
      await refresh();
      if (!document.getElementById("copying")) say("The words of your files are searched now.");
    } else if (state.total) {
      const bar = place.querySelector("progress");
      bar.max = state.total;
      bar.value = state.done;
    }
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("#copy");
  if (!button) return;
  button.disabled = true;
  try {
    await act("POST", "/inspector/search/files");
    await refresh();
    document.getElementById("q")?.focus();
    await follow();
  } catch (error) {
    button.disabled = false;
    say(error.message, true);
  }
});
follow();
