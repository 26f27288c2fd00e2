// The page: which view is open, what the address says of it, keys, light and dark.
import { isDark, setTheme } from "./colours.js";
import { button, choice, el, tip, visible } from "./dom.js";
import { facts, forget } from "./store.js";
import { alignmentView } from "./view-alignment.js";
import { compareView } from "./view-compare.js";
import { headsView } from "./view-heads.js";
import { imageView } from "./view-image.js";
import { nextView } from "./view-next.js";
import { reckonedHeads, stepView } from "./view-step.js";

function writesOn(look) {
  const { inputs, source } = facts.looks[look].sides;
  return Boolean(inputs && !source);
}

// A view is a name, whether a look has it, and what draws it.
const VIEWS = [
  { name: "image", title: "Image", has: (look) => Boolean(facts.looks[look].image), draw: imageView },
  { name: "alignment", title: "Alignment", has: (look) => !facts.looks[look].image, draw: alignmentView },
  { name: "heads", title: "Heads", has: (look) => facts.looks[look].layers.length > 0, draw: headsView },
  { name: "next", title: "Next token", has: (look) => writesOn(look), draw: nextView },
  { name: "step", title: "One step, with numbers", has: (look) => reckonedHeads(look).length > 0, draw: stepView },
  { name: "compare", title: "Compare", has: () => facts.looks.length > 1, draw: compareView },
];

const DEFAULTS = { view: "", look: 0, panel: "", head: "", other: "", rows: [], words: facts.words, step: null, sort: "layer", off: [], scaled: true, every: false, temperature: 1, topK: 0, topP: 1, more: 8, from: "", back: false };
let state = { ...DEFAULTS }, drawing = 0, topped = "";

function read() {
  const given = new URLSearchParams(location.hash.slice(1) || facts.story?.opens || ""), found = { ...DEFAULTS };
  for (const [key, usual] of Object.entries(DEFAULTS)) {
    if (!given.has(key)) continue;
    const text = given.get(key);
    if (Array.isArray(usual)) found[key] = text.split(",").filter(Boolean).map((one) => (key === "rows" ? Number(one) : one)).filter((one) => key !== "rows" || Number.isInteger(one));
    else if (typeof usual === "boolean") found[key] = text === "1";
    else if (typeof usual === "number" || key === "step") found[key] = Number.isFinite(Number(text)) ? Number(text) : usual;
    else found[key] = text;
  }
  if (!facts.looks[found.look]) found.look = 0;
  if (!/^\d{0,6}$/.test(found.from)) found.from = "";
  if (found.step !== null) found.step = Math.max(0, Math.round(found.step));
  const there = VIEWS.filter((view) => view.has(found.look)), usual = facts.looks.length > 1 ? "compare" : writesOn(found.look) ? "next" : there[0].name;
  if (!there.some((view) => view.name === found.view)) found.view = there.some((view) => view.name === usual) ? usual : there[0].name;
  return found;
}

function written(changed) {
  const said = new URLSearchParams();
  for (const [key, usual] of Object.entries(DEFAULTS)) {
    const value = changed[key];
    if (key !== "view" && JSON.stringify(value) === JSON.stringify(usual)) continue;
    said.set(key, Array.isArray(value) ? value.join(",") : typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  return `#${said}`;
}

const page = {
  get state() { return state; },
  go(changes) {
    const before = state.view;
    state = { ...state, ...changes };
    const address = written(state);
    if (before === state.view) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    return draw();
  },
  replace(look, held) {
    facts.looks[look] = { ...held, changed: true };
    forget(look);
    page.go({ rows: [], off: [] });
  },
  async busy(work) {
    const main = document.getElementById("view");
    main.classList.add("busy");
    try {
      await work();
    } catch (error) {
      main.prepend(el("p", { class: "problem", role: "alert", text: error.message }));
    } finally {
      main.classList.remove("busy");
    }
  },
};

async function draw() {
  const mine = ++drawing, main = document.getElementById("view"), view = VIEWS.find((one) => one.name === state.view);
  tip("");
  let made;
  try {
    made = await view.draw(page);
  } catch (error) {
    made = { node: el("p", { class: "problem", role: "alert", text: error.message }), shown() {} };
  }
  if (mine !== drawing) return;
  const focus = document.activeElement && main.contains(document.activeElement) ? signOf(document.activeElement) : "";
  top();
  if (main.childNodes.length !== 1 || main.firstChild !== made.node) main.replaceChildren(made.node);
  made.shown();
  if (focus) [...main.querySelectorAll("button, select, input, canvas")].find((one) => signOf(one) === focus)?.focus({ preventScroll: true });
  main.dataset.drawn = String(mine);
  main.dataset.view = state.view;
  performance.mark(`drawn-${mine}`);
}

function signOf(one) {
  return [one.tagName, one.getAttribute("aria-label"), one.dataset.head, one.dataset.do, one.textContent.slice(0, 20)].join("|");
}

function top() {
  const held = facts.looks[state.look], many = facts.looks.length > 1, sign = JSON.stringify([state.look, state.view, isDark(), held.run, held.read, held.written]);
  if (sign === topped) return;
  topped = sign;
  document.title = `${visible(held.read, 40)} · Regard`;
  document.getElementById("top").replaceChildren(
    el("h1", { text: "Regard" }), el("span", { class: "run", text: `${held.run} · step ${held.step} · ${held.parameters.toLocaleString("en")} parameters` }),
    el("span", { class: "tools" },
      many ? choice("run", facts.looks.map((one, look) => [String(look), one.run.split("/").pop()]), String(state.look), (look) => page.go({ look: Number(look), head: "", panel: "", rows: [], off: [], step: null })) : null,
      button(isDark() ? "light" : "dark", () => chooseTheme(isDark() ? "light" : "dark"), { title: "light or dark (d)" })),
    el("p", { class: "said" }, el("b", { text: visible(held.read, 300) }), ...(held.written ? [el("span", { class: "arrow", text: "→" }), el("b", { text: visible(held.written, 300) })] : [])),
    ...told());
  document.getElementById("views").replaceChildren(...VIEWS.filter((view) => view.has(state.look)).map((view, place) =>
    button(view.title, () => page.go({ view: view.name }), { role: "tab", "aria-selected": String(view.name === state.view), "data-view": view.name, title: `key ${place + 1}` })));
  foot();
}

// An example of the notes: what they say, what the numbers say, and what becomes of it.
function told() {
  const { story } = facts;
  if (!story) return [];
  const part = (who, text) => el("p", {}, el("span", { class: "who", text: who }), text);
  return [el("section", { class: "story", "aria-label": story.title }, part(`the notes (${story.where})`, story.notes), part("the numbers", story.found), part("verdict", story.verdict))];
}

function chooseTheme(name) {
  document.documentElement.dataset.theme = name;
  setTheme(name);
  try { localStorage.setItem("regard-theme", name); } catch { /* a file may have no memory */ }
  draw();
}

function firstTheme() {
  let kept = null;
  try { kept = localStorage.getItem("regard-theme"); } catch { /* a file may have no memory */ }
  const dark = kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(dark ? "dark" : "light");
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const there = VIEWS.filter((view) => view.has(state.look));
  if (/^[1-9]$/.test(event.key) && there[event.key - 1]) page.go({ view: there[event.key - 1].name });
  else if (event.key === "d") chooseTheme(isDark() ? "light" : "dark");
  else if (event.key === "w") page.go({ words: !state.words, rows: [] });
  else if (event.key === "[" || event.key === "]") page.go({ step: Math.max(0, (state.step ?? 0) + (event.key === "]" ? 1 : -1)) });
  else if (event.key === "," || event.key === ".") otherHead(event.key === "." ? 1 : -1);
  else return;
  event.preventDefault();
}

function otherHead(by) {
  const names = facts.looks[state.look].panels.filter((name) => /^\w+\.\d+\.\d+$/.test(name));
  if (!names.length) return;
  const at = Math.max(0, names.indexOf(state.head || names[0])), head = names[(at + by + names.length) % names.length];
  page.go(state.view === "image" ? { head, panel: head } : { head });
}

function foot() {
  const views = VIEWS.filter((view) => view.has(state.look)).length;
  const key = (name, text) => [el("kbd", { text: name }), ` ${text}   `];
  document.getElementById("foot").replaceChildren(...[[views > 1 ? `1–${views}` : "1", "views"], [", .", "heads"], ["[ ]", "steps"], ["w", "words"], ["d", "dark"], ["← ↑ ↓ → ⏎", "in a map"]].flatMap(([name, text]) => key(name, text)));
}

firstTheme();
state = read();
window.addEventListener("hashchange", () => { state = read(); draw(); });
window.addEventListener("popstate", () => { state = read(); draw(); });
window.addEventListener("again", () => draw());
window.addEventListener("keydown", keys);
draw();
