// Colours that the colour-blind can tell apart: ramps of lightness, and blue against orange for differences.

const LIGHT = [[251, 250, 247], [214, 226, 238], [148, 186, 219], [74, 136, 190], [28, 87, 146], [9, 40, 84]];
const DARK = [[27, 30, 35], [34, 62, 92], [41, 103, 130], [76, 152, 146], [158, 200, 140], [250, 236, 150]];
const APART_LIGHT = [[166, 78, 16], [232, 168, 110], [248, 246, 242], [126, 176, 222], [20, 82, 148]];
const APART_DARK = [[255, 178, 102], [158, 96, 44], [32, 35, 41], [44, 100, 158], [140, 196, 255]];

const GLOW = [[20, 11, 54], [101, 21, 110], [188, 55, 84], [243, 120, 25], [250, 194, 40], [252, 255, 164]];

let theme = "light";
let tables = {}, styles = {};

export function setTheme(name) {
  theme = name;
  tables = {};
  styles = {};
}

// What the style sheet says, such as --ink; asked for once, since a browser lays out the whole page to answer.
export function style(name) {
  styles[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name);
  return styles[name];
}

export function isDark() {
  return theme === "dark";
}

function table(name, anchors) {
  if (tables[name]) return tables[name];
  const found = new Uint8ClampedArray(256 * 3);
  for (let step = 0; step < 256; step++) {
    const at = (step / 255) * (anchors.length - 1), low = Math.min(Math.floor(at), anchors.length - 2), part = at - low;
    for (let part3 = 0; part3 < 3; part3++) found[step * 3 + part3] = anchors[low][part3] * (1 - part) + anchors[low + 1][part3] * part;
  }
  tables[name] = found;
  return found;
}

export function ramp() {
  return table("ramp", isDark() ? DARK : LIGHT);
}

export function apart() {
  return table("apart", isDark() ? APART_DARK : APART_LIGHT);
}

// What lies over an image, which has colours of its own: the same in light and dark.
export function glow() {
  return table("glow", GLOW);
}

export function css(colours, share) {
  const at = Math.max(0, Math.min(255, Math.round(share * 255))) * 3;
  return `rgb(${colours[at]} ${colours[at + 1]} ${colours[at + 2]})`;
}

// Ink that can be read on a colour.
export function inkOn(colours, share) {
  const at = Math.max(0, Math.min(255, Math.round(share * 255))) * 3;
  const light = 0.299 * colours[at] + 0.587 * colours[at + 1] + 0.114 * colours[at + 2];
  return light > 140 ? "#15171b" : "#fbfaf7";
}

// Surprise in bits, up to ten: paper, then orange. The same hue means the same everywhere.
export function surprise(bits) {
  const colours = apart();
  return [css(colours, 0.5 - 0.5 * Math.min(1, bits / 10)), inkOn(colours, 0.5 - 0.5 * Math.min(1, bits / 10))];
}
