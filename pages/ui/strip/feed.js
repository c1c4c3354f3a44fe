// A growing run: increments from the server, given to the strip once a frame. A browser that loses the connection
// takes it up again at the last cell it has (`Last-Event-ID`), so nothing is missed.

const WAIT = 120; // ms that increments wait at most when the tab draws no frames

const TOLD = "inspector-feed"; // tells the rest of the page where the stream is

class Feed {
  constructor(strip, url) {
    this.strip = strip;
    this.url = url;
    this.queue = [];
    this.source = new EventSource(url);
    this.source.addEventListener("grow", (event) => this.#take(JSON.parse(event.data)));
    this.source.addEventListener("end", () => { this.#flush(); this.#state("ended"); this.source.close(); });
    this.source.onopen = () => this.#state("open");
    // An answer that is no stream (the run is gone) is not asked for again by the browser.
    this.source.onerror = () => this.#state(this.source.readyState === EventSource.CLOSED ? "gone" : "lost");
    this.#state("connecting");
  }

  #take(columns) {
    this.queue.push(columns);
    if (this.waiting) return;
    const flush = () => { if (this.waiting) this.#flush(); };
    this.waiting = { frame: requestAnimationFrame(flush), timer: setTimeout(flush, WAIT) };
  }

  #flush() {
    if (this.waiting) { cancelAnimationFrame(this.waiting.frame); clearTimeout(this.waiting.timer); }
    this.waiting = null;
    const queue = this.queue;
    this.queue = [];
    let joined = null;
    for (const columns of queue) {
      if (joined && joins_on(joined, columns)) joined = join(joined, columns);
      else {
        if (joined) this.#give(joined);
        joined = columns;
      }
    }
    if (joined) this.#give(joined);
    const told = queue.findLast((columns) => columns.now);
    const paced = queue.findLast((columns) => columns.pace);
    if (told) window.dispatchEvent(new CustomEvent(TOLD, { detail: { feed: this.url, now: told.now, pace: paced?.pace } }));
  }

  #give(columns) {
    const { model } = this.strip;
    // The stream begins: with cells of the other kind, or again from its first cell.
    const begins = columns.from === 0 && columns.count > 0 && (columns.unit !== model.unit || model.count > 0);
    if (begins && columns.events.index.length) this.strip.begin(columns.unit);
    if (columns.from <= this.strip.model.count) this.strip.append(columns);
  }

  #state(state) { this.strip.root.dataset.feed = state; }

  close() {
    this.source.close();
    if (this.waiting) { cancelAnimationFrame(this.waiting.frame); clearTimeout(this.waiting.timer); }
    this.waiting = null;
  }
}

// What comes while a frame is drawn is one increment at the next: each costs the strip about the same.
function joins_on(before, after) {
  return after.from === before.count && (after.unit === before.unit || !after.events.index.length);
}

function join(before, after) {
  const at = before.events.at && after.events.at ? before.events.at.concat(after.events.at) : null;
  return {
    ...before,
    ...after,
    unit: before.unit,
    from: before.from,
    ids: before.ids && after.ids ? before.ids.concat(after.ids) : before.ids,
    vocab: { ...before.vocab, ...after.vocab },
    texts: { ...before.texts, ...after.texts },
    events: { index: before.events.index.concat(after.events.index), start: before.events.start.concat(after.events.start), at },
    blocks: tail(before.blocks, after.blocks, "items"),
    ribbons: after.ribbons.length && before.ribbons.length
      ? after.ribbons.map((lane, n) => ({ label: lane.label, ...tail(before.ribbons[n] ?? lane, lane, "runs") }))
      : after.ribbons.length ? after.ribbons : before.ribbons,
    findings: after.findings ?? before.findings,
    last_at: after.last_at ?? before.last_at,
  };
}

// Two changes of the end of a list as one.
function tail(before, after, name) {
  if (after.from <= before.from) return { from: after.from, [name]: after[name] };
  return { from: before.from, [name]: before[name].slice(0, after.from - before.from).concat(after[name]) };
}
