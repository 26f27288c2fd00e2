// One row of one head, reckoned anew in the page: similarity (a product, or additive), scaling, softmax, weighted sum.
import { apart, css } from "./colours.js";
import { button, choice, el, toggle, visible } from "./dom.js";
import { power } from "./heatmap.js";
import { facts, has, vectors, weights } from "./store.js";
import { labelsOf, sidesOf, strongest, titleOf } from "./tables.js";

const MOST = 40;

export function reckonedHeads(look) {
  const held = facts.looks[look];
  return held.panels.filter((name) => held.reckoned.some((layer) => name.startsWith(`${layer}.`)) && has(look, `vectors/${name}`));
}

export async function stepView(page) {
  const { look } = page.state, heads = reckonedHeads(look);
  if (!heads.length) return { node: el("div", { class: "card" }, el("h2", { text: "Nothing to reckon" }), el("p", { class: "note", text: "No attention here compares queries and keys by their product or by an additive score, or none is kept in this file." })), shown() {} };
  const name = heads.includes(page.state.head) ? page.state.head : heads[0], [rowSide, columnSide] = sidesOf(look, name);
  const [held, table] = await Promise.all([vectors(look, name), weights(look, name)]);
  const rows = labelsOf(look, rowSide, false), columns = labelsOf(look, columnSide, false);
  const row = Math.max(0, Math.min(held.queries.rows - 1, page.state.step ?? held.queries.rows - 1));
  const found = reckon(held, table, row, page.state.scaled, { square: rowSide === columnSide, causal: name.startsWith("masked") });
  const bar = el("div", { class: "bar" },
    choice("head", heads.map((one) => [one, one]), name, (head) => page.go({ head })),
    choice("row", rows.map((label, place) => [String(place), `${place + 1} ${visible(label, 18)}`]), String(row), (place) => page.go({ step: Number(place) })),
    button("←", () => page.go({ step: row - 1 }), { disabled: row === 0, "aria-label": "row before" }),
    button("→", () => page.go({ step: row + 1 }), { disabled: row === held.queries.rows - 1, "aria-label": "next row" }),
    held.scale === 1 ? null : toggle(page.state.scaled ? "÷ √d is on" : "÷ √d is off", page.state.scaled, (scaled) => page.go({ scaled }), { "data-do": "scale" }));
  const shownColumns = columns.length <= MOST ? [...columns.keys()] : strongest(found.softmax, MOST).sort((one, two) => one - two);
  const node = el("div", { class: "card" }, el("h2", { text: `${titleOf(name)}: where “${visible(rows[row])}” looks, step by step` }), bar,
    query(held, rows[row], row), ...four(held, found, columns, shownColumns, page.state.scaled), closing(held, found, page.state.scaled, table));
  return { node, shown() {} };
}

export function reckon({ queries, keys, values, scale, slope, additive }, table, row, scaled, { square, causal }) {
  const width = queries.columns, products = new Float64Array(keys.rows), scores = new Float64Array(keys.rows);
  for (let key = 0; key < keys.rows; key++) {
    for (let part = 0; part < width; part++) {
      const asked = queries.values[row * width + part], there = keys.values[key * width + part];
      products[key] += additive ? additive[part] * Math.tanh(asked + there) : asked * there;
    }
    scores[key] = products[key] * (scaled ? scale : 1) - (square ? slope * Math.abs(row - key) : 0);
  }
  const ahead = [...scores.keys()].map((key) => causal && key > row), first = shares(scores, ahead);
  // A pattern hides more than what lies ahead: what has no weight although its score would give it some.
  const masked = ahead.map((hidden, key) => hidden || (!table.pooled && table.at(row, key) === 0 && first[key] > 1e-4));
  const softmax = shares(scores, masked), mixed = new Float64Array(values.columns);
  for (let key = 0; key < keys.rows; key++) for (let part = 0; part < values.columns; part++) mixed[part] += softmax[key] * values.values[key * values.columns + part];
  const model = table.pooled ? null : [...softmax.keys()].map((key) => table.at(row, key));
  return { products, scores, masked, softmax, mixed, model, row };
}

function shares(scores, masked) {
  let highest = -Infinity;
  scores.forEach((score, key) => { if (!masked[key]) highest = Math.max(highest, score); });
  const found = scores.map((score, key) => (masked[key] ? 0 : Math.exp(score - highest))), total = found.reduce((sum, one) => sum + one, 0);
  return found.map((one) => one / total);
}

function strip(values, label) {
  const most = Math.max(...values.map(Math.abs), 1e-9), colours = apart(), host = el("div", { class: "vector", role: "img", "aria-label": label, title: label });
  for (const value of values) host.append(el("i", { style: { background: css(colours, 0.5 + 0.5 * (value / most)) } }));
  return host;
}

function query(held, label, row) {
  const own = [...held.queries.values.subarray(row * held.queries.columns, (row + 1) * held.queries.columns)];
  return el("div", { class: "step" }, el("h3", {}, el("span", { text: held.additive ? "W s" : "q" }), `what “${visible(label)}” looks for: ${own.length} numbers`), strip(own, own.map((one) => one.toFixed(2)).join(", ")),
    el("p", { class: "note", text: own.slice(0, 8).map((one) => one.toFixed(3)).join("  ") + (own.length > 8 ? "  …" : "") }));
}

function four(held, found, columns, shown, scaled) {
  const d = held.queries.columns, divided = scaled && held.scale !== 1, { additive } = held, [key_, value] = additive ? ["U h", "h"] : ["k", "v"];
  const changed = !additive || Boolean(held.slope), far = held.slope ? `− ${held.slope.toFixed(3)} · distance ` : "";
  const score = additive ? ["vᵀ tanh(W s + U h)", ...(changed ? ["− distance"] : [])] : ["q · k", divided ? `÷ √${d}` : "as it is"];
  const head = el("tr", {}, el("th", { class: "left", text: "looked at" }), el("th", { class: "left-text", text: `${key_}: ${d} numbers` }), ...[...score, "mask", "softmax", "", `· ${value}₀`].map((text) => el("th", { text, class: text ? null : "weigh" })));
  const best = strongest(found.softmax, 1)[0];
  const body = shown.map((key) => el("tr", { class: key === best ? "most" : null }, el("th", { class: "left", text: visible(columns[key] ?? "", 18) }),
    el("td", {}, strip([...held.keys.values.subarray(key * d, (key + 1) * d)], `key of ${visible(columns[key] ?? "", 18)}`)),
    el("td", { text: found.products[key].toFixed(3) }), changed ? el("td", { text: found.scores[key].toFixed(3) }) : null,
    el("td", { class: found.masked[key] ? "masked" : null, text: found.masked[key] ? "−∞" : "0" }), el("td", { class: found.masked[key] ? "masked" : null, text: found.softmax[key].toFixed(4) }),
    el("td", { class: "weigh" }, el("span", { class: "weight", style: { width: `${(100 * found.softmax[key]).toFixed(1)}px` } })),
    el("td", { text: (found.softmax[key] * held.values.values[key * held.values.columns]).toFixed(4) })));
  const left = columns.length - shown.length;
  return [
    el("div", { class: "step" }, el("h3", {}, el("span", { text: "1–3" }), additive ? "score, mask, softmax" : "similarity, scaling, softmax"),
      additive ? el("p", { class: "formula", text: `α = softmax( vᵀ tanh( W s + U h ) ${far}+ mask )` }) : el("p", { class: "formula" }, `softmax( q · kᵀ ${divided ? `÷ √${d} ` : ""}${far}+ mask )`, el("span", { class: "dim", text: divided ? `   √${d} = ${Math.sqrt(d).toFixed(3)}` : "" })),
      el("div", { class: "numbers" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body))),
      left > 0 ? el("p", { class: "note", text: `and ${left.toLocaleString("en")} others with less weight` }) : null),
    el("div", { class: "step" }, el("h3", {}, el("span", { text: "4" }), `the weighted sum Σ α · ${value}: ${found.mixed.length} numbers`), strip([...found.mixed], "weighted sum"),
      el("p", { class: "note", text: [...found.mixed].slice(0, 8).map((one) => one.toFixed(3)).join("  ") + (found.mixed.length > 8 ? "  …" : "") })),
  ];
}

function closing(held, found, scaled, table) {
  if (!found.model) return el("p", { class: "note", text: "The model's own weights are pooled here." });
  const apartBy = Math.max(...found.softmax.map((one, key) => Math.abs(one - found.model[key])));
  const entropy = -[...found.softmax].reduce((sum, one) => sum + (one > 0 ? one * Math.log2(one) : 0), 0);
  const said = scaled ? `By these numbers the weights are the model's own within ${power(apartBy)}.` : `Without ÷ √d the weights would be off by up to ${apartBy.toFixed(3)}.`;
  return el("p", { class: "note", id: "closing", text: `${said} Entropy ${entropy.toFixed(2)} bits.` });
}
