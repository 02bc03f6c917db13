// Data, state, elements, and numbers as people read them.

const report = JSON.parse(document.getElementById("data").textContent);
const state = { group: 0, cls: "all", arm: 0, seed: 0, flow: null };

const group = () => report.groups[state.group];
const arm = () => group().arms[state.arm];
const run = () => arm().runs[state.seed];
const byId = (id) => document.getElementById(id);

/** An element. Strings become text, never markup: names come from scenarios. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

const fill = (id, ...children) => byId(id).replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false));

/** A table; the first column is the rows' heading. Cells are texts or elements. */
function table(heading, rows, caption) {
  const cell = (tag, attributes) => (child) => h(tag, attributes, child);
  return h("table", {},
    caption && h("caption", {}, caption),
    h("thead", {}, h("tr", {}, heading.map(cell("th", { scope: "col" })))),
    h("tbody", {}, rows.map(([first, ...rest]) =>
      h("tr", {}, h("th", { scope: "row" }, first), rest.map(cell("td", {}))))));
}

/** The name of a bootstrap interval over the seeds of these arms: fewer than six make it narrower than it should be. */
const intervalName = (arms) => (Math.min(...arms.map((arm) => arm.runs.length)) < 6 ? "interval of less than 95%" : "95% interval");
const NONE = "–";

/** Three digits. */
function digits(x) {
  const size = Math.abs(x);
  if (size === 0) return "0";
  return x.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.001 ? 3 : 6);
}

/** `x` in the largest unit that leaves at least 1. */
function scaled(x, units) {
  if (x == null || !isFinite(x)) return NONE;
  const [size, unit] = units.find(([size]) => Math.abs(x) >= size) || units[units.length - 1];
  return `${digits(x / size)} ${unit}`.trimEnd();
}

const time = (us) => scaled(us, [[1e6, "s"], [1e3, "ms"], [1, "µs"], [1e-3, "ns"]]);
const bytes = (x) => scaled(x, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]]);
const rate = (x) => scaled(x, [[1e12, "Tbit/s"], [1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]);
const large = (x) => scaled(x, [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "K"], [1, ""]]);
const share = (x) => (x == null ? NONE : `${digits(x * 100)}%`);
const number = (x) => (x == null ? NONE : Number.isInteger(x) && Math.abs(x) < 1e6 ? x.toLocaleString("en") : digits(x));
/** A count is exact; the median of an even number of them may lie half way. */
const count = (x) => (x == null ? NONE : x.toLocaleString("en", { maximumFractionDigits: 1 }));
const SHOW = { us: time, bytes, bps: rate, share, number, count };

/** The 1, 2 and 5 of each decade from one number to another; of more than `most`, the powers of ten, or of some of them. */
function decades(low, high, most) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const within = (digits, step) => {
    const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((power) => power % step === 0);
    return powers.flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`))).filter((x) => x >= low && x <= high);
  };
  const choices = [[[1, 2, 5], 1], [[1], 1], [[1], 2], [[1], 3]].map(([digits, step]) => within(digits, step));
  return choices.find((ticks) => ticks.length <= most) || choices[choices.length - 1];
}

/** A logarithmic axis for these values: from a 1, 2 or 5 to another, with at most so many ticks. */
function logarithmic(values, most) {
  const [least, largest] = values.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, 0]);
  const all = decades(least / 10, largest * 10, Infinity);
  const low = all.findLast((x) => x <= least * (1 + 1e-9));
  const high = all.find((x) => x > low && x >= largest * (1 - 1e-9));
  return { scale: { type: "log", domain: [low, high], nice: false }, ticks: { values: decades(low, high, most) } };
}

/** The value of a column at a row: a column that says the same of all rows is one value. */
const at = (column, row) => (Array.isArray(column) ? column[row] : column);

const dark = () => document.documentElement.dataset.theme === "dark";
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
