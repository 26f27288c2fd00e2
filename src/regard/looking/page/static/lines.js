// Lines from words that ask to words that are looked at, as thick as the weight; of several heads, each in its colour.
import { el, svgEl, visible } from "./dom.js";
import { strongest } from "./tables.js";

const MOST = 40, EACH = 12;
// Eight that are told apart by people who see few colours [Okabe & Ito 2008], black and yellow left out.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b", "#8d8d8d"];

export function colourOf(place) {
  return COLOURS[place % COLOURS.length];
}

export function linesOf(panel, rows, onpick, heads = [panel]) {
  if (!rows.length && panel.table.rows > MOST) return el("p", { class: "note", text: "Click rows of the map to see their lines." });
  const asking = rows.length ? rows : [...Array(Math.min(panel.table.rows, MOST)).keys()];
  const looked = new Set(panel.columns.length <= MOST ? panel.columns.keys() : []);
  const links = [];
  for (const [place, { table }] of heads.entries()) {
    for (const row of asking) {
      const weights = table.values.subarray(row * table.columns, (row + 1) * table.columns);
      for (const column of strongest(weights, EACH)) {
        if (Math.abs(weights[column]) < 0.02) continue;
        looked.add(column);
        links.push([row, column, weights[column], heads.length > 1 ? colourOf(place) : weights[column] < 0 ? "var(--warm)" : "var(--accent)"]);
      }
    }
  }
  const left = panel.rows.length <= MOST ? [...panel.rows.keys()] : asking, right = [...looked].sort((one, two) => one - two);
  const tall = 22 * Math.max(left.length, right.length) + 10, wide = 420;
  const picture = svgEl("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": "lines of weights" });
  const high = (list, one) => 18 + list.indexOf(one) * 22;
  for (const [row, column, value, colour] of links) {
    const start = high(left, row) - 4, end = high(right, column) - 4;
    picture.append(svgEl("path", {
      d: `M 142 ${start} C 200 ${start} 220 ${end} 278 ${end}`, fill: "none", stroke: colour,
      "stroke-width": 0.6 + 4 * Math.abs(value), "stroke-opacity": 0.12 + 0.8 * Math.min(1, Math.abs(value)),
    }));
  }
  left.forEach((row) => picture.append(svgEl("text", {
    x: 136, y: high(left, row), "text-anchor": "end", text: visible(panel.rows[row] ?? "", 17), onclick: () => onpick(row),
    "font-weight": rows.includes(row) ? 700 : 400,
  })));
  right.forEach((column) => picture.append(svgEl("text", { x: 284, y: high(right, column), text: visible(panel.columns[column] ?? "", 17) })));
  return picture;
}
