// Draws the rows in sight and nothing else. A row is built once when it comes into sight and thrown away
// when it leaves; marks (selection, hover, findings, what has arrived) are painted over what is there.

class View {
  constructor(parts, on) {
    this.scroller = parts.scroller;
    this.canvas = parts.canvas;
    this.on = on; // {select(i), hover(i|null)}
    this.rows = new Map();
    this.frames = new Map();
    this.model = null;
    this.layout = null;
    this.marks = { selected: null, hover: null, finding: null, shown: 0 };
    this.pending = 0;
    this.scroller.onscroll = () => this.schedule();
    this.canvas.onclick = (event) => {
      const i = this.#cellAt(event);
      if (i !== null) on.select(i);
    };
    this.canvas.onpointermove = (event) => {
      if (event.pointerType === "touch") return;
      const i = this.#cellAt(event);
      if (i !== this.marks.hover) on.hover(i);
    };
    this.canvas.onpointerleave = () => on.hover(null);
  }

  #cellAt(event) {
    const cell = event.target.closest?.(".cell");
    return cell && !cell.classList.contains("ghost") ? Number(cell.dataset.i) : null;
  }

  show(model, layout) {
    this.model = model;
    this.layout = layout;
    this.relayout(0);
  }

  get tallest() {
    const narrow = this.scroller.parentElement.clientWidth < 560;
    return Math.max(320, Math.min(Math.round(window.innerHeight * (narrow ? 0.6 : 0.55)), 600));
  }

  // Lay out again for the width at hand, holding the row at the top of the window in its place.
  // `toEnd` goes to the last row in the same drawing, for a stream that is followed.
  relayout(from, { toEnd = false } = {}) {
    const { layout, scroller } = this;
    const outer = scroller.parentElement.clientWidth;
    if (!outer) return;
    const anchor = from === 0 && layout.rowStart.length ? this.#anchor() : null;
    layout.measure(from);
    layout.fill(this.scrolls ? outer - this.#bar() : outer, from);
    if (!this.scrolls && layout.height > this.tallest) {
      this.scrolls = true;
      layout.fill(outer - this.#bar(), 0);
    } else if (this.scrolls && layout.height < this.tallest * 0.8) {
      layout.fill(outer, 0);
      this.scrolls = layout.height > this.tallest;
      if (this.scrolls) layout.fill(outer - this.#bar(), 0);
    }
    scroller.style.overflowY = this.scrolls ? "scroll" : "hidden";
    scroller.style.height = Math.max(62, this.scrolls ? this.tallest : layout.height) + "px";
    this.canvas.style.height = layout.height + "px";
    const firstRow = from === 0 ? 0 : Math.max(0, layout.rowOf(from) - 1);
    const firstBlock = from === 0 ? 0 : layout.rowBlock[firstRow] ?? 0;
    for (const [r, row] of this.rows) if (r >= firstRow) { row.element.remove(); this.rows.delete(r); }
    for (const [b, frame] of this.frames) {
      if (b < firstBlock) continue;
      if (from === 0) { frame.element.remove(); this.frames.delete(b); } else frame.stale = true;
    }
    if (toEnd) scroller.scrollTop = layout.height;
    else if (anchor) scroller.scrollTop = layout.rowTop[layout.rowOf(anchor.i)] - anchor.offset;
    this.draw();
  }

  #bar() {
    if (this.barWidth === undefined) {
      const probe = make("div");
      probe.style.cssText = "position:absolute;visibility:hidden;overflow-y:scroll;width:60px;height:60px;scrollbar-width:thin";
      this.canvas.append(probe);
      this.barWidth = probe.offsetWidth - probe.clientWidth;
      probe.remove();
    }
    return this.barWidth;
  }

  #anchor() {
    const { layout, scroller } = this;
    const r = layout.rowAt(scroller.scrollTop);
    if (r === 0 && scroller.scrollTop < 40) return null;
    return { i: layout.rowStart[r], offset: layout.rowTop[r] - scroller.scrollTop };
  }

  schedule() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  draw() {
    const { layout, model, scroller } = this;
    if (!model || !layout.rowStart.length) {
      for (const row of this.rows.values()) row.element.remove();
      for (const frame of this.frames.values()) frame.element.remove();
      this.rows.clear();
      this.frames.clear();
      this.#placeholder(true);
      return;
    }
    this.#placeholder(false);
    const top = scroller.scrollTop - 120, bottom = scroller.scrollTop + scroller.clientHeight + 120;
    scroller.parentElement.classList.toggle("more", scroller.scrollTop + scroller.clientHeight < layout.height - 8);
    const first = layout.rowAt(top);
    let last = first;
    while (last + 1 < layout.rowTop.length && layout.rowTop[last + 1] < bottom) last++;
    const firstBlock = layout.rowBlock[first], lastBlock = layout.rowBlock[last];
    for (const [b, frame] of this.frames) {
      if (b < firstBlock || b > lastBlock) { frame.element.remove(); this.frames.delete(b); }
    }
    for (const [r, row] of this.rows) {
      if (r < first || r > last) { row.element.remove(); this.rows.delete(r); }
    }
    for (let b = firstBlock; b <= lastBlock; b++) {
      let frame = this.frames.get(b);
      if (frame?.stale) { frame.element.replaceWith((frame = this.#frame(b)).element); this.#adopt(b, frame); }
      else if (!frame) {
        frame = this.#frame(b);
        this.#place(this.frames, b, frame.element, this.canvas);
      }
      this.frames.set(b, frame);
      this.#paintFrame(b, frame);
    }
    for (let r = first; r <= last; r++) {
      let row = this.rows.get(r);
      if (!row) {
        row = this.#row(r);
        this.#place(this.rows, r, row.element, this.frames.get(layout.rowBlock[r]).element);
        this.rows.set(r, row);
      }
      this.#paintRow(row);
    }
  }

  #placeholder(empty) {
    if (empty === (this.placeholder !== undefined)) return;
    this.placeholder?.remove();
    this.placeholder = undefined;
    if (!empty) return;
    const words = this.waits ? "Waiting for the first token." : "No token and no delivered text in this capture: see its events.";
    this.placeholder = make("p", "quiet empty", words);
    this.scroller.append(this.placeholder);
  }

  // Keep the DOM in reading order: screen readers follow it.
  #place(drawn, number, element, parent) {
    let next = null;
    let nearest = Infinity;
    for (const [other, one] of drawn) {
      if (other > number && other < nearest && one.element.parentElement === parent) { nearest = other; next = one.element; }
    }
    parent.insertBefore(element, next);
  }

  #adopt(b, frame) {
    for (const [r, row] of this.rows) if (this.layout.rowBlock[r] === b) frame.element.append(row.element);
  }

  #frame(b) {
    const { layout, model } = this;
    const block = model.blocks[b];
    const element = make("div", "block");
    element.style.top = layout.blockTop[b] + "px";
    element.dataset.hue = model.hueOf(block);
    element.setAttribute("role", "group");
    const head = make("div", layout.headerLines(block).meta ? "head wraps" : "head");
    head.style.height = layout.headerHeight(block) + "px";
    const title = make("span", "title");
    const meta = make("span", "meta");
    head.append(title, meta);
    let words = null;
    if (block.kind === "refused") {
      words = make("span", "words");
      words.style.height = layout.wordLines(block) * SIZE.wordsHeight + "px";
      paint(words, visibleParts("“" + block.reason + "”", { spaces: false }));
      head.append(words);
    }
    element.append(head);
    return { element, title, meta, words, known: -1 };
  }

  #paintFrame(b, frame) {
    const { layout, model } = this;
    const block = model.blocks[b];
    const known = this.#knownIn(block);
    if (known === frame.known) return;
    frame.known = known;
    const element = frame.element;
    element.classList.toggle("absent", known <= block.start);
    if (known <= block.start) return;
    element.style.height = layout.rowBottom(layout.rowOf(known - 1)) + SIZE.blockPadY - layout.blockTop[b] + "px";
    const open = known <= block.body && block.kind === "message" && known < block.end;
    element.classList.toggle("open", open);
    const words = blockWords(model, block, known, open);
    paint(frame.title, visibleParts(words.title, { spaces: false, most: 80 }));
    paint(frame.meta, visibleParts(words.meta, { spaces: false, most: 200 }));
    element.setAttribute("aria-label", plainText(`${words.title}, ${words.meta}`, 200));
  }

  // Past the last cell of a block that has arrived; within a block cells stand in order of arrival.
  #knownIn(block) {
    const { shown } = this.marks;
    if (!this.model.inOrder) return Math.max(block.start, Math.min(block.end, shown));
    const rank = this.model.rank.values;
    let low = block.start, high = block.end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rank[middle] < shown) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #row(r) {
    const { layout, model } = this;
    const b = layout.rowBlock[r];
    const block = model.blocks[b];
    const element = make("div", "row");
    element.setAttribute("role", "presentation");
    element.style.top = layout.rowTop[r] - layout.blockTop[b] + "px";
    element.style.height = layout.rowHeight(layout.rowTall[r]) + "px";
    const cells = layout.cellsOf(r);
    const drawn = cells.map((place) => {
      const cell = this.#cell(place, block);
      if (place.rule) {
        const rule = make("i", "rule");
        rule.style.left = place.x - 5 + "px";
        cell.rule = rule;
        element.append(rule);
      }
      element.append(cell.element);
      return cell;
    });
    const bars = layout.rowTall[r] ? model.lanes.flatMap((_, lane) => this.#bars(lane, cells, element)) : [];
    const mark = make("i", "span");
    element.prepend(mark);
    return { element, cells: drawn, places: cells, bars, mark, start: cells[0].i, end: cells.at(-1).i + 1 };
  }

  #cell({ i, x, width }, block) {
    const { layout, model } = this;
    const state = model.stateOf(i, block);
    const element = make("div", state === "refused" && MARKERS.has(model.ids?.[i]) ? "cell refused marker" : "cell " + state);
    const unsent = model.unsentOf(i);
    if (unsent) element.classList.add("unsent-" + unsent.kind);
    if (block.culprit && block.culprit[0] <= i && i < block.culprit[1] && unsent?.kind !== "gap") element.classList.add("culprit");
    if (model.reconstructed && !unsent) element.classList.add("reconstructed");
    element.style.left = x + "px";
    element.style.width = width + "px";
    element.dataset.i = i;
    element.id = "cell-" + i;
    element.setAttribute("role", "option");
    element.setAttribute("aria-setsize", model.count);
    element.setAttribute("aria-posinset", i + 1);
    const text = make("bdi", "text");
    paint(text, layout.partsOf(i));
    element.append(text);
    if (model.ids) element.append(make("span", "id", String(model.idOf(i) ?? "")));
    if (model.wrong.values[i]) element.classList.add("wrong");
    return { element, i };
  }

  // One bar for neighbours that met the same fate; it carries the words where they fit.
  #bars(lane, cells, row) {
    const { layout, model } = this;
    const bars = [];
    const top = SIZE.textHeight + (model.ids ? SIZE.idHeight : 0) + 3 + lane * SIZE.laneHeight;
    for (let c = 0; c < cells.length; c++) {
      const number = model.lanes[lane].at.values[cells[c].i];
      if (number < 0) continue;
      let end = c;
      while (end + 1 < cells.length && model.lanes[lane].at.values[cells[end + 1].i] === number) end++;
      const run = model.lanes[lane].runs[number];
      const element = make("span", "ribbon " + run[3]);
      element.dataset.hue = fieldHue(run[2]);
      element.style.top = top + "px";
      element.style.left = cells[c].x + "px";
      row.append(element);
      const label = runLabel(run);
      bars.push({ element, from: cells[c], to: end, first: c, label, wide: textWidth(label, FONT.label) + 8, width: -1 });
      c = end;
    }
    if (model.lanes.length > 1) {
      const name = make("span", "lane", String.fromCharCode(65 + lane));
      name.style.top = top + "px";
      row.append(name);
    }
    return bars;
  }

  #paintRow(row) {
    const { model } = this;
    const { selected, hover, finding, shown } = this.marks;
    const rank = model.rank.values;
    let known = row.cells.length;
    row.cells.forEach((cell, c) => {
      const ghost = rank[cell.i] >= shown;
      if (ghost && c < known) known = c;
      const list = cell.element.classList;
      list.toggle("ghost", ghost);
      list.toggle("selected", cell.i === selected);
      list.toggle("hover", cell.i === hover);
      cell.rule?.classList.toggle("ghost", ghost);
      if (cell.i === selected) cell.element.setAttribute("aria-selected", "true");
      else cell.element.removeAttribute("aria-selected");
      if (cell.i === selected) cell.element.setAttribute("aria-label", this.on.describe(cell.i));
    });
    for (const bar of row.bars) {
      const last = Math.min(bar.to, known - 1);
      const width = last < bar.first ? 0 : row.places[last].x + row.places[last].width - bar.from.x;
      if (width === bar.width) continue;
      bar.width = width;
      bar.element.style.width = width + "px";
      bar.element.hidden = width === 0;
      bar.element.textContent = width >= bar.wide ? bar.label : "";
      bar.element.title = bar.label;
    }
    const from = finding === null ? -1 : Math.max(finding.start, row.start);
    const to = finding === null ? -1 : Math.min(finding.end, row.end, row.start + known);
    const alone = finding !== null && finding.end - finding.start === 1 && finding.start === selected;
    row.mark.hidden = from >= to || from < 0 || alone;
    if (!row.mark.hidden) {
      const left = row.places[from - row.start], right = row.places[to - 1 - row.start];
      row.mark.style.left = left.x - 3 + "px";
      row.mark.style.width = right.x + right.width - left.x + 6 + "px";
    }
  }

  // Paint marks anew: {selected, hover, finding, shown}.
  mark(marks) {
    Object.assign(this.marks, marks);
    if (!this.model) return;
    this.draw();
    const { selected } = this.marks;
    if (selected !== null && this.rows.has(this.layout.rowOf(selected))) {
      this.scroller.setAttribute("aria-activedescendant", "cell-" + selected);
    } else this.scroller.removeAttribute("aria-activedescendant");
  }

  // Bring a cell into sight, with its block's header where the block begins.
  reveal(i, { center = false } = {}) {
    const { layout, scroller } = this;
    if (!this.scrolls || !layout.rowStart.length) return;
    const r = layout.rowOf(i);
    const b = layout.rowBlock[r];
    const firstOfBlock = layout.blockFirstRow[b] === r;
    const head = layout.headerHeight(this.model.blocks[b]) + 12;
    const top = firstOfBlock ? layout.blockTop[b] : layout.rowTop[r] - head;
    const bottom = layout.rowBottom(r) + SIZE.blockPadY + 4;
    const { scrollTop, clientHeight } = scroller;
    if (top >= scrollTop && bottom <= scrollTop + clientHeight) return;
    if (center) scroller.scrollTop = Math.max(0, layout.rowTop[r] - clientHeight * 0.4);
    else scroller.scrollTop = top < scrollTop ? top : bottom - clientHeight;
    this.draw();
  }

  // The cell above or below, nearest in x.
  beside(i, rows) {
    const { layout } = this;
    const r = layout.rowOf(i);
    const target = Math.max(0, Math.min(layout.rowStart.length - 1, r + rows));
    if (target === r) return i;
    const here = layout.cellsOf(r).find((cell) => cell.i === i);
    const middle = here.x + here.width / 2;
    let best = null;
    for (const cell of layout.cellsOf(target)) {
      const distance = Math.abs(cell.x + cell.width / 2 - middle);
      if (best === null || distance < best.distance) best = { distance, i: cell.i };
    }
    return best.i;
  }

  get rowsInSight() {
    return Math.max(1, Math.floor(this.scroller.clientHeight / 66) - 1);
  }

  close() {
    cancelAnimationFrame(this.pending);
    this.scroller.onscroll = this.canvas.onclick = this.canvas.onpointermove = this.canvas.onpointerleave = null;
  }
}

// Title and meta of a block, as far as they are known after `known` cells.
function blockWords(model, block, known, open) {
  const size = Math.max(0, Math.min(known, model.sentEnd(block.start, block.end)) - block.start);
  const unit = model.unit === "piece" ? count(size, "piece") : count(size, "token");
  const time = duration(model.durationOf(block, known) || null);
  const facts = [];
  if (block.kind === "field") {
    facts.push("field", unit);
    if (time) facts.push(time);
    return { title: fieldWords(block.channel), meta: facts.join(" · ") };
  }
  if (block.kind === "refused") {
    const unsent = model.sentEnd(block.start, block.end) < block.end;
    if (size) facts.push(unit);
    if (unsent) facts.push("the rejected token was not sent");
    if (block.state) facts.push("parser state: " + block.state.replaceAll("_", " "));
    facts.push(unsent ? "the server stopped here" : resumed(model, block));
    return { title: "rejected by the parser", meta: facts.join(" · ") };
  }
  facts.push("message " + block.number);
  if (!open && block.role) facts.push(block.role);
  if (!open && block.content_type) facts.push("content type " + block.content_type);
  facts.push(unit);
  if (time) facts.push(time);
  if (!open && !block.complete && known >= block.end) facts.push("not closed");
  if (open || block.in_body === false) {
    const words = model.headerText(block, known);
    return { title: words ? `header: ${words}` : "header", meta: facts.join(" · ") };
  }
  const name = block.channel ?? "no channel";
  return { title: !open && block.recipient ? `${name} → ${block.recipient}` : name, meta: facts.join(" · ") };
}

function resumed(model, block) {
  const next = model.blocks.find((other) => other.kind === "message" && other.start >= block.end);
  if (!next) return "nothing after it was parsed";
  return `parsing resumed at token ${NUMBER.format(next.start)}, message ${next.number}`;
}
