// Elements made by hand: text is only ever text.

export function el(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(made.style, value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function svgEl(name, options = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function button(text, onclick, options = {}) {
  return el("button", { type: "button", text, onclick, ...options });
}

export function choice(label, values, chosen, onchange) {
  const list = el("select", { "aria-label": label, onchange: () => onchange(list.value) });
  for (const [value, text] of values) {
    const option = el("option", { value, text });
    option.selected = value === chosen;
    list.append(option);
  }
  return el("label", {}, el("span", { text: label, class: "hide-small" }), list);
}

export function toggle(text, pressed, onchange, options = {}) {
  return button(text, () => onchange(!pressed), { "aria-pressed": String(pressed), ...options });
}

// What cannot be seen is shown by a sign, so that every token can be told from the next.
const LINES = [/\n|\r/g, "⏎"], TAB = [/\t/g, "⇥"], HIDDEN = [[/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]/g, "◌"], [/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "␀"]];

function replaced(text, signs) {
  return signs.reduce((shown, [pattern, sign]) => shown.replace(pattern, sign), text);
}

// Text as it is, spaces and tabs too, but for what could turn it around or hide in it.
export function unhidden(text) {
  return replaced(text, [LINES, ...HIDDEN]);
}

export function visible(text, most = 40) {
  const shown = replaced(text, [LINES, TAB, ...HIDDEN]).replace(/^ +| +$/g, (spaces) => "·".repeat(spaces.length));
  const letters = [...shown];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : shown || "∅";
}

export function tip(text, event) {
  const box = document.getElementById("tip");
  if (!text && box.hidden) return;
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const wide = box.offsetWidth, tall = box.offsetHeight;
  const x = Math.min(event.clientX + 14, window.innerWidth - wide - 8);
  const y = event.clientY + 18 + tall > window.innerHeight ? event.clientY - tall - 12 : event.clientY + 18;
  box.style.left = `${Math.max(8, x)}px`;
  box.style.top = `${Math.max(8, y)}px`;
}
