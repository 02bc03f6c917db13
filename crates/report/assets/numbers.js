// Numbers of each scheme as points: medians over seeds, with their intervals.

/** Room for a point, in pixels: of one scheme a few measures stand below each other. */
const POINT = 13;

/** The chart of some measures, by their places; null where no scheme has any of them. */
function points(places) {
  const { arms, measures } = group();
  const values = arms.flatMap((arm) => places.flatMap((place) => {
    const entry = arm.numbers[place] && arm.numbers[place][0];
    if (!entry) return [];
    const { name, unit } = measures[place];
    const [median, low, high] = entry;
    const text = (x) => (x == null ? "∞" : SHOW[unit](x));
    return [{ arm: arm.name, measure: name, median, low, high: high ?? median, text: text(median), interval: `${text(low)} to ${text(high)}` }];
  }));
  const known = values.filter(({ median }) => median != null);
  if (!known.length) return null;
  const { unit } = measures[places[0]];
  const ends = known.flatMap(({ median, low, high }) => [median, low ?? median, high]);
  const wide = unit === "us" && Math.min(...ends) > 0 && Math.max(...ends) > 8 * Math.min(...ends);
  const across = wide ? logarithmic(ends, room("numbers", 150, 42)) : { scale: { zero: false, nice: false, padding: 8 }, ticks: { tickCount: room("numbers", 150, 70) } };
  const names = places.map((place) => measures[place].name);
  const several = arms.some((arm) => arm.runs.length > 1);
  return {
    height: Math.max((POINT * names.length + 8) * arms.length, 80),
    data: { values },
    encoding: {
      y: { field: "arm", type: "nominal", sort: armNames(), title: null, axis: { labelLimit: 130, grid: true, tickBand: "extent", ticks: false, domain: false } },
      yOffset: { field: "measure", type: "nominal", sort: names, scale: { paddingOuter: 0.5 } },
      color: { field: "measure", type: "nominal", title: null, scale: { domain: names }, legend: names.length > 1 ? { columns: legendColumns(names) } : null },
      tooltip: [{ field: "arm", title: "run" }, { field: "measure", title: "number" }, { field: "text", title: several ? "median" : "value" }, ...(several ? [{ field: "interval", title: intervalName(arms) }] : [])],
    },
    layer: [
      ...(several ? [{ transform: [{ filter: "datum.low != null && datum.median != null" }], mark: { type: "rule", strokeWidth: 2, opacity: 0.6 }, encoding: { x: { field: "low", type: "quantitative" }, x2: { field: "high" } } }] : []),
      { transform: [{ filter: "datum.median != null" }], mark: { type: "point", filled: true, size: 60, opacity: 1 }, encoding: { x: { field: "median", type: "quantitative", scale: across.scale, axis: axis(unit, null, across.ticks) } } },
      { transform: [{ filter: "datum.median == null" }], mark: { type: "text", text: "∞", align: "right", fontSize: 13 }, encoding: { x: { value: "width" } } },
    ],
  };
}

/** What a chart of these measures shows; several have a name in common. */
function pointsCaption(places, name) {
  const { arms, measures } = group();
  const several = arms.some((arm) => arm.runs.length > 1);
  return `${places.length === 1 ? measures[places[0]].name : name}${several ? `: medians over the seeds, each with its ${intervalName(arms)}` : ""}`;
}
