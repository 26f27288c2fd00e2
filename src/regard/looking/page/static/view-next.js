// A text coloured by surprise, what could have come at any place, and from which layer on the model knew.
import { candidates, percent } from "./candidates.js";
import { drawn, spread } from "./chances.js";
import { isDark, surprise } from "./colours.js";
import { button, el, unhidden, visible } from "./dom.js";
import { HeatMap } from "./heatmap.js";
import { facts, json, Table } from "./store.js";
import { saveButtons2, force, undo } from "./view-alignment.js";

const SETTINGS = [["temperature", "temperature", 0.1, 3, 0.05], ["topK", "top-k", 0, 50, 1], ["topP", "top-p", 0.05, 1, 0.05]];

export async function nextView(page) {
  const { look } = page.state, held = facts.looks[look], written = await json(look, "written_steps");
  const { steps, first } = written, last = first + steps.length - 1, step = Math.max(first, Math.min(last, page.state.step ?? last));
  const known = steps.filter((one) => one.id !== null), bits = known.reduce((sum, one) => sum - one.log_prob / Math.LN2, 0);
  const scale = el("span", { class: "legend" }, el("span", { text: "0 bits" }), ...[0, 2, 4, 6, 8, 10].map((value) => {
    const [background, color] = surprise(value);
    return el("span", { text: "    ", style: { background, color, width: "22px", height: "11px", borderRadius: "3px", display: "inline-block" } });
  }), el("span", { text: "10 and more" }));
  const left = el("div", {}, el("div", { class: "card" }, el("h2", { text: "How much each token surprised the model" }),
    el("div", { class: "bar" }, scale, el("span", { class: "gap" }), el("span", { class: "note", text: `${(bits / Math.max(1, known.length)).toFixed(2)} bits a token, ${bits.toFixed(0)} in all` })),
    coloured(page, held, written, step)));
  const depth = lensOf(page, held, written, step);
  if (depth) left.append(depth.card);
  const right = el("div", {}, choices(page, written, step));
  return { node: el("div", { class: "columns" }, left, right), shown: () => depth && depth.shown() };
}

function coloured(page, held, written, step) {
  const side = held.sides.outputs, first = written.first, host = el("div", { class: "text", role: "group", "aria-label": "text, coloured by surprise" });
  const begin = held.sides.inputs.texts[0] || held.sides.inputs.tokens[0];
  if (first === 0) host.append(el("span", { class: "begin", text: begin }));
  else host.append(el("span", { class: "begin", text: `… ${first.toLocaleString("en")} tokens …` }));
  written.steps.forEach((one, place) => {
    const last = one.id === null, text = last ? "▸" : side.texts[first + place] || "";
    const bits = last ? 0 : -one.log_prob / Math.LN2, [background, color] = surprise(bits);
    const options = { text: last ? text : unhidden(text) || "·", "data-step": String(first + place), class: first + place === step ? "here" : null, onclick: () => page.go({ step: first + place }), style: last ? {} : { background, color } };
    host.append(el("span", { ...options, title: last ? "what comes next" : `${visible(text)}: ${bits.toFixed(2)} bits, rank ${one.rank}` }));
    if (text.endsWith("\n")) host.append(el("br"));
  });
  return host;
}

function choices(page, { steps, first }, step) {
  const { look } = page.state, settings = { temperature: page.state.temperature, topK: page.state.topK, topP: page.state.topP };
  const one = steps[step - first], last = first + steps.length - 1, live = facts.live && facts.looks[look].retold;
  const pick = live ? (chosen) => force(page, step, chosen.id, page.state.more) : null;
  const list = el("div", {}, candidates(one, settings, pick));
  const knobs = SETTINGS.map(([key, label, least, most, by]) => {
    const value = el("output", { text: say(key, settings[key]) });
    const input = el("input", { type: "range", min: String(least), max: String(most), step: String(by), value: String(settings[key]), "aria-label": label });
    input.addEventListener("input", () => {
      settings[key] = Number(input.value);
      value.textContent = say(key, settings[key]);
      list.replaceChildren(candidates(one, settings, pick));
    });
    input.addEventListener("change", () => page.go({ [key]: Number(input.value) }));
    return el("label", {}, el("span", { text: label, style: { width: "86px" } }), input, value);
  });
  const title = one.id === null ? "What comes next" : `In place of ${visible(facts.looks[look].sides.outputs.tokens[step] ?? "")}`;
  const said = one.id === null ? null : el("p", { class: "note", text: `written: ${percent(Math.exp(one.log_prob))}, rank ${one.rank}, ${(-one.log_prob / Math.LN2).toFixed(2)} bits` });
  return el("div", { class: "card" }, el("h2", { text: title }), said,
    el("div", { class: "bar" }, button("←", () => page.go({ step: step - 1 }), { disabled: step === first, "aria-label": "token before" }),
      button("→", () => page.go({ step: step + 1 }), { disabled: step === last, "aria-label": "next token" }),
      live ? button("step", () => force(page, last, drawn(spread(steps[steps.length - 1], settings)).id), { "data-do": "step", title: "draw the next token from these probabilities" }) : null,
      facts.looks[look].branches ? button("undo", () => undo(page), { "data-do": "undo" }) : null),
    list, el("div", { class: "bar", style: { flexDirection: "column", alignItems: "flex-start", marginTop: "12px", gap: "4px" } }, knobs),
    live ? el("p", { class: "note", text: "Click a token to branch off here; then so many more are written: " },
      el("input", { type: "number", min: "0", max: "100", value: String(page.state.more), "aria-label": "tokens to write behind a branch", style: { width: "5em" }, onchange: (event) => page.go({ more: Math.max(0, Math.min(100, Number(event.target.value) || 0)) }) })) : null);
}

function say(key, value) {
  return key === "topK" ? (value ? String(value) : "all") : key === "topP" ? (value < 1 ? value.toFixed(2) : "all") : value.toFixed(2);
}

function lensOf(page, held, written, step) {
  const ranks = written.lens;
  if (!ranks || !ranks.length) return null;
  const layers = ranks[0].length, values = new Float32Array(layers * ranks.length);
  ranks.forEach((row, place) => row.forEach((rank, layer) => { values[(layers - 1 - layer) * ranks.length + place] = 1 / rank; }));
  const panel = {
    name: "ranks", table: new Table(layers, ranks.length, [1, 1], values),
    rows: [...Array(layers).keys()].reverse().map((layer) => `layer ${layer}`), columns: held.sides.outputs.tokens.slice(written.lens_first),
  };
  const map = new HeatMap({ label: "ranks through the layers: heat map", onselect: (_, column) => page.go({ step: column + written.lens_first }) });
  map.said = ([row, column]) => `${visible(panel.columns[column] ?? "")} after ${panel.rows[row]}: rank ${ranks[column][layers - 1 - row].toLocaleString("en")}`;
  map.figures = () => {};
  const own = ranks[step - written.lens_first];
  const card = el("div", { class: "card" }, el("h2", { text: "From which layer on it knew" }),
    el("p", { class: "note", id: "lens", text: `The rank of what was written, if the head read each layer's output: ${isDark() ? "bright" : "dark"} is first (the logit lens).` }),
    el("div", { class: "bar" }, own ? el("span", { class: "note", text: `this token: ${own.map((rank) => rank.toLocaleString("en")).join(" → ")}` }) : null, el("span", { class: "gap" }), saveButtons2(map, panel)), map.host);
  return { card, shown: () => map.show(panel) };
}
