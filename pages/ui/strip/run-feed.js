// A growing run: increments from the server, given to the strip once a frame. A browser that loses the
// connection takes it up again at the last cell it has (`Last-Event-ID`), so nothing is missed.

import { joinedUp } from "./model/increments.js";

/** @import { Increment, PaceRow, StreamState } from "./model/payload.d.ts" */

const WAIT = 120; // ms that increments wait at most when the tab draws no frames
/** The event that tells the rest of the page where the stream is, with `StreamUpdate` as its detail. */
export const STREAM_STATE = "inspector-feed";

/** @typedef {{ feed: string, now: StreamState, pace?: PaceRow }} StreamUpdate */
/** @typedef {"connecting" | "open" | "lost" | "gone" | "ended"} FeedState */

export class Feed {
  /**
   * @param {string} address as Python names it, relative to the page
   * @param {{ grow: (columns: Increment) => void, state: (state: FeedState) => void }} on
   */
  constructor(address, on) {
    this.address = address;
    this.on = on;
    /** @type {Increment[]} */
    this.queue = [];
    /** @type {{ frame: number, timer: ReturnType<typeof setTimeout> } | null} */
    this.waiting = null;
    this.source = new EventSource(new URL(address, document.baseURI));
    this.source.addEventListener("grow", (event) => this.#take(JSON.parse(event.data)));
    this.source.addEventListener("end", () => {
      this.#flush();
      on.state("ended");
      this.source.close();
    });
    this.source.onopen = () => on.state("open");
    // An answer that is no stream (the run is gone) is not asked for again by the browser.
    this.source.onerror = () => on.state(this.source.readyState === EventSource.CLOSED ? "gone" : "lost");
    on.state("connecting");
  }

  /** @param {Increment} columns */
  #take(columns) {
    this.queue.push(columns);
    if (this.waiting) return;
    const flush = () => {
      if (this.waiting) this.#flush();
    };
    this.waiting = { frame: requestAnimationFrame(flush), timer: setTimeout(flush, WAIT) };
  }

  #flush() {
    this.#wake();
    const { queue } = this;
    this.queue = [];
    for (const columns of joinedUp(queue)) this.on.grow(columns);
    const now = queue.findLast((columns) => columns.now)?.now;
    const pace = queue.findLast((columns) => columns.pace)?.pace;
    if (!now) return;
    /** @type {StreamUpdate} */
    const detail = { feed: this.address, now, pace };
    window.dispatchEvent(new CustomEvent(STREAM_STATE, { detail }));
  }

  #wake() {
    if (!this.waiting) return;
    cancelAnimationFrame(this.waiting.frame);
    clearTimeout(this.waiting.timer);
    this.waiting = null;
  }

  close() {
    this.source.close();
    this.#wake();
  }
}
