// The network: a row of units for each level of each site, lines for the links between units, coloured by utilisation.

const RAMP = {
  light: ["#e3e8ee", "#fbe3a1", "#f9bb55", "#ee7f2d", "#d13a22", "#7f0c1f"],
  dark: ["#2b333d", "#5a4a22", "#96691f", "#d98a2b", "#f2633c", "#ff4768"],
};
const UNIT = { width: 30, height: 18, gap: 5, row: 84, part: 56, left: 8, top: 26 };

function mixed(a, b, part) {
  const channel = (color, i) => parseInt(color.slice(1 + 2 * i, 3 + 2 * i), 16);
  return "rgb(" + [0, 1, 2].map((i) => Math.round(channel(a, i) + (channel(b, i) - channel(a, i)) * part)).join(",") + ")";
}

function heat(share) {
  const ramp = dark() ? RAMP.dark : RAMP.light;
  const place = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(place), ramp.length - 2);
  return mixed(ramp[low], ramp[low + 1], place - low);
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const unitName = ([, , nodes, first, last]) => (nodes === 1 ? first : `${first} … ${last} (${nodes})`);
const kind = (name) => name.replace(/[0-9]+$/, "") || name;
const KINDS = { host: "hosts", tor: "ToR switches", agg: "aggregation switches", core: "core switches", border: "border switches", leaf: "leaf switches", spine: "spine switches", switch: "switches" };

/** Where each unit stands. */
function places(layout) {
  const levels = Math.max(...layout.units.map(([, level]) => level)) + 1;
  const rows = new Map();
  layout.units.forEach(([part, level], unit) => {
    const key = `${part}/${level}`;
    rows.set(key, [...(rows.get(key) || []), unit]);
  });
  const step = UNIT.width + UNIT.gap;
  const widths = Array.from({ length: layout.parts }, (_, part) =>
    Math.max(4, ...[...rows].filter(([key]) => key.startsWith(`${part}/`)).map(([, units]) => units.length)) * step);
  const spots = [];
  const headings = [];
  for (const [key, units] of rows) {
    const [part, level] = key.split("/").map(Number);
    const left = UNIT.left + widths.slice(0, part).reduce((sum, width) => sum + width + UNIT.part, 0);
    const start = left + (widths[part] - units.length * step) / 2;
    const y = UNIT.top + (levels - 1 - level) * UNIT.row;
    units.forEach((unit, i) => { spots[unit] = { x: start + i * step, y }; });
    const nodes = units.reduce((sum, unit) => sum + layout.units[unit][2], 0);
    const words = new Set(units.flatMap((unit) => layout.units[unit].slice(3).map(kind)));
    const word = words.size === 1 ? [...words][0] : level === 0 ? "host" : "switch";
    headings.push({ x: left, y: y - 8, text: nodes === 1 ? layout.units[units[0]][3] : `${nodes} ${KINDS[word] || word}` });
  }
  const width = 2 * UNIT.left + widths.reduce((sum, width) => sum + width, 0) + UNIT.part * (layout.parts - 1);
  return { spots, headings, width, height: UNIT.top + (levels - 1) * UNIT.row + UNIT.height + 40 };
}

/** A link's line, or, where it would run through other units of its row, its bow below them. */
function link(from, to, spots) {
  const half = UNIT.width / 2;
  if (from.y === to.y) {
    const [left, right] = from.x < to.x ? [from, to] : [to, from];
    if (spots.some(({ x, y }) => y === left.y && x > left.x && x < right.x)) {
      const y = left.y + UNIT.height;
      const deep = y + Math.min(20 + (right.x - left.x) / 8, UNIT.row - UNIT.height);
      return (shift) => `M${left.x + half + shift} ${y}Q${(left.x + right.x) / 2 + half} ${deep + 2 * shift} ${right.x + half + shift} ${y}`;
    }
    const y = left.y + UNIT.height / 2;
    return (shift) => `M${left.x + UNIT.width} ${y + shift}L${right.x} ${y + shift}`;
  }
  const [high, low] = from.y < to.y ? [from, to] : [to, from];
  return (shift) => `M${low.x + half + shift} ${low.y}L${high.x + half + shift} ${high.y + UNIT.height}`;
}

function picture() {
  const detail = run().detail;
  const layout = detail && group().pictures[detail.picture];
  if (!layout || !layout.units.length) {
    fill("picture", h("p", { class: "empty" }, "No ports to draw."));
    return;
  }
  const { spots, headings, width, height } = places(layout);
  const busiest = layout.units.map(() => 0);
  const near = layout.units.map(() => []);
  // In a run that idles, as one that waits for flows that never end, colours show who is busier than whom.
  const most = detail.use.reduce((most, [, out, , back]) => Math.max(most, out, back), 0);
  const full = most >= 0.2 ? 1 : most || 1;
  const few = layout.edges.length <= 150;
  const drawn = layout.edges.map(([a, b], i) => {
    const [links, out, outMean, back, backMean] = detail.use[i];
    for (const [unit, other, up, upMean, down, downMean] of [[a, b, out, outMean, back, backMean], [b, a, back, backMean, out, outMean]]) {
      busiest[unit] = Math.max(busiest[unit], up, down);
      near[unit].push({ other, links, up, upMean, down, downMean });
    }
    const path = link(spots[a], spots[b], spots);
    const thick = Math.min(1 + Math.log2(links), 4);
    const title = `${unitName(layout.units[a])} – ${unitName(layout.units[b])}: ${links} link${links > 1 ? "s" : ""} each way; → busiest ${share(out)}, mean ${share(outMean)}; ← busiest ${share(back)}, mean ${share(backMean)}`;
    const line = (value, shift) => ({ value, node: svg("path", { d: path(shift), stroke: heat(value / full), "stroke-width": thick }, svg("title", {}, title)) });
    return few ? [line(out, -thick / 2 - 0.6), line(back, thick / 2 + 0.6)] : [line(Math.max(out, back), 0)];
  });
  const paths = drawn.flat().sort((x, y) => x.value - y.value).map(({ node }) => node);
  const boxes = layout.units.map((unit, i) => {
    const box = svg("rect", { x: spots[i].x, y: spots[i].y, width: UNIT.width, height: UNIT.height, rx: 3, fill: heat(busiest[i] / full), class: "unit" }, svg("title", {}, `${unitName(unit)}: busiest link ${share(busiest[i])}`));
    box.addEventListener("pointerenter", () => choose(i));
    return box;
  });
  const texts = headings.map(({ x, y, text }) => svg("text", { x, y }, text));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img", style: `min-width:${Math.min(width, 720)}px;max-width:${Math.max(width * 1.25, 480)}px`, "aria-label": `The network, coloured by utilisation; arrow keys walk through its ${layout.units.length} units` },
    svg("g", { fill: "none" }, ...paths), ...boxes, ...texts, scaleOfHeat(height, full));
  let current = -1;
  const choose = (unit) => {
    if (boxes[current]) boxes[current].classList.remove("chosen");
    current = (unit + boxes.length) % boxes.length;
    boxes[current].classList.add("chosen");
    const first = near[current].sort((x, y) => Math.max(y.up, y.down) - Math.max(x.up, x.down)).slice(0, 4);
    byId("unit").textContent = `${unitName(layout.units[current])}: ` + first.map(({ other, links, up, down }) =>
      `to ${unitName(layout.units[other])} ${share(up)}, from there ${share(down)} (busiest of ${links})`).join("; ");
  };
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(current + step);
  });
  fill("picture", root);
  byId("unit").textContent = "Colour: busy share of the run, of the busiest link. A unit stands for neighbours; point at one, or walk with the arrow keys.";
}

function scaleOfHeat(height, full) {
  const steps = 20;
  const y = height - 22;
  const boxes = Array.from({ length: steps }, (_, i) => svg("rect", { x: UNIT.left + i * 8, y, width: 8, height: 8, fill: heat((i + 0.5) / steps) }));
  const texts = [[0, "0%"], [steps * 4 - 8, share(full / 2)], [steps * 8 - 14, share(full)]].map(([x, text]) => svg("text", { x: UNIT.left + x, y: y + 20 }, text));
  return svg("g", {}, ...boxes, ...texts);
}
