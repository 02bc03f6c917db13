// The table of ports: all of the network, idle ones too.

const bar = (value) => h("span", { class: "meter" }, h("span", { style: `width:${Math.min(value, 1) * 100}%` }), h("b", {}, share(value)));
const PORT_COLUMNS = [
  ["port", "port", (x) => h("code", {}, x), true],
  ["use", "utilisation", bar],
  ["bytes", "sent", bytes],
  ["mean", "mean queue", bytes],
  ["max", "largest queue", bytes],
  ["drops", "drops", number],
  ["marks", "marks", number],
  ["trims", "trims", number],
  ["pauses", "pauses", number],
  ["paused", "paused", (ns) => time(ns / 1e3)],
  ["faults", "faults", (x) => (x ? h("span", { class: "fault" }, x) : NONE)],
];

const portsTable = listing("ports", PORT_COLUMNS, "use", () => {
  const ports = run().detail && run().detail.ports;
  if (!ports) return null;
  const names = group().ports[ports.names];
  const rowOf = new Map(ports.at.map((name, row) => [name, row]));
  const idle = (name) => !rowOf.has(name);
  const value = (key, name) => {
    if (key === "port") return names[name];
    if (idle(name)) return key === "faults" ? "" : 0;
    return at(ports[key], rowOf.get(name));
  };
  return {
    without: [ports.faults].flat().some(Boolean) ? [] : ["faults"],
    n: names.length,
    value,
    fits: (word, name) => (word === "idle" ? idle(name) : `${names[name]} ${value("faults", name)}`.toLowerCase().includes(word)),
    caption: (found) => `${number(found)} port${found === 1 ? "" : "s"}` + (names.length < ports.all
      ? `; the busiest ${number(names.length)} of ${number(ports.all)} are in this report, ports.parquet has all`
      : found === names.length ? `, ${number(names.length - ports.at.length)} of them idle` : ""),
  };
});
