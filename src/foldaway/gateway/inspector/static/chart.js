// The window over time: prompts stacked by kind, the limit, compactions, and what no cache had.
import { short, themed } from "./page.js";

const { uPlot } = globalThis;

/** Steps between the numbers of requests on an axis. */
export const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];

/** Return the sums from the bottom up, the topmost first, as areas are drawn over each other. */
function stacked(kinds, amounts) {
  const sums = [];
  let last = null;
  for (const kind of kinds) {
    last = amounts[kind].map((value, at) => value + (last ? last[at] : 0));
    sums.push(last);
  }
  return sums.reverse();
}

const NEAR = 8; // pixels beside a compaction that count as on it

/**
 * Draw the timeline into an element; `pointed` hears of columns and where they are, or of null,
 * `picked` of clicks on them, and `stepped` of clicks on a compaction, by its place in `steps`.
 */
export function drawTimeline(element, { drawn, steps, window, pointed, picked, stepped }) {
  const kinds = Object.keys(drawn.held);
  const requests = drawn.last.map((at) => at + 1);
  const single = requests.length === 1; // a line needs two points
  const lower = document.getElementById("lower");
  let xs = requests;
  let chart;
  let byTime = false;

  /** Return where a request is on the axis; one past the last is at its end. */
  function placeOf(request) {
    const column = drawn.last.findIndex((last) => last >= request);
    return byTime ? xs.at(column) : request + 1;
  }

  function data() {
    let latest = 0;
    xs = byTime ? drawn.time.map((time) => (latest = Math.max(latest, time))) : requests;
    const rows = [xs, ...stacked(kinds, drawn.held), xs.map(() => window || null)];
    return single ? rows.map(([one], at) => [one, at ? one : one + 1]) : rows;
  }

  const column = ({ cursor }) => (cursor.idx == null ? null : Math.min(cursor.idx, drawn.last.length - 1));
  const paths = () => (byTime ? uPlot.paths.stepped({ align: 1 }) : undefined); // until the next one

  const axis = (values, size) => ({
    stroke: themed("--dim"), grid: { stroke: themed("--line"), width: 1 },
    ticks: { stroke: themed("--line") }, font: "12px system-ui, sans-serif", values, size,
  });
  const options = () => ({
    width: element.clientWidth, height: element.clientHeight,
    padding: [null, 16, null, null], // the same for both charts, so that requests stand above each other
    legend: { show: false }, cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
    scales: { x: { time: byTime }, y: { range: (_, low, high) => [0, Math.max(high, 1) * 1.04] } },
    axes: [{ ...axis(undefined, byTime ? 48 : 34), ...(byTime ? {} : { incrs: WHOLE }) }, axis((_, ticks) => ticks.map(short), 46)],
    series: [
      { label: "request" },
      ...kinds.toReversed().map((kind) => ({
        label: kind, fill: themed(`--kind-${kind}`), stroke: themed("--card"), width: 0.5,
        points: { show: false }, paths: paths(),
      })),
      { label: "window", stroke: themed("--bad"), width: 1.5, points: { show: false } },
    ],
    hooks: {
      setCursor: [(self) => pointed(column(self), self.cursor.left + self.over.offsetLeft)],
      draw: [drawSteps],
    },
  });

  function drawSteps(self) {
    const { ctx, bbox } = self;
    ctx.save();
    ctx.strokeStyle = themed("--kind-summary");
    ctx.fillStyle = themed("--kind-summary");
    ctx.lineWidth = 2 * devicePixelRatio;
    for (const request of steps) {
      const x = Math.min(self.valToPos(placeOf(request), "x", true), bbox.left + bbox.width);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, bbox.top + 5 * devicePixelRatio, 4 * devicePixelRatio, 0, 7);
      ctx.fill();
    }
    ctx.restore();
  }

  function draw() {
    chart?.destroy();
    chart = new uPlot(options(), data(), element);
    chart.over.addEventListener("click", (event) => {
      const far = steps.map((request) => Math.abs(chart.valToPos(placeOf(request), "x") - event.offsetX));
      const nearest = far.indexOf(Math.min(...far));
      if (far[nearest] <= NEAR) stepped(nearest);
      else if (column(chart) != null) picked(column(chart));
    });
  }

  /** Draw below it one figure of each request. */
  function drawLower(place) {
    const isTokens = lower.value === "paid";
    const color = themed(isTokens ? "--bad" : "--mark");
    return new uPlot({
      ...options(), width: place.clientWidth, height: 90, hooks: {}, scales: { x: { time: byTime } },
      axes: [{ show: false }, { ...axis((_, ticks) => isTokens ? ticks.map(short) : ticks, 46), space: 24 }],
      series: [{ label: "request" }, {
        label: lower.value, stroke: color, fill: color, width: 0,
        paths: uPlot.paths.bars({ size: [1, 40, 1] }), points: { show: false },
      }],
    }, [xs, drawn[lower.value]], place);
  }

  const lowerPlace = document.getElementById("paid");
  let lowerChart;
  const drawAll = () => {
    draw();
    lowerChart?.destroy();
    if (lowerPlace) lowerChart = drawLower(lowerPlace);
  };
  drawAll();
  lower?.addEventListener("change", drawAll);
  const axes = [...document.querySelectorAll("[data-axis]")];
  for (const button of axes) {
    button.addEventListener("click", () => {
      byTime = button.dataset.axis === "time";
      for (const one of axes) one.setAttribute("aria-pressed", one === button);
      drawAll();
    });
  }
  element.tabIndex = 0;
  element.addEventListener("keydown", (event) => {
    const last = requests.length - 1;
    const here = column(chart) ?? 0;
    const moves = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last, PageUp: here - 10, PageDown: here + 10 };
    if (event.key === "Enter") picked(here);
    else if (event.key in moves) {
      const next = Math.min(Math.max(moves[event.key], 0), last);
      chart.setCursor({ left: chart.valToPos(xs[next], "x"), top: 10 });
    } else return;
    event.preventDefault();
  });
  element.addEventListener("blur", () => pointed(null));
  addEventListener("foldaway-theme", drawAll);
  new ResizeObserver(() => chart.width !== element.clientWidth && drawAll()).observe(element);
}
