// The play head: which cells had arrived at a moment. The axis is time from the request where the capture has
// times, else one step an event at a fixed pace.

const PACE = 12; // events a second, for captures without times; cells where all came in one event
const IDLE = 0.5; // seconds that a wait lasts at most while idle gaps are shortened
const MAX_SECONDS = 2; // how long "max" takes for a whole capture

class Axis {
  constructor(model, shortened) {
    const { index, start, at } = model.events;
    const order = index.map((_, k) => k);
    if (model.inOrder) order.sort((a, b) => index[a] - index[b] || a - b);
    this.timed = at !== null && order.length > 0;
    this.byCell = !this.timed && order.length < 2;
    if (this.byCell) { this.#count(model.count); return; }
    this.places = new Float64Array(order.length);
    this.ends = new Int32Array(order.length); // cells that have arrived with that event
    this.gaps = 0;
    let place = 0, before = 0, cells = 0;
    order.forEach((k, number) => {
      let wait = 1 / PACE;
      if (this.timed) {
        wait = Math.max(0, at[k] - before);
        before = Math.max(before, at[k]);
        if (wait > IDLE) {
          this.gaps++;
          if (shortened) wait = IDLE;
        }
      }
      place += wait;
      cells += (start[k + 1] ?? model.count) - start[k];
      this.places[number] = place;
      this.ends[number] = cells;
    });
    this.length = place;
    this.count = model.count;
  }

  // A capture that is one event without a time: its cells one after the other.
  #count(cells) {
    this.places = Float64Array.from({ length: cells }, (_, i) => (i + 1) / PACE);
    this.ends = Int32Array.from({ length: cells }, (_, i) => i + 1);
    this.gaps = 0;
    this.length = cells / PACE;
    this.count = cells;
  }

  // Cells that had arrived at a place of the axis.
  shownAt(place) {
    const number = lastAtMost(this.places, place + 1e-9, (value) => value);
    if (number < 0 || this.places[number] > place + 1e-9) return 0;
    return this.ends[number];
  }

  // The place of the axis at which `shown` cells had arrived.
  placeOf(shown) {
    if (shown <= 0 || !this.ends.length) return 0;
    let low = 0, high = this.ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] >= shown) high = middle;
      else low = middle + 1;
    }
    return this.places[low];
  }
}

class TimeBar {
  constructor(parts, on) {
    this.parts = parts;
    this.on = on; // {shown(count, playing)}
    this.model = null;
    this.axis = null;
    this.shown = 0;
    this.playing = 0;
    parts.back.onclick = () => this.step(-1);
    parts.forward.onclick = () => this.step(1);
    parts.play.onclick = () => this.toggle();
    parts.all.onclick = () => this.moveTo(this.model.count);
    parts.scrub.oninput = () => {
      this.pause();
      this.#at(this.axis.length * (Number(parts.scrub.value) / 10000));
    };
    parts.scrub.onkeydown = (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (by) { event.preventDefault(); this.step(by); }
      else if (event.key === " ") { event.preventDefault(); this.toggle(); }
    };
    parts.gaps.onchange = () => this.show(this.model, { keep: true });
  }

  show(model, { keep = false } = {}) {
    const atEnd = !keep || this.shown >= (this.axis?.count ?? 0);
    this.model = model;
    this.axis = new Axis(model, this.parts.gaps.checked);
    this.parts["gaps-label"].hidden = this.axis.gaps === 0;
    this.parts.pace.textContent = this.axis.timed || !model.count ? "" :
      `no times in this capture: plays ${PACE} ${this.axis.byCell ? "tokens" : "events"} a second`;
    this.shown = atEnd ? model.count : Math.min(this.shown, model.count);
    this.place = this.axis.placeOf(this.shown);
    this.paint();
  }

  get seconds() {
    if (!this.axis.timed || this.shown === 0) return null;
    return this.model.arrivalOf(this.model.arrived(this.shown - 1));
  }

  step(by) {
    this.pause();
    this.moveTo(Math.max(0, Math.min(this.model.count, this.shown + by)));
  }

  moveTo(shown) {
    this.shown = shown;
    this.place = this.axis.placeOf(shown);
    this.paint();
    this.on.shown(shown, false);
  }

  #at(place) {
    this.place = Math.max(0, Math.min(this.axis.length, place));
    this.shown = this.place >= this.axis.length ? this.model.count : this.axis.shownAt(this.place);
    this.paint();
    this.on.shown(this.shown, this.playing !== 0);
  }

  toggle() {
    if (this.playing) { this.pause(); return; }
    if (!this.model.count) return;
    if (this.shown >= this.model.count) { this.place = 0; this.shown = 0; }
    let before = performance.now();
    const frame = (now) => {
      const speed = this.parts.speed.value;
      const passed = (now - before) / 1000;
      before = now;
      const step = speed === "max" ? (passed * this.axis.length) / MAX_SECONDS : passed * Number(speed);
      this.playing = requestAnimationFrame(frame);
      this.#at(this.place + step);
      if (this.shown >= this.model.count) this.pause();
    };
    this.playing = requestAnimationFrame(frame);
    this.paint();
  }

  pause() {
    if (!this.playing) return;
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.paint();
    this.on.shown(this.shown, false);
  }

  paint() {
    const { parts, model, axis } = this;
    parts.root.classList.toggle("playing", this.playing !== 0);
    parts["play-word"].textContent = this.playing ? "pause" : "play";
    const all = this.shown >= model.count;
    parts.all.hidden = all || model.count === 0;
    const share = axis.length ? (all ? 1 : this.place / axis.length) : 1;
    parts.scrub.value = Math.round(share * 10000);
    const unit = model.unit === "piece" ? "piece" : "token";
    const time = duration(this.seconds);
    const sent = Math.min(this.shown, model.sent);
    const cells = all ? count(model.sent, unit) : `${NUMBER.format(sent)} of ${count(model.sent, unit)}`;
    parts.clock.textContent = time ? `${cells} · ${time}` : cells;
    parts.scrub.setAttribute("aria-valuetext", parts.clock.textContent);
    this.paintTrack(share);
  }

  // Ticks at message boundaries, red marks at findings, the played part and the chosen cell.
  paintTrack(share = this.share) {
    this.share = share;
    const { track } = this.parts;
    const width = track.clientWidth, height = track.clientHeight, ratio = window.devicePixelRatio || 1;
    if (!width) return;
    if (track.width !== Math.round(width * ratio)) track.width = Math.round(width * ratio);
    if (track.height !== Math.round(height * ratio)) track.height = Math.round(height * ratio);
    const pen = track.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const ink = (name) => getComputedStyle(track).getPropertyValue(name).trim();
    const { model, axis } = this;
    const knob = 8, middle = height / 2;
    const x = (cell) => knob + (width - knob * 2) * (axis.length ? axis.placeOf(model.rank.values[cell] + 1) / axis.length : 0);
    const bar = (left, right, high, colour) => {
      pen.fillStyle = colour;
      pen.fillRect(left, middle - high / 2, right - left, high);
    };
    bar(knob, width - knob, 3, ink("--line-strong"));
    bar(knob, knob + (width - knob * 2) * share, 3, ink("--accent"));
    let last = -9;
    for (const block of model.blocks) {
      if (block.start === 0) continue;
      const at = Math.round(x(block.start));
      if (at - last < 2) continue;
      last = at;
      bar(at - 0.5, at + 0.5, 12, ink("--faint"));
    }
    last = -9;
    for (const finding of model.findings) {
      if (finding.start === null || finding.knownAt > this.shown) continue;
      const at = Math.round(x(finding.start));
      if (at === last) continue;
      last = at;
      bar(at - 1.5, at + 1.5, 16, ink(finding.severity === "error" ? "--loss" : "--warn"));
    }
    const { selected } = this.on;
    const cell = selected?.();
    if (cell !== null && cell !== undefined && cell < model.count) {
      const at = x(cell);
      pen.fillStyle = ink("--accent");
      pen.beginPath();
      pen.moveTo(at - 4, height);
      pen.lineTo(at + 4, height);
      pen.lineTo(at, height - 6);
      pen.fill();
    }
  }

  close() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
  }
}
