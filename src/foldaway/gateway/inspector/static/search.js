// Search: the words of files, copied in the background, then searched with the rest.
import { act, press, say } from "./page.js";
import { followProgress, refresh } from "./progress.js";

/** Follow the copying; show what it found at its end. */
const follow = () => followProgress("copying", {
  address: (step) => step === "reading" ? "/inspector/reading?known=reading" : "/inspector/search/files?known=copying",
  changed: async () => {
    await refresh();
    if (!document.getElementById("copying")) say("The words of your files are searched now.");
  },
});

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("#copy");
  if (button) press(button, async () => {
    await act("POST", "/inspector/search/files");
    await refresh();
    document.getElementById("q")?.focus();
    await follow();
  });
});
follow();
