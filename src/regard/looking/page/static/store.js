// Where numbers come from: the document itself, or the server it came from. Both speak the same bytes.

export const facts = JSON.parse(document.getElementById("facts").textContent);
const kept = new Map();
const MOST = 160;

function remember(key, value) {
  kept.set(key, value);
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
  return value;
}

export function forget(look) {
  for (const key of [...kept.keys()]) if (key.startsWith(`${look}/`)) kept.delete(key);
}

function inside(name) {
  return document.querySelector(`script[data-name="${CSS.escape(name)}"]`);
}

async function unpacked(script) {
  const letters = atob(script.textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

async function asked(path, options = {}) {
  const response = await fetch(path, options);
  if (!response.ok) throw new Error((await response.text()).slice(0, 300));
  return response;
}

// Bytes by name: `table/masked.0.3`, `overview/cross`, `vectors/cross.0.1`.
export function bytes(look, name, query = "") {
  const key = `${look}/${name}${query}`;
  if (kept.has(key)) return kept.get(key);
  const script = query ? null : inside(`${look}/${name}`);
  if (script && !(facts.live && facts.looks[look].changed)) return remember(key, unpacked(script));
  if (!facts.live) return Promise.reject(new Error("not in this file; the live page has it: regard look without --out"));
  const found = asked(`bytes/${key}`).then((response) => response.arrayBuffer());
  found.catch(() => kept.delete(key));
  return remember(key, found);
}

export function has(look, name) {
  return facts.live || inside(`${look}/${name}`) !== null;
}

export async function json(look, name) {
  const held = facts.looks[look];
  if (held[name]) return held[name];
  if (!facts.live) return null;
  const key = `${look}/json/${name}`;
  if (!kept.has(key)) {
    const found = asked(`json/${look}/${name}`).then((response) => response.json());
    found.catch(() => kept.delete(key));
    remember(key, found);
  }
  return kept.get(key);
}

// Something is done, and what comes of it is handed back; only when live.
export async function act(look, what, given) {
  const options = { method: "POST", body: JSON.stringify(given), headers: { "Content-Type": "application/json" } };
  return (await asked(`do/${look}/${what}`, options)).json();
}

// A file (an image) is handed over as it is.
export async function send(look, blob, name) {
  const options = { method: "POST", body: blob, headers: { "Content-Type": "application/octet-stream" } };
  return (await asked(`do/${look}/picture?name=${encodeURIComponent(name.slice(0, 200))}`, options)).json();
}

// The image that a look is of: its shape, and a byte a colour.
export function imageOf(look) {
  const key = `${look}/decoded/image`;
  if (kept.has(key)) return kept.get(key);
  const found = bytes(look, "image/pixels").then((buffer) => {
    const [height, width, channels] = new Uint32Array(buffer, 0, 3);
    return { height, width, channels, pixels: new Uint8Array(buffer, 12) };
  });
  found.catch(() => kept.delete(key));
  return remember(key, found);
}

// A table of weights, as numbers: one a cell.
export class Table {
  constructor(rows, columns, stride, values) {
    Object.assign(this, { rows, columns, stride, values });
  }

  at(row, column) {
    return this.values[row * this.columns + column];
  }

  get pooled() {
    return this.stride[0] > 1 || this.stride[1] > 1;
  }
}

export function tableOf(buffer) {
  const [rows, columns, down, across, size] = new Uint32Array(buffer, 0, 5);
  const cells = new Uint8Array(buffer, 20), count = rows * columns, values = new Float32Array(count);
  if (size === 2) {
    for (let cell = 0; cell < count; cell++) {
      const root = (cells[cell] * 256 + cells[cell + count]) / 65535;
      values[cell] = root * root;
    }
  } else {
    for (let cell = 0; cell < count; cell++) values[cell] = (cells[cell] / 255) ** 2;
  }
  return new Table(rows, columns, [down, across], values);
}

export async function weights(look, name, part = null) {
  const query = part ? `?rows=${part[0]}:${part[1]}&columns=${part[2]}:${part[3]}` : "";
  const key = `${look}/decoded/${name}${query}`;
  if (!kept.has(key)) {
    const found = bytes(look, `table/${name}`, query).then(tableOf);
    found.catch(() => kept.delete(key));
    remember(key, found);
  }
  return kept.get(key);
}

export function overview(look, kind) {
  const key = `${look}/small/${kind}`;
  if (kept.has(key)) return kept.get(key);
  const found = bytes(look, `overview/${kind}`).then((buffer) => {
    const [layers, heads, rows, columns] = new Uint32Array(buffer, 0, 4);
    return { layers, heads, rows, columns, cells: new Uint8Array(buffer, 16), drawn: new Map() };
  });
  found.catch(() => kept.delete(key));
  return remember(key, found);
}

export async function vectors(look, name) {
  const buffer = await bytes(look, `vectors/${name}`);
  const found = [];
  let place = 0;
  while (place < buffer.byteLength) {
    const [rows, columns] = new Uint32Array(buffer, place, 2);
    found.push({ rows, columns, values: new Float32Array(buffer, place + 8, rows * columns) });
    place += 8 + 4 * rows * columns;
  }
  const [[scale, slope], queries, keys, values, additive] = [found[0].values, found[1], found[2], found[3], found[4]];
  return { scale, slope, queries, keys, values, additive: additive ? additive.values : null };
}
