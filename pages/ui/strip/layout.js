// Where each cell stands, exactly, without drawing it: widths are measured on a canvas with the very fonts
// of the strip, rows are filled from left to right, and only the first row of a block carries its header.

const FONTS = {
  mono: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  sans: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
};
const SIZE = {
  text: 13, id: 10, label: 10, name: 9,
  cellPad: 6, cellGap: 3, eventGap: 9, leastCell: 18,
  textHeight: 23, idHeight: 14, laneHeight: 16, rowGap: 9,
  blockPadX: 14, blockPadY: 9, headerHeight: 26, wordsHeight: 17, metaHeight: 18, blockGap: 9, gutter: 16,
  mostCharacters: 30,
};

const measuring = document.createElement("canvas").getContext("2d");
const widths = new Map();

function textWidth(text, font) {
  const key = font + "\n" + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 50000) widths.clear();
    measuring.font = font;
    width = measuring.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

const FONT = {
  text: `${SIZE.text}px ${FONTS.mono}`,
  id: `${SIZE.id}px ${FONTS.mono}`,
  label: `500 ${SIZE.label}px ${FONTS.sans}`,
  name: `500 ${SIZE.name}px ${FONTS.sans}`,
  words: `12px ${FONTS.sans}`,
  title: `600 14px ${FONTS.sans}`,
  meta: `12.5px ${FONTS.sans}`,
};

// What a cell shows: parts of its text, or the bytes of an unfinished character.
function cellParts(model, i) {
  const unsent = model.unsentOf(i);
  if (unsent) return unsentParts(model, unsent);
  const text = model.textOf(i);
  if (text === undefined) return [{ text: "not in vocabulary", name: true }];
  if (text === null) return [{ text: spacedHex(model.bytesOf(i)).toUpperCase() || "no bytes", name: true }];
  if (text === "") return [{ text: "empty", name: true }];
  return visibleParts(text, { most: SIZE.mostCharacters });
}

// A token that was not sent, with its id where the cells have none; a header by the words that the error quotes.
function unsentParts(model, unsent) {
  if (unsent.kind === "gap") return [{ text: "tokens not sent", name: true }];
  const id = unsent.id === null || model.ids ? [] : [{ text: String(unsent.id), name: true }];
  const kind = unsent.kind === "header" ? [{ text: "header", name: true }] : [];
  if (!unsent.text) return kind.length || id.length ? [...kind, ...id] : [{ text: "not in vocabulary", name: true }];
  return [...kind, ...visibleParts(unsent.text, { most: SIZE.mostCharacters }), ...id];
}

class Layout {
  constructor(model) {
    this.model = model;
    this.cellWidths = new Column(Uint16Array);
    this.shapes = new Map(); // by id: width and parts, shared by all cells of that id
    this.rowStart = [];
    this.rowTop = [];
    this.rowTall = []; // 1 when some lane has a run in the row
    this.rowBlock = [];
    this.blockTop = [];
    this.blockFirstRow = [];
    this.blockHead = []; // heights of the heads
    this.width = 0;
    this.breaks = false;
    this.height = 0;
  }

  partsOf(i) {
    const shape = this.#shape(i);
    return shape.parts;
  }

  #shape(i) {
    const { model } = this;
    const shared = model.ids && model.texts[i] === undefined && !model.unsent.has(i);
    const key = shared ? model.ids[i] : null;
    let shape = shared ? this.shapes.get(key) : undefined;
    if (!shape) {
      const parts = cellParts(model, i);
      let width = 0;
      for (const part of parts) width += part.name ? textWidth(part.text, FONT.name) + 8 : textWidth(part.text, FONT.text);
      width += SIZE.cellPad * 2;
      if (model.ids) width = Math.max(width, textWidth(String(model.ids[i] ?? ""), FONT.id) + 2);
      shape = { parts, width: Math.min(Math.max(Math.ceil(width), SIZE.leastCell), 2000) };
      if (shared) this.shapes.set(key, shape);
    }
    return shape;
  }

  // Widths from cell `from` on. A run with a label that must be read is at least as wide as its label.
  measure(from = 0) {
    const { model } = this;
    this.cellWidths.grow(model.count);
    const values = this.cellWidths.values;
    for (let i = from; i < model.count; i++) values[i] = this.#shape(i).width;
    for (const lane of model.lanes) {
      for (let k = lane.runs.length - 1; k >= 0; k--) {
        const [start, end, , state] = lane.runs[k];
        if (end <= from) break;
        if (state === "ok" || state === "unknown" || end - start > 12) continue;
        let sum = SIZE.cellGap * (end - start - 1);
        for (let i = start; i < end; i++) sum += values[i];
        const missing = Math.ceil(textWidth(runLabel(lane.runs[k]), FONT.label)) + 13 - sum;
        if (missing <= 0) continue;
        const each = Math.ceil(missing / (end - start));
        for (let i = start; i < end; i++) values[i] += each;
      }
    }
  }

  // Fill rows for a width, from the row that holds cell `from` on.
  fill(width, from = 0) {
    const { model } = this;
    let first = 0;
    if (width === this.width && from > 0 && this.blockTop.length) {
      first = Math.min(model.blockOf(Math.min(from, model.count - 1)), this.blockTop.length - 1);
    }
    this.width = width;
    const resumed = from > 0 ? this.#rowToResume(first, from) : null;
    const row = resumed ? resumed.row : first === 0 ? 0 : this.blockFirstRow[first];
    const top = first === 0 ? 0 : this.blockTop[first];
    for (const list of [this.rowStart, this.rowTop, this.rowTall, this.rowBlock]) list.length = row;
    this.blockTop.length = this.blockFirstRow.length = this.blockHead.length = first;
    let y = top;
    for (let b = first; b < model.blocks.length; b++) y = this.#fillBlock(b, y, b === first ? resumed : null);
    this.height = Math.max(0, y - SIZE.blockGap);
  }

  // The row of a block that holds cell `from`, where the rows before it can stay: a block that grew.
  #rowToResume(b, from) {
    const first = this.blockFirstRow[b];
    const block = this.model.blocks[b];
    if (first === undefined || !block || this.rowStart[first] !== block.start) return null;
    if (this.blockHead[b] !== this.headerHeight(block)) return null;
    let row = first;
    let end = this.blockFirstRow[b + 1] ?? this.rowStart.length;
    while (end - row > 1) {
      const middle = (row + end) >> 1;
      if (this.rowStart[middle] <= from) row = middle;
      else end = middle;
    }
    return row === first ? null : { row, first, i: this.rowStart[row], y: this.rowTop[row] };
  }

  // Title and meta on one line where they fit, else the title over as many lines of meta as it takes.
  headerHeight(block) {
    const { meta } = this.headerLines(block);
    const words = block.kind === "refused" ? this.wordLines(block) * SIZE.wordsHeight + 4 : 0;
    return SIZE.headerHeight + meta * SIZE.metaHeight + words;
  }

  headerLines(block) {
    const words = blockWords(this.model, block, this.model.count, false);
    const room = this.width - SIZE.blockPadX * 2 - 6;
    const meta = textWidth(words.meta, FONT.meta);
    if (textWidth(words.title, FONT.title) + 14 + meta <= room) return { meta: 0 };
    return { meta: Math.min(3, Math.ceil((meta * 1.06) / room)) };
  }

  get inner() {
    return this.width - SIZE.blockPadX * 2 - 4 - (this.model.lanes.length > 1 ? SIZE.gutter : 0);
  }

  wordLines(block) {
    const wide = textWidth(block.reason, FONT.words) * 1.08;
    return Math.min(4, Math.max(1, Math.ceil(wide / Math.max(80, this.inner))));
  }

  #fillBlock(b, top, resumed = null) {
    const { model } = this;
    const block = model.blocks[b];
    const values = this.cellWidths.values;
    const inner = this.inner;
    this.blockTop.push(top);
    this.blockFirstRow.push(resumed?.first ?? this.rowStart.length);
    this.blockHead.push(this.headerHeight(block));
    let y = resumed?.y ?? top + SIZE.blockPadY + this.blockHead[b];
    let i = resumed?.i ?? block.start;
    let event = model.eventOf(i) + 1;
    if (model.startsEvent(i)) event -= 1;
    const starts = model.events.start;
    const rules = this.rules;
    while (i < block.end) {
      let x = 0;
      let tall = 0;
      this.rowStart.push(i);
      this.rowTop.push(y);
      this.rowBlock.push(b);
      const begin = i;
      while (i < block.end) {
        let lead = x === 0 ? 0 : SIZE.cellGap;
        const opens = starts[event] === i;
        if (opens && rules) lead = SIZE.eventGap;
        const width = Math.min(values[i], inner - SIZE.eventGap);
        if (x > 0 && x + lead + width > inner) break;
        if (opens) event++;
        x += lead + width;
        if (!tall) for (const lane of model.lanes) if (lane.at.values[i] >= 0) tall = 1;
        i++;
        if (this.breaks && endsLine(model, i - 1)) break;
      }
      if (i === begin) i++;
      this.rowTall.push(tall);
      y += this.rowHeight(tall) + SIZE.rowGap;
    }
    return y - SIZE.rowGap + SIZE.blockPadY + SIZE.blockGap + 2;
  }

  rowHeight(tall) {
    const ids = this.model.ids ? SIZE.idHeight : 0;
    return SIZE.textHeight + ids + (tall ? this.model.lanes.length * SIZE.laneHeight + 2 : 0);
  }

  // Rules between events say nothing when each event brought one cell.
  get rules() {
    return this.model.mostPerEvent > 1 && this.model.events.index[0] >= 0;
  }

  rowEnd(r) {
    const block = this.model.blocks[this.rowBlock[r]];
    const next = this.rowStart[r + 1];
    return next !== undefined && next < block.end ? next : block.end;
  }

  rowOf(i) {
    return lastAtMost(this.rowStart, i, (start) => start);
  }

  rowAt(y) {
    return Math.max(0, lastAtMost(this.rowTop, y, (top) => top));
  }

  rowBottom(r) {
    return this.rowTop[r] + this.rowHeight(this.rowTall[r]);
  }

  // Left edges of a row's cells, and where an event's rule stands.
  cellsOf(r) {
    const { model } = this;
    const inner = this.inner;
    const cells = [];
    let x = model.lanes.length > 1 ? SIZE.gutter : 0;
    const left = x;
    for (let i = this.rowStart[r]; i < this.rowEnd(r); i++) {
      const opens = this.rules && model.startsEvent(i);
      x += opens ? SIZE.eventGap : x === left ? 0 : SIZE.cellGap;
      const width = Math.min(this.cellWidths.values[i], inner - SIZE.eventGap);
      cells.push({ i, x, width, rule: opens });
      x += width;
    }
    return cells;
  }
}

// Whether any cell ends a line, as far as the first texts tell.
function endsLines(model) {
  const seen = new Set();
  for (let i = 0; i < model.count && seen.size < 5000; i++) {
    const id = model.ids && model.texts[i] === undefined ? model.ids[i] : "cell " + i;
    if (seen.has(id)) continue;
    seen.add(id);
    if (endsLine(model, i)) return true;
  }
  return false;
}

function endsLine(model, i) {
  const text = model.textOf(i);
  return typeof text === "string" && text.endsWith("\n");
}
