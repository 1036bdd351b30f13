// The overview and the list of sessions: the chart, and parts that come when the files are read.
import { given, plural, short, themed } from "./page.js";
import { followProgress, refresh } from "./progress.js";

let charts = [];

/** Draw money and tokens by day, week or month; a click on one shows it alone. */
function draw() {
  for (const one of charts) one.destroy();
  charts = [];
  const place = document.getElementById("chart");
  const found = given("bars");
  if (!place || !found || !globalThis.uPlot) return;
  place.replaceChildren();
  const said = Object.assign(document.createElement("p"), { className: "reads" });
  place.append(said);
  const tell = (at) => {
    const one = found.bars[at ?? found.bars.findIndex((bar) => bar.is_chosen)];
    said.textContent = one
      ? `${one.name}: ${one.dollars || "no cost"}, ${short(one.tokens)} tokens, ${plural(one.requests, "request")}`
      : `By ${found.period}; a click shows one alone`;
  };
  const rows = [["tokens", "--kind-agent", (value) => short(value)]];
  if (found.bars.some((one) => one.cost > 0)) {
    rows.unshift(["cost", "--mark", (value) => `$${value >= 10 ? short(value) : Number.isInteger(value) ? value : value.toFixed(2)}`]);
  }
  for (const [name, color, format] of rows) charts.push(chartOf(place, found, name, color, format, rows.length, tell));
  tell(null);
}

function chartOf(place, found, name, color, format, count, tell) {
  const axis = { stroke: themed("--dim"), grid: { stroke: themed("--line"), width: 1 }, ticks: { show: false } };
  const fill = themed(color);
  const labels = found.bars.map((one) => one.name);
  const chart = new uPlot({
    width: place.clientWidth, height: count > 1 ? 140 : 220, padding: [8, 8, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { setScale: false, x: false, y: false }, sync: { key: "days" } },
    legend: { show: false },
    scales: { x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] }, y: { range: (_, low, high) => [0, high || 1] } },
    axes: [
      { ...axis, grid: { show: false }, space: 90, size: 30, font: "12px system-ui, sans-serif", incrs: [1, 2, 5, 7, 10, 14, 20, 30, 50], values: (_, at) => at.map((one) => (Number.isInteger(one) ? labels[one] ?? "" : "")) },
      { ...axis, size: 58, space: 24, label: name === "cost" ? "Cost" : "Tokens", labelSize: 20, labelFont: "12px system-ui, sans-serif", font: "12px system-ui, sans-serif", values: (_, at) => at.map(format) },
    ],
    series: [{}, {
      label: name, fill, width: 0, points: { show: false },
      paths: uPlot.paths.bars({ size: [0.8, 36], radius: 0.15 }),
    }],
    hooks: { setCursor: [(plot) => tell(plot.cursor.idx)] },
  }, [labels.map((_, at) => at), found.bars.map((one) => one[name])], place);
  chart.over.addEventListener("click", () => {
    const one = found.bars[chart.cursor.idx];
    if (one) location.assign(one.address);
  });
  return chart;
}

addEventListener("DOMContentLoaded", draw);
if (document.readyState !== "loading") draw();
addEventListener("foldaway-theme", draw);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) draw();
  width = innerWidth;
});
// what is there is shown as soon as it is
followProgress("progress", {
  address: (step) => `/inspector/reading?known=${step}`,
  changed: () => refresh((name) => name === "figures" && draw()),
});
