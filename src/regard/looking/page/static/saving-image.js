// An image with its weights, to keep: PNG, SVG, CSV.
import { css, glow } from "./colours.js";
import { button, el } from "./dom.js";
import { painted } from "./imagemap.js";
import { quoted, save } from "./saving.js";

export function imageSvg(panel) {
  const { image, rows, columns, weights } = panel, wide = 480, tall = (wide * image.height) / image.width, most = Math.max(...weights, 1e-12), colours = glow();
  const across = wide / columns, down = tall / rows, short = (number) => String(Number(number.toFixed(2))), parts = [];
  parts.push(`<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${short(tall)}" shape-rendering="crispEdges">`);
  parts.push(`<image width="${wide}" height="${short(tall)}" style="image-rendering:${image.width > 96 ? "auto" : "pixelated"}" href="${painted(image).toDataURL("image/png")}"/>`);
  parts.push(`<rect width="${wide}" height="${short(tall)}" fill="#000" fill-opacity="0.42"/>`);
  weights.forEach((weight, patch) => {
    const colour = css(colours, weight / most).replace(/rgb\((\d+) (\d+) (\d+)\)/, "rgb($1,$2,$3)");
    parts.push(`<rect x="${short((patch % columns) * across)}" y="${short(Math.floor(patch / columns) * down)}" width="${short(across)}" height="${short(down)}" fill="${colour}" fill-opacity="${(0.72 * Math.sqrt(weight / most)).toFixed(3)}"/>`);
  });
  return `${parts.join("\n")}\n</svg>\n`;
}

export function imageCsv(panel) {
  const all = [...panel.beside, ...panel.weights];
  return ["position,weight", ...all.map((value, place) => `${quoted(panel.labels[place])},${Number(value.toPrecision(6))}`)].join("\n") + "\n";
}

export function saveImageButtons(map, panel) {
  const name = `${panel.name}-${panel.place === null ? "image" : panel.labels[panel.place]}`, none = !panel.weights;
  const asPng = () => map.draw(document.createElement("canvas"), 2).toBlob((blob) => save(`${name}.png`, blob));
  return el("span", { class: "bar", style: { margin: "0" } }, button("PNG", asPng, { "data-save": "png" }),
    button("SVG", () => save(`${name}.svg`, imageSvg(panel), "image/svg+xml"), { "data-save": "svg", disabled: none }),
    button("CSV", () => save(`${name}.csv`, imageCsv(panel), "text/csv"), { "data-save": "csv", disabled: none }));
}
