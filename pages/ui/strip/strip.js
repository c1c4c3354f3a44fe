// The component: one Strip for each place on the page, made once and told of changes. Streamlit calls the default
// export again whenever the payload or the theme changes.

const strips = new WeakMap();
const AXIS_AFTER = 300; // ms that the time axis of a growing stream may lag
const SEND_AFTER = 150; // ms of rest before a selection goes to Python

class Strip {
  constructor(parent) {
    this.root = parent.querySelector(".hi");
    this.parts = { root: this.root };
    for (const element of this.root.querySelectorAll("[data-part]")) this.parts[element.dataset.part] = element;
    for (const element of this.root.querySelectorAll("[data-do]")) this.parts[element.dataset.do] = element;
    this.model = null;
    this.selected = null;
    this.finding = null;
    this.hover = null;
    this.digest = null;
    this.asked = null;
    this.view = new View(this.parts, {
      select: (i) => { this.parts.scroller.focus({ preventScroll: true }); this.select(i); },
      hover: (i) => { this.hover = i; this.paint(); },
      describe: (i) => describeCell(this.model, i),
    });
    this.time = new TimeBar(this.parts, {
      shown: (shown, playing) => this.#arrived(shown, playing),
      selected: () => this.selected,
    });
    this.parts.breaks.onchange = () => {
      this.layout.breaks = this.parts.breaks.checked;
      this.view.relayout(0);
      if (this.selected !== null) this.view.reveal(this.selected);
    };
    this.parts.scroller.onkeydown = (event) => this.#key(event);
    this.parts.goto.onsubmit = (event) => { event.preventDefault(); this.#goTo(); };
    this.parts["goto-number"].onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.#closeGoto();
    };
    this.parts["goto-number"].onblur = () => { this.parts.goto.hidden = true; };
    this.parts.help.onclick = (event) => { if (event.target === this.parts.help) this.parts.help.close(); };
    this.parts.help.onclose = () => this.parts.scroller.focus({ preventScroll: true });
    this.size = new ResizeObserver(() => this.#resized());
    this.size.observe(this.view.scroller.parentElement);
  }

  // A head with what to select, and the payload, or null when it is the one already shown.
  receive(head, payload, send) {
    this.send = send;
    this.view.waits = Boolean(head.feed);
    this.theme();
    if (payload) {
      const same = this.model !== null && this.model.key === payload.key;
      this.digest = head.digest;
      this.version = head.digest;
      this.model = new Model(payload);
      this.layout = new Layout(this.model);
      if (!same) {
        this.selected = this.finding = this.hover = null;
        this.asked = null;
        this.view.scroller.scrollTop = 0;
      } else {
        if (this.selected !== null && this.selected >= this.model.count) this.selected = null;
        if (this.finding !== null && this.finding >= this.model.findings.length) this.finding = null;
      }
      this.layout.breaks = this.parts.breaks.checked;
      this.parts["breaks-label"].hidden = !endsLines(this.model);
      this.time.show(this.model, { keep: same });
      this.view.marks.shown = this.time.shown;
      this.view.show(this.model, this.layout);
      paintLegend(this.parts.legend, this.model);
      this.root.dataset.unit = this.model.unit;
      this.root.dataset.ready = this.model.key;
    }
    if (this.model && head.nonce !== this.asked) {
      this.asked = head.nonce;
      this.told = null;
      const inside = Number.isInteger(head.token) && head.token >= 0 && head.token < this.model.count;
      const known = Number.isInteger(head.finding) && this.model.findings[head.finding] !== undefined;
      if (inside || known) {
        this.selected = inside ? head.token : this.model.findings[head.finding].start;
        this.finding = known ? head.finding : this.#findingAt(this.selected);
        this.#showSelected();
        if (this.selected !== null) this.view.reveal(this.selected, { center: true });
      }
    }
    this.paint();
  }

  // An empty strip for a stream that begins, with tokens or pieces for cells.
  begin(unit) {
    const empty = { index: [], start: [], at: [] };
    this.receive(
      { digest: this.digest, nonce: this.asked },
      { key: this.model.key, unit, count: 0, ids: unit === "token" ? [] : null, vocab: {}, texts: {}, events: empty,
        blocks: [], ribbons: [], findings: [], last_at: null, finish: null },
      this.send,
    );
  }

  // Follow a growing run, or nothing any more.
  follow(url) {
    if (url === (this.feed?.url ?? null)) return;
    this.feed?.close();
    this.feed = url ? new Feed(this, url) : null;
  }

  // New cells at the right end; see Model.append for the columns.
  append(columns) {
    const follows = this.time.shown >= this.model.count;
    const { scroller } = this.view;
    const atBottom = scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 40;
    if (this.model.restartedBy(columns)) {
      this.model = new Model({
        key: this.model.key, findings: [], ...columns, blocks: columns.blocks.items, ribbons: columns.ribbons,
      });
      this.layout = new Layout(this.model);
      this.selected = this.finding = this.hover = null;
      this.time.show(this.model);
      this.view.marks.shown = this.model.count;
      this.root.dataset.unit = this.model.unit;
      this.view.show(this.model, this.layout);
      this.rules = this.layout.rules;
      paintLegend(this.parts.legend, this.model);
      this.paint();
      return;
    }
    const changed = this.model.append(columns);
    if (columns.findings) this.version = `${this.digest} ${this.model.count}`;
    if (this.layout.rules !== this.rules) this.view.relayout(0);
    this.rules = this.layout.rules;
    if (follows && !this.time.playing && this.time.axis.count) this.#axisSoon();
    else this.time.show(this.model, { keep: true });
    if (follows) this.time.shown = this.model.count;
    this.view.marks.shown = this.time.shown;
    this.view.relayout(changed || 0, { toEnd: follows && atBottom });
    paintLegend(this.parts.legend, this.model);
    this.paint();
  }

  // While the head follows the newest cell, the axis may lag a little: making it reads all events.
  #axisSoon() {
    this.axisTimer ??= setTimeout(() => {
      this.axisTimer = undefined;
      const follows = this.time.shown >= this.model.count;
      this.time.show(this.model, { keep: true });
      if (follows) this.time.shown = this.model.count;
    }, AXIS_AFTER);
  }

  theme() {
    const ground = getComputedStyle(this.root).getPropertyValue("--st-background-color").trim();
    this.root.dataset.theme = isDark(ground) ? "dark" : "light";
  }

  paint() {
    const { model, parts } = this;
    if (!model) return;
    const finding = this.finding === null ? null : model.findings[this.finding];
    this.view.mark({
      selected: this.selected, hover: this.hover, shown: this.time.shown,
      finding: finding && finding.start !== null && finding.knownAt <= this.time.shown ? finding : null,
    });
    const visible = finding && finding.knownAt <= this.time.shown ? this.finding : null;
    paintFindings(parts, model, { chosen: visible, shown: this.time.shown, choose: (k) => this.choose(k), version: this.version });
    const panel = [this.version, visible].join(" ");
    if (panel !== this.panel) { this.panel = panel; paintFinding(parts.finding, model, visible); }
    const token = this.hover ?? this.selected;
    paintToken(parts, model, token);
    const readout = this.selected === null ? "" : describeCell(model, this.selected);
    if (parts.readout.textContent !== readout) parts.readout.textContent = readout;
    this.time.paintTrack();
  }

  select(i, { finding } = {}) {
    this.selected = i;
    if (finding !== undefined) this.finding = finding;
    else {
      const now = this.finding === null ? null : this.model.findings[this.finding];
      const inside = (one) => one.start !== null && one.start <= i && i < one.end;
      if (!now || !inside(now)) this.finding = this.#findingAt(i);
    }
    this.#showSelected();
    if (i !== null) this.view.reveal(i);
    this.paint();
    this.#tell();
  }

  // The narrowest finding whose cells include i.
  #findingAt(i) {
    if (!this.model.wrong.values[i]) return null;
    const inside = (one) => one.start !== null && one.start <= i && i < one.end;
    let best = null;
    for (const one of this.model.findings) {
      if (inside(one) && WRONG_CELLS.has(one.kind) && (best === null || one.end - one.start < best.end - best.start)) best = one;
    }
    return best?.number ?? null;
  }

  // Choosing something that had not arrived yet moves the play head to it.
  #showSelected() {
    const rank = this.selected === null ? -1 : this.model.rank.values[this.selected];
    const finding = this.finding === null ? null : this.model.findings[this.finding];
    const needed = Math.max(rank + 1, finding ? finding.knownAt : 0);
    if (needed > this.time.shown) {
      this.time.shown = needed;
      this.time.place = this.time.axis.placeOf(needed);
      this.time.paint();
    }
  }

  choose(number) {
    const finding = this.model.findings[number];
    let cell = finding.start;
    if (cell === null && Number.isInteger(finding.event_start)) {
      const k = lastAtMost(this.model.events.index, finding.event_start, (event) => event);
      if (k >= 0 && this.model.count) cell = this.model.events.start[k];
    }
    this.time.pause();
    this.select(cell ?? this.selected, { finding: number });
    if (cell !== null) this.view.reveal(cell, { center: true });
    this.parts.findings.querySelector("[aria-current]")?.scrollIntoView?.({ block: "nearest" });
  }

  #arrived(shown, playing) {
    if (shown > 0 && (playing || shown < this.model.count)) {
      this.selected = this.model.arrived(shown - 1);
      this.finding = this.#findingAt(this.selected);
      this.view.marks.shown = shown;
      this.view.reveal(this.selected);
    }
    this.paint();
    if (!playing) this.#tell();
  }

  #tell() {
    clearTimeout(this.telling);
    const told = { key: this.model.key, token: this.selected, finding: this.finding };
    this.telling = setTimeout(() => {
      const words = JSON.stringify(told);
      if (words === this.told) return;
      this.told = words;
      this.send?.({ ...told, at: Date.now() });
    }, SEND_AFTER);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.model) return;
    const { model } = this;
    const last = Math.max(0, this.time.shown - 1);
    const here = this.selected ?? -1;
    const to = (i) => { if (model.count) this.select(Math.max(0, Math.min(model.count - 1, i))); };
    const act = {
      ArrowRight: () => to(here + 1),
      ArrowLeft: () => to(here < 0 ? last : here - 1),
      ArrowDown: () => to(here < 0 ? 0 : this.view.beside(here, 1)),
      ArrowUp: () => to(here < 0 ? 0 : this.view.beside(here, -1)),
      PageDown: () => to(here < 0 ? 0 : this.view.beside(here, this.view.rowsInSight)),
      PageUp: () => to(here < 0 ? 0 : this.view.beside(here, -this.view.rowsInSight)),
      Home: () => to(0),
      End: () => to(model.count - 1),
      n: () => this.#nextFinding(1),
      p: () => this.#nextFinding(-1),
      "]": () => this.#nextBlock(1),
      "[": () => this.#nextBlock(-1),
      " ": () => this.time.toggle(),
      g: () => this.#openGoto(),
      "?": () => { if (!this.parts.help.open) this.parts.help.showModal(); },
    }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  #nextFinding(by) {
    const { findings } = this.model;
    if (!findings.length) return;
    if (this.finding !== null) { this.choose((this.finding + by + findings.length) % findings.length); return; }
    const here = this.selected ?? -1;
    const order = by > 0 ? findings : findings.toReversed();
    const next = order.find((one) => one.start !== null && (by > 0 ? one.start >= here : one.start <= here)) ?? order[0];
    this.choose(next.number);
  }

  #nextBlock(by) {
    const { blocks, count: cells } = this.model;
    if (!cells) return;
    const at = this.selected === null ? -1 : this.model.blockOf(this.selected);
    const inside = this.selected !== null && by < 0 && this.selected > blocks[at].start;
    const target = inside ? at : Math.max(0, Math.min(blocks.length - 1, at + by));
    this.select(blocks[target].start);
  }

  #openGoto() {
    this.parts.goto.hidden = false;
    this.parts["goto-number"].value = "";
    this.parts["goto-number"].focus();
  }

  #closeGoto() {
    this.parts.goto.hidden = true;
    this.parts.scroller.focus({ preventScroll: true });
  }

  #goTo() {
    const wanted = Number.parseInt(this.parts["goto-number"].value.replace(/[^\d]/g, ""), 10);
    this.#closeGoto();
    if (!Number.isInteger(wanted) || !this.model.count) return;
    const i = Math.min(wanted, this.model.count - 1);
    this.select(i);
    this.view.reveal(i, { center: true });
  }

  #resized() {
    if (!this.model) return;
    const width = this.view.scroller.parentElement.clientWidth;
    const height = window.innerHeight;
    if (width === this.seenWidth && height === this.seenHeight) return;
    this.seenWidth = width;
    this.seenHeight = height;
    this.view.relayout(0);
    this.time.paintTrack();
  }

  close() {
    this.feed?.close();
    clearTimeout(this.telling);
    clearTimeout(this.axisTimer);
    this.size.disconnect();
    this.time.close();
    this.view.close();
  }
}

function isDark(colour) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = "#ffffff";
  pen.fillStyle = colour;
  const hex = /^#(..)(..)(..)/.exec(pen.fillStyle);
  if (!hex) return false;
  const [red, green, blue] = hex.slice(1).map((part) => Number.parseInt(part, 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 < 128;
}

// Bytes from Python: a head as one line of JSON, then the payload as JSON. The head names the payload, so that one
// already shown is not read again.
function unpack(data, digest) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const line = bytes.indexOf(10);
  const reader = new TextDecoder();
  const head = JSON.parse(reader.decode(bytes.subarray(0, line)));
  const payload = head.digest === digest ? null : JSON.parse(reader.decode(bytes.subarray(line + 1)));
  return { head, payload };
}

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  let strip = strips.get(parentElement);
  if (strip && !strip.root.isConnected) {
    strip.close();
    strip = undefined;
  }
  if (!strip) {
    strip = new Strip(parentElement);
    strips.set(parentElement, strip);
    strip.root.strip = strip;
  }
  const { head, payload } = unpack(data, strip.digest);
  strip.receive(head, payload, (selection) => setStateValue("selection", selection));
  strip.follow(head.feed ?? null);
  return () => {
    strip.close();
    strips.delete(parentElement);
  };
}
