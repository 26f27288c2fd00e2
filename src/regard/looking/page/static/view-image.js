// An image: where each head looks from any patch or from what stands for the image, and the other way; its classes.
import { candidates, PLAIN } from "./candidates.js";
import { css, ramp } from "./colours.js";
import { button, choice, el, toggle, visible } from "./dom.js";
import { drawPad } from "./draw-pad.js";
import { figure } from "./heatmap.js";
import { ImageMap, painted } from "./imagemap.js";
import { saveImageButtons } from "./saving-image.js";
import { act, facts, has, imageOf, json, send } from "./store.js";
import { kindsOf, labelsOf, titleOf } from "./tables.js";
import { exactly, undo } from "./view-alignment.js";
import { allHeads, isInfluence, weightsOf } from "./weights-image.js";

let current = null;  // the page, for what is dropped anywhere on it

export async function imageView(page) {
  current = page;
  const { look, back } = page.state, name = panelOf(page), from = page.state.from === "" ? null : Number(page.state.from);
  const panel = await imagePanel(look, name, from, back), small = await allHeads(look, panel.kind, from, back), written = await json(look, "written_steps");
  const map = new ImageMap({ label: `${titleOf(name)}: image`, onselect: (patch) => choosePlace(page, panel.extra + patch) });
  const left = el("div", {}, large(page, panel, map), small ? thumbs(page, panel, small) : null);
  const right = el("div", {}, classes(page, written.steps[0], panel.image), facts.live ? others(page, panel) : null);
  return { node: el("div", { class: "columns image" }, left, right), shown: () => map.show(panel) };
}

export function panelOf({ state }) {
  const held = facts.looks[state.look];
  return held.panels.includes(state.panel) && has(state.look, `table/${state.panel}`) ? state.panel : held.usual;
}

// Everything that is drawn of an image: its pixels, a weight for each patch and for each other position, who asks.
export async function imagePanel(look, name, from, back) {
  const held = facts.looks[look], shape = held.image, labels = labelsOf(look, "source", false), plain = isInfluence(name);
  const extra = labels.length - shape.rows * shape.columns, asked = plain || from === null || from >= labels.length ? null : from;
  const [image, all] = await Promise.all([imageOf(look), weightsOf(look, name, asked, back && !plain)]);
  return {
    look, name, kind: kindsOf(look)[0], image, extra, back: back && !plain, from: plain ? "for the class" : asked === null ? shape.who : visible(labels[asked]), place: asked,
    rows: shape.rows, columns: shape.columns, weights: all && [...all.slice(extra)], beside: all ? [...all.slice(0, extra)] : [], labels, ruled: true, chosen: asked === null ? null : asked - extra,
  };
}

function choosePlace(page, place) {
  const { from } = page.state;
  page.go({ from: from !== "" && Number(from) === place ? "" : String(place) });
}

function large(page, panel, map) {
  const { look, back } = page.state, held = facts.looks[look], plain = isInfluence(panel.name);
  const whole = held.panels.filter((one) => one.split(".").length < 3 && has(look, `table/${one}`)), names = whole.includes(panel.name) ? whole : [...whole, panel.name];
  const bar = el("div", { class: "bar" },
    choice("shown", names.map((one) => [one, titleOf(one)]), panel.name, (name) => page.go({ panel: name })),
    plain ? null : toggle(back ? "who looks at it" : "where it looks", back, (on) => page.go({ back: on }), { "data-do": "back", title: "the other way round" }),
    el("span", { class: "gap" }), saveImageButtons(map, panel));
  const most = panel.weights ? Math.max(...panel.weights) : 0;
  const said = !panel.weights ? "Only what stands for the image is kept of so many patches in this file; the live page has them all: regard look without --out."
    : plain ? `What spoke for or against ${visible(held.written)}, by gradients; brightest is ${figure(most)} of all.`
      : `${back ? `Who looks at ${panel.from}` : `Where ${panel.from} looks`}; brightest is ${figure(most)}. Click a patch to ask it, once more for the whole image.`;
  return el("div", { class: "card" }, el("h2", { text: titleOf(panel.name) }), bar, plain ? null : places(page, panel), map.host, el("p", { class: "note", id: "brightest", text: said }),
    held.layers.length && panel.weights && !plain ? exactly(look, { table: { pooled: false } }) : held.layers.length ? null : el("p", { class: "note", text: "This model has no attention; gradients say what counted." }));
}

// Positions that are no patch, as buttons: they can be asked too, and a patch may look at them.
function places(page, panel) {
  const { from } = page.state, most = Math.max(...(panel.weights || []), ...panel.beside, 1e-12), colours = ramp();
  const shape = facts.looks[panel.look].image, all = button(shape.who, () => page.go({ from: "" }), { "aria-pressed": String(from === ""), "data-from": "" });
  const single = shape.stands[1] - shape.stands[0] === 1 ? shape.stands[0] : -1;
  return el("div", { class: "bar" }, el("span", { class: "note", text: "from" }), single < 0 ? all : null, panel.labels.slice(0, panel.extra).map((label, place) =>
    button(label, () => page.go({ from: place === single ? "" : String(place) }), {
      "aria-pressed": String(place === single ? from === "" : from === String(place)), "data-from": String(place), title: panel.weights ? `weight ${figure(panel.beside[place])}` : null,
      style: panel.weights ? { boxShadow: `inset 0 -4px 0 ${css(colours, Math.sqrt(panel.beside[place] / most))}` } : {},
    })), panel.place !== null && panel.place >= panel.extra ? button(panel.from, () => page.go({ from: "" }), { "aria-pressed": "true", title: "back to the whole image" }) : null);
}

function thumbs(page, panel, small) {
  const layers = facts.looks[panel.look].layers.filter((layer) => layer.kind === panel.kind), widest = Math.max(...layers.map((layer) => layer.heads));
  const wide = Math.max(40, Math.min(84, Math.floor(700 / Math.max(4, Math.min(widest, 12))))), host = el("div", { class: "grid", role: "group", "aria-label": "all heads" });
  host.style.gridTemplateColumns = `auto repeat(${widest}, minmax(30px, ${wide}px))`;
  let row = 0;
  for (const layer of layers) {
    host.append(el("span", { class: "layer", text: String(layer.layer) }));
    for (let head = 0; head < widest; head++) host.append(head < layer.heads ? thumb(page, panel, small, `${panel.kind}.${layer.layer}.${head}`, row++) : el("span"));
  }
  const how = panel.back ? `who looks at ${panel.from}` : `where ${panel.from} looks`;
  return el("div", { class: "card" }, el("h2", { text: `${row} heads: ${how}` }), el("div", { style: { overflowX: "auto" } }, host), el("p", { class: "note", text: "Layers down, heads across; the strongest colour of each is its own largest weight." }));
}

function thumb(page, panel, small, name, row) {
  const { rows, columns, extra } = panel, values = small.values.subarray(row * small.columns + extra, (row + 1) * small.columns), most = Math.max(...values, 1e-12);
  const canvas = el("canvas", { width: String(columns), height: String(rows), "aria-hidden": "true" }), picture = new ImageData(columns, rows), colours = ramp();
  values.forEach((value, patch) => {
    const at = Math.round(255 * Math.sqrt(value / most)) * 3;
    picture.data.set([colours[at], colours[at + 1], colours[at + 2], 255], patch * 4);
  });
  canvas.getContext("2d").putImageData(picture, 0, 0);
  canvas.style.imageRendering = "pixelated";
  canvas.style.aspectRatio = `${panel.image.width} / ${panel.image.height}`;
  return el("button", { type: "button", onclick: () => page.go({ panel: name, head: name }), "data-head": name, "aria-pressed": String(name === panel.name), title: titleOf(name), "aria-label": titleOf(name) },
    canvas, el("span", { class: "tag", text: `head ${name.split(".")[2]}` }));
}

function classes(page, step, image) {
  const { look } = page.state, pick = facts.live ? (one) => changed(page, () => act(look, "class", { id: one.id }), [look]) : null;
  const note = pick ? "Click a class to see what spoke for it (influence)." : "How likely the model finds each class.";
  painted(image).classList.add("plain");
  return el("div", { class: "card", id: "classes" }, el("h2", { text: "As the model saw it" }), painted(image), el("h3", { text: "Classes" }), candidates(step, PLAIN, pick, 10), el("p", { class: "note", text: note }),
    facts.looks[look].branches ? button("undo", () => undo(page), { "data-do": "undo", title: "back to what was shown before" }) : null);
}

function others(page, panel) {
  const file = el("input", { type: "file", accept: "image/*", id: "file", hidden: true, onchange: () => { if (file.files[0]) hand(page, file.files[0], file.files[0].name); } });
  const card = el("div", { class: "card" }, el("h2", { text: "Another image" }), el("p", { class: "note", text: "Drop a file anywhere on this page, or" }), button("choose a file …", () => file.click(), { "data-do": "choose" }), file);
  const shape = facts.looks[panel.look].image;
  if (shape.channels > 1) return card;
  const pad = drawPad(shape, (blob, name) => hand(page, blob, name));
  card.append(el("h3", { text: "Draw one" }), pad.node(painted(panel.image)), el("p", { class: "note", text: "Draw with the pointer; with shift it rubs out." }));
  return card;
}

// What was dropped, chosen or drawn: every run on the page reads it.
function hand(page, blob, name) {
  if (blob.size > facts.largest_file) return page.busy(() => Promise.reject(new Error(`${visible(name)}: over ${facts.largest_file >> 20} MiB, and an image on this page is smaller`)));
  return changed(page, (look) => send(look, blob, name), [...facts.looks.keys()]);
}

function changed(page, work, looks) {
  return page.busy(async () => {
    for (const look of looks) {
      const branches = (facts.looks[look].branches || 0) + 1;
      page.replace(look, { ...(await work(look)), branches });
    }
  });
}

window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => {
  event.preventDefault();  // a browser would leave the page and show the file
  const [file] = event.dataTransfer ? event.dataTransfer.files : [];
  if (file && facts.live && current && facts.looks[current.state.look].image) hand(current, file, file.name);
});
