// The table of flows, and the flow chosen from it.

const FLOW_COLUMNS = [
  ["id", "flow", (x) => String(x), true],
  ["src", "from", (x) => String(x), true],
  ["dst", "to", (x) => String(x), true],
  ["class", "class", (x) => x, true],
  ["tag", "tag", (x) => x, true],
  ["size", "size", bytes],
  ["start", "start", time, true],
  ["fct", "FCT", (x) => (x == null ? "unfinished" : time(x))],
  ["slowdown", "slowdown", number],
  ["dropped", "lost", number],
  ["timeouts", "time-outs", number],
];

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

/** Whether a word of the search fits a flow: an id, FROM->TO, a class, a tag, `unfinished`, `lost`. */
function fitsFlow(flows, word, row) {
  const [src, dst] = [String(at(flows.src, row)), String(at(flows.dst, row))];
  const ends = word.split(/->|→/);
  if (ends.length === 2) return (!ends[0] || ends[0] === src) && (!ends[1] || ends[1] === dst);
  if (word === "unfinished") return at(flows.fct, row) == null;
  if (word === "lost") return at(flows.dropped, row) > 0;
  if (/^[0-9]+$/.test(word)) return [String(at(flows.id, row)), src, dst].includes(word);
  return `${cell(flows, "class", row)} ${cell(flows, "tag", row)}`.toLowerCase().includes(word);
}

const flowsTable = listing("flows", FLOW_COLUMNS, "slowdown", () => {
  const flows = run().detail && run().detail.flows;
  if (!flows) return null;
  const kept = flows.n < flows.all ? `; the slowest and a sample of the others, ${number(flows.n)} of ${number(flows.all)}, are in this report` : "";
  const chosen = (row) => state.flow === at(flows.id, row);
  return {
    n: flows.n,
    value: (key, row) => cell(flows, key, row),
    fits: (word, row) => fitsFlow(flows, word, row),
    caption: (found) => `${number(found)} flow${found === 1 ? "" : "s"}${kept}`,
    first: (row, text) => h("button", { type: "button", class: "flow", "data-flow": text, "aria-pressed": String(chosen(row)), onclick: () => chooseFlow(at(flows.id, row)) }, text),
    dress: (row, cells) => h("tr", { class: chosen(row) ? "chosen" : null, onclick: () => !chosen(row) && chooseFlow(at(flows.id, row)) }, cells),
  };
});

function chooseFlow(id) {
  state.flow = id;
  const focused = document.activeElement && document.activeElement.dataset.flow === String(id);
  flowsTable.show();
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
    figures.length ? figures : h("p", { class: "empty" }, "This report has no series of this flow. probes.rate_interval samples flows, and only the largest keep their series."));
  for (const [probe, list] of own) {
    if (list.length) draw(`flow-${probe}`, () => ({ ...lines(probe, list, `flow-${probe}`), height: 90 }));
  }
}
