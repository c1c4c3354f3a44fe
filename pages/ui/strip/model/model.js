// What the strip shows: for each cell its block, event, arrival, delivery and findings, each in constant or
// logarithmic time. Grows at the right end with `append`. Knows nothing of the page.

import { Arrivals } from "./arrivals.js";
import { covering, grew } from "./blocks.js";
import { Column, lastAtMost } from "./number-columns.js";
import { barLook, Picture } from "./picture.js";
import { numbered, place } from "./placed-findings.js";

/** @import { BlockChange, Increment, Payload, PipelineChange, UnsentCell } from "./payload.d.ts" */
/** @import { Placed } from "./blocks.js" */
/** @import { PlacedFinding } from "./placed-findings.js" */

/** @typedef {"marker" | "header" | "body" | "refused" | "piece" | "unsent"} CellState */

export class Model {
  /** @param {Payload} payload */
  constructor(payload) {
    this.key = payload.key;
    this.unit = payload.unit;
    const { kinds, special_tokens } = payload;
    this.tables = { kinds, special_tokens };
    this.kinds = kinds;
    this.specialTokens = new Set(special_tokens);
    /** @type {number} cells */
    this.count = 0;
    /** @type {Map<number, UnsentCell>} by cell: what the server never sent and its error only names */
    this.unsent = new Map();
    /** @type {(number | null)[] | null} */
    this.ids = payload.unit === "token" ? [] : null;
    /** @type {Record<string, [string | null, string]>} */
    this.vocab = {};
    /** @type {Record<string, string>} */
    this.texts = {};
    this.events = new Arrivals();
    /** @type {Placed[]} */
    this.blocks = [];
    /** @type {Picture[]} what each server made of the cells; of a comparison two */
    this.pictures = [];
    this.pictured = 0; // another number, other pictures of the cells that there were
    /** @type {PlacedFinding[]} */
    this.findings = [];
    this.reconstructed = false; // the tokens are those of the final object; nobody sent them
    /** @type {[number, number][]} spans of reconstructed tokens whose ID is one of several that fit */
    this.uncertain = [];
    this.logprobs = payload.logprobs ?? null;
    this.wrong = new Column(new Uint8Array(64));
    this.append({
      ...payload,
      from: 0,
      blocks: { from: 0, items: payload.blocks },
      pipelines: payload.pipelines.map(({ lanes, fates, ...server }) => ({
        ...server,
        lanes: lanes.map((lane) => ({ ...lane, from: 0 })),
        fates: { from: 0, items: fates },
      })),
      findings: { from: 0, items: payload.findings },
    });
  }

  /**
   * Take columns of new cells, and the blocks and fates that changed with them (`from` counts those that stay).
   * Returns the first cell whose shape may have changed.
   * @param {Increment} columns
   */
  append(columns) {
    const before = this.count;
    this.count = columns.count;
    this.reconstructed = columns.reconstructed ?? this.reconstructed;
    this.uncertain = columns.uncertain ?? this.uncertain;
    for (const cell of columns.unsent) this.unsent.set(cell.at, cell);
    if (this.ids) for (const id of columns.ids ?? []) this.ids.push(id);
    Object.assign(this.vocab, columns.vocab);
    Object.assign(this.texts, columns.texts);
    this.events.append(columns.events, this.count, (cell) => !this.unsent.has(cell));
    const changed = [
      before,
      this.#changeBlocks(columns.blocks),
      ...this.#draw(columns.pipelines ?? []),
      ...Object.keys(columns.texts).map(Number),
    ];
    if (columns.findings) {
      const { from, items } = columns.findings;
      this.findings = this.findings.slice(0, from).concat(numbered(items, this.kinds, from));
    }
    this.#mark();
    return Math.max(
      0,
      changed.reduce((least, cell) => Math.min(least, cell), this.count),
    );
  }

  /** @param {BlockChange} change */
  #changeBlocks({ from, items }) {
    const open = this.blocks[from];
    const kept = open && from === this.blocks.length - 1 && grew(open, items[0]);
    const changed = open && !kept ? open.start : Infinity;
    this.blocks = covering([...this.blocks.slice(0, from), ...items], this.count);
    return changed;
  }

  /**
   * The first cells that may look different.
   * @param {PipelineChange[]} changes
   */
  #draw(changes) {
    const untold = changes.length ? changes.length : this.unit === "piece" && this.count ? 1 : 0;
    for (let number = this.pictures.length; number < untold; number++) this.pictures.push(new Picture(this));
    if (changes.length || this.unit === "piece") this.pictured++;
    const changed = changes.map((change, number) => this.pictures[number].change(change));
    for (const picture of this.pictures) picture.grow();
    return changed;
  }

  #mark() {
    this.wrong.grow(this.count);
    const wrong = this.wrong.values.fill(0, 0, this.count);
    for (const finding of this.findings) {
      place(finding, this.events);
      if (finding.start !== null && finding.marks) wrong.fill(1, finding.start, finding.end);
    }
  }

  /**
   * The cell that arrived `rank`-th.
   * @param {number} rank
   */
  arrived(rank) {
    return this.events.inOrder ? this.events.inOrder[rank] : rank;
  }

  /**
   * How many cells arrived before cell i.
   * @param {number} i
   */
  rankOf(i) {
    return this.events.ranks.values[i];
  }

  /** @param {number} i */
  blockOf(i) {
    return lastAtMost(this.blocks, i, (block) => block.start);
  }

  /** @param {number} i */
  blockAt(i) {
    return this.blocks[this.blockOf(i)];
  }

  /**
   * What stands for cell i when the server never sent it: a gap, the rejected token or header; else null.
   * @param {number} i
   */
  unsentOf(i) {
    return this.unsent.get(i) ?? null;
  }

  /** Cells that the server sent. */
  get sent() {
    return this.count - this.unsent.size;
  }

  /**
   * The first cell of a span that was not sent, else its end.
   * @param {number} start
   * @param {number} end
   */
  sentEnd(start, end) {
    for (const at of this.unsent.keys()) if (at >= start && at < end) return at;
    return end;
  }

  /** Whether two servers had the same tokens. */
  get compared() {
    return this.pictures.length > 1;
  }

  /**
   * The name of a server; of two the first one is the left one.
   * @param {number} number
   */
  serverName(number) {
    const { server } = this.pictures[number];
    return this.compared ? `${number ? "right" : "left"}: ${server}` : server;
  }

  /**
   * Whether there is a bar under cell i.
   * @param {number} i
   */
  hasBar(i) {
    for (const picture of this.pictures) {
      const run = picture.runAt(i);
      if (run && barLook(run)) return true;
    }
    return false;
  }

  /** @param {number} i */
  isSpecialToken(i) {
    const id = this.ids?.[i] ?? null;
    return id !== null && this.specialTokens.has(id);
  }

  /**
   * Text that cell i completes; null while its character is not complete, undefined outside the vocabulary.
   * @param {number} i
   */
  textOf(i) {
    const unsent = this.unsentOf(i);
    if (unsent) return unsent.text;
    const own = this.texts[i];
    if (!this.ids) return own ?? "";
    const entry = this.#entry(i);
    if (entry === undefined) return undefined;
    if (own !== undefined) return own === "" && entry[1] !== "" ? null : own;
    return entry[0];
  }

  /**
   * The ID of cell i; null where none is certain.
   * @param {number} i
   */
  idOf(i) {
    const unsure = this.uncertain.some(([start, end]) => start <= i && i < end);
    return unsure ? null : (this.ids?.[i] ?? null);
  }

  /**
   * The bytes of the token of cell i as hex; null where they are not known.
   * @param {number} i
   */
  bytesOf(i) {
    return this.#entry(i)?.[1] ?? null;
  }

  /**
   * The probability of cell i, 0 to 1; null where the server told none.
   * @param {number} i
   */
  probabilityOf(i) {
    const value = this.logprobs?.values[i] ?? null;
    return value === null ? null : Math.exp(value);
  }

  /** @param {number} i */
  #entry(i) {
    const id = this.ids?.[i] ?? null;
    return id === null ? undefined : this.vocab[id];
  }

  /**
   * @param {number} i
   * @returns {CellState}
   */
  stateOf(i, block = this.blockAt(i)) {
    if (this.unsent.has(i)) return "unsent";
    if (block.kind === "field") return "piece";
    if (block.kind === "refused") return "refused";
    const marker = this.isSpecialToken(i);
    if (i < block.body) return marker ? "marker" : "header";
    return marker && i === block.end - 1 && block.complete ? "marker" : "body";
  }

  /** @param {Placed} block */
  durationOf(block, known = this.count) {
    const last = Math.min(block.end, known) - 1;
    if (!this.events.at || last < block.start) return null;
    const from = this.events.time(block.start);
    const to = this.events.time(last);
    return from === null || to === null ? null : to - from;
  }

  /** Whether a rule between events says anything: not when each event brought one cell. */
  get rules() {
    return this.events.mostPerEvent > 1 && this.events.index[0] >= 0;
  }
}
