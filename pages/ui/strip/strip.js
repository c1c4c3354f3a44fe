// The strip on the page: tokens, time bar and panels, over one model.

import { describeCell } from "./cell-words.js";
import { endsLines } from "./cells.js";
import { Finder } from "./finder.js";
import { Goto } from "./goto.js";
import { append, follow } from "./growing.js";
import { emptyPayload } from "./growth.js";
import { onKey } from "./keyboard.js";
import { Layout } from "./layout.js";
import { paintLegend } from "./legend.js";
import { Looks } from "./looks.js";
import { Model } from "./model.js";
import { hearPage, leavePage } from "./page-keys.js";
import { Panels } from "./panels.js";
import { partsOf } from "./parts.js";
import { hearRaw, rawOf } from "./raw-events.js";
import { paintRaw } from "./raw-panel.js";
import { Room } from "./room.js";
import { cellOf, findingAt, Selection } from "./selection.js";
import { measuredOnCanvas } from "./sizes.js";
import { Teller } from "./teller.js";
import { isDark } from "./theme.js";
import { TimeBar } from "./timebar.js";
import { wireTools } from "./tools.js";
import { View } from "./view.js";

/** @import { Feed } from "./feed.js" */
/** @import { Head, Increment, Payload, Selected } from "./payload.d.ts" */

export class Strip {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.parts = partsOf(root);
    this.textWidth = measuredOnCanvas();
    /** @type {string | null} names the payload that is shown */
    this.digest = null;
    /** @type {number | null} the last wish of Python that was followed */
    this.asked = null;
    /** @type {Feed | null} */
    this.feed = null;
    this.model = new Model(emptyPayload("", "token"));
    this.layout = new Layout(this.model, this.textWidth);
    this.rules = this.model.rules;
    this.selection = new Selection();
    this.panels = new Panels(this.parts, (number) => this.choose(number));
    this.teller = new Teller();
    this.view = new View(this.parts, {
      select: (i) => {
        this.parts.scroller.focus({ preventScroll: true });
        this.select(i);
      },
      extend: (i, from) => this.extend(i, from),
      fold: (start) => this.looks.fold(start),
      hover: (i) => {
        this.selection.hover = i;
        this.paint();
      },
      describe: (i) => describeCell(this.model, i),
    });
    this.time = new TimeBar(this.parts, this.model, {
      shown: (shown, playing) => this.#arrived(shown, playing),
      selected: () => this.selection.token,
      range: () => this.selection.range,
    });
    this.goto = new Goto(this.parts, (number) => this.#goTo(number));
    this.finder = new Finder(this.parts, {
      model: () => this.model,
      token: () => this.selection.token,
      go: (i) => this.#goTo(i),
      found: (cells) => this.view.mark({ found: cells }),
    });
    this.looks = new Looks(this);
    this.unhear = hearRaw((raw) => {
      if (raw.key === this.model.key) this.#paintRaw();
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
    // Not `onkeydown`: what it returns would keep Tab, Ctrl+C and Ctrl+F from the browser.
    scroller.addEventListener("keydown", (event) => onKey(this, event));
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
      this.show(payload, { again: this.digest !== null && this.model.key === payload.key });
      this.digest = head.digest;
    }
    if (head.nonce !== this.asked) this.#follow(head);
    this.paint();
  }

  /**
   * @param {Payload} payload
   * @param {{ again: boolean }} which `again` keeps place and selection
   */
  show(payload, { again }) {
    const { parts } = this;
    this.panels.renew();
    this.model = new Model(payload);
    const { folds } = this.layout;
    this.layout = new Layout(this.model, this.textWidth);
    if (again) this.layout.folds.takeOver(folds);
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
    this.looks.renew();
    this.layout.heat = this.looks.heat;
    this.root.dataset.unit = this.model.unit;
    this.root.classList.toggle("bare", this.model.count === 0 && !this.view.waits);
    this.root.dataset.ready = this.model.key;
  }

  /**
   * Select what Python asks for.
   * @param {Head} head
   */
  #follow(head) {
    const { model, selection } = this;
    this.asked = head.nonce;
    this.teller.forget();
    this.looks.showClient(head.view === "client", { asked: true });
    if (!selection.follow(model, head)) return;
    this.time.reach(selection.needs(model));
    if (selection.token !== null) this.view.reveal(selection.token, { center: true });
  }

  /**
   * Read the increments of a growing run, or of none any more.
   * @param {string | null} address
   */
  follow(address) {
    follow(this, address);
  }

  /**
   * Take new cells at the right end; see Model.append for the columns.
   * @param {Increment} columns
   */
  append(columns) {
    append(this, columns);
  }

  paint() {
    const { model, selection, time } = this;
    const { shown } = time;
    const chosen = selection.findingIn(model);
    const finding = chosen !== null && chosen.knownAt <= shown ? chosen : null;
    const { token, hover, range } = selection;
    this.view.mark({ selected: token, hover, shown, finding, range });
    this.panels.paint(model, selection, { finding, shown, playing: time.playing });
    this.looks.paint(shown);
    this.#paintRaw();
    time.paintTrack();
  }

  /**
   * Choose a cell. What had not arrived yet moves the play head on.
   * @param {number | null} i
   * @param {number} [finding]
   * @param {{ center?: boolean }} [how] `center` where it is not in sight yet
   */
  select(i, finding, { center = false } = {}) {
    this.selection.choose(this.model, i, finding);
    this.time.reach(this.selection.needs(this.model));
    if (i !== null) {
      this.looks.open(i);
      this.view.reveal(i, { center });
    }
    this.paint();
    this.tell();
  }

  /**
   * Choose the cells up to this one, from where the range began, from the chosen cell or from the one named.
   * @param {number} i
   * @param {number} [from]
   */
  extend(i, from) {
    this.selection.extend(this.model, i, from);
    this.time.reach(this.selection.needs(this.model));
    this.looks.open(i);
    this.view.reveal(i);
    this.paint();
    this.tell();
  }

  /**
   * Choose a finding, and its first cell where it has one.
   * @param {number} number
   */
  choose(number) {
    const cell = cellOf(this.model, this.model.findings[number]);
    this.time.pause();
    this.select(cell ?? this.selection.token, number, { center: true });
    this.parts.findings.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} i */
  moveTo(i, { extends: range = false } = {}) {
    if (!this.model.count) return;
    const cell = Math.max(0, Math.min(this.model.count - 1, i));
    if (range) this.extend(cell);
    else this.select(cell);
  }

  /** @param {number} wanted */
  #goTo(wanted) {
    if (!this.model.count) return;
    this.select(Math.max(0, Math.min(this.model.count - 1, wanted)), undefined, { center: true });
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
    if (!playing) this.tell();
  }

  #paintRaw() {
    const { model, parts, selection } = this;
    paintRaw(parts.raw, model, rawOf(model.key), selection.token);
  }

  /** Tell Python where the user is. */
  tell() {
    const { token, finding, anchor, other, range } = this.selection;
    const to = range === null ? null : token === anchor ? other : anchor;
    const view = this.looks.client ? "client" : null;
    this.teller.tell({ key: this.model.key, token, finding, to, view });
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
    this.unhear();
    this.feed?.close();
    this.teller.close();
    this.size.disconnect();
    this.room.close();
    this.time.close();
    this.view.close();
  }
}
