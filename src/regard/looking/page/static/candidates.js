// What could be written at a step: tokens, bars, chances; where the page is live, a click writes another.
import { spread } from "./chances.js";
import { el, visible } from "./dom.js";

export const PLAIN = { temperature: 1, topK: 0, topP: 1 };

export function percent(p) {
  if (p >= 0.9995 && p < 1) return ">99.9 %";
  return p >= 0.001 ? `${(100 * p).toFixed(p >= 0.0995 ? 1 : 2)} %` : p > 0 ? "<0.1 %" : "0";
}

export function candidates(step, settings, onpick, most = 20) {
  const chances = spread(step, settings), shown = chances.filter((one) => one.id !== null).slice(0, most), rows = [];
  const highest = Math.max(...shown.map((one) => one.p), 1e-9);
  for (const one of shown) {
    const said = one.id === step.id, options = { class: `token${said ? " said-one" : ""}`, text: visible(one.token, 18), title: said ? "this was written" : null };
    rows.push(onpick ? el("button", { type: "button", ...options, "data-id": String(one.id), onclick: () => onpick(one) }) : el("span", options));
    rows.push(el("span", { class: `track${one.p ? "" : " cut"}` }, el("span", { class: "fill", style: { display: "block", width: `${(100 * one.p) / Math.max(highest, 0.25)}%` } })));
    rows.push(el("span", { class: `p${one.p ? "" : " cut"}`, text: percent(one.p) }));
  }
  const left = chances.filter((one) => !shown.includes(one)), rest = left.reduce((sum, one) => sum + one.p, 0);
  const others = left.reduce((sum, one) => sum + one.count * one.kept, 0);
  const more = others > 0.5 ? el("p", { class: "note", text: `${Math.round(others).toLocaleString("en")} others together ${percent(Math.max(0, rest))}` }) : null;
  const place = step.id !== null && step.id !== undefined && !step.ids.slice(0, most).includes(step.id)
    ? el("p", { class: "note", text: `what was written has rank ${step.rank.toLocaleString("en")}, ${percent(Math.exp(step.log_prob))}` }) : null;
  return el("div", {}, el("div", { class: "bars" }, rows), more, place);
}
