// Puts the page together: what is chosen, and what is drawn for it.

const CLASSES = ["all", "intra", "inter"];

function options(id, texts, chosen) {
  fill(id, texts.map((text, i) => h("option", { value: i, selected: i === chosen }, text)));
  byId(id).closest("label").hidden = texts.length < 2;
}

function showGroup() {
  const { arms } = group();
  const there = CLASSES.filter((cls) => arms.some((arm) => arm.fct[cls]));
  // With one class, `all` says the same.
  const classes = there.length === 2 ? ["all"] : there;
  state.cls = classes.includes(state.cls) ? state.cls : classes[0] || "all";
  fill("class", classes.map((cls) => h("button", { type: "button", "aria-pressed": String(cls === state.cls), onclick: () => chooseClass(cls) }, cls)));
  byId("class").closest(".choice").hidden = classes.length < 2;
  for (const element of document.querySelectorAll("[data-several]")) element.hidden = arms.length < 2 && arms[0].runs.length < 2;
  overview();
  // The chart that answers the question of the scenario comes first.
  const { question } = group();
  byId("question").textContent = question.text;
  byId("charts").append(...question.charts.map((id) => byId(id).closest("figure")));
  for (const [id, name] of [["numbers", "Completion times"], ["fairness", "Jain's index of the rates"]]) {
    draw(id, () => points(question[id]));
    byId(`${id}-caption`).textContent = pointsCaption(question[id], name);
  }
  sideBySide();
  completion();
  options("arm", armNames(), state.arm);
  showArm();
}

function chooseClass(cls) {
  state.cls = cls;
  for (const button of byId("class").children) button.setAttribute("aria-pressed", String(button.textContent === cls));
  completion();
}

function completion() {
  draw("cdf", () => distribution(false));
  draw("ccdf", () => distribution(true));
  draw("slowdown", slowdown);
  const quantiles = group().arms.some((arm) => arm.slowdown[state.cls] && arm.slowdown[state.cls].p99.length);
  byId("slowdown-caption").textContent = `Slowdown by flow size: median${quantiles ? ", and p99 (dashed or outlined)" : ""}`;
  const counts = group().arms.filter((arm) => arm.fct[state.cls]).map((arm) => {
    const { n, left } = arm.fct[state.cls];
    return `${arm.name} ${number(n)}${left ? ` (${number(left)} unfinished)` : ""}`;
  });
  byId("cdf-caption").textContent = `Flows of all seeds together: ${counts.join(", ")}. Slowdown: completion time over that of an empty network; its p99 takes 100 flows.`;
}

function showArm() {
  options("seed", arm().runs.map((run) => `${run.seed}${run.detail ? "" : " (no details)"}`), state.seed);
  showRun();
}

function showRun() {
  const detail = run().detail;
  byId("run-choice").hidden = group().arms.length < 2 && arm().runs.length < 2;
  byId("run-caption").textContent = detail ? "" : "Only the first seeds and schemes have details here. To see these, run farspan report on this run's own folder.";
  let any = false;
  for (const probe of ["goodput", "rate", "cwnd", "queue", "phantom_queue", "proxy_queue"]) {
    const list = seriesOf(probe);
    any = any || list.length > 0;
    draw(probe, list.length ? () => lines(probe, seriesOf(probe)) : null);
  }
  byId("no-series").hidden = any;
  byId("no-series").textContent = detail ? "No samples: probes were off. Run with --set probes.rate_interval=1ms --set probes.queue_interval=100us." : "";
  byId("time-caption").textContent = any ? `Each point stands for ${time(detail.series.bin_us)} of the run, or one sample. Largest flows and longest queues; series.parquet has everything.` : "";
  portsTable.reset();
  showProxies();
  picture();
  flowsTable.reset();
  flowPanel();
}

function choose(id, name, then) {
  byId(id).addEventListener("change", (event) => {
    state[name] = Number(event.target.value);
    then();
  });
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", `Switch to the ${theme === "dark" ? "light" : "dark"} theme`);
}

function begin() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const both = () => { redraw(); picture(); };
  setTheme(system.matches ? "dark" : "light");
  system.addEventListener("change", () => { setTheme(system.matches ? "dark" : "light"); both(); });
  byId("theme").addEventListener("click", () => { setTheme(dark() ? "light" : "dark"); both(); });
  byId("title").textContent = report.title;
  options("group", report.groups.map(({ name }) => name), 0);
  byId("group").closest(".choice").hidden = report.groups.length < 2;
  choose("group", "group", () => { Object.assign(state, { arm: 0, seed: 0, flow: null }); showGroup(); });
  choose("arm", "arm", () => { state.seed = Math.min(state.seed, arm().runs.length - 1); showArm(); });
  choose("seed", "seed", showRun);
  overAxis();
  showGroup();
}

begin();
