// The page of a compaction: both sides, the facts that were used later, and a slider over sizes.
import { lazyList } from "./list.js";
import { act, plural, press, short } from "./page.js";
import { pin, reveal } from "./pin.js";

const LINE = 30; // pixels of a line
const CELL = 10; // pixels of a square of the map
const FATES = ["kept", "rewritten", "folded", "added", "summary"];

/** Draw a square for each message, in rows from left to right. */
function drawMap(svg, runs) {
  const columns = Math.max(Math.floor((svg.parentElement.clientWidth || 300) / CELL), 10);
  const count = runs.reduce((sum, [many]) => sum + many, 0);
  const scale = Math.max(Math.ceil(count / (columns * 40)), 1); // at most forty rows
  const rows = Math.ceil(count / scale / columns);
  svg.setAttribute("viewBox", `0 0 ${columns} ${Math.max(rows, 1)}`);
  svg.replaceChildren();
  const paths = Object.fromEntries(FATES.map((fate) => [fate, ""]));
  let at = 0;
  for (const [many, fate] of runs) {
    for (const stop = at + many; at < stop; at += 1) {
      if (at % scale) continue;
      const cell = at / scale;
      paths[fate] += `M${(cell % columns) + 0.08} ${Math.floor(cell / columns) + 0.08}h.84v.84h-.84z`;
    }
  }
  for (const fate of FATES) {
    if (!paths[fate]) continue;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", paths[fate]);
    path.setAttribute("class", `m-${fate}`);
    svg.append(path);
  }
}

// A compaction that was made

const made = document.getElementById("compaction");
if (made) {
  const { address, name, api, session } = made.dataset;
  const here = `${address}/compaction/${name}`;
  for (const svg of made.querySelectorAll(".map[data-runs]")) drawMap(svg, JSON.parse(svg.dataset.runs));
  for (const list of made.querySelectorAll(".lines")) {
    const { side, total, size } = list.dataset;
    lazyList(list, {
      total: Number(total), size: Number(size), heights: [LINE * Number(size)], tag: "ul", root: list,
      part: (start, stop) => `${here}/lines?side=${side}&start=${start}&stop=${stop}`,
    });
  }
  made.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (button?.matches(".pin")) pin(button, `${api}/sessions/${session}`);
    else if (button?.matches(".secret")) reveal(button, address);
  });
  const facts = document.getElementById("facts");
  if (facts) {
    fetch(`${here}/facts`)
      .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(answer.status))))
      .then((html) => { facts.innerHTML = html; })
      .catch(() => { facts.textContent = "They could not be read."; })
      .finally(() => facts.setAttribute("aria-busy", "false"));
  }
  document.getElementById("undo")?.addEventListener("click", (event) => press(event.target, async () => {
    await act("POST", `${api}/sessions/${session}/undo`);
    location.href = address;
  }));
}

// What another one would do

const trial = document.getElementById("trial");
if (trial) {
  const { api, session, address, before } = trial.dataset;
  const slider = document.getElementById("size");
  const focus = document.getElementById("focus");
  const said = document.getElementById("trial-said");
  const known = new Map(); // what each size would do, for the focus that is set
  const all = Array.from({ length: 9 }, (_, at) => 10 * (at + 1));
  let asked = 0;

  async function ask(budgets, round) {
    const wanted = { budgets, focus: focus.value.trim(), ...(before ? { before: Number(before) } : {}) };
    const answer = await act("POST", `${api}/sessions/${session}/budgets`, wanted);
    if (round !== asked) return;
    for (const one of answer.budgets) known.set(one.percent, { ...one, tokens: answer.tokens });
    draw();
  }

  async function refresh() {
    const round = (asked += 1);
    known.clear();
    said.textContent = "Working …";
    const first = Number(slider.value);
    try {
      await ask([first], round); // what is asked for now, then the rest behind it
      await ask(all.filter((one) => one !== first), round);
    } catch (error) {
      if (round === asked) said.textContent = error.message;
    }
  }

  function draw() {
    const percent = Number(slider.value);
    document.getElementById("size-said").textContent = `${percent}%`;
    const found = known.get(percent);
    if (!found) {
      said.textContent = "Working …";
      return;
    }
    const { report } = found;
    const counts = { kept: 0, rewritten: 0, folded: 0 };
    for (const [start, stop, fate] of found.fates) counts[fate] += stop - start;
    const missed = report.tokens_after > found.target_tokens * 1.1 ? ", the least that is possible" : "";
    said.textContent = report.status === "compacted"
      ? `${short(found.tokens)} → ${short(report.tokens_after)} tokens${missed}: ${plural(counts.kept, "message")} kept, ` +
        `${counts.rewritten} rewritten, ${counts.folded} folded.`
      : `Nothing would change: ${report.reason}. ${report.detail}`;
    drawMap(document.getElementById("trial-map"), found.fates.map(([start, stop, fate]) => [stop - start, fate]));
    document.getElementById("trial-summary").textContent = found.summary || "No summary: nothing would be folded.";
  }

  slider.addEventListener("input", draw);
  focus.addEventListener("change", refresh);
  refresh();

  async function compact() {
    const percent = Number(slider.value);
    said.textContent = "Compacting …";
    if (!known.has(percent)) await ask([percent], asked); // a click right after typing a focus
    const found = known.get(percent);
    if (!found) throw new Error("The size is still being worked out. Press the button again.");
    const answer = await act("POST", `${api}/sessions/${session}/compact`, {
      focus: focus.value.trim(), target_tokens: found.target_tokens,
    });
    if (answer.report.status !== "compacted") throw new Error(`Nothing changed: ${answer.report.reason}. ${answer.report.detail}`);
    location.href = `${address.replace(session, answer.session)}/compaction/${answer.view}`;
  }
  const button = document.getElementById("compact");
  button?.addEventListener("click", () => press(button, compact).then(() => button.disabled || draw()));
}
