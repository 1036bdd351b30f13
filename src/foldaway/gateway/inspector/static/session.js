// The page of a session: the timeline, and a conversation of any length of which only the part
// near the screen is in the page.
import { drawTimeline } from "./chart.js";
import { lazyList } from "./list.js";
import { given, say, short } from "./page.js";
import { pin, reveal } from "./pin.js";

const talk = document.getElementById("talk");
const { address, api, session, show } = talk.dataset;
const total = Number(talk.dataset.total);
const size = Number(talk.dataset.chunk);
// The conversation

const list = lazyList(talk, {
  total, size, heights: given("sizes")?.length ? given("sizes") : [size * 120],
  part: (start, stop) => `${address}/rows?start=${start}&stop=${stop}&show=${show}`,
});
document.querySelector(".pages")?.remove();

/** Show a message: load what holds it, go there, and let it be seen. */
async function goTo(position) {
  if (show === "view") {
    location.href = `${address}?at=${position}#m${position}`;
    return;
  }
  const at = Math.min(Math.max(position, 0), total - 1);
  await list.at(at);
  const row = document.getElementById(`m${at}`);
  if (!row) return;
  row.scrollIntoView({ block: "start" });
  row.focus({ preventScroll: true });
  row.classList.add("found");
  setTimeout(() => row.classList.remove("found"), 2_000);
  history.replaceState(null, "", `${address}?at=${at}#m${at}`);
}

const wanted = /^#m(\d+)$/.exec(location.hash);
if (wanted) goTo(Number(wanted[1]));
addEventListener("hashchange", () => {
  const found = /^#m(\d+)$/.exec(location.hash);
  if (found) goTo(Number(found[1]));
});

// What can be done with a message

/** Open the originals behind a summary or a shorter version, in place, some at a time. */
async function openOriginals(button) {
  const next = button.nextElementSibling;
  if (next?.classList.contains("inner")) {
    next.remove();
    button.setAttribute("aria-expanded", "false");
    return;
  }
  const inner = document.createElement("div");
  inner.className = "inner";
  inner.tabIndex = -1;
  button.after(inner);
  button.setAttribute("aria-expanded", "true");
  await addOriginals(inner, Number(button.dataset.start), Number(button.dataset.stop));
  inner.focus({ preventScroll: true });
}

async function addOriginals(inner, start, stop) {
  const end = Math.min(start + size, stop);
  const answer = await fetch(`${address}/rows?start=${start}&stop=${end}&show=log&inner=1`);
  if (!answer.ok) return say(`Originals could not be read: the server answered ${answer.status}.`, true);
  inner.insertAdjacentHTML("beforeend", await answer.text());
  if (end < stop) {
    const more = document.createElement("button");
    more.type = "button";
    more.className = "second";
    more.textContent = `Show more of the ${(stop - end).toLocaleString("en")} that follow`;
    more.addEventListener("click", () => { more.remove(); addOriginals(inner, end, stop); });
    inner.append(more);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button");
  if (button?.matches(".originals")) openOriginals(button);
  else if (button?.matches(".pin")) pin(button, `${api}/sessions/${session}`);
  else if (button?.matches(".secret")) reveal(button, address);
});

addEventListener("keydown", (event) => {
  if (event.target.matches?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key !== "j" && event.key !== "k") return;
  const rows = [...talk.querySelectorAll(".chunk > .row")];
  const here = rows.indexOf(document.activeElement?.closest?.(".chunk > .row"));
  const visible = rows.findIndex((row) => row.getBoundingClientRect().top > 60);
  const next = rows[here < 0 ? visible : here + (event.key === "j" ? 1 : -1)];
  next?.focus();
  next?.scrollIntoView({ block: "start" });
});

// The timeline

const drawn = given("drawn");
const chart = document.getElementById("timeline");
if (drawn && chart) {
  const pointed = document.getElementById("pointed");
  const tell = (at) => {
    const named = (kind) => chart.closest(".card").querySelector(`.legend .k-${kind}`)?.parentElement.textContent ?? kind;
    const parts = Object.entries(drawn.held).map(([kind, tokens]) => [kind, tokens[at]]);
    const read = drawn.cached[at] ? `, ${short(drawn.cached[at])} from the cache` : "";
    const cost = drawn.cost[at] ? `, $${drawn.cost[at].toFixed(3)}` : "";
    const many = drawn.first[at] === drawn.last[at] ? "" : `${drawn.first[at] + 1} to `;
    pointed.textContent = `Request ${many}${drawn.last[at] + 1}: ${short(drawn.prompt[at])} tokens${read}${cost}. ` +
      parts.filter(([, tokens]) => tokens).map(([kind, tokens]) => `${named(kind)} ${short(tokens)}`).join(", ");
  };
  const { steps, window } = chart.dataset;
  drawTimeline(chart, drawn, JSON.parse(steps), Number(window), tell,
    (at) => goTo(Math.max(drawn.position[at] - 1, 0)),
    (step) => { location.href = document.querySelectorAll(".steps li > a:first-child")[step].href; });
}
