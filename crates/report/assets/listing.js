// Tables to sort, search and page through: of flows, of ports, and of proxies.

const PAGE = 25;
/** `host2` before `host10`. */
const NATURAL = new Intl.Collator("en", { numeric: true });

/**
 * A table in the section `name`, whose columns are [key, heading, text, whether it rises at first]. `source` gives its rows:
 * how many (`n`), the `value` of a column at a row, whether a row `fits` the words of the search, the `caption` for so many
 * found; and it may make the first cell (`first`), change the row (`dress`), and leave out columns (`without`, their keys).
 */
function listing(name, columns, sort, source) {
  const view = { sort, down: true, page: 0, rows: [] };
  const part = (id) => byId(`${name}-${id}`);

  /** What is not there sorts as infinite: an unfinished flow is the slowest. */
  function sorted(rows, of) {
    const value = (row) => of.value(view.sort, row) ?? Infinity;
    const order = (a, b) => (typeof a === "string" && typeof b === "string" ? NATURAL.compare(a, b) : a === b ? 0 : a < b ? -1 : 1);
    return rows.sort((a, b) => order(value(a), value(b)) * (view.down ? -1 : 1) || a - b);
  }

  function heading([key, text, , rises]) {
    const on = view.sort === key;
    const choose = () => {
      Object.assign(view, { down: on ? !view.down : !rises, sort: key, page: 0 });
      show();
      part("table").querySelector(`[data-sort="${key}"]`).focus();
    };
    return h("th", { scope: "col", "aria-sort": on ? (view.down ? "descending" : "ascending") : null },
      h("button", { type: "button", "data-sort": key, onclick: choose }, text + (on ? (view.down ? " ↓" : " ↑") : "")));
  }

  function line(row, of, shown) {
    const [first, ...rest] = shown.map(([key, , text]) => text(of.value(key, row)));
    const cells = [h("th", { scope: "row" }, of.first ? of.first(row, first) : first), ...rest.map((text) => h("td", {}, text))];
    return of.dress ? of.dress(row, cells) : h("tr", {}, cells);
  }

  function show() {
    const of = source();
    part("list").hidden = !of;
    if (!of) {
      part("caption").textContent = `The ${name} of this run are not kept in this report; see ${name}.parquet in its folder.`;
      return;
    }
    const words = part("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = Array.from({ length: of.n }, (_, row) => row);
    view.rows = sorted(rows.filter((row) => words.every((word) => of.fits(word, row))), of);
    view.page = Math.min(view.page, Math.max(Math.ceil(view.rows.length / PAGE) - 1, 0));
    part("caption").textContent = of.caption(view.rows.length);
    const begin = view.page * PAGE;
    const some = columns.filter(([key]) => !(of.without || []).includes(key));
    const shown = view.rows.slice(begin, begin + PAGE).map((row) => line(row, of, some));
    fill(`${name}-table`, h("table", {}, h("thead", {}, h("tr", {}, some.map(heading))), h("tbody", { onkeydown: walk }, shown)));
    part("page").textContent = view.rows.length ? `${number(begin + 1)} to ${number(begin + shown.length)} of ${number(view.rows.length)}` : `No ${name.replace(/ies$/, "y").replace(/s$/, "")} fits.`;
    part("previous").disabled = begin === 0;
    part("next").disabled = begin + PAGE >= view.rows.length;
  }

  /** Up and down walk through the buttons of the page. */
  function walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...part("table").querySelectorAll("tbody button")];
    const next = step && buttons[buttons.indexOf(document.activeElement) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  }

  function turn(pages) {
    view.page += pages;
    show();
  }

  part("search").addEventListener("input", () => { view.page = 0; show(); });
  part("previous").addEventListener("click", () => turn(-1));
  part("next").addEventListener("click", () => turn(1));
  return { show, reset: () => { view.page = 0; show(); } };
}
