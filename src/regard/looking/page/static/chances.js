// Chances after temperature, top-k and top-p, over the whole vocabulary: the likeliest tokens one by one, the rest in bins.

export function spread(step, { temperature, topK, topP }) {
  const heat = Math.max(temperature, 1e-3);
  const singles = step.log_probs.map((log, place) => ({ id: step.ids[place], token: step.tokens[place], count: 1, log }));
  const all = [...singles, ...step.rest.map(([count, log]) => ({ id: null, token: "", count, log }))];
  const highest = all.length ? all[0].log : 0;
  for (const one of all) one.mass = one.count * Math.exp((one.log - highest) / heat);
  const total = all.reduce((sum, one) => sum + one.mass, 0);
  let before = 0, counted = 0, left = 0;
  for (const one of all) {
    one.before = one.mass / total;
    const byRank = topK > 0 ? Math.max(0, Math.min(1, (topK - counted) / one.count)) : 1;
    counted += one.count;
    one.kept = byRank;
    one.mass *= byRank;
    left += one.mass;
  }
  for (const one of all) {
    const share = one.mass / left, bound = Math.ceil(Math.max(0, (topP - before) / (share / one.count || 1)) - 1e-9);
    before += share;
    const byShare = topP < 1 ? Math.max(0, Math.min(1, bound / one.count)) : 1;
    one.mass *= byShare;
    one.kept *= byShare;
  }
  const end = all.reduce((sum, one) => sum + one.mass, 0) || 1;
  for (const one of all) one.p = one.mass / end;
  return all;
}

// A token drawn by these chances, among those that are shown one by one.
export function drawn(chances, random = Math.random()) {
  const shown = chances.filter((one) => one.id !== null), total = shown.reduce((sum, one) => sum + one.p, 0);
  let fallen = random * total;
  for (const one of shown) {
    fallen -= one.p;
    if (fallen < 0) return one;
  }
  return shown[0];
}
