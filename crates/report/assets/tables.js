// The overview, what stands side by side, and the ports.

/** What is made when it is opened. */
function later(text, make) {
  const details = h("details", { ontoggle: () => details.children.length < 2 && details.append(make()) }, h("summary", {}, text));
  return details;
}

function overview() {
  const { description, head, arms, warnings } = group();
  byId("description").textContent = description || "";
  fill("head", head.map((line) => h("p", { class: "note" }, line)));
  const all = arms.flatMap((arm) => arm.runs.map((run) => ({ arm, run })));
  fill("warnings", warnings.map((warning) => h("p", { class: "warning" }, warning)));
  const mark = (partial) => (partial ? h("span", { class: "mark" }, "partial") : null);
  const row = ({ arm, run }) => [
    h("span", {}, arm.name, mark(run.partial)), arm.profile, String(run.seed), `${number(run.finished)} of ${number(run.started)}`, time(run.sim_time_s * 1e6),
    `${large(run.packet_hops)} in ${digits(run.wall_time_s)} s`,
    h("code", { title: `packet digest ${run.packet_digest}; ${run.folder}` }, run.digest),
  ];
  const list = () => table(["scheme", "profile", "seed", "flows finished", "simulated", "packet-hops", "digest"], all.map(row));
  if (all.length === arms.length) fill("runs", list());
  else fill("runs", table(["scheme", "profile", "seeds", "flows finished", "packet-hops"], arms.map((arm) => {
    const sum = (key) => arm.runs.reduce((total, run) => total + run[key], 0);
    return [h("span", {}, arm.name, mark(arm.runs.some((run) => run.partial))), arm.profile, arm.seeds, `${number(sum("finished"))} of ${number(sum("started"))}`, `${large(sum("packet_hops"))} in ${digits(sum("wall_time_s"))} s`];
  })), later(`All ${all.length} runs, with their digests`, list));
  const { farspan_version: version, commit } = all[0].run;
  byId("footer").textContent = `farspan ${version}, commit ${(commit || "unknown").slice(0, 12)}; engine ${all[0].run.engine}, ${all[0].run.threads} thread${all[0].run.threads === 1 ? "" : "s"}. Charts: Vega-Lite (BSD-3-Clause).`;
}

/** Where no arm is best: which ones cannot be told from the leading one. */
function noDifference({ even, all }) {
  if (!even.length) return null;
  return h("small", {}, all ? "no difference" : `no difference: ${even.map((arm) => group().arms[arm].name).join(", ")}`);
}

function sideBySide() {
  const { arms, measures, verdicts, baseline, notes, differences } = group();
  fill("notes", notes.map((note) => h("p", { class: "note" }, note)),
    differences.length ? h("details", { open: differences.length < 4 }, h("summary", {}, `${differences.length} differences of keys from ${baseline}`),
      h("div", { class: "scroll" }, table(["key", "run", baseline, "here"], differences.map((d) => [d.key, d.name, d.baseline, d.value])))) : null);
  const several = arms.some((arm) => arm.runs.length > 1);
  const rows = measures.map((measure, m) => {
    const show = SHOW[measure.unit];
    const entry = (arm) => arm.numbers[m] || [null, null];
    const { best: winner, over } = verdicts[m];
    const cells = arms.map((arm, i) => {
      const [spread, ratio, port] = entry(arm);
      const finite = (x, text) => (x == null ? "∞" : text(x));
      const interval = (three, text) => (several ? ` [${finite(three[1], text)}, ${finite(three[2], text)}]` : "");
      return h("span", { class: i === winner ? "best" : null },
        h("b", { title: spread ? `${intervalName(arms)} of the median:${interval(spread, show)}` : null }, spread ? finite(spread[0], show) : NONE),
        i === winner ? h("span", { class: "mark good", title: `×${finite(over[1][0], digits)} [${finite(over[1][1], digits)}, ${finite(over[1][2], digits)}] of ${arms[over[0]].name}` }, "best") : null,
        i > 0 && ratio ? h("small", {}, `×${finite(ratio[0], digits)}${interval(ratio, digits)}${ratio.length > 3 ? ` (${ratio[3]} of ${ratio[4]})` : ""}`) : null,
        port ? h("small", {}, port) : null);
    });
    return [h("span", {}, measure.name, noDifference(verdicts[m])), ...cells];
  });
  const unended = (arm) => (arm.unended ? h("span", { class: "mark" }, `${number(arm.unended)} unfinished`) : null);
  fill("measures", table(["", ...arms.map((arm) => h("span", {}, arm.name, unended(arm)))], rows));
  byId("measures-caption").textContent = `${several ? `Median over ${arms.map((arm) => arm.runs.length).reduce((a, b) => Math.max(a, b))} seeds. ` : ""}Below it, ×: over ${baseline}${several ? `, the median of the ratios paired by seed, and its ${intervalName(arms)} by bootstrap` : ", at the same seed"}. Best: the 95% interval of its paired ratio over every other run excludes 1 (needs 6 seeds); a scheme with unfinished flows is never marked best. ∞: some flows did not finish, or rates never converged. Utilisation is not judged: a busy link may carry parity and repeats. ${NONE}: no such number, as a p99 of few flows. (1 of 4): 1 of 4 seeds has a ratio.`;
}
