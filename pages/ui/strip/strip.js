// The strip on the page: tokens, time bar and panels, over one model.

import { describeCell } from "./cell-words.js";
import { endsLines } from "./cells.js";
import { Feed } from "./feed.js";
import { Finder } from "./finder.js";
import { paintFinding } from "./finding-panel.js";
import { paintFindings } from "./findings-list.js";
import { Goto } from "./goto.js";
import { emptyPayload, startsOver, unitAfter } from "./growth.js";
import { onKey } from "./keyboard.js";
import { Layout } from "./layout.js";
import { paintLegend } from "./legend.js";
import { Model } from "./model.js";
import { hearPage, leavePage } from "./page-keys.js";
import { partsOf } from "./parts.js";
import { Room } from "./room.js";
import { cellOf, findingAt, Selection } from "./selection.js";
import { measuredOnCanvas } from "./sizes.js";
import { Teller } from "./teller.js";
import { isDark } from "./theme.js";
import { TimeBar } from "./timebar.js";
import { paintToken } from "./token-panel.js";
import { wireTools } from "./tools.js";
import { View } from "./view.js";

/** @import { Head, Increment, Payload, Selected } from "./payload.d.ts" */

export class Strip {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.parts = partsOf(root);
    this.textWidth = measuredOnCanvas();
    /** @type {string | null} names the payload that is shown */
    this.digest = null;
    this.version = 0; // of what the panels show
    this.panel = ""; // what the panel of the finding shows
    /** @type {number | null} the last wish of Python that was followed */
    this.asked = null;
    /** @type {Feed | null} */
    this.feed = null;
    this.model = new Model(emptyPayload("", "token"));
    this.layout = new Layout(this.model, this.textWidth);
    this.rules = this.model.rules;
    this.selection = new Selection();
    this.teller = new Teller();
    this.view = new View(this.parts, {
      select: (i) => {
        this.parts.scroller.focus({ preventScroll: true });
        this.select(i);
      },
      hover: (i) => {
        this.selection.hover = i;
        this.paint();
      },
      describe: (i) => describeCell(this.model, i),
    });
    this.time = new TimeBar(this.parts, this.model, {
      shown: (shown, playing) => this.#arrived(shown, playing),
      selected: () => this.selection.token,
    });
    this.goto = new Goto(this.parts, (number) => this.#goTo(number));
    this.finder = new Finder(this.parts, {
      model: () => this.model,
      token: () => this.selection.token,
      go: (i) => this.#goTo(i),
      found: (cells) => this.view.mark({ found: cells }),
    });
    this.#listen();
    hearPage(this);
    this.room = new Room([this.parts["token-card"], this.parts.finding]);
    this.seen = { width: 0, height: 0 };
    this.size = new ResizeObserver(() => this.#resized());
    this.size.observe(this.view.frameElement);
  }

  #listen() {
    const { breaks, scroller } = this.parts;
    wireTools(this);
    breaks.onchange = () => {
      this.layout.breaks = breaks.checked;
      this.view.relayout(0);
      if (this.selection.token !== null) this.view.reveal(this.selection.token);
    };
    scroller.onkeydown = (event) => onKey(this, event);
  }

  /**
   * A head with what to select, and the payload, or null when it is the one already shown.
   * @param {Head} head
   * @param {Payload | null} payload
   * @param {(selected: Selected) => void} send
   */
  receive(head, payload, send) {
    this.teller.send = send;
    this.view.waits = Boolean(head.feed);
    const ground = getComputedStyle(this.root).getPropertyValue("--st-background-color").trim();
    this.root.dataset.theme = isDark(ground) ? "dark" : "light";
    if (payload) {
      this.#show(payload, { again: this.digest !== null && this.model.key === payload.key });
      this.digest = head.digest;
    }
    if (head.nonce !== this.asked) this.#follow(head);
    this.paint();
  }

  /**
   * @param {Payload} payload
   * @param {{ again: boolean }} which `again` keeps place and selection
   */
  #show(payload, { again }) {
    const { parts } = this;
    this.version++;
    this.model = new Model(payload);
    this.layout = new Layout(this.model, this.textWidth);
    this.layout.breaks = parts.breaks.checked;
    this.rules = this.model.rules;
    if (again) this.selection.fit(this.model);
    else {
      this.selection.clear();
      this.room.clear();
      this.asked = null;
      parts.scroller.scrollTop = 0;
    }
    parts["breaks-label"].hidden = !endsLines(this.model);
    this.time.show(this.model, { keep: again });
    this.view.marks.shown = this.time.shown;
    this.view.show(this.layout);
    paintLegend(parts.legend, this.model);
    this.finder.refresh();
    this.root.dataset.unit = this.model.unit;
    this.root.dataset.ready = this.model.key;
  }

  /**
   * Select what Python asks for.
   * @param {Head} head
   */
  #follow({ nonce, token, finding }) {
    const { model, selection } = this;
    this.asked = nonce;
    this.teller.forget();
    const cell =
      Number.isInteger(token) && token !== null && token >= 0 && token < model.count ? token : null;
    const known = (finding === null ? undefined : model.findings[finding]) ?? null;
    if (cell === null && known === null) return;
    selection.token = cell ?? known?.start ?? null;
    selection.finding = known ? known.number : findingAt(model, selection.token);
    this.time.reach(selection.needs(model));
    if (selection.token !== null) this.view.reveal(selection.token, { center: true });
  }

  /**
   * Read the increments of a growing run, or of none any more.
   * @param {string | null} address
   */
  follow(address) {
    if (address === (this.feed?.address ?? null)) return;
    this.feed?.close();
    this.feed = null;
    if (address === null) return;
    const state = (/** @type {string} */ words) => {
      this.root.dataset.feed = words;
    };
    this.feed = new Feed(address, { grow: (columns) => this.append(columns), state });
  }

  /**
   * Take new cells at the right end; see Model.append for the columns.
   * @param {Increment} columns
   */
  append(columns) {
    if (startsOver(this.model, columns)) {
      const { key, kinds } = this.model;
      this.#show(emptyPayload(key, unitAfter(this.model, columns), kinds), { again: true });
    }
    const { model, time, view } = this;
    if (columns.from > model.count) return;
    const follows = time.shown >= model.count;
    const { scrollTop, clientHeight, scrollHeight } = view.scroller;
    const atBottom = scrollTop + clientHeight >= scrollHeight - 40;
    const changed = model.append(columns);
    if (columns.findings) this.version++;
    if (model.rules !== this.rules) view.relayout(0);
    this.rules = model.rules;
    time.grow(follows);
    view.marks.shown = time.shown;
    view.relayout(changed, { toEnd: follows && atBottom });
    paintLegend(this.parts.legend, model);
    this.finder.refresh();
    this.paint();
  }

  paint() {
    const { model, parts, selection, time } = this;
    const { shown } = time;
    const chosen = selection.findingIn(model);
    const finding = chosen !== null && chosen.knownAt <= shown ? chosen : null;
    this.view.mark({ selected: selection.token, hover: selection.hover, shown, finding });
    paintFindings(parts, model.findings, {
      chosen: finding?.number ?? null,
      shown,
      version: this.version,
      choose: (number) => this.choose(number),
    });
    const panel = `${this.version} ${finding?.number}`;
    if (panel !== this.panel) paintFinding(parts.finding, model, finding);
    this.panel = panel;
    paintToken(parts, model, selection.hover ?? selection.token);
    const readout = selection.token === null ? "" : describeCell(model, selection.token);
    if (parts.readout.textContent !== readout) parts.readout.textContent = readout;
    time.paintTrack();
  }

  /**
   * Choose a cell. What had not arrived yet moves the play head on.
   * @param {number | null} i
   * @param {number} [finding]
   */
  select(i, finding) {
    this.selection.choose(this.model, i, finding);
    this.time.reach(this.selection.needs(this.model));
    if (i !== null) this.view.reveal(i);
    this.paint();
    this.#tell();
  }

  /**
   * Choose a finding, and its first cell where it has one.
   * @param {number} number
   */
  choose(number) {
    const cell = cellOf(this.model, this.model.findings[number]);
    this.time.pause();
    this.select(cell ?? this.selection.token, number);
    if (cell !== null) this.view.reveal(cell, { center: true });
    this.parts.findings.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} i */
  moveTo(i) {
    if (this.model.count) this.select(Math.max(0, Math.min(this.model.count - 1, i)));
  }

  help() {
    if (!this.parts.help.open) this.parts.help.showModal();
  }

  /** @param {number} wanted */
  #goTo(wanted) {
    if (!this.model.count) return;
    this.moveTo(wanted);
    if (this.selection.token !== null) this.view.reveal(this.selection.token, { center: true });
  }

  /**
   * The play head was moved, or moves on.
   * @param {number} shown
   * @param {boolean} playing
   */
  #arrived(shown, playing) {
    const { model, selection } = this;
    if (shown > 0 && (playing || shown < model.count)) {
      selection.token = model.arrived(shown - 1);
      selection.finding = findingAt(model, selection.token);
      this.view.marks.shown = shown;
      this.view.reveal(selection.token);
    }
    this.paint();
    if (!playing) this.#tell();
  }

  #tell() {
    const { token, finding } = this.selection;
    this.teller.tell({ key: this.model.key, token, finding });
  }

  #resized() {
    const width = this.view.frameElement.clientWidth;
    const height = window.innerHeight;
    if (width === this.seen.width && height === this.seen.height) return;
    this.seen = { width, height };
    this.view.relayout(0);
    this.time.paintTrack();
  }

  close() {
    leavePage(this);
    this.feed?.close();
    this.teller.close();
    this.size.disconnect();
    this.room.close();
    this.time.close();
    this.view.close();
  }
}
