// Lines from words that ask to words that are looked at, as thick as the weight.
import { el, svgEl, visible } from "./dom.js";
import { strongest } from "./tables.js";

const MOST = 40, EACH = 12;

export function linesOf(panel, rows, onpick) {
  if (!rows.length && panel.table.rows > MOST) return el("p", { class: "note", text: "Click rows of the map to see their lines." });
  const asking = rows.length ? rows : [...Array(Math.min(panel.table.rows, MOST)).keys()];
  const looked = new Set(panel.columns.length <= MOST ? panel.columns.keys() : []);
  const links = [];
  for (const row of asking) {
    const weights = panel.table.values.subarray(row * panel.table.columns, (row + 1) * panel.table.columns);
    for (const column of strongest(weights, EACH)) {
      if (Math.abs(weights[column]) < 0.02) continue;
      looked.add(column);
      links.push([row, column, weights[column]]);
    }
  }
  const left = panel.rows.length <= MOST ? [...panel.rows.keys()] : asking, right = [...looked].sort((one, two) => one - two);
  const tall = 22 * Math.max(left.length, right.length) + 10, wide = 420;
  const picture = svgEl("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": "lines of weights" });
  const high = (list, one) => 18 + list.indexOf(one) * 22;
  for (const [row, column, value] of links) {
    const start = high(left, row) - 4, end = high(right, column) - 4;
    picture.append(svgEl("path", {
      d: `M 142 ${start} C 200 ${start} 220 ${end} 278 ${end}`, fill: "none", stroke: value < 0 ? "var(--warm)" : "var(--accent)",
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
