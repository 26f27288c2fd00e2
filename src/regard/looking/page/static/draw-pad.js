// A canvas to draw on with the pointer; a moment after a stroke it is handed over.
import { button, choice, el } from "./dom.js";

const SIDE = 280, QUIET = 350;
const pads = new Map();

// One for every shape of images; it stays as it is while the page around it is drawn anew.
export function drawPad(shape, onchange) {
  const key = `${shape.width}×${shape.height}/${shape.dark}`;
  if (!pads.has(key)) pads.set(key, new Pad(shape));
  const pad = pads.get(key);
  pad.onchange = onchange;
  return pad;
}

class Pad {
  constructor({ width, height, dark }) {
    const scale = SIDE / Math.max(width, height);
    this.canvas = el("canvas", { width: String(Math.round(width * scale)), height: String(Math.round(height * scale)), class: "pad", role: "img", "aria-label": "draw here" });
    this.ground = dark ? "#000" : "#fff";
    this.ink = dark ? "#fff" : "#000";
    this.thick = 24;
    this.at = null;
    this.timer = 0;
    this.clear();
    this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    this.canvas.addEventListener("pointermove", (event) => { if (this.at && event.buttons) this.go(event); });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) this.canvas.addEventListener(name, () => this.end());
  }

  get context() {
    return this.canvas.getContext("2d");
  }

  clear() {
    this.context.fillStyle = this.ground;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  copy(image) {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(image, 0, 0, this.canvas.width, this.canvas.height);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * this.canvas.width) / box.width, ((event.clientY - box.top) * this.canvas.height) / box.height];
  }

  begin(event) {
    clearTimeout(this.timer);
    this.canvas.setPointerCapture(event.pointerId);
    this.at = this.place(event);
    this.rub = event.button === 2 || event.shiftKey;
    this.go(event);
    event.preventDefault();
  }

  go(event) {
    const context = this.context, next = this.place(event);
    context.strokeStyle = this.rub ? this.ground : this.ink;
    context.lineWidth = this.thick;
    context.lineCap = "round";
    context.lineJoin = "round";
    context.beginPath();
    context.moveTo(...this.at);
    context.lineTo(...next);
    context.stroke();
    this.at = next;
  }

  end() {
    if (!this.at) return;
    this.at = null;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.canvas.toBlob((blob) => { if (!this.at) this.onchange(blob, "drawn by hand"); }), QUIET);
  }

  node(image) {
    return el("div", {}, this.canvas, el("div", { class: "bar", style: { margin: "8px 0 0" } },
      button("empty", () => this.clear(), { "data-do": "empty" }), button("this image", () => this.copy(image), { "data-do": "copy" }),
      choice("pen", [["12", "thin"], ["24", "usual"], ["40", "thick"]], String(this.thick), (thick) => { this.thick = Number(thick); })));
  }
}
