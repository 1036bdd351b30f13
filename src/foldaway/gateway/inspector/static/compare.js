// Two sessions in one chart, and the trial of strategies on one session.
import { WHOLE } from "./chart.js";
import { act, given, press, short, themed } from "./page.js";

const WAIT = 1_000; // milliseconds between two looks at a trial
const SAYS = { waiting: "Waiting for another one", measuring: "Measuring what is kept", replaying: "Replaying what it costs" };

function drawFill() {
  const place = document.getElementById("fill");
  const data = given("fill-data");
  if (!place || !data) return;
  const length = Math.max(data.a.length, data.b.length);
  const padded = (sizes) => Array.from({ length }, (_, at) => sizes[at] ?? null);
  const line = (label, color) => ({ label, stroke: themed(color), width: 2, points: { show: length < 60 }, value: (_, size) => (size == null ? "–" : short(size)) });
  const axis = { stroke: themed("--dim"), grid: { stroke: themed("--line"), width: 1 }, ticks: { show: false } };
  const chart = () => new uPlot(
    {
      width: place.clientWidth, height: 260,
      scales: { x: { time: false } },
      series: [{ label: "request" }, line("first", "--kind-user"), line("second", "--kind-results")],
      axes: [{ ...axis, incrs: WHOLE }, { ...axis, size: 56, values: (_, values) => values.map(short) }],
      cursor: { y: false },
    },
    [Array.from({ length }, (_, at) => at + 1), padded(data.a), padded(data.b)],
    place,
  );
  place.replaceChildren();
  const drawn = chart();
  new ResizeObserver(() => drawn.setSize({ width: place.clientWidth, height: 260 })).observe(place);
}

async function follow(address, state) {
  const said = document.getElementById("try-state");
  const bar = document.getElementById("try-bar");
  bar.hidden = false;
  while (state.step in SAYS) {
    const text = `${SAYS[state.step]}${state.total ? `, ${state.done} of ${state.total}` : ""} …`;
    if (said.textContent !== text) said.textContent = text;
    bar.value = state.total ? state.done / state.total : 0;
    await new Promise((resolve) => setTimeout(resolve, WAIT));
    state = await (await fetch(address)).json();
  }
  location.reload();
}

const start = document.getElementById("try");
start?.addEventListener("click", () =>
  press(start, async () => follow(start.dataset.address, await act("POST", start.dataset.address))),
);
if (start && start.dataset.step in SAYS) press(start, () => follow(start.dataset.address, { step: start.dataset.step }));

addEventListener("foldaway-theme", drawFill);
if (window.uPlot) drawFill();
else addEventListener("load", drawFill);
