// A heat map on a canvas: labels where they can be read, the largest weight of a pixel where they cannot.
import { apart, inkOn, isDark, ramp, style } from "./colours.js";
import { el, tip, visible } from "./dom.js";

const LARGEST = 44, LEAST_LABEL = 10, LETTERS = 16, SOME = 120;  // labels that are measured: room is for the longest of them

export function shade(value, signed) {
  return signed ? 0.5 + 0.5 * Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value))) : Math.sqrt(Math.max(0, Math.min(1, value)));
}

export function figure(value) {
  if (value === 0) return "0";
  return Math.abs(value) >= 0.001 ? value.toFixed(3) : value.toExponential(1);
}

// A small number in powers of ten, as people write it.
export function power(value) {
  if (!value) return value === 0 ? "0" : "unknown";
  const [figures, exponent] = value.toExponential(0).split("e"), raised = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  return `${figures}·10${[...String(Number(exponent))].map((letter) => raised[letter]).join("")}`;
}

export class HeatMap {
  constructor({ label = "heat map", compact = false, onselect = null, onhover = null, refine = null } = {}) {
    this.options = { compact, onselect, onhover, refine };
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": label });
    this.host = el("div", { class: "map" }, this.canvas);
    this.selected = new Set();
    this.marked = null;
    this.window = null;
    this.held = null;
    this.listen();
    new ResizeObserver(() => { if (this.window && this.host.clientWidth !== this.width) this.draw(); }).observe(this.host);
  }

  listen() {
    this.canvas.addEventListener("mousemove", (event) => this.point(this.cellAt(event), event));
    this.canvas.addEventListener("mouseleave", (event) => this.point(null, event));
    this.canvas.addEventListener("click", (event) => this.choose(this.cellAt(event)));
    this.canvas.addEventListener("dblclick", (event) => { const cell = this.cellAt(event); if (cell) this.zoom(0.5, cell); });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  show(panel, selected = []) {
    const fresh = !this.window || Boolean(this.panel.whole) !== Boolean(panel.whole) || this.panel.table.rows !== panel.table.rows || this.panel.table.columns !== panel.table.columns;
    this.panel = panel;
    this.selected = new Set(selected);
    if (fresh) this.window = [0, panel.table.rows, 0, panel.table.columns];
    this.draw();
    return this;
  }

  zoom(factor, centre = null) {
    const { rows, columns } = this.panel.table, [top, bottom, left, right] = this.window;
    const [row, column] = centre || this.marked || [(top + bottom) / 2, (left + right) / 2];
    const tall = Math.max(Math.min(8, rows), Math.min(rows, Math.round((bottom - top) * factor)));
    const wide = Math.max(Math.min(8, columns), Math.min(columns, Math.round((right - left) * factor)));
    const first = Math.max(0, Math.min(rows - tall, Math.round(row - tall / 2)));
    const side = Math.max(0, Math.min(columns - wide, Math.round(column - wide / 2)));
    this.window = [first, first + tall, side, side + wide];
    this.draw();
    if (this.panel.table.pooled && this.options.refine) this.options.refine(this.panel, this.window).then((closer) => closer && this.show(closer, []));
  }

  all() {
    if (this.panel.whole) return void this.show(this.panel.whole, [...this.selected]);
    this.window = [0, this.panel.table.rows, 0, this.panel.table.columns];
    this.draw();
  }

  measure() {
    const { compact } = this.options, [top, bottom, left, right] = this.window;
    const tall = bottom - top, wide = right - left, context = this.canvas.getContext("2d");
    context.font = this.font();
    const width = (label) => context.measureText(visible(label, LETTERS)).width;
    const room = this.host.clientWidth || 640;
    const beside = Math.min(compact ? 84 : 130, room * 0.28, Math.max(24, ...some(this.panel.rows.slice(top, bottom), SOME).map(width)) + 10);
    const cell = Math.min(LARGEST, (room - beside - 2) / wide);
    const across = cell >= LEAST_LABEL || wide <= 400 ? some(this.panel.columns.slice(left, right), SOME).map(width) : [20];
    const above = Math.min(compact ? 84 : 120, Math.max(18, ...across) * 0.87 + 12);
    const high = Math.min(LARGEST, Math.max(cell, 1 / 8), Math.max(900 / tall, wide > 400 ? cell : 11));
    return { beside, above, cell, high, tall, wide, room };
  }

  font() {
    return `12.5px ${style("--sans")}`;
  }

  draw(target = null, scale = window.devicePixelRatio || 1) {
    const size = this.measure(), canvas = target || this.canvas, context = canvas.getContext("2d");
    const right = size.room - size.beside - size.cell * size.wide < 60 ? 0 : 60;  // the last label leans out
    const width = Math.ceil(Math.min(size.room, size.beside + size.cell * size.wide + right)), height = Math.ceil(size.above + size.high * size.tall + 1);
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    if (!target) {
      this.size = size;
      this.width = this.host.clientWidth;
    }
    this.cells(context, size, scale);
    this.labels(context, size);
    this.marks(context, size);
    return canvas;
  }

  cells(context, size, scale) {
    const across = Math.max(1, Math.min(size.wide, Math.round(size.cell * size.wide * scale)));
    const down = Math.max(1, Math.min(size.tall, Math.round(size.high * size.tall * scale)));
    const colours = this.panel.signed ? apart() : ramp();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.pictured(across, down, colours), size.beside, size.above, size.cell * size.wide, size.high * size.tall);
    if (size.cell >= 8) this.rules(context, size);
    if (size.cell >= 30 && !this.options.compact) this.figures(context, size, colours);
  }

  // All weights of the window as pixels, each the largest of those it stands for; kept while only marks move over it.
  pictured(across, down, colours) {
    const { panel, held } = this, [top, bottom, left, right] = this.window, { table, signed } = panel, key = [...this.window, across, down].join();
    if (held && held.key === key && held.panel === panel && held.colours === colours) return held.canvas;
    const canvas = document.createElement("canvas"), picture = new ImageData(across, down), pixels = new Uint32Array(picture.data.buffer);
    const shades = Uint32Array.from({ length: 256 }, (_, at) => ((255 << 24) | (colours[3 * at + 2] << 16) | (colours[3 * at + 1] << 8) | colours[3 * at]) >>> 0);
    const rows = edges(top, bottom, down), columns = edges(left, right, across), { values } = table;
    for (let y = 0, pixel = 0; y < down; y++) {
      for (let x = 0; x < across; x++, pixel++) {
        let most = 0;
        for (let row = rows[y]; row < rows[y + 1]; row++) {
          const line = row * table.columns, stop = line + columns[x + 1];
          for (let cell = line + columns[x]; cell < stop; cell++) if (signed ? Math.abs(values[cell]) > Math.abs(most) : values[cell] > most) most = values[cell];
        }
        pixels[pixel] = shades[Math.round(shade(most, signed) * 255)];
      }
    }
    canvas.width = across;
    canvas.height = down;
    canvas.getContext("2d").putImageData(picture, 0, 0);
    this.held = { key, panel, colours, canvas };
    return canvas;
  }

  rules(context, size) {
    context.strokeStyle = isDark() ? "rgb(255 255 255 / 5%)" : "rgb(20 20 30 / 6%)";
    context.lineWidth = 1;
    context.beginPath();
    for (let row = 0; row <= size.tall; row++) {
      context.moveTo(size.beside, size.above + row * size.high);
      context.lineTo(size.beside + size.cell * size.wide, size.above + row * size.high);
    }
    for (let column = 0; column <= size.wide; column++) {
      context.moveTo(size.beside + column * size.cell, size.above);
      context.lineTo(size.beside + column * size.cell, size.above + size.high * size.tall);
    }
    context.stroke();
  }

  figures(context, size, colours) {
    const [top, , left] = this.window;
    context.font = "10.5px ui-monospace, Menlo, Consolas, monospace";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let row = 0; row < size.tall; row++) {
      for (let column = 0; column < size.wide; column++) {
        const value = this.panel.table.at(top + row, left + column);
        if (Math.abs(value) < 0.05) continue;
        context.fillStyle = inkOn(colours, shade(value, this.panel.signed));
        const text = value.toFixed(2).replace(/^(-?)0\./, "$1.");
        context.fillText(text, size.beside + (column + 0.5) * size.cell, size.above + (row + 0.5) * size.high);
      }
    }
  }

  labels(context, size) {
    const [top, , left] = this.window, ink = style("--ink"), accent = style("--accent");
    context.font = this.font();
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.direction = "ltr";
    const each = Math.max(1, Math.ceil(13 / size.high)), along = Math.max(1, Math.ceil(14 / size.cell));
    for (let row = 0; row < size.tall; row += each) {
      context.fillStyle = this.selected.has(top + row) ? accent : ink;
      context.fillText(fitted(context, this.panel.rows[top + row] ?? "", size.beside - 8), size.beside - 6, size.above + (row + 0.5) * size.high);
    }
    context.textAlign = "left";
    context.fillStyle = ink;
    for (let column = 0; column < size.wide; column += along) {
      context.save();
      context.translate(size.beside + (column + 0.5) * size.cell, size.above - 6);
      context.rotate(-Math.PI / 3);
      context.fillText(fitted(context, this.panel.columns[left + column] ?? "", (size.above - 8) / 0.87), 0, 0);
      context.restore();
    }
  }

  marks(context, size) {
    const [top, bottom, left, right] = this.window, accent = style("--accent");
    context.strokeStyle = accent;
    for (const row of this.selected) {
      if (row < top || row >= bottom) continue;
      context.lineWidth = 1.5;
      context.strokeRect(size.beside + 0.5, size.above + (row - top) * size.high + 0.5, size.cell * size.wide - 1, Math.max(1, size.high - 1));
    }
    if (!this.marked) return;
    const [row, column] = this.marked;
    if (row < top || row >= bottom || column < left || column >= right) return;
    context.lineWidth = 2;
    context.strokeRect(size.beside + (column - left) * size.cell, size.above + (row - top) * size.high, Math.max(3, size.cell), Math.max(3, size.high));
  }

  cellAt(event) {
    if (!this.size) return null;
    const box = this.canvas.getBoundingClientRect(), [top, bottom, left, right] = this.window;
    const row = top + Math.floor((event.clientY - box.top - this.size.above) / this.size.high);
    const column = left + Math.floor((event.clientX - box.left - this.size.beside) / this.size.cell);
    if (row < top || row >= bottom || column >= right) return null;
    return [row, Math.max(left, column)];
  }

  said([row, column]) {
    const { rows, columns, table, signed } = this.panel, stride = table.stride;
    const many = table.pooled ? ` (largest of ${stride[0]} × ${stride[1]})` : "";
    const sign = signed && table.at(row, column) > 0 ? "+" : "";
    return `${visible(rows[row] ?? "")} → ${visible(columns[column] ?? "")}  ${sign}${figure(table.at(row, column))}${many}`;
  }

  point(cell, event) {
    const same = cell && this.marked && cell[0] === this.marked[0] && cell[1] === this.marked[1];
    tip(cell ? this.said(cell) : "", event);
    if (same || (!cell && !this.marked)) return;
    this.marked = cell;
    this.draw();
    if (this.options.onhover) this.options.onhover(cell);
  }

  choose(cell) {
    if (cell && this.options.onselect) this.options.onselect(cell[0], cell[1]);
  }

  key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const [top, bottom, left, right] = this.window;
    if (moves[event.key]) {
      const [row, column] = this.marked || [top, left], [down, across] = moves[event.key];
      this.marked = [Math.max(top, Math.min(bottom - 1, row + down)), Math.max(left, Math.min(right - 1, column + across))];
      const box = this.canvas.getBoundingClientRect();
      tip(this.said(this.marked), {
        clientX: box.left + this.size.beside + (this.marked[1] - left + 1) * this.size.cell,
        clientY: box.top + this.size.above + (this.marked[0] - top) * this.size.high,
      });
      this.draw();
      if (this.options.onhover) this.options.onhover(this.marked);
    } else if (event.key === "Enter" || event.key === " ") this.choose(this.marked);
    else if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "0") this.all();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

// Where each of so many parts of a side begins, and the last one ends: there are never more parts than cells.
function edges(first, last, parts) {
  return Int32Array.from({ length: parts + 1 }, (_, part) => first + Math.floor((part * (last - first)) / parts));
}

function some(list, most) {
  return list.length <= most ? list : list.filter((_, place) => place % Math.ceil(list.length / most) === 0);
}

function fitted(context, label, room) {
  let shown = visible(label, LETTERS);
  while (shown.length > 1 && context.measureText(shown).width > room) shown = [...shown].slice(0, -2).join("") + "…";
  return `\u2068${shown}\u2069`;
}

export function legend(signed = false) {
  const canvas = el("canvas", { width: "120", height: "9", "aria-hidden": "true" }), context = canvas.getContext("2d");
  const colours = signed ? apart() : ramp();
  for (let x = 0; x < 120; x++) {
    const at = Math.round((signed ? x / 119 : shade(x / 119, false)) * 255) * 3;
    context.fillStyle = `rgb(${colours[at]} ${colours[at + 1]} ${colours[at + 2]})`;
    context.fillRect(x, 0, 1, 9);
  }
  return el("span", { class: "legend" }, el("span", { text: signed ? "−1" : "0" }), canvas, el("span", { text: signed ? "+1" : "1" }));
}
