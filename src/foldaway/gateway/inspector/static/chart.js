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
 * Draw the timeline into an element; `pointed` hears of columns, `picked` of clicks on them, and
 * `stepped` of clicks on a compaction, by its place in `steps`.
 */
export function drawTimeline(element, drawn, steps, window, pointed, picked, stepped) {
  const kinds = Object.keys(drawn.held);
  const requests = drawn.last.map((at) => at + 1);
  const data = [requests, ...stacked(kinds, drawn.held), requests.map(() => window || null)];
  const single = requests.length === 1; // a line needs two points
  const paths = single ? uPlot.paths.bars({ size: [0.2, 60] }) : undefined;
  let chart;

  const axis = (values, size) => ({
    stroke: themed("--dim"), grid: { stroke: themed("--line"), width: 1 },
    ticks: { stroke: themed("--line") }, font: "12px system-ui, sans-serif", values, size,
  });
  const options = () => ({
    width: element.clientWidth, height: Math.max(220, Math.min(320, element.clientWidth * 0.6)),
    padding: [null, 16, null, null], // the same for both charts, so that requests stand above each other
    legend: { show: false }, cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, Math.max(high, 1) * 1.04] } },
    axes: [{ ...axis(undefined, 34), incrs: WHOLE }, axis((_, ticks) => ticks.map(short), 46)],
    series: [
      { label: "request" },
      ...kinds.toReversed().map((kind) => ({
        label: kind, fill: themed(`--kind-${kind}`), stroke: themed("--card"), width: 0.5,
        points: { show: false }, paths,
      })),
      { label: "window", stroke: themed("--bad"), width: 1.5, points: { show: false } },
    ],
    hooks: {
      setCursor: [(self) => self.cursor.idx != null && pointed(self.cursor.idx)],
      draw: [drawSteps],
    },
  });

  function drawSteps(self) {
    const { ctx, bbox } = self;
    ctx.save();
    ctx.strokeStyle = themed("--kind-summary");
    ctx.fillStyle = themed("--kind-summary");
    ctx.lineWidth = 2 * devicePixelRatio;
    if (single && window) {
      const y = self.valToPos(window, "y", true);
      ctx.fillStyle = themed("--bad");
      ctx.fillRect(bbox.left, y, bbox.width, 1.5 * devicePixelRatio);
      ctx.fillStyle = themed("--kind-summary");
    }
    for (const request of steps) {
      const x = Math.min(self.valToPos(request + 1, "x", true), bbox.left + bbox.width);
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
    chart = new uPlot(options(), data, element);
    chart.over.addEventListener("click", (event) => {
      const far = steps.map((request) => Math.abs(chart.valToPos(request + 1, "x") - event.offsetX));
      const nearest = far.indexOf(Math.min(...far));
      if (far[nearest] <= NEAR) stepped(nearest);
      else if (chart.cursor.idx != null) picked(chart.cursor.idx);
    });
  }

  /** Draw below it what of each prompt did not come out of the cache. */
  function drawPaid(place) {
    const made = new uPlot({
      ...options(), width: place.clientWidth, height: 90, hooks: {}, scales: { x: { time: false } },
      axes: [{ show: false }, { ...axis((_, ticks) => ticks.map(short), 46), space: 24 }],
      series: [{ label: "request" }, {
        label: "not from the cache", stroke: themed("--bad"), fill: themed("--bad"), width: 0,
        paths: uPlot.paths.bars({ size: [1, 40, 1] }), points: { show: false },
      }],
    }, [requests, drawn.paid], place);
    return made;
  }

  const paidPlace = document.getElementById("paid");
  let paidChart;
  const drawAll = () => {
    draw();
    paidChart?.destroy();
    if (paidPlace) paidChart = drawPaid(paidPlace);
  };
  drawAll();
  element.tabIndex = 0;
  element.addEventListener("keydown", (event) => {
    const last = requests.length - 1;
    const here = chart.cursor.idx ?? 0;
    const moves = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last, PageUp: here - 10, PageDown: here + 10 };
    if (event.key === "Enter") picked(here);
    else if (event.key in moves) {
      const next = Math.min(Math.max(moves[event.key], 0), last);
      chart.setCursor({ left: chart.valToPos(requests[next], "x"), top: 10 });
      pointed(next);
    } else return;
    event.preventDefault();
  });
  addEventListener("foldaway-theme", drawAll);
  new ResizeObserver(() => chart.width !== element.clientWidth && drawAll()).observe(element);
}
