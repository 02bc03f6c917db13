// The table of flows, and the flow chosen from it.

const PAGE = 25;
const COLUMNS = [
  ["id", "flow", (x) => String(x)],
  ["src", "from", (x) => String(x)],
  ["dst", "to", (x) => String(x)],
  ["class", "class", (x) => x],
  ["tag", "tag", (x) => x],
  ["size", "size", bytes],
  ["start", "start", time],
  ["fct", "FCT", (x) => (x == null ? "unfinished" : time(x))],
  ["slowdown", "slowdown", number],
  ["dropped", "lost", number],
  ["timeouts", "time-outs", number],
];
const view = { sort: "slowdown", down: true, page: 0, rows: [] };

/** A cell as its value. */
function cell(flows, name, row) {
  if (name === "class") return at(flows.inter, row) ? "inter" : "intra";
  if (name === "tag") return flows.tags[at(flows.tag, row)];
  return at(flows[name], row);
}

/** The row of a flow of the chosen run, or -1. */
function flowRow(id) {
  const flows = run().detail.flows;
  if (!Array.isArray(flows.id)) return String(flows.id) === String(id) ? 0 : -1;
  return flows.id.indexOf(Number(id));
}

/** Flows that every word of the search fits: an id, FROM->TO, a class, a tag, `unfinished`, `lost`. */
function found(flows) {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = Array.from({ length: flows.n }, (_, row) => row);
  return rows.filter((row) => words.every((word) => {
    const [src, dst] = [String(at(flows.src, row)), String(at(flows.dst, row))];
    const ends = word.split(/->|→/);
    if (ends.length === 2) return (!ends[0] || ends[0] === src) && (!ends[1] || ends[1] === dst);
    if (word === "unfinished") return at(flows.fct, row) == null;
    if (word === "lost") return at(flows.dropped, row) > 0;
    if (/^[0-9]+$/.test(word)) return [String(at(flows.id, row)), src, dst].includes(word);
    return `${cell(flows, "class", row)} ${cell(flows, "tag", row)}`.toLowerCase().includes(word);
  }));
}

/** What is not there sorts as infinite: an unfinished flow is the slowest. */
function sorted(flows, rows) {
  const value = (row) => cell(flows, view.sort, row) ?? Infinity;
  const order = (a, b) => (a === b ? 0 : a < b ? -1 : 1);
  return rows.sort((a, b) => order(value(a), value(b)) * (view.down ? -1 : 1) || a - b);
}

function flowsTable() {
  const detail = run().detail;
  byId("flows").querySelector(".flows").hidden = !detail;
  if (!detail) {
    byId("flows-caption").textContent = "The flows of this run are not kept in this report; see flows.parquet in its folder.";
    return;
  }
  const flows = detail.flows;
  view.rows = sorted(flows, found(flows));
  view.page = Math.min(view.page, Math.max(Math.ceil(view.rows.length / PAGE) - 1, 0));
  const kept = flows.n < flows.all ? `; the slowest and a sample of the others, ${number(flows.n)} of ${number(flows.all)}, are in this report` : "";
  byId("flows-caption").textContent = `${number(view.rows.length)} flow${view.rows.length === 1 ? "" : "s"}${kept}`;
  const heading = COLUMNS.map(([name, text]) => {
    const on = view.sort === name;
    const sort = () => {
      Object.assign(view, { down: on ? !view.down : !["id", "src", "dst", "class", "tag", "start"].includes(name), sort: name, page: 0 });
      flowsTable();
      byId("flows-table").querySelector(`[data-sort="${name}"]`).focus();
    };
    return h("th", { scope: "col", "aria-sort": on ? (view.down ? "descending" : "ascending") : null },
      h("button", { type: "button", "data-sort": name, onclick: sort }, text + (on ? (view.down ? " ↓" : " ↑") : "")));
  });
  const first = view.page * PAGE;
  const rows = view.rows.slice(first, first + PAGE).map((row) => {
    const id = at(flows.id, row);
    const pick = h("button", { type: "button", class: "flow", "data-flow": id, "aria-pressed": String(state.flow === id), onclick: () => chooseFlow(id) }, String(id));
    const cells = COLUMNS.slice(1).map(([name, , text]) => h("td", {}, text(cell(flows, name, row))));
    return h("tr", { class: state.flow === id ? "chosen" : null, onclick: () => state.flow !== id && chooseFlow(id) }, h("th", { scope: "row" }, pick), cells);
  });
  fill("flows-table", h("table", {}, h("thead", {}, h("tr", {}, heading)), h("tbody", { onkeydown: walk }, rows)));
  byId("page").textContent = view.rows.length ? `${first + 1} to ${first + rows.length} of ${number(view.rows.length)}` : "No flow fits.";
  byId("previous").disabled = first === 0;
  byId("next").disabled = first + PAGE >= view.rows.length;
}

/** Up and down walk through the flows of the page. */
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const buttons = [...byId("flows-table").querySelectorAll(".flow")];
  const next = buttons[buttons.indexOf(document.activeElement) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

function chooseFlow(id) {
  state.flow = id;
  const focused = document.activeElement && document.activeElement.dataset.flow === String(id);
  flowsTable();
  flowPanel();
  if (focused) byId("flows-table").querySelector(`[data-flow="${id}"]`).focus();
}

function flowPanel() {
  for (const probe of ["rate", "cwnd", "rtt"]) charts.delete(`flow-${probe}`);
  const flows = run().detail && run().detail.flows;
  const row = state.flow == null || !flows ? -1 : flowRow(state.flow);
  if (row < 0) {
    fill("flow", h("p", { class: "empty" }, "Choose a flow to see its numbers and its series."));
    return;
  }
  const value = (name) => cell(flows, name, row);
  const pairs = [
    ["from, to", `host ${value("src")} → host ${value("dst")}, ${value("class")}`],
    ["tag", value("tag")],
    ["size", `${bytes(value("size"))} (${value("size").toLocaleString("en")} B)`],
    ["start", time(value("start"))],
    ["completion", value("fct") == null ? "unfinished" : `${time(value("fct"))}; ideal ${time(value("ideal"))}`],
    ["slowdown", number(value("slowdown"))],
    ["delivered after", time(value("delivered"))],
    ["mean rate", value("fct") == null ? NONE : rate((value("size") * 8e6) / value("fct"))],
    ["sent again", bytes(value("resent"))],
    ["parity", bytes(value("parity"))],
    ["packets", `${number(value("dropped"))} lost, ${number(value("trimmed"))} trimmed, ${number(value("marked"))} marked`],
    ["recovery", `${number(value("timeouts"))} time-outs, ${number(value("nacks"))} NACKs, ${number(value("undecodable"))} blocks repaired by sending again`],
    ["in the summary", value("measured") ? "yes" : "no"],
  ];
  const own = ["rate", "cwnd", "rtt"].map((probe) => [probe, seriesOf(probe).filter((series) => series.id === String(state.flow))]);
  const names = { rate: "Rate", cwnd: "Congestion window", rtt: "Smoothed RTT" };
  const figures = own.filter(([, list]) => list.length).map(([probe]) =>
    h("figure", {}, h("figcaption", {}, names[probe]), h("div", { class: "chart small", id: `flow-${probe}` })));
  fill("flow", h("h3", {}, `Flow ${state.flow}`), h("dl", {}, pairs.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
    figures.length ? figures : h("p", { class: "empty" }, "No series of this flow in this report: probes.rate_interval samples flows, and the largest keep their series."));
  for (const [probe, list] of own) {
    if (list.length) draw(`flow-${probe}`, () => ({ ...lines(probe, list), height: 90 }));
  }
}
