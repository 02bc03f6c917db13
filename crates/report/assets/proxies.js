// The table of proxies: hosts that stand between the senders of an incast and its receiver.

const PROXY_COLUMNS = [
  ["host", "host", (x) => h("code", {}, x), true],
  ["kind", "kind", (x) => x, true],
  ["flows", "flows", number],
  ["packets", "packets sent on", number],
  ["bytes", "bytes sent on", bytes],
  ["nacks", "NACKs", number],
  ["max", "largest queue", bytes],
  ["wait", "mean wait", time],
  ["direct", "flows that went direct", number],
];

/** The proxies of the chosen run, or null. */
const proxies = () => run().detail && run().detail.proxies;

const proxiesTable = listing("proxies", PROXY_COLUMNS, "bytes", () => {
  const list = proxies();
  if (!list) return null;
  const value = (key, row) => at(list[key], row);
  return {
    n: list.n,
    value,
    fits: (word, row) => `${value("host", row)} ${value("kind", row)}`.toLowerCase().includes(word),
    caption: (found) => (found === 1 ? "1 proxy" : `${number(found)} proxies`) + (list.n < list.all
      ? `; the busiest ${number(list.n)} of ${number(list.all)} are in this report, summary.json has all` : ""),
  };
});

/** The section is there where the chosen run has a proxy. */
function showProxies() {
  for (const element of document.querySelectorAll("[data-proxies]")) element.hidden = !proxies();
  proxiesTable.reset();
}

/** The names of the proxies that stand in each unit of the picture. */
function proxiesByUnit() {
  const list = proxies();
  const found = new Map();
  for (let row = 0; list && row < list.n; row += 1) {
    const unit = at(list.unit, row);
    if (unit != null) found.set(unit, [...(found.get(unit) || []), at(list.host, row)]);
  }
  return found;
}
