// Weights of one place of an image: from whole tables where they are at hand, else asked for.
import { bytes, facts, has, tableOf, weights } from "./store.js";

const WHOLE = 1024;

export function isInfluence(name) {
  return name.startsWith("influence");
}

function sized(look) {
  return facts.looks[look].sides.source.tokens.length;
}

function mean(table, back, start, stop) {
  const found = new Float32Array(back ? table.rows : table.columns);
  for (let one = start; one < stop; one++) for (let other = 0; other < found.length; other++) found[other] += (back ? table.at(other, one) : table.at(one, other)) / (stop - start);
  return found;
}

// Of every position, what a place (or what stands for the image) looks at, or who looks at it; null if it is not at hand.
export async function weightsOf(look, name, place, back) {
  const size = sized(look), [start, stop] = place === null ? facts.looks[look].image.stands : [place, place + 1];
  if (isInfluence(name)) return (await weights(look, name)).values;
  if (size <= WHOLE || !facts.live) {
    const table = await weights(look, name);
    if (!table.pooled) return mean(table, back, start, stop);
  }
  if (facts.live) return closeUp(look, name, size, [start, stop], back);
  const kind = facts.looks[look].layers[0].kind, row = place === null && !back ? headNumber(look, name) : -1;
  return row < 0 ? null : (await allHeads(look, kind, null, false)).values.slice(row * size, (row + 1) * size);
}

async function closeUp(look, name, size, [start, stop], back) {
  const part = back ? [0, size, start, stop] : [start, stop, 0, size], table = await weights(look, name, part);
  return table.pooled ? null : mean(table, back, 0, stop - start);
}

function headNumber(look, name) {
  const [kind, layer, head] = name.split("."), layers = facts.looks[look].layers.filter((one) => one.kind === kind);
  return head === undefined ? -1 : layers.slice(0, Number(layer)).reduce((sum, one) => sum + one.heads, 0) + Number(head);
}

// The same of all heads at once, a row a head.
export async function allHeads(look, kind, place, back) {
  if (!kind) return null;
  const [start, stop] = place === null ? facts.looks[look].image.stands : [place, place + 1];
  if (place === null && !back) return tableOf(await bytes(look, `looks/${kind}`));
  if (facts.live) return tableOf(await bytes(look, `looks/${kind}`, `?${back ? "columns" : "rows"}=${start}:${stop}`));
  const names = facts.looks[look].panels.filter((name) => name.startsWith(`${kind}.`) && name.split(".").length === 3);
  if (!names.every((name) => has(look, `table/${name}`))) return null;
  const tables = await Promise.all(names.map((name) => weights(look, name)));
  if (tables.some((table) => table.pooled)) return null;
  const size = sized(look), values = new Float32Array(names.length * size);
  tables.forEach((table, row) => values.set(mean(table, back, start, stop), row * size));
  return { rows: names.length, columns: size, values };
}
