// Charts: Vega-Lite specifications, drawn when they come into sight and again when the theme changes.

const CATEGORIES = {
  light: ["#1f6fb5", "#c8500a", "#1b7f4b", "#8745b8", "#a87900", "#b8215b", "#0b7f82", "#5b6672"],
  dark: ["#6cb6ff", "#ff9d5c", "#5fd38d", "#c79bff", "#e8bf4a", "#ff85b3", "#56d0d3", "#a9b3be"],
};
/** Lines told apart by colour; more than these share one colour. */
const LINES = 10;

const labels = (units) => units.map(([size, unit]) => `abs(datum.value) >= ${size} ? format(datum.value / ${size}, '~g') + '${unit}'`).join(" : ");
const AXIS = {
  us: labels([[1e6, " s"], [1e3, " ms"], [1, " µs"]]) + " : datum.value == 0 ? '0' : format(datum.value * 1000, '~g') + ' ns'",
  bytes: labels([[1e9, " GB"], [1e6, " MB"], [1e3, " KB"]]) + " : format(datum.value, '~g') + ' B'",
  binary: labels([[2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"]]) + " : format(datum.value, '~g') + ' B'",
  rate: labels([[1e9, " Gb/s"], [1e6, " Mb/s"], [1e3, " kb/s"]]) + " : format(datum.value, '~g')",
  number: "format(datum.value, '~g')",
};
const axis = (unit, title, more) => ({ title, labelExpr: AXIS[unit], ...more });

function config() {
  const [ink, faint, line] = [style("--ink"), style("--soft"), style("--line")];
  const text = { labelColor: faint, titleColor: faint, titleFontWeight: "normal" };
  return {
    background: "transparent",
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: { ...text, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 11, titleFontSize: 11, labelFlush: true, labelOverlap: "greedy", labelSeparation: 10 },
    legend: { ...text, labelColor: ink, orient: "bottom", columns: 4, labelLimit: 200, symbolStrokeWidth: 2, symbolOpacity: 1 },
    range: { category: dark() ? CATEGORIES.dark : CATEGORIES.light },
    line: { strokeWidth: 1.8 },
  };
}

const charts = new Map();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const chart = charts.get(entry.target.id);
    if (chart) {
      chart.visible = entry.isIntersecting;
      show(entry.target.id);
    }
  }
}, { rootMargin: "200px" });

/** Sets what a chart shows: a function that gives its specification, or null for nothing. */
function draw(id, build) {
  const chart = charts.get(id) || { visible: false };
  Object.assign(chart, { build, fresh: false });
  charts.set(id, chart);
  const spec = build && build();
  byId(id).closest("figure").hidden = !spec;
  watcher.unobserve(byId(id));
  if (spec) watcher.observe(byId(id));
}

async function show(id) {
  const chart = charts.get(id);
  if (!chart.visible || chart.fresh || !chart.build) return;
  chart.fresh = true;
  const spec = chart.build();
  if (!spec) return;
  if (chart.view) chart.view.finalize();
  const size = { width: "container", height: 200, autosize: { type: "fit-x", contains: "padding" } };
  const options = { actions: { export: true, source: false, compiled: false, editor: false }, config: config(), mode: "vega-lite", tooltip: { theme: dark() ? "dark" : "light" } };
  const result = await vegaEmbed(byId(id), { $schema: "https://vega.github.io/schema/vega-lite/v6.json", ...size, ...spec }, options);
  chart.view = result.view;
}

function redraw() {
  for (const [id, chart] of charts) {
    chart.fresh = false;
    show(id);
  }
}

/** How many ticks, so many pixels apart, a chart has room for beside what its other axis takes. */
const room = (id, other, apart) => Math.max(Math.floor((byId(id).clientWidth - other) / apart), 3);

const byArm = (more) => ({ field: "arm", type: "nominal", title: null, sort: null, ...more });
const armNames = () => group().arms.map((arm) => arm.name);

/** The distribution of completion times of each arm: the share that took at most so long, or, if `above`, longer. */
function distribution(above) {
  const values = group().arms.flatMap((arm) => {
    const curve = arm.fct[state.cls];
    if (!curve || !curve.x.length) return [];
    const steps = [[curve.x[0], 0], ...curve.x.map((x, i) => [x, curve.p[i]])];
    // No flow took longer than the slowest: a logarithmic axis ends there at the share before.
    const points = above ? steps.map(([x, p], i) => [x, 1 - (p < 1 ? p : steps[i - 1][1])]) : steps;
    return points.map(([x, p]) => ({ arm: arm.name, x, p, took: time(x), part: share(p) }));
  });
  if (!values.length) return null;
  const times = values.map((value) => value.x);
  const wide = Math.max(...times) > 8 * Math.min(...times);
  const across = wide ? logarithmic(times, room("cdf", 60, 42)) : { scale: { zero: false, nice: false }, ticks: { tickCount: room("cdf", 60, 80) } };
  const up = logarithmic(values.filter(({ p }) => p > 0).map(({ p }) => p), 8);
  return {
    data: { values },
    mark: { type: "line", interpolate: "step-after" },
    encoding: {
      x: { field: "x", type: "quantitative", scale: across.scale, axis: axis("us", "flow completion time", across.ticks) },
      y: above
        ? { field: "p", type: "quantitative", axis: { title: null, format: "~%", ...up.ticks }, scale: up.scale }
        : { field: "p", type: "quantitative", axis: { title: null, format: "%" }, scale: { domain: [0, 1] } },
      color: byArm({ scale: { domain: armNames() } }),
      strokeDash: byArm({ scale: { domain: armNames(), range: DASHES } }),
      tooltip: [{ field: "arm", title: "run" }, { field: "took", title: above ? "longer than" : "at most" }, { field: "part", title: "share" }],
    },
  };
}

/** One fewer than colours: 56 lines differ in one or the other. */
const DASHES = [[1, 0], [8, 3], [3, 2], [10, 2, 2, 2], [5, 5], [1, 3], [12, 4]];

/** Quantiles of the slowdown; one that is infinite breaks its line. */
function slowdown() {
  const values = group().arms.flatMap((arm) => Object.entries(arm.slowdown[state.cls] || {}).flatMap(([q, bins]) =>
    bins.map(([size, n, y]) => ({ arm: arm.name, size, text: `≤ ${bytes(size)}`, n, q, y, line: `${arm.name} ${q}` }))));
  const known = values.filter((value) => value.y != null);
  if (!known.length) return null;
  const sizes = [...new Set(known.map((value) => value.size))].sort((a, b) => a - b);
  const tooltip = [{ field: "arm", title: "run" }, { field: "text", title: "size" }, { field: "n", title: "flows" }, { field: "q", title: "quantile" }, { field: "y", title: "slowdown", format: ".3~g" }];
  const color = byArm({ scale: { domain: armNames() } });
  const quantile = known.some((value) => value.q === "p99");
  if (sizes.length <= 3) {
    return {
      data: { values: known },
      encoding: { x: { field: "text", type: "ordinal", sort: sizes.map((size) => `≤ ${bytes(size)}`), axis: { title: "flow size", labelAngle: 0 } }, xOffset: byArm({ sort: armNames() }), tooltip },
      layer: [
        ...(!quantile ? [] : [{ transform: [{ filter: "datum.q == 'p99'" }], mark: { type: "bar", width: { band: 0.7 }, fillOpacity: 0.15, strokeWidth: 1.5 }, encoding: { y: { field: "y", type: "quantitative" }, color, stroke: { ...color, legend: null } } }]),
        { transform: [{ filter: "datum.q == 'p50'" }], mark: { type: "bar", width: { band: 0.7 } }, encoding: { y: { field: "y", type: "quantitative", stack: null, axis: { title: "slowdown", format: "~g" } }, color } },
      ],
    };
  }
  const across = logarithmic(sizes, room("slowdown", 60, 48));
  const up = logarithmic(known.map(({ y }) => y), 8);
  return {
    data: { values },
    mark: { type: "line", point: { size: 22 }, invalid: "break-paths-filter-domains" },
    encoding: {
      x: { field: "size", type: "quantitative", scale: across.scale, axis: axis("bytes", "flow size, up to", across.ticks) },
      y: { field: "y", type: "quantitative", scale: up.scale, axis: { title: "slowdown", format: "~g", ...up.ticks } },
      color,
      ...(quantile && { strokeDash: { field: "q", type: "nominal", title: null, scale: { domain: ["p50", "p99"], range: [[1, 0], [4, 3]] } } }),
      detail: { field: "line" },
      tooltip,
    },
  };
}

/** The series of a probe of the chosen run. */
const seriesOf = (probe) => (run().detail ? run().detail.series.list.filter((series) => series.probe === probe) : []);

/** What a series is called: a flow by its ends. */
function called(series) {
  const flows = run().detail.flows;
  const row = flowRow(series.id);
  return row < 0 ? series.id : `${series.id}: ${at(flows.src, row)}→${at(flows.dst, row)}`;
}

const UNITS = { rate: ["rate", rate], goodput: ["rate", rate], cwnd: ["bytes", bytes], queue: ["bytes", bytes], phantom_queue: ["bytes", bytes], proxy_queue: ["bytes", bytes], rtt: ["us", time] };

/** As many columns of a legend as its longest name and the page's width leave room for. */
function legendColumns(names) {
  const longest = names.reduce((most, name) => Math.max(most, name.length), 0);
  const width = Math.min(document.querySelector("main").clientWidth, 560);
  return Math.max(Math.floor((width - 80) / (longest * 7 + 36)), 1);
}

/** Lines over time, in the chart `id`. */
function lines(probe, list, id = probe) {
  if (!list.length) return null;
  const [unit, showValue] = UNITS[probe];
  const scale = probe === "rtt" ? 1e-3 : 1;
  const values = list.flatMap((series) => {
    const name = called(series);
    return series.t.map((t, i) => ({ t, v: series.v[i] * scale, name, at: time(t), text: showValue(series.v[i] * scale) }));
  });
  const many = list.length > LINES;
  return {
    data: { values },
    // A line of one sample would not be seen.
    mark: { type: "line", opacity: many ? 0.35 : 1, strokeWidth: many ? 1 : 1.6, point: !many && values.length <= 12 * list.length ? { size: 18 } : false },
    encoding: {
      x: { field: "t", type: "quantitative", axis: axis("us", null, { tickCount: room(id, 60, 80) }), scale: { domain: [0, run().sim_time_s * 1e6], nice: false } },
      y: { field: "v", type: "quantitative", axis: axis(unit, null, { tickCount: 5 }), scale: { zero: probe !== "rtt" } },
      ...(many ? { detail: { field: "name" }, color: { value: style("--accent") } } : { color: { field: "name", type: "nominal", title: null, sort: null, legend: list.length > 1 ? { columns: legendColumns(list.map(called)) } : null } }),
      tooltip: [{ field: "name", title: "of" }, { field: "at", title: "at" }, { field: "text", title: "value" }],
    },
  };
}
