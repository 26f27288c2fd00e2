// An image with its patches, and weights laid over it: hover, click, arrows.
import { css, glow } from "./colours.js";
import { el, tip } from "./dom.js";
import { figure } from "./heatmap.js";

const WIDEST = 440, SHARP = 96;

// The pixels alone, as a canvas; drawn once.
export function painted(image) {
  if (image.canvas) return image.canvas;
  const { height, width, channels, pixels } = image, picture = new ImageData(width, height);
  for (let pixel = 0; pixel < height * width; pixel++) {
    for (let colour = 0; colour < 3; colour++) picture.data[pixel * 4 + colour] = pixels[pixel * channels + (channels === 3 ? colour : 0)];
    picture.data[pixel * 4 + 3] = 255;
  }
  image.canvas = el("canvas", { width: String(width), height: String(height) });
  image.canvas.getContext("2d").putImageData(picture, 0, 0);
  return image.canvas;
}

export class ImageMap {
  constructor({ label = "image", compact = false, onselect = null } = {}) {
    this.options = { compact, onselect };
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": label, class: "picture" });
    this.host = el("div", { class: "map" }, this.canvas);
    this.marked = null;
    this.canvas.addEventListener("mousemove", (event) => this.point(this.patchAt(event), event));
    this.canvas.addEventListener("mouseleave", (event) => this.point(null, event));
    this.canvas.addEventListener("click", (event) => this.choose(this.patchAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => { if (this.panel && this.host.clientWidth !== this.width) this.draw(); }).observe(this.host);
  }

  // A panel has an image, its rows and columns of patches, a weight for each, whether they are shown, and who is chosen.
  show(panel) {
    this.panel = panel;
    this.draw();
    return this;
  }

  draw(target = null, scale = window.devicePixelRatio || 1) {
    const { image } = this.panel, canvas = target || this.canvas, context = canvas.getContext("2d");
    this.width = this.host.clientWidth;
    const room = Math.min(this.width || WIDEST, this.options.compact ? 300 : WIDEST, (480 * image.width) / image.height);
    const width = Math.max(40, Math.floor(room)), height = Math.max(20, Math.round((width * image.height) / image.width));
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.imageSmoothingEnabled = image.width > SHARP;
    context.drawImage(painted(image), 0, 0, width, height);
    this.size = { width, height, across: width / this.panel.columns, down: height / this.panel.rows };
    if (this.panel.weights) this.cells(context);
    if (this.panel.ruled) this.rules(context);
    this.marks(context);
    return canvas;
  }

  cells(context) {
    const { weights, columns } = this.panel, { width, height, across, down } = this.size, most = Math.max(...weights, 1e-12), colours = glow();
    context.fillStyle = "rgb(0 0 0 / 42%)";
    context.fillRect(0, 0, width, height);
    weights.forEach((weight, patch) => {
      const share = weight / most;
      context.globalAlpha = 0.72 * Math.sqrt(share);
      context.fillStyle = css(colours, share);
      context.fillRect((patch % columns) * across, Math.floor(patch / columns) * down, across + 0.5, down + 0.5);
    });
    context.globalAlpha = 1;
  }

  rules(context) {
    const { rows, columns } = this.panel, { width, height, across, down } = this.size;
    if (Math.min(across, down) < 6) return;
    context.strokeStyle = "rgb(255 255 255 / 22%)";
    context.lineWidth = 1;
    context.beginPath();
    for (let row = 1; row < rows; row++) { context.moveTo(0, row * down); context.lineTo(width, row * down); }
    for (let column = 1; column < columns; column++) { context.moveTo(column * across, 0); context.lineTo(column * across, height); }
    context.stroke();
  }

  marks(context) {
    const { across, down } = this.size, { columns, chosen } = this.panel;
    for (const [patch, colour, thick] of [[chosen, "#5bc8ff", 3], [this.marked, "#ffffff", 1.5]]) {
      if (patch === null || patch === undefined || patch < 0) continue;
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.strokeRect((patch % columns) * across + thick / 2, Math.floor(patch / columns) * down + thick / 2, across - thick, down - thick);
    }
  }

  patchAt(event) {
    if (!this.size) return null;
    const box = this.canvas.getBoundingClientRect(), { rows, columns } = this.panel;
    const row = Math.floor((event.clientY - box.top) / this.size.down), column = Math.floor((event.clientX - box.left) / this.size.across);
    return row < 0 || row >= rows || column < 0 || column >= columns ? null : row * columns + column;
  }

  said(patch) {
    const { columns, weights, from, back } = this.panel, place = `row ${Math.floor(patch / columns)}, column ${patch % columns}`;
    if (!weights) return place;
    return `${back ? `${place} → ${from}` : `${from} → ${place}`}  ${figure(weights[patch])}`;
  }

  point(patch, event) {
    tip(patch === null ? "" : this.said(patch), event);
    if (patch === this.marked) return;
    this.marked = patch;
    this.draw();
  }

  choose(patch) {
    if (patch !== null && this.options.onselect) this.options.onselect(patch);
  }

  key(event) {
    const { rows, columns } = this.panel, moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (moves[event.key]) {
      const at = this.marked ?? Math.max(0, this.panel.chosen ?? 0), [down, across] = moves[event.key];
      const row = Math.max(0, Math.min(rows - 1, Math.floor(at / columns) + down)), column = Math.max(0, Math.min(columns - 1, (at % columns) + across));
      const box = this.canvas.getBoundingClientRect();
      this.point(row * columns + column, { clientX: box.left + (column + 1) * this.size.across, clientY: box.top + row * this.size.down });
    } else if (event.key === "Enter" || event.key === " ") this.choose(this.marked);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
