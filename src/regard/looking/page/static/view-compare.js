// The same input in two to four runs, side by side.
import { candidates, PLAIN } from "./candidates.js";
import { choice, el, toggle, visible } from "./dom.js";
import { HeatMap, legend } from "./heatmap.js";
import { ImageMap } from "./imagemap.js";
import { facts, json } from "./store.js";
import { labelled, titleOf } from "./tables.js";
import { wholePanels } from "./view-alignment.js";
import { imagePanel } from "./view-image.js";

export async function compareView(page) {
  const { words } = page.state, shared = wholePanels(0).filter((name) => facts.looks.every((_, look) => wholePanels(look).includes(name)));
  const chosen = shared.includes(page.state.panel) ? page.state.panel : "";
  const cards = await Promise.all(facts.looks.map((held, look) => card(page, held, look, chosen || held.usual)));
  const bar = el("div", { class: "bar" },
    choice("shown", [["", "each its usual picture"], ...shared.map((name) => [name, titleOf(name)])], chosen, (panel) => page.go({ panel })),
    ...(facts.looks[0].image ? [] : [toggle("words", words, (on) => page.go({ words: on })), el("span", { class: "gap" }), legend()]));
  return { node: el("div", {}, bar, el("div", { class: "compare" }, cards.map((one) => one.node))), shown: () => cards.forEach((one) => one.shown()) };
}

async function card(page, held, look, name) {
  if (held.image) return imageCard(page, held, look, name);
  const [panel, written] = await Promise.all([labelled(look, name, page.state.words), json(look, "written_steps")]);
  const known = written.steps.filter((one) => one.id !== null), loss = known.reduce((sum, one) => sum - one.log_prob, 0) / Math.max(1, known.length);
  const map = new HeatMap({ label: `${held.run}: heat map`, compact: true, onselect: () => page.go({ look, view: "alignment" }) });
  const list = el("dl", { class: "facts" });
  const add = (label, text) => list.append(el("dt", { text: label }), el("dd", { text }));
  add("writes", held.written || visible(held.read, 60));
  add("loss", `${loss.toFixed(3)} nats per token`);
  add("parameters", held.parameters.toLocaleString("en"));
  add("shown", titleOf(name));
  return { node: el("div", { class: "card" }, el("h2", { text: held.run.split("/").pop() }), list, map.host), shown: () => map.show(panel) };
}

async function imageCard(page, held, look, name) {
  const [panel, written] = await Promise.all([imagePanel(look, name, null, false), json(look, "written_steps")]);
  const map = new ImageMap({ label: `${held.run}: image`, compact: true, onselect: () => page.go({ look, view: "image" }) }), list = el("dl", { class: "facts" });
  list.append(el("dt", { text: "parameters" }), el("dd", { text: held.parameters.toLocaleString("en") }), el("dt", { text: "shown" }), el("dd", { text: titleOf(name) }));
  return { node: el("div", { class: "card" }, el("h2", { text: held.run.split("/").pop() }), list, map.host, candidates(written.steps[0], PLAIN, null, 4)), shown: () => map.show({ ...panel, ruled: false }) };
}
