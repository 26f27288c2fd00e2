// All heads, small; one of them large, its rows as lines, several rows summed, and two heads against each other.
import { css, isDark, ramp } from "./colours.js";
import { button, choice, el, toggle, visible } from "./dom.js";
import { figure, HeatMap, legend } from "./heatmap.js";
import { colourOf, linesOf } from "./lines.js";
import { act, facts, has, json, overview } from "./store.js";
import { closer, difference, kindsOf, labelled, strongest, summed, titleOf, titleOfKind } from "./tables.js";
import { exactly, saveButtons2 } from "./view-alignment.js";

const ROLES = {
  first: "looks at the first token (a sink)", previous: "looks at the token before", next: "looks at the token behind", self: "looks at itself",
  induction: "looks at what stood behind an earlier occurrence", duplicate: "looks at the same token elsewhere", diagonal: "follows the diagonal",
  punctuation: "looks at marks of punctuation", special: "looks at tokens that are no text, or no patch", row: "looks along its row of patches", column: "looks along its column of patches", local: "looks nearby", global: "looks far", broad: "looks at everything about equally", mixed: "no clear role",
};

const NONE = [], PAUSE = 600, MANY = 60;
let waiting = 0;

export async function headsView(page) {
  const { look, words } = page.state, kinds = kindsOf(look);
  if (!kinds.length) return { node: el("div", { class: "card" }, el("h2", { text: "No attention, so no heads" }), el("p", { class: "note", text: "What counted is told by gradients: see alignment." })), shown() {} };
  const name = facts.looks[look].panels.includes(page.state.head) ? page.state.head : `${kinds[kinds.length - 1]}.0.0`;
  const kind = name.split(".")[0];
  const [small, panel, measured] = await Promise.all([overview(look, kind), labelled(look, name, words), heldHeads(look)]);
  const other = page.state.other && page.state.other !== name && page.state.other.startsWith(kind) ? await labelled(look, page.state.other, words) : null;
  const shown = other ? difference(panel, other) : panel;
  const rows = page.state.rows.filter((row) => row < shown.table.rows);
  const map = new HeatMap({ label: `${shown.name}: heat map`, refine: closer, onselect: (row) => page.go({ rows: rows.includes(row) ? rows.filter((one) => one !== row) : [...rows, row] }) });
  const mates = page.state.every && !other ? await Promise.all(ofLayer(look, name).map((one) => labelled(look, one, words))) : [];
  const big = large(page, shown, map, rows), right = el("div", {}, aboutHead(page, name, measured), lookedAt(shown, rows), el("div", { class: "card lines" },
    el("h2", { text: rows.length ? `Lines of ${rows.length} ${rows.length === 1 ? "row" : "rows"}` : "Lines" }), coloured(page, name, mates),
    linesOf(shown, rows, (row) => map.options.onselect(row), mates.length ? mates : [shown])));
  return laid(page, { kind, kinds, small, name, measured }, big, right, () => map.show(shown, rows));
}

// Thumbnails stay where they are while heads are switched: to lay out a hundred of them anew is what would take longest.
let standing = null;

function laid(page, what, big, right, then) {
  const { look, sort, off, other } = page.state, key = JSON.stringify([look, what.kind, sort, off, other, isDark()]);
  const same = standing && standing.key === key && standing.small === what.small && standing.measured === what.measured && standing.node.isConnected ? standing : null;
  if (!same) {
    const node = el("div", { class: "columns" }, el("div", {}, grid(page, what.kind, what.kinds, what.small, what.name, what.measured), big), right);
    standing = { key, small: what.small, measured: what.measured, node, big, right };
    return { node, shown: then };
  }
  const shown = () => {
    for (const one of same.node.querySelectorAll(".grid [data-head]")) {
      const pressed = String(one.dataset.head === what.name);
      if (one.getAttribute("aria-pressed") !== pressed) one.setAttribute("aria-pressed", pressed);
    }
    same.big.replaceWith(big);
    same.right.replaceWith(right);
    Object.assign(same, { big, right });
    then();
  };
  return { node: same.node, shown };
}

function ofLayer(look, name) {
  const layer = name.slice(0, name.lastIndexOf(".") + 1);
  return facts.looks[look].panels.filter((one) => one.startsWith(layer) && has(look, `table/${one}`));
}

// All heads of the layer at once, each in a colour of its own.
function coloured(page, name, mates) {
  const bar = el("div", { class: "bar" }, toggle("a colour per head", page.state.every, (every) => page.go({ every }), { "data-do": "every" }));
  mates.forEach((one, place) => bar.append(el("span", { class: "note", style: { color: colourOf(place) }, text: `● ${one.name.split(".").pop()}${one.name === name ? " (this)" : ""}` })));
  return bar;
}

// Roles are asked for once, when nothing was clicked for a while: to find them takes longer than to draw a head.
async function heldHeads(look) {
  const held = facts.looks[look];
  if (held.heads || !facts.live) return held.heads || NONE;
  clearTimeout(waiting);
  if (!held.asking) waiting = setTimeout(() => { held.asking = json(look, "heads").then((found) => { held.heads = found; window.dispatchEvent(new Event("again")); }, () => { held.heads = NONE; }); }, PAUSE);
  return NONE;
}

function grid(page, kind, kinds, small, name, measured) {
  const by = page.state.sort, roles = new Map(measured.map((one) => [one.name, one]));
  const cells = facts.looks[page.state.look].layers.filter((layer) => layer.kind === kind)
    .flatMap((layer) => [...Array(layer.heads).keys()].map((head) => ({ name: `${kind}.${layer.layer}.${head}`, layer: layer.layer, head })));
  if (by === "role") cells.sort((one, two) => rank(measured, one.name) - rank(measured, two.name));
  if (by === "loss") cells.sort((one, two) => (roles.get(two.name)?.loss ?? 0) - (roles.get(one.name)?.loss ?? 0));
  const square = by === "layer" && small.heads > 1, wide = Math.max(44, Math.min(88, Math.floor(760 / Math.max(4, Math.min(small.heads, 12)))));
  const host = el("div", { class: "grid", role: "group", "aria-label": `heads of ${kind}` });
  host.style.gridTemplateColumns = square ? `auto repeat(${small.heads}, minmax(30px, ${wide}px))` : `repeat(auto-fill, ${wide}px)`;
  let layer = -1;
  for (const cell of cells) {
    if (square && cell.layer !== layer) {
      const lacking = layer >= 0 ? (small.heads - (cells.filter((one) => one.layer === layer).length)) : 0;
      for (let empty = 0; empty < lacking; empty++) host.append(el("span"));
      host.append(el("span", { class: "layer", text: String(cell.layer) }));
    }
    layer = cell.layer;
    host.append(thumb(page, small, cell, name, roles.get(cell.name), square));
  }
  const sorts = [["layer", "by layer"], ["role", "by role"]];
  if (measured.some((one) => one.loss !== undefined)) sorts.push(["loss", "by loss without it"]);
  const bar = el("div", { class: "bar" },
    kinds.length > 1 ? choice("kind", kinds.map((one) => [one, titleOfKind(one)]), kind, (one) => page.go({ head: `${one}.0.0`, rows: [], other: "" })) : null,
    choice("sorted", sorts, by, (sort) => page.go({ sort })), el("span", { class: "gap" }),
    el("span", { class: "note", text: measured.length || !facts.live ? "" : "measuring roles …" }));
  return el("div", { class: "card" }, el("h2", { text: `${cells.length} ${cells.length === 1 ? "head" : "heads"} of ${titleOfKind(kind)}` }), bar, el("div", { class: cells.length > MANY ? "many" : "few" }, host));
}

function rank(measured, name) {
  const order = Object.keys(ROLES), one = measured.find((head) => head.name === name);
  return one ? order.indexOf(one.role) * 10 - one.strength : 999;
}

// Drawn once for each theme; the same canvas goes from one drawing of the view to the next.
function painted(small, cell) {
  const key = `${cell.name}/${isDark()}`;
  if (small.drawn.has(key)) return small.drawn.get(key);
  const canvas = el("canvas", { width: String(small.columns), height: String(small.rows), "aria-hidden": "true" }), colours = ramp();
  const picture = new ImageData(small.columns, small.rows), count = small.rows * small.columns, start = (cell.layer * small.heads + cell.head) * count;
  for (let pixel = 0; pixel < count; pixel++) {
    const at = small.cells[start + pixel] * 3, to = pixel * 4;
    picture.data[to] = colours[at];
    picture.data[to + 1] = colours[at + 1];
    picture.data[to + 2] = colours[at + 2];
    picture.data[to + 3] = 255;
  }
  canvas.getContext("2d").putImageData(picture, 0, 0);
  canvas.style.imageRendering = small.columns < 24 ? "pixelated" : "auto";
  canvas.style.aspectRatio = `${small.columns} / ${Math.min(small.rows, small.columns * 2)}`;
  small.drawn.set(key, canvas);
  return canvas;
}

function thumb(page, small, cell, name, measured, square) {
  const canvas = painted(small, cell), off = page.state.off.includes(cell.name), two = page.state.other === cell.name;
  const label = square ? (measured ? measured.role : `head ${cell.head}`) : `${cell.layer}.${cell.head} ${measured ? measured.role : ""}`;
  const pick = (event) => (event.shiftKey ? page.go({ other: two ? "" : cell.name }) : page.go({ head: cell.name }));
  return el("button", {
    type: "button", onclick: pick, "data-head": cell.name, class: `${off ? "off" : ""}${two ? " two" : ""}`, "aria-pressed": String(cell.name === name),
    title: `${titleOf(cell.name)}${measured ? `: ${ROLES[measured.role] || measured.role}` : ""}`, "aria-label": titleOf(cell.name),
  }, canvas, el("span", { class: "tag", text: label }));
}

function large(page, shown, map, rows) {
  const { words } = page.state, kind = shown.name.split(".")[0];
  const heads = facts.looks[page.state.look].panels.filter((one) => one.startsWith(`${kind}.`) && has(page.state.look, `table/${one}`));
  const bar = el("div", { class: "bar" },
    choice("minus", [["", "minus nothing"], ...heads.map((one) => [one, `− ${one}`])], page.state.other, (other) => page.go({ other })),
    facts.looks[page.state.look].image ? null : toggle("words", words, (on) => page.go({ words: on, rows: [] })),
    button("+", () => map.zoom(0.5), { title: "closer (or double-click)" }), button("−", () => map.zoom(2), { title: "farther" }), button("all", () => map.all()),
    rows.length ? button("no rows", () => page.go({ rows: [] })) : null,
    el("span", { class: "gap" }), legend(shown.signed), saveButtons2(map, shown));
  return el("div", { class: "card" }, el("h2", { text: shown.signed ? shown.name : titleOf(shown.name) }), bar, map.host, exactly(page.state.look, shown));
}

function aboutHead(page, name, measured) {
  const one = measured.find((head) => head.name === name), list = el("dl", { class: "facts" }), { look, off } = page.state;
  const add = (label, text) => list.append(el("dt", { text: label }), el("dd", { text }));
  add("name", name);
  if (one) {
    add("role", `${one.role}: ${ROLES[one.role] || ""}`);
    for (const [score, value] of Object.entries(one.scores)) if (value !== null && (value > 0.05 || score === "entropy")) add(score, score === "entropy" ? `${value.toFixed(2)} bits` : score === "distance" ? `${value.toFixed(1)} ${facts.looks[look].image ? "patches" : "tokens"}` : value.toFixed(2));
    if (one.loss !== undefined) add("without it", `loss ${one.loss >= 0 ? "+" : "−"}${Math.abs(one.loss).toFixed(3)} nats${facts.looks[look].image ? `, ${one.changed ? "another" : "the same"} class` : ` per token, ${one.changed} ${one.changed === 1 ? "token changes" : "tokens change"}`}`);
    if (one.of > one.rows) add("measured", `in ${one.rows} of ${one.of.toLocaleString("en")} rows, evenly chosen`);
    if (one.like) add("most like it", `${one.like[0]} (${one.like[1].toFixed(2)} of the weight shared)`);
  } else add("role", facts.live ? "…" : "not measured");
  const card = el("div", { class: "card" }, el("h2", { text: titleOf(name) }), list);
  if (facts.live) card.append(...switches(page, name, off));
  return card;
}

function switches(page, name, off) {
  const gone = off.includes(name), result = el("div", { id: "without" });
  const bar = el("div", { class: "bar", style: { marginTop: "10px" } },
    button(gone ? "switch it on" : "switch it off", () => page.go({ off: gone ? off.filter((one) => one !== name) : [...off, name] }), { "data-off": name, "aria-pressed": String(gone) }),
    off.length ? button("all on", () => page.go({ off: [] })) : null);
  if (off.length) {
    result.append(el("p", { class: "note", text: "…" }));
    without(page, off).then((found) => result.replaceChildren(...found), (error) => result.replaceChildren(el("p", { class: "problem", text: error.message })));
  }
  return [bar, result];
}

async function without(page, off) {
  const found = await act(page.state.look, "without", { heads: off }), list = el("dl", { class: "facts" });
  const add = (label, text) => list.append(el("dt", { text: label }), el("dd", { text }));
  add("off", off.join(", "));
  const { image } = facts.looks[page.state.look];
  add("loss", `${found.loss[0].toFixed(3)} → ${found.loss[1].toFixed(3)} nats${image ? "" : " per token"}`);
  if (!image) add("tokens", `another becomes the likeliest at ${found.changed} of ${found.tokens} steps, given the same beginning`);
  const changes = found.changes.map((one) => `${visible(one.before, 18)} → ${visible(one.after, 18)}`).join(", ");
  if (changes) add(image ? "class" : "these", changes + (found.changes.length < found.changed ? ", …" : ""));
  const { written } = facts.looks[page.state.look];
  if (found.answer !== null && found.answer === written) add("answer", `stays: ${written}`);
  else if (found.answer !== null) {
    add("with", written);
    add("without", found.answer);
  }
  return [list];
}

function lookedAt(shown, rows) {
  if (!rows.length) return el("div", { class: "card" }, el("h2", { text: "Rows" }), el("p", { class: "note", text: "Click rows of the map to see where they look; several are summed. Shift-click a second head to see the difference." }));
  const sums = summed(shown, rows), best = strongest(sums.map(Math.abs), 12), bars = [];
  const highest = Math.max(...best.map((column) => Math.abs(sums[column])), 1e-9), colours = ramp();
  for (const column of best) {
    bars.push(el("span", { class: "token", text: visible(shown.columns[column] ?? "", 16) }));
    bars.push(el("span", { class: "track" }, el("span", { class: "fill", style: { display: "block", width: `${(100 * Math.abs(sums[column])) / highest}%`, background: shown.signed && sums[column] < 0 ? "var(--warm)" : css(colours, 0.65) } })));
    bars.push(el("span", { class: "p", text: figure(sums[column]) }));
  }
  const named = rows.slice(0, 4).map((row) => visible(shown.rows[row] ?? "", 14)).join(" + ") + (rows.length > 4 ? " …" : "");
  return el("div", { class: "card", id: "summed" }, el("h2", { text: `${named} → ` }), el("div", { class: "bars" }, bars));
}
