// Work of the server that a page waits for: how far it is, and the parts of the page that it changes.

const parts = () => [...document.querySelectorAll("[data-part]")];
const served = new Map(parts().map((part) => [part.dataset.part, part.innerHTML]));

/** Replace the parts of the page that the server writes otherwise now; `replaced` hears of each. */
export async function refresh(replaced = () => {}) {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts()) {
    const name = part.dataset.part;
    const other = fresh.querySelector(`[data-part="${name}"]`);
    if (!other || other.innerHTML === served.get(name)) continue;
    served.set(name, other.innerHTML);
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    part.innerHTML = other.innerHTML;
    part.className = other.className;
    part.querySelectorAll("details").forEach((one, at) => (one.open = open[at] ?? false));
    replaced(name);
  }
}

/** Draw how far the work is that an element tells of, until it is done or `changed` changes nothing. */
export async function followProgress(id, { address, changed }) {
  for (;;) {
    const place = document.getElementById(id);
    if (!place) return;
    const known = place.dataset.step;
    const state = await fetch(address(known)).then((answer) => answer.json()).catch(() => null);
    if (!state) return;
    if (state.step !== known) {
      await changed();
      if (document.getElementById(id)?.dataset.step === known) return;
    } else if (state.total) {
      const bar = place.querySelector("progress");
      bar.max = state.total;
      bar.value = state.done;
    }
  }
}
