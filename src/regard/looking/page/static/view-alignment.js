// Source × target: which words each written word looked at, and what else could have been written.
import { candidates, PLAIN } from "./candidates.js";
import { button, choice, el, toggle, visible } from "./dom.js";
import { HeatMap, legend, power } from "./heatmap.js";
import { saveButtons } from "./saving.js";
import { act, facts, has, json } from "./store.js";
import { closer, labelled, labelsOf, titleOf } from "./tables.js";

export function wholePanels(look) {
  return facts.looks[look].panels.filter((name) => (name.split(".").length === 1 || /^(rollout|influence)/.test(name)) && has(look, `table/${name}`));
}

function tokenOf(panel, row) {
  const held = facts.looks[panel.look].sides[panel.rowSide];
  return panel.words ? held.spans[row][0] : row * panel.table.stride[0];
}

function rowOf(panel, token) {
  const held = facts.looks[panel.look].sides[panel.rowSide];
  return panel.words ? held.spans.findIndex(([start, stop]) => start <= token && token < stop) : Math.floor(token / panel.table.stride[0]);
}

export async function alignmentView(page) {
  const { look, words } = page.state, names = wholePanels(look);
  const name = names.includes(page.state.panel) ? page.state.panel : names.includes(facts.looks[look].usual) ? facts.looks[look].usual : names[0];
  const panel = await labelled(look, name, words), written = await json(look, "written_steps");
  const count = written.first + written.steps.length, steps = panel.rowSide === "source" ? null : written;
  const step = Math.max(0, Math.min(count - 1, page.state.step ?? 0));
  const map = new HeatMap({ label: `${titleOf(name)}: heat map`, refine: closer, onselect: (row) => page.go({ step: tokenOf(panel, row) }) });
  const bar = el("div", { class: "bar" },
    choice("shown", names.map((one) => [one, titleOf(one)]), name, (panel2) => page.go({ panel: panel2 })),
    toggle("words", words, (on) => page.go({ words: on }), { title: "sub-words merged to words: columns summed, rows averaged" }),
    panel.table.rows > 60 ? button("+", () => map.zoom(0.5), { title: "closer (or double-click)" }) : null, panel.table.rows > 60 ? button("all", () => map.all()) : null,
    el("span", { class: "gap" }), legend(), saveButtons2(map, panel));
  const left = el("div", { class: "card" }, el("h2", { text: titleOf(name) }), bar, map.host, exactly(look, panel));
  const right = steps ? beside(page, written, step) : null;
  const node = el("div", { class: "columns" }, left, right);
  return { node, shown: () => map.show(panel, steps ? [rowOf(panel, step)] : []) };
}

export function saveButtons2(map, panel) {
  map.panel = panel;
  return saveButtons(map, panel.name);
}

export function exactly(look, panel) {
  const { difference } = facts.looks[look], table = panel.table;
  if (/^influence/.test(panel.name)) return el("p", { class: "note", text: `By gradients, not by attention: of each row the shares of what counted. ${table.pooled ? `Each cell is the largest of ${table.stride[0]} × ${table.stride[1]}.` : ""}` });
  const pooled = table.pooled ? `Each cell is the largest of ${table.stride[0]} × ${table.stride[1]} weights. ` : "";
  const worst = Math.max(difference.watched, difference.weights), why = `Watching changed the model's outputs by ${power(difference.watched)} at most; what these weights give differs from what the model computed by ${power(difference.weights)} at most.`;
  return el("p", { class: "note", title: why, text: `${pooled}Weights exact to ${worst ? power(worst) : "the last bit"}.` });
}

function beside(page, written, step) {
  const { look } = page.state, one = written.steps[step - written.first], count = written.first + written.steps.length;
  const before = labelsOf(look, "outputs", false).slice(Math.max(0, step - 6), step).map((token) => visible(token)).join(" ");
  const pick = facts.live && facts.looks[look].retold ? (chosen) => force(page, step, chosen.id) : null;
  const note = pick ? "Click a word to have it written instead; the model goes on from there." : "How likely each token is here, given those before it.";
  return el("div", {}, el("div", { class: "card" },
    el("h2", { text: `Step ${step + 1} of ${count}` }),
    el("div", { class: "bar" },
      button("←", () => page.go({ step: step - 1 }), { disabled: step === 0, "aria-label": "step before" }),
      button("→", () => page.go({ step: step + 1 }), { disabled: step === count - 1, "aria-label": "next step" }),
      facts.looks[look].branches ? button("undo", () => undo(page), { title: "back to what it wrote before" }) : null),
    el("p", { class: "note", text: before ? `… ${before} ▸` : "at the beginning ▸" }),
    one ? candidates(one, PLAIN, pick, 10) : el("p", { class: "note", text: "Only the last steps of so long a text are kept." }), el("p", { class: "note", text: note })));
}

export async function force(page, step, id, tokens = 0) {
  await page.busy(async () => {
    const { look } = page.state, branches = (facts.looks[look].branches || 0) + 1;
    page.replace(look, { ...(await act(look, "force", { step, id, tokens })), branches });
  });
}

export async function undo(page) {
  await page.busy(async () => {
    const { look } = page.state, branches = facts.looks[look].branches - 1;
    page.replace(look, { ...(await act(look, "undo", {})), branches });
  });
}
