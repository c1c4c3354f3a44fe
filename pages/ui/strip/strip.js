// The strip on the page: tokens, time bar and panels, over one model.

import { isDark, measuredOnCanvas } from "./draw/canvas.js";
import { paintLegend } from "./draw/legend.js";
import { View } from "./draw/token-view.js";
import { elementsOf } from "./elements.js";
import { copyOf } from "./input/copy.js";
import { DisplayOptions } from "./input/display-options.js";
import { Finder } from "./input/find-form.js";
import { Goto } from "./input/goto-form.js";
import { moveToFinding, onKey, showHelp } from "./input/keyboard.js";
import { hearPage, leavePage } from "./input/page-keyboard.js";
import { TimeBar } from "./input/time-bar.js";
import { endsLines } from "./layout/cell-content.js";
import { Layout } from "./layout/layout.js";
import { describeCell } from "./model/cell-description.js";
import { emptyPayload, startsOver, unitAfter } from "./model/increments.js";
import { Model } from "./model/model.js";
import { cellOf, findingAt, Selection } from "./model/selection.js";
import { paintSteps } from "./panels/findings-list.js";
import { PanelHeights } from "./panels/panel-heights.js";
import { Panels } from "./panels/panels.js";
import { hearRaw, rawOf } from "./panels/raw-events.js";
import { paintRaw } from "./panels/raw-panel.js";
import { offerCopies } from "./panels/token-panel.js";
import { Figure } from "./pipeline/figure.js";
import { Tour } from "./pipeline/tour.js";
import { Feed } from "./run-feed.js";
import { SelectionSender } from "./selection-sender.js";

/** @import { Head, Increment, Payload, Selected } from "./model/payload.d.ts" */

const OPENED = "harmony-inspector-tokens";

export class Strip {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.elements = elementsOf(root);
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
    this.panels = new Panels(this.elements, (number) => this.choose(number));
    this.sender = new SelectionSender();
    this.view = new View(this.elements, {
      select: (i) => {
        this.elements.scroller.focus({ preventScroll: true });
        this.select(i);
      },
      extend: (i, from) => this.extend(i, from),
      fold: (start) => this.display.fold(start),
      hover: (i) => {
        this.selection.hover = i;
        this.paint();
      },
      describe: (i) => describeCell(this.model, i),
    });
    this.figure = new Figure(this.elements, this.textWidth, {
      select: (i) => {
        this.elements.pipeline.focus({ preventScroll: true });
        this.select(i);
      },
      hover: (i) => {
        this.selection.hover = i;
        this.paint();
      },
    });
    this.time = new TimeBar(this.elements, this.model, {
      shown: (shown, playing) => this.#arrived(shown, playing),
      selected: () => this.selection.token,
      range: () => this.selection.range,
    });
    this.goto = new Goto(this.elements, (number) => this.#goTo(number));
    this.finder = new Finder(this.elements, {
      model: () => this.model,
      token: () => this.selection.token,
      go: (i) => this.#goTo(i),
      matched: (cells) => this.view.mark({ hits: cells }),
    });
    this.display = new DisplayOptions(this);
    this.unhear = hearRaw((raw) => {
      if (raw.key === this.model.key) this.#paintRaw();
    });
    this.tour = new Tour(this);
    this.#listen();
    hearPage(this);
    this.heights = new PanelHeights([this.elements["token-card"], this.elements.finding]);
    this.laidOut = { width: 0, height: 0 };
    this.size = new ResizeObserver(() => this.#resized());
    this.size.observe(this.root);
  }

  #listen() {
    const { elements } = this;
    const { breaks, help, scroller } = elements;
    elements["finding-back"].onclick = () => moveToFinding(this, -1);
    elements["finding-next"].onclick = () => moveToFinding(this, 1);
    elements["find-open"].onclick = () => this.finder.open();
    elements["help-open"].onclick = () => showHelp(elements);
    help.onclick = (event) => {
      if (event.target === help) help.close();
    };
    help.onclose = () => scroller.focus({ preventScroll: true });
    const chosen = () => {
      const { token, range } = this.selection;
      return { model: this.model, token, range };
    };
    offerCopies(elements, chosen);
    scroller.oncopy = (event) => {
      const { model, token, range } = chosen();
      const text = copyOf(model, token, "text", range);
      if (text === null || !event.clipboardData) return;
      event.preventDefault();
      event.clipboardData.setData("text/plain", text);
    };
    breaks.onchange = () => {
      this.layout.breaks = breaks.checked;
      this.view.relayout(0);
      if (this.selection.token !== null) this.view.reveal(this.selection.token);
    };
    elements.tokens.ontoggle = () => {
      remember(elements.tokens.open);
      this.view.relayout(0);
      if (this.selection.token !== null) this.view.reveal(this.selection.token);
      this.time.paint();
      this.paint();
    };
    elements.tokens.open = remembered();
    elements.pipeline.addEventListener("keydown", (event) => onKey(this, event));
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
    this.sender.send = send;
    this.view.waits = Boolean(head.feed);
    this.figure.ids.of(head);
    if (head.feed) this.root.classList.add("live"); // room for what will grow
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
    const { elements } = this;
    this.panels.renew();
    this.model = new Model(payload);
    const { folds } = this.layout;
    this.layout = new Layout(this.model, this.textWidth);
    if (again) this.layout.folds.takeOver(folds);
    this.layout.breaks = elements.breaks.checked;
    this.rules = this.model.rules;
    if (again) this.selection.fit(this.model);
    else {
      this.selection.clear();
      this.heights.clear();
      this.asked = null;
      elements.scroller.scrollTop = 0;
    }
    elements["breaks-label"].hidden = !endsLines(this.model);
    this.time.show(this.model, { keep: again });
    this.view.marks.shown = this.time.shown;
    this.view.show(this.layout);
    this.figure.show(this.model, { again });
    paintLegend(elements.legend, this.model);
    this.finder.refresh();
    this.display.renew();
    this.layout.heat = this.display.heat;
    this.root.dataset.unit = this.model.unit;
    this.root.classList.toggle("bare", this.model.count === 0 && !this.view.waits);
    this.root.dataset.ready = this.model.key;
    if (!again && !this.view.waits) this.tour.first();
  }

  /**
   * Select what Python asks for.
   * @param {Head} head
   */
  #follow(head) {
    const { model, selection } = this;
    this.asked = head.nonce;
    this.sender.forget();
    this.display.showClient(head.view === "client", { asked: true });
    if (!selection.follow(model, head)) return;
    this.time.reach(selection.needs(model));
    if (selection.token === null) return;
    this.view.reveal(selection.token, { center: true });
    this.figure.reveal(selection.token, { legibly: true });
  }

  /**
   * Read the increments of a growing run, or of none any more.
   * @param {string | null} address
   */
  follow(address) {
    if (address === (this.feed?.address ?? null)) return;
    this.feed?.close();
    this.feed = null;
    if (address === null) {
      if (!this.tour.touched)
        this.figure.reveal(this.model.findings[0]?.start ?? this.model.count, { legibly: true });
      this.paint();
      return;
    }
    const state = (/** @type {string} */ name) => {
      this.root.dataset.feed = name;
    };
    this.feed = new Feed(address, { grow: (columns) => this.append(columns), state });
  }

  /**
   * Take new cells at the right end; see Model.append for the columns.
   * @param {Increment} columns
   */
  append(columns) {
    if (startsOver(this.model, columns)) {
      const { key, tables } = this.model;
      this.show(emptyPayload(key, unitAfter(this.model, columns), tables), { again: true });
    }
    const { model, time, view } = this;
    if (columns.from > model.count) return;
    const follows = time.shown >= model.count;
    const { scrollTop, clientHeight, scrollHeight } = view.scroller;
    const atBottom = scrollTop + clientHeight >= scrollHeight - 40;
    const changed = model.append(columns);
    if (columns.findings) this.panels.renew();
    if (model.rules !== this.rules) view.relayout(0);
    this.rules = model.rules;
    time.grow(follows);
    view.marks.shown = time.shown;
    this.figure.grow(changed);
    view.relayout(changed, { toEnd: follows && atBottom });
    paintLegend(this.elements.legend, model);
    this.finder.refresh();
    this.paint();
  }

  paint() {
    const { model, selection, time } = this;
    const { shown } = time;
    const chosen = selection.findingIn(model);
    const finding = chosen !== null && chosen.knownAt <= shown ? chosen : null;
    const { token, hover, range } = selection;
    const playing = time.playing;
    this.figure.paint({ shown, playing, live: this.feed !== null, selected: token, hover });
    this.tour.paint();
    paintSteps(this.elements, model.findings, { chosen: finding, shown, partly: this.figure.partly });
    this.view.mark({ selected: token, hover, shown, finding, range });
    if (!this.elements.tokens.open) return; // nobody sees the panels
    this.panels.paint(model, selection, { finding, shown, playing });
    this.display.paint(shown);
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
      this.display.open(i);
      this.view.reveal(i, { center });
      this.figure.reveal(i, { legibly: true });
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
    this.display.open(i);
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
    this.elements.findings.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
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
    const { model, elements, selection } = this;
    const { playing } = this.time;
    paintRaw(elements.raw, model, rawOf(model.key), selection.token, { playing });
  }

  /** Tell Python where the user is. */
  tell() {
    const { token, finding, anchor, other, range } = this.selection;
    const to = range === null ? null : token === anchor ? other : anchor;
    const view = this.display.client ? "client" : null;
    this.sender.schedule({ key: this.model.key, token, finding, to, view });
  }

  #resized() {
    const width = this.root.clientWidth;
    const height = window.innerHeight;
    if (width === this.laidOut.width && height === this.laidOut.height) return;
    this.laidOut = { width, height };
    this.view.relayout(0);
    this.time.paintTrack();
    this.figure.resized();
    this.paint();
  }

  close() {
    leavePage(this);
    this.unhear();
    this.feed?.close();
    this.sender.close();
    this.size.disconnect();
    this.heights.close();
    this.time.close();
    this.view.close();
    this.figure.close();
  }
}

/** Whether the reader opened "All tokens" last time. */
function remembered() {
  try {
    return localStorage.getItem(OPENED) === "yes";
  } catch {
    return false; // a browser that keeps nothing
  }
}

/** @param {boolean} open */
function remember(open) {
  try {
    localStorage.setItem(OPENED, open ? "yes" : "no");
  } catch {
    // A browser that keeps nothing.
  }
}
