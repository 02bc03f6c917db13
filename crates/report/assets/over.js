// A number over what varies among the groups: a line a scheme, with its interval. It answers a sweep's question.

const over = { x: 0, path: null, fixed: {} };

/** The numbers that every group has, most telling first. */
function overMeasures() {
  const has = (path) => report.groups.every(({ measures }) => measures.some((measure) => measure.path === path));
  const all = report.groups[0].measures.filter(({ path }) => has(path));
  const telling = ["/collectives/0/mean_us", "/fct/inter/p99_us", "/fct/all/p99_us", "/fct/inter/mean_us", "/fct/all/mean_us"];
  const rank = (path) => (telling.includes(path) ? telling.indexOf(path) : telling.length);
  return [...all].sort((a, b) => rank(a.path) - rank(b.path));
}

/** The groups that have the chosen values of the axes that are not drawn. */
function overGroups() {
  const { axes } = report;
  return report.groups.map((group, g) => ({ group, g })).filter(({ g }) =>
    axes.every((axis, i) => i === over.x || axis.names[g] === over.fixed[axis.key]));
}

/** The values of an axis, each once, numbers rising. */
function overValues(axis) {
  const places = axis.names.map((name, g) => [name, axis.values ? axis.values[g] : g]);
  return [...new Set(places.sort((a, b) => a[1] - b[1]).map(([name]) => name))];
}

function overSelect(label, texts, chosen, then) {
  const options = texts.map((text, i) => h("option", { value: i, selected: i === chosen }, text));
  return h("label", {}, `${label} `, h("select", { onchange: (event) => { then(Number(event.target.value)); overAxis(); } }, options));
}

/** Whether the heights of what is chosen span more than a decade. Of the axis across, the data say whether it is logarithmic. */
const overWide = (values) => Math.min(...values) > 0 && Math.max(...values) > 10 * Math.min(...values);

/** The name of a number; without the port that a group's heading names, if it is not that of all groups. */
function overName(path) {
  const names = new Set(report.groups.map(({ measures }) => measures.find((measure) => measure.path === path).name));
  const [name] = names;
  return names.size > 1 ? name.replace(/ \([^()]*\)$/, "") : name;
}

/** The points of the chart. */
function overRows() {
  const axis = report.axes[over.x];
  return overGroups().flatMap(({ group, g }) => {
    const m = group.measures.findIndex(({ path }) => path === over.path);
    const show = SHOW[group.measures[m].unit];
    return group.arms.flatMap((arm) => {
      const [spread, , port] = arm.numbers[m] || [];
      if (!spread) return [];
      const [y, low, high] = spread;
      const text = y == null ? "∞" : `${show(y)}${arm.runs.length > 1 ? ` [${show(low)}, ${high == null ? "∞" : show(high)}]` : ""}`;
      return [{ arm: arm.name, x: axis.values ? axis.values[g] : axis.names[g], at: axis.names[g], y, low, high, text, port: port || group.measures[m].name }];
    });
  });
}

/** A word of a command line. */
const quoted = (word) => (/^[\w.,:=+/@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that draws the same. */
function overCommand() {
  const only = report.axes.filter((axis, i) => i !== over.x).map(({ key }) => `--where ${quoted(`${key}=${over.fixed[key]}`)}`);
  return ["farspan plot DIR --x", quoted(report.axes[over.x].key), "--y", over.path.slice(1).replaceAll("/", "."), ...only].join(" ");
}

function overCaption() {
  const rows = overRows();
  const seeds = Math.max(...overGroups().flatMap(({ group }) => group.arms.map((arm) => arm.runs.length)), 0);
  const band = seeds < 6 ? "Band: smallest to largest; a 95% interval needs six seeds." : "Band: its 95% bootstrap interval.";
  return [
    seeds > 1 ? `Median over ${seeds} seeds. ${band}` : "One seed.",
    rows.some(({ y, high }) => y == null || high == null) ? "∞: some flows did not finish, or rates never converged." : "",
    over.path.startsWith("/queues/bottleneck") && new Set(rows.map(({ port }) => port)).size > 1 ? "The bottleneck is not the same port in all runs." : "",
    `The same as a figure: ${overCommand()}`,
  ].filter(Boolean).join(" ");
}

function overAxis() {
  const { axes } = report;
  const none = !axes.length || !overMeasures().length;
  for (const id of ["over", "to-over"]) byId(id).hidden = none;
  if (none) return;
  const measures = overMeasures();
  over.path = over.path || measures[0].path;
  for (const axis of axes) {
    if (!axis.names.includes(over.fixed[axis.key])) [over.fixed[axis.key]] = overValues(axis);
  }
  const others = axes.filter((axis, i) => i !== over.x).map((axis) => {
    const values = overValues(axis);
    return overSelect(axis.key, values, values.indexOf(over.fixed[axis.key]), (i) => { over.fixed[axis.key] = values[i]; });
  });
  const keys = axes.map(({ key }) => key);
  fill("over-choice",
    overSelect("Number", measures.map(({ path }) => overName(path)), measures.findIndex(({ path }) => path === over.path), (i) => { over.path = measures[i].path; }),
    keys.length > 1 ? overSelect("over", keys, over.x, (i) => { over.x = i; }) : h("span", {}, `over ${keys[0]}`),
    others);
  draw("over-chart", overChart);
  byId("over-caption").textContent = overCaption();
}

/** Markers as paths, so that a legend can have them on a line. */
const MARKERS = [
  "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z", "M-.9,-.9H.9V.9H-.9Z", "M0,-1.3L1.3,0L0,1.3L-1.3,0Z", "M0,-1.1L1.2,1H-1.2Z",
  "M0,1.1L1.2,-1H-1.2Z", "M-.4,-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
];

/** A legend whose signs are those of the chart: colour, dashes and marker of a line. */
function overLegend(names) {
  const signs = MARKERS.map((marker) => `M-4,0H4${marker}`);
  const by = (signal) => ({ value: { signal } });
  const symbols = {
    shape: by(`${JSON.stringify(signs)}[datum.index % ${signs.length}]`),
    fill: by("scale('color', datum.value)"),
    strokeDash: by("scale('strokeDash', datum.value)"),
    opacity: { value: 1 },
  };
  return { encoding: { symbols }, columns: legendColumns(names), symbolSize: 45, labelOffset: 12 };
}

/** Ticks of sizes in powers of two, as their values are: at most so many. */
function overSizes(places, most, log) {
  const [least, largest] = [Math.min(...places), Math.max(...places)];
  if (log) {
    const powers = Array.from({ length: 64 }, (_, i) => 2 ** i).filter((x) => x >= least && x <= largest);
    return powers.filter((_, i) => i % Math.ceil(powers.length / most) === 0);
  }
  const step = 2 ** Math.ceil(Math.log2((largest - least) / most));
  const first = Math.ceil(least / step);
  return Array.from({ length: Math.floor(largest / step) - first + 1 }, (_, i) => (first + i) * step);
}

function overChart() {
  const axis = report.axes[over.x];
  const { unit } = overMeasures().find(({ path }) => path === over.path);
  const name = overName(over.path);
  const rows = overRows();
  if (!rows.length) return null;
  const finite = rows.filter((row) => row.y != null);
  const most = Math.max(...finite.map((row) => Math.max(row.y, row.high ?? row.y)), 0);
  const values = rows.map((row) => ({ ...row, high: row.high ?? most })).sort((a, b) => a.x - b.x);
  const names = [...new Set(rows.map((row) => row.arm))];
  const color = byArm({ scale: { domain: names }, legend: null });
  const heights = finite.flatMap((row) => [row.y, row.low, row.high ?? row.y]);
  const up = overWide(heights) ? logarithmic(heights, 8) : { scale: {}, ticks: { tickCount: 6 } };
  const places = [...new Set(rows.map((row) => row.x))];
  const across = axis.log ? logarithmic(places, 8) : { scale: { zero: false, nice: false }, ticks: {} };
  const sizes = axis.unit === "bytes" && places.every((place) => place % 1024 === 0) ? "binary" : axis.unit;
  const ticks = places.length <= 8 ? { values: places } : sizes === "binary" ? { values: overSizes(places, 8, axis.log) } : across.ticks;
  const shown = { us: "us", bytes: "bytes", bps: "rate" }[unit] || "number";
  const known = { transform: [{ filter: "datum.y != null" }] };
  const tooltip = [{ field: "arm", title: "run" }, { field: "at", title: axis.key }, { field: "text", title: name }];
  return {
    height: 260,
    data: { values },
    // The line's legend stands for its points, too.
    resolve: { legend: { color: "independent", shape: "independent", strokeDash: "independent" } },
    encoding: {
      x: axis.values
        ? { field: "x", type: "quantitative", scale: { ...across.scale, padding: 12 }, axis: { title: axis.key, labelExpr: AXIS[sizes], ...ticks, grid: false } }
        : { field: "x", type: "nominal", sort: null, axis: { title: axis.key, labelAngle: 0 } },
      color, tooltip,
    },
    layer: [
      { ...known, mark: { type: axis.values ? "area" : "rule", opacity: axis.values ? 0.15 : 0.5 }, encoding: { y: { field: "low", type: "quantitative" }, y2: { field: "high" }, tooltip: { value: null } } },
      { ...known, mark: { type: "line", opacity: axis.values ? 1 : 0 }, encoding: { y: { field: "y", type: "quantitative" }, color: { ...color, legend: overLegend(names) }, strokeDash: byArm({ scale: { domain: names, range: DASHES } }) } },
      { ...known, mark: { type: "point", filled: true, opacity: 1, size: 45 }, encoding: { y: { field: "y", type: "quantitative", scale: up.scale, axis: { title: name, labelExpr: AXIS[shown], ...up.ticks } }, shape: byArm({ scale: { domain: names, range: MARKERS }, legend: null }) } },
      ...(finite.length === rows.length ? [] : [{ transform: [{ filter: "datum.y == null" }], mark: { type: "text", text: "∞", fontSize: 15, dy: 4 }, encoding: { y: { value: 4 } } }]),
    ],
  };
}
