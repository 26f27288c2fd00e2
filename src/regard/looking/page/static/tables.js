// Tables with their labels: which side asks, which is looked at, tokens or the words they make up.
import { facts, Table, weights } from "./store.js";

const SIDE = 1024;

export function sidesOf(look, name) {
  const [first, second] = name.split(".");
  if (first === "influence") return ["outputs", second];
  const kind = first === "rollout" ? second : first;
  const layer = facts.looks[look].layers.find((one) => one.kind === kind);
  return layer ? [layer.rows, layer.columns] : ["outputs", "source"];
}

export function kindsOf(look) {
  return [...new Set(facts.looks[look].layers.map((layer) => layer.kind))];
}

export function labelsOf(look, side, words) {
  const held = facts.looks[look].sides[side];
  return words ? held.words : held.tokens;
}

// Words for tokens: a column is the sum over its tokens, a row the mean over its, so that rows still sum to 1.
export function merged(table, rowSpans, columnSpans) {
  const values = new Float32Array(rowSpans.length * columnSpans.length);
  rowSpans.forEach(([top, bottom], row) => {
    columnSpans.forEach(([left, right], column) => {
      let sum = 0;
      for (let one = top; one < bottom; one++) for (let two = left; two < right; two++) sum += table.at(one, two);
      values[row * columnSpans.length + column] = sum / (bottom - top);
    });
  });
  return new Table(rowSpans.length, columnSpans.length, [1, 1], values);
}

// A panel with what stands beside it; pooled tables are of tokens, and a label names the first that a cell stands for.
export async function labelled(look, name, words) {
  const table = await weights(look, name);
  const [rowSide, columnSide] = sidesOf(look, name);
  const held = facts.looks[look].sides, wordwise = words && !table.pooled;
  const joined = wordwise && (held[rowSide].words.length < table.rows || held[columnSide].words.length < table.columns);
  return {
    look, name, rowSide, columnSide, words: wordwise,
    table: joined ? merged(table, held[rowSide].spans, held[columnSide].spans) : table,
    rows: thinned(labelsOf(look, rowSide, wordwise), table.stride[0]),
    columns: thinned(labelsOf(look, columnSide, wordwise), table.stride[1]),
  };
}

// A window of cells that stand for several tokens, token by token: rows on demand, where the page is live.
export async function closer(panel, [top, bottom, left, right]) {
  const [down, across] = panel.table.stride, part = [top * down, bottom * down, left * across, right * across];
  if (!facts.live || part[1] - part[0] > SIDE || part[3] - part[2] > SIDE || panel.signed) return null;
  const table = await weights(panel.look, panel.name, part);
  return {
    ...panel, table, whole: panel.whole || panel, words: false,
    rows: labelsOf(panel.look, panel.rowSide, false).slice(part[0], part[1]), columns: labelsOf(panel.look, panel.columnSide, false).slice(part[2], part[3]),
  };
}

function thinned(labels, stride) {
  return stride === 1 ? labels : labels.filter((_, place) => place % stride === 0);
}

export function difference(one, two) {
  const values = one.table.values.map((value, cell) => value - two.table.values[cell]);
  return { ...one, name: `${one.name} − ${two.name}`, signed: true, table: new Table(one.table.rows, one.table.columns, one.table.stride, values) };
}

export function summed(panel, rows) {
  const sums = new Float32Array(panel.table.columns);
  for (const row of rows) for (let column = 0; column < sums.length; column++) sums[column] += panel.table.at(row, column);
  return sums;
}

export function strongest(values, most) {
  const least = values.length > 400 ? 1e-4 : -1;  // of very many, those that have next to nothing are not sorted
  return [...values.keys()].filter((place) => Math.abs(values[place]) > least).sort((one, two) => values[two] - values[one]).slice(0, most);
}

export function titleOfKind(kind) {
  return facts.titles[kind] || kind;
}

export function titleOf(name) {
  const [first, layer, head] = name.split("."), kind = titleOfKind(first);
  if (first === "rollout") return `rollout of ${titleOfKind(layer)}`;
  if (first === "influence") return `influence of the ${layer} (gradient × input)`;
  if (head !== undefined) return `${kind}, layer ${layer}, head ${head}`;
  if (first === "alignment") return kind;
  return layer !== undefined ? `${kind}, layer ${layer}, mean of its heads` : `${kind}, mean of all heads`;
}
