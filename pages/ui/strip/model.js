// The payload as columns: for each cell its block, event, arrival, lanes and findings, each in constant
// or logarithmic time. Grows at the right end with `append`.

const MARKERS = new Set([200002, 200003, 200005, 200006, 200007, 200008, 200012]);
// Kinds whose cells themselves are wrong; the other kinds speak of a place or a whole body.
const WRONG_CELLS = new Set(["dropped", "misrouted", "garbled", "reordered", "duplicated", "unserved",
  "unexpected_token", "bad_header"]);
const HEADER_CELLS = 200; // cells of a header that its title reads
const STATE_LABELS = {
  dropped: "not delivered", garbled: "garbled", unserved: "no field", reordered: "out of order", duplicated: "repeated",
};

class Column {
  constructor(Kind, length = 0) {
    this.values = new Kind(Math.max(64, length));
    this.length = length;
  }

  grow(length) {
    if (length > this.values.length) {
      const wider = new this.values.constructor(Math.max(length, this.values.length * 2));
      wider.set(this.values);
      this.values = wider;
    }
    this.length = length;
  }
}

// An open block that only became longer: the cells that it had look as before.
function grew(before, after) {
  const same = (name) => before[name] === after[name];
  return after !== undefined && ["kind", "start", "role", "channel", "recipient", "content_type", "reason"].every(same) &&
    (same("body") || before.body >= before.end) && after.end >= before.end;
}

class Model {
  constructor(payload) {
    this.key = payload.key;
    this.unit = payload.unit;
    this.count = 0;
    this.unsent = new Map(); // by cell: what the server never sent and its error only names
    this.ids = payload.unit === "token" ? [] : null;
    this.vocab = {};
    this.texts = {};
    this.events = { index: [], start: [], at: null };
    this.blocks = [];
    this.lanes = [];
    this.findings = [];
    this.reconstructed = false; // the tokens are those that the final object tells; nobody sent them
    this.uncertain = []; // spans of reconstructed tokens whose id is one of several
    this.wrong = new Column(Uint8Array);
    this.rank = new Column(Int32Array);
    this.append({
      ...payload,
      blocks: { from: 0, items: payload.blocks },
      ribbons: payload.ribbons.map((lane) => ({ label: lane.label, from: 0, runs: lane.runs })),
    });
  }

  // Columns of new cells, and the blocks and runs that changed with them (`from` counts those that stay).
  // Returns the first cell whose shape may have changed.
  append(columns) {
    const before = this.count;
    this.count = columns.count;
    this.reconstructed = columns.reconstructed ?? this.reconstructed;
    this.uncertain = columns.uncertain ?? this.uncertain;
    for (const cell of columns.unsent ?? []) this.unsent.set(cell.at, cell);
    if (this.ids) for (const id of columns.ids) this.ids.push(id);
    Object.assign(this.vocab, columns.vocab);
    Object.assign(this.texts, columns.texts);
    const events = columns.events;
    const timed = events.at !== null && (before === 0 || this.events.at !== null);
    for (let k = 0; k < events.index.length; k++) {
      this.events.index.push(events.index[k]);
      this.events.start.push(events.start[k]);
    }
    const seen = this.events.index.length - events.index.length;
    if (!timed) this.events.at = null;
    else if (!before) this.events.at = events.at.slice();
    else for (const at of events.at) this.events.at.push(at);
    let changed = before;
    const blocks = columns.blocks;
    const open = this.blocks[blocks.from];
    if (open && !(blocks.from === this.blocks.length - 1 && grew(open, blocks.items[0]))) {
      changed = Math.min(changed, open.start);
    }
    this.blocks.length = Math.min(this.blocks.length, blocks.from);
    for (const block of blocks.items) this.blocks.push(block);
    this.#cover();
    columns.ribbons.forEach((lane, number) => { changed = Math.min(changed, this.#lane(number, lane)); });
    for (const lane of this.lanes) {
      const filled = lane.at.length;
      lane.at.grow(this.count);
      if (filled < this.count) lane.at.values.fill(-1, filled, this.count);
    }
    for (const place of Object.keys(columns.texts)) changed = Math.min(changed, Number(place));
    if (columns.findings) this.findings = columns.findings;
    this.lastAt = columns.last_at ?? null;
    this.finish = columns.finish ?? null;
    this.#number(seen);
    this.#rank(before, seen);
    this.#mark();
    return Math.max(0, Math.min(changed, this.count));
  }

  // True when columns begin anew: ids came after pieces, or the other way round.
  restartedBy(columns) {
    return (columns.unit !== undefined && columns.unit !== this.unit) || (columns.from === 0 && this.count > 0);
  }

  // Blocks cover every cell; what a payload leaves out stands in a block without a name.
  #cover() {
    // An increment may tell of cells before their block: the block comes with a later one.
    this.blocks = this.blocks.filter((block) => !block.unnamed);
    const covered = [];
    let at = 0;
    for (const block of this.blocks) {
      if (block.start > at) covered.push(unnamed(at, block.start));
      covered.push(block);
      at = Math.max(at, block.end);
    }
    if (at < this.count) covered.push(unnamed(at, this.count));
    if (covered.length !== this.blocks.length) this.blocks = covered;
    let message = 0;
    for (const block of this.blocks) block.number = block.kind === "message" ? message++ : null;
  }

  #lane(number, lane) {
    const mine = this.lanes[number] ?? (this.lanes[number] = { label: lane.label, runs: [], at: new Column(Int32Array) });
    mine.label = lane.label;
    // Runs are told after their cells, so new ones may begin far before the last cell.
    const first = Math.min(mine.runs[lane.from]?.[0] ?? mine.at.length, lane.runs[0]?.[0] ?? mine.at.length);
    mine.runs.length = lane.from;
    for (const run of lane.runs) mine.runs.push(run);
    const filled = Math.min(first, mine.at.length);
    mine.at.grow(this.count);
    mine.at.values.fill(-1, filled, this.count);
    for (let k = lane.from; k < mine.runs.length; k++) mine.at.values.fill(k, mine.runs[k][0], mine.runs[k][1]);
    return filled;
  }

  // The most cells that an event brought; of the events before the new ones only the last can have grown.
  #number(seen) {
    const { start } = this.events;
    if (!seen) this.mostPerEvent = 0;
    for (let k = Math.max(0, seen - 1); k < start.length; k++) {
      const size = this.unsent.has(start[k]) ? 0 : (start[k + 1] ?? this.count) - start[k];
      if (size > this.mostPerEvent) this.mostPerEvent = size;
    }
  }

  // Order of arrival. Token cells arrive in order; pieces stand by field, so their order is by event.
  #rank(before, seen) {
    const rank = this.rank;
    rank.grow(this.count);
    const { index, start } = this.events;
    let ordered = this.ordered !== false || !seen;
    for (let k = Math.max(1, seen); k < index.length && ordered; k++) ordered = index[k] >= index[k - 1];
    if (ordered) {
      for (let i = this.ordered === false ? 0 : before; i < this.count; i++) rank.values[i] = i;
      this.inOrder = null;
    } else {
      const groups = index.map((_, k) => k).sort((a, b) => index[a] - index[b] || a - b);
      this.inOrder = new Int32Array(this.count);
      let place = 0;
      for (const k of groups) {
        for (let i = start[k]; i < (start[k + 1] ?? this.count); i++) {
          this.inOrder[place] = i;
          rank.values[i] = place++;
        }
      }
    }
    this.ordered = ordered;
  }

  #mark() {
    this.wrong.grow(this.count);
    this.wrong.values.fill(0, 0, this.count);
    this.findings.forEach((finding, k) => {
      finding.number = k;
      const start = finding.cell_start !== undefined ? finding.cell_start : finding.token_start;
      const end = finding.cell_start !== undefined ? finding.cell_end : finding.token_end;
      const placed = start !== null && start !== undefined && this.count > 0;
      finding.start = placed ? Math.min(start, this.count - 1) : null;
      finding.end = placed ? Math.min(Math.max(end ?? start + 1, finding.start + 1), this.count) : null;
      if (placed && WRONG_CELLS.has(finding.kind)) this.wrong.values.fill(1, finding.start, finding.end);
      finding.knownAt = this.#knownAt(finding);
    });
  }

  // How many cells must have arrived before a finding can be known.
  #knownAt(finding) {
    if (finding.start !== null) return this.rank.values[finding.start] + 1;
    if (finding.event_start === null || finding.event_start === undefined) return this.count;
    let cells = 0;
    const { index, start } = this.events;
    for (let k = 0; k < index.length; k++) {
      if (index[k] <= finding.event_start) cells += (start[k + 1] ?? this.count) - start[k];
    }
    return Math.max(1, cells);
  }

  // The cell that arrived `rank`-th.
  arrived(rank) {
    return this.inOrder ? this.inOrder[rank] : rank;
  }

  blockOf(i) {
    return lastAtMost(this.blocks, i, (block) => block.start);
  }

  // Place in `events` of the event that brought cell i; -1 when no event is known.
  eventOf(i) {
    return lastAtMost(this.events.start, i, (start) => start);
  }

  eventSize(k) {
    return (this.events.start[k + 1] ?? this.count) - this.events.start[k];
  }

  startsEvent(i) {
    const k = this.eventOf(i);
    return k >= 0 && this.events.start[k] === i;
  }

  arrivalOf(i) {
    const k = this.eventOf(i);
    return this.events.at && k >= 0 ? this.events.at[k] : null;
  }

  runOf(lane, i) {
    const k = this.lanes[lane].at.values[i];
    return k < 0 ? null : this.lanes[lane].runs[k];
  }

  // What stands for cell i when the server never sent it: a gap, the rejected token or header; else null.
  unsentOf(i) {
    return this.unsent.get(i) ?? null;
  }

  // Cells that the server sent.
  get sent() {
    return this.count - this.unsent.size;
  }

  // The first cell of a span that was not sent, else its end.
  sentEnd(start, end) {
    for (const at of this.unsent.keys()) if (at >= start && at < end) return at;
    return end;
  }

  // A header's words as far as `known` cells tell them, without the special tokens between them.
  headerText(block, known) {
    const end = Math.min(known, block.in_body === false ? block.end : block.body, block.start + HEADER_CELLS);
    let words = "";
    for (let i = block.start; i < end; i++) words += MARKERS.has(this.ids?.[i]) ? " " : this.textOf(i) ?? "";
    return words.trim().replace(/\s+/g, " ");
  }

  // Text that cell i completes; null while its character is not complete, undefined outside the vocabulary.
  textOf(i) {
    const unsent = this.unsentOf(i);
    if (unsent) return unsent.text;
    const own = this.texts[i];
    if (!this.ids) return own ?? "";
    const entry = this.vocab[this.ids[i]];
    if (entry === undefined) return undefined;
    if (own !== undefined) return own === "" && entry[1] !== "" ? null : own;
    return entry[0];
  }

  // The id of cell i; null where none is certain.
  idOf(i) {
    const unsure = this.uncertain.some(([start, end]) => start <= i && i < end);
    return unsure ? null : this.ids?.[i] ?? null;
  }

  bytesOf(i) {
    if (!this.ids || this.ids[i] === null) return null;
    const entry = this.vocab[this.ids[i]];
    return entry === undefined ? null : entry[1];
  }

  // marker, header, body, refused, piece or unsent
  stateOf(i, block = this.blocks[this.blockOf(i)]) {
    if (this.unsent.has(i)) return "unsent";
    if (block.kind === "field") return "piece";
    if (block.kind === "refused") return "refused";
    const marker = this.ids !== null && MARKERS.has(this.ids[i]);
    if (i < block.body) return marker ? "marker" : "header";
    return marker && i === block.end - 1 && block.complete ? "marker" : "body";
  }

  // The hue of a block: the field that its body should arrive in.
  hueOf(block) {
    if (block.kind === "refused") return "loss";
    if (block.kind === "field") return fieldHue(block.channel);
    if (block.recipient) return block.recipient.startsWith("functions.") ? "tool" : "other";
    return { analysis: "reasoning", final: "content", commentary: "preamble" }[block.channel] ?? "other";
  }

  durationOf(block, known = this.count) {
    const last = Math.min(block.end, known) - 1;
    if (!this.events.at || last < block.start) return null;
    const from = this.arrivalOf(block.start), to = this.arrivalOf(last);
    return from === null || to === null ? null : to - from;
  }
}

function unnamed(start, end) {
  return { unnamed: true, kind: "message", start, body: start, end, role: null, channel: null, recipient: null, content_type: null,
    complete: false, reason: "" };
}

function lastAtMost(list, value, of) {
  let low = -1, high = list.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (of(list[middle]) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

function fieldHue(field) {
  if (field === "reasoning" || field === "content") return field;
  return field && field.startsWith("tool_calls") ? "tool" : "other";
}

function fieldWords(field) {
  const call = /^tool_calls\[(\d+)\]\.(name|arguments)$/.exec(field ?? "");
  if (!call) return field ?? "";
  return (call[1] === "0" ? "tool " : `tool ${Number(call[1]) + 1} `) + call[2];
}

function runLabel(run) {
  const [, , field, state] = run;
  if (state === "ok") return fieldWords(field);
  if (state === "misrouted") return "in " + fieldWords(field);
  if (state === "unknown") return fieldWords(field) + "?";
  return STATE_LABELS[state] ?? state;
}
