// Pictures and numbers to keep: PNG, SVG, CSV.
import { apart, css, ramp, style } from "./colours.js";
import { button, el, visible } from "./dom.js";
import { shade } from "./heatmap.js";

const MOST = 60000;

export function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name.replace(/[^\w.-]+/g, "-") });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 4000);
}

export function quoted(text) {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;  // no spreadsheet reckons with it
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvOf(panel) {
  const { table } = panel, lines = [["", ...panel.columns].map(quoted).join(",")];
  for (let row = 0; row < table.rows; row++) {
    const cells = [...table.values.subarray(row * table.columns, (row + 1) * table.columns)].map((value) => String(Number(value.toPrecision(6))));
    lines.push([quoted(panel.rows[row] ?? ""), ...cells].join(","));
  }
  return lines.join("\n") + "\n";
}

function escaped(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "�");
}

export function svgOf(panel) {
  const { table, signed } = panel, cell = 22, beside = 130, above = 110, colours = signed ? apart() : ramp();
  const wide = beside + cell * table.columns + 60, tall = above + cell * table.rows + 8, parts = [];
  parts.push(`<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${tall}" font-family="sans-serif" font-size="12">`);
  for (let row = 0; row < table.rows; row++) {
    for (let column = 0; column < table.columns; column++) {
      const colour = css(colours, shade(table.at(row, column), signed)).replace(/rgb\((\d+) (\d+) (\d+)\)/, "rgb($1,$2,$3)");
      parts.push(`<rect x="${beside + column * cell}" y="${above + row * cell}" width="${cell}" height="${cell}" fill="${colour}"/>`);
    }
  }
  panel.rows.forEach((label, row) => parts.push(`<text x="${beside - 6}" y="${above + row * cell + 15}" text-anchor="end">${escaped(visible(label, 18))}</text>`));
  panel.columns.forEach((label, column) => parts.push(`<text transform="translate(${beside + column * cell + 13} ${above - 6}) rotate(-60)">${escaped(visible(label, 18))}</text>`));
  return `${parts.join("\n")}\n</svg>\n`;
}

export function saveButtons(map, name) {
  const onPaper = () => {
    const drawn = map.draw(document.createElement("canvas"), 2), whole = document.createElement("canvas");
    whole.width = drawn.width + 32;
    whole.height = drawn.height + 32;
    const context = whole.getContext("2d");
    context.fillStyle = style("--paper");
    context.fillRect(0, 0, whole.width, whole.height);
    context.drawImage(drawn, 16, 16);
    whole.toBlob((blob) => save(`${name}.png`, blob));
  };
  const cells = () => map.panel.table.values.length;
  return el("span", { class: "bar", style: { margin: "0" } },
    button("PNG", onPaper, { "data-save": "png" }),
    button("SVG", () => save(`${name}.svg`, svgOf(map.panel), "image/svg+xml"), { "data-save": "svg", disabled: cells() > MOST, title: cells() > MOST ? "too many cells for an SVG" : null }),
    button("CSV", () => save(`${name}.csv`, csvOf(map.panel), "text/csv"), { "data-save": "csv" }));
}
