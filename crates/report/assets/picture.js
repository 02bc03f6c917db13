// The network: a row of units for each level of each site, lines for the links between units, coloured by utilisation.

const RAMP = {
  light: ["#e3e8ee", "#fbe3a1", "#f9bb55", "#ee7f2d", "#d13a22", "#7f0c1f"],
  dark: ["#2b333d", "#5a4a22", "#96691f", "#d98a2b", "#f2633c", "#ff4768"],
};
const UNIT = { width: 30, height: 18, gap: 5, row: 84, part: 56, left: 8, top: 44 };
/** Between parallel links: within a row, and between rows at most. */
const APART = { row: 7, levels: 5 };
/** Faults that leave nothing of a link. */
const DEAD = /link_down|black_hole/;

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

/** Where each unit stands; `lift` leaves room above for what bows there. */
function places(layout, lift) {
  const levels = Math.max(...layout.units.map(([, level]) => level)) + 1;
  const rows = new Map();
  layout.units.forEach(([part, level], unit) => {
    const key = `${part}/${level}`;
    rows.set(key, [...(rows.get(key) || []), unit]);
  });
  const step = UNIT.width + UNIT.gap;
  const widths = Array.from({ length: layout.sites.length }, (_, part) =>
    Math.max(4, ...[...rows].filter(([key]) => key.startsWith(`${part}/`)).map(([, units]) => units.length)) * step);
  const lefts = widths.map((_, part) => UNIT.left + widths.slice(0, part).reduce((sum, width) => sum + width + UNIT.part, 0));
  const spots = [];
  const headings = [];
  for (const [key, units] of rows) {
    const [part, level] = key.split("/").map(Number);
    const left = lefts[part];
    const start = left + (widths[part] - units.length * step) / 2;
    const y = UNIT.top + lift + (levels - 1 - level) * UNIT.row;
    units.forEach((unit, i) => { spots[unit] = { x: start + i * step, y }; });
    const nodes = units.reduce((sum, unit) => sum + layout.units[unit][2], 0);
    const words = new Set(units.flatMap((unit) => layout.units[unit].slice(3).map(kind)));
    const word = words.size === 1 ? [...words][0] : level === 0 ? "host" : "switch";
    headings.push({ x: units.length === 1 ? start : left, y: y - (units.length === 1 ? 12 : 8), text: nodes === 1 ? layout.units[units[0]][3] : `${nodes} ${KINDS[word] || word}` });
  }
  const names = run().sites || [];
  if (layout.sites.length > 1) layout.sites.forEach((site, part) => headings.push({ x: lefts[part], y: 12, text: names[site] || `site ${site}`, name: true }));
  const width = 2 * UNIT.left + widths.reduce((sum, width) => sum + width, 0) + UNIT.part * (layout.sites.length - 1);
  return { spots, headings, width, height: UNIT.top + lift + (levels - 1) * UNIT.row + UNIT.height + 40 };
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
    // Parallel links begin and end at the units, and bow apart between them.
    const y = left.y + UNIT.height / 2;
    const end = (shift) => y + Math.max(Math.min(shift, UNIT.height / 2 - 1), 1 - UNIT.height / 2);
    const [x1, x2] = [left.x + UNIT.width, right.x];
    return (shift) => `M${x1} ${end(shift)}C${x1 + (x2 - x1) / 4} ${y + shift} ${x2 - (x2 - x1) / 4} ${y + shift} ${x2} ${end(shift)}`;
  }
  const [high, low] = from.y < to.y ? [from, to] : [to, from];
  return (shift) => `M${low.x + half + shift} ${low.y}L${high.x + half + shift} ${high.y + UNIT.height}`;
}

/** How far to the side each of some parallel links is drawn. */
function sides(links, level) {
  const step = level ? APART.row : Math.min(APART.levels, (UNIT.width - 6) / links);
  return Array.from({ length: links }, (_, i) => (i - (links - 1) / 2) * step);
}

/** The lines of a link between two units: both ways of each of a few parallel links, else of all together. */
function lineUp(layout, spots, edge, detail, few) {
  const [a, b] = layout.edges[edge];
  const [links, out, outMean, back, backMean, parallel] = detail.use[edge];
  const path = link(spots[a], spots[b], spots);
  const ends = `${unitName(layout.units[a])} – ${unitName(layout.units[b])}`;
  const line = (value, shift, thick, title, way, n) =>
    ({ value, edge, way, n, node: svg("path", { d: path(shift), stroke: heat(value), "stroke-width": thick }, svg("title", {}, title)) });
  if (parallel) {
    const at = sides(parallel.length, spots[a].y === spots[b].y);
    return parallel.flatMap(([n, out, back], i) => {
      const title = `${ends} #${n}: → ${share(out)}, ← ${share(back)}`;
      return [line(out, at[i] - 1.2, 1.6, title, 0, n), line(back, at[i] + 1.2, 1.6, title, 1, n)];
    });
  }
  const thick = Math.min(1 + Math.log2(links), 4);
  const title = `${ends}: ${links} link${links > 1 ? "s" : ""} each way; → busiest ${share(out)}, mean ${share(outMean)}; ← busiest ${share(back)}, mean ${share(backMean)}`;
  return few ? [line(out, -thick / 2 - 0.6, thick, title, 0), line(back, thick / 2 + 0.6, thick, title, 1)] : [line(Math.max(out, back), 0, thick, title)];
}

/** Draws links with faults over the others: dashed where nothing of the link is left, dotted where some is. */
function drawFaults(lines, layout, spots, faults) {
  return faults.map(([edge, way, n, port, words]) => {
    const found = lines.find((line) => line.edge === edge && line.way === way && line.n === n) || lines.find((line) => line.edge === edge);
    const d = found ? found.node.getAttribute("d") : link(...layout.edges[edge].map((unit) => spots[unit]), spots)(0);
    return svg("path", { d, class: DEAD.test(words) ? "dead" : "impaired" }, svg("title", {}, `${port}: ${words}`));
  });
}

/** The words of a few faults stand at their links, too. */
function labelFaults(root, dead, faults) {
  if (faults.length > 3) return;
  faults.forEach(([, , , , words], i) => {
    const { x, y } = dead[i].getPointAtLength(dead[i].getTotalLength() / 2);
    root.append(svg("text", { x, y: y - 4, class: "fault", "text-anchor": "middle" }, words));
  });
}

/** A ring and a word at each unit in which a proxy stands. */
function markProxies(marked, spots) {
  return [...marked.keys()].flatMap((unit) => {
    const { x, y } = spots[unit];
    return [
      svg("rect", { x: x - 2, y: y - 2, width: UNIT.width + 4, height: UNIT.height + 4, rx: 5, class: "proxy" }),
      svg("text", { x: x + UNIT.width / 2, y: y + UNIT.height + 13, class: "proxy" }, "proxy"),
    ];
  });
}

function sayFaults(faults) {
  const most = 8;
  const said = faults.slice(0, most).map(([, , , port, words]) => [h("code", {}, port), ` ${words}`]);
  const text = said.flatMap((words, i) => (i ? ["; ", ...words] : words));
  fill("faults", faults.length ? [h("span", { class: "fault" }, "Faults: "), text, faults.length > most ? `; and ${number(faults.length - most)} more, in the table of ports` : ""] : []);
  byId("faults").hidden = !faults.length;
}

function picture() {
  const detail = run().detail;
  const layout = detail && group().pictures[detail.picture];
  sayFaults(detail ? detail.faults : []);
  if (!layout || !layout.units.length) {
    fill("picture", h("p", { class: "empty" }, "No ports to draw."));
    return;
  }
  const lift = detail.use.reduce((most, [, , , , , parallel]) => Math.max(most, parallel ? parallel.length * APART.row / 2 - 6 : 0), 0);
  const { spots, headings, width, height } = places(layout, lift);
  const busiest = layout.units.map(() => 0);
  const near = layout.units.map(() => []);
  const few = layout.edges.length <= 150;
  const drawn = layout.edges.flatMap(([a, b], i) => {
    const [links, out, outMean, back, backMean] = detail.use[i];
    for (const [unit, other, up, upMean, down, downMean] of [[a, b, out, outMean, back, backMean], [b, a, back, backMean, out, outMean]]) {
      busiest[unit] = Math.max(busiest[unit], up, down);
      near[unit].push({ other, links, up, upMean, down, downMean });
    }
    return lineUp(layout, spots, i, detail, few);
  });
  const dead = drawFaults(drawn, layout, spots, detail.faults);
  const paths = [...drawn].sort((x, y) => x.value - y.value).map(({ node }) => node);
  const marked = proxiesByUnit();
  const relays = (i) => (marked.has(i) ? `; proxy: ${marked.get(i).join(", ")}` : "");
  const boxes = layout.units.map((unit, i) => {
    const box = svg("rect", { x: spots[i].x, y: spots[i].y, width: UNIT.width, height: UNIT.height, rx: 3, fill: heat(busiest[i]), class: "unit" }, svg("title", {}, `${unitName(unit)}: busiest link ${share(busiest[i])}${relays(i)}`));
    box.addEventListener("pointerenter", () => choose(i));
    return box;
  });
  const texts = headings.map(({ x, y, text, name }) => svg("text", { x, y, ...(name && { class: "name" }) }, text));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img", style: `min-width:${Math.min(width, 720)}px;max-width:${Math.max(width * 1.25, 480)}px`, "aria-label": `The network, coloured by utilisation; arrow keys walk through its ${layout.units.length} units` },
    svg("g", { fill: "none" }, ...paths, ...dead), ...boxes, ...markProxies(marked, spots), ...texts, scaleOfHeat(height));
  let current = -1;
  const choose = (unit) => {
    if (boxes[current]) boxes[current].classList.remove("chosen");
    current = (unit + boxes.length) % boxes.length;
    boxes[current].classList.add("chosen");
    const first = near[current].sort((x, y) => Math.max(y.up, y.down) - Math.max(x.up, x.down)).slice(0, 4);
    byId("unit").textContent = `${unitName(layout.units[current])}: ` + first.map(({ other, links, up, down }) =>
      `to ${unitName(layout.units[other])} ${share(up)}, from there ${share(down)} (busiest of ${links})`).join("; ") + relays(current);
  };
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(current + step);
  });
  fill("picture", root);
  labelFaults(root, dead, detail.faults);
  byId("unit").textContent = (marked.size ? "Ring: a proxy. " : "") + "Colour: utilisation of the busiest link; the scale is the same in every report. Dashed red: a dead link. Dotted: a link with another fault. A box stands for several neighbours: point at it, or use the arrow keys.";
}

function scaleOfHeat(height) {
  const steps = 20;
  const y = height - 22;
  const boxes = Array.from({ length: steps }, (_, i) => svg("rect", { x: UNIT.left + i * 8, y, width: 8, height: 8, fill: heat((i + 0.5) / steps) }));
  const texts = [[0, "0%"], [steps * 4 - 8, "50%"], [steps * 8 - 14, "100%"]].map(([x, text]) => svg("text", { x: UNIT.left + x, y: y + 20 }, text));
  return svg("g", {}, ...boxes, ...texts);
}
