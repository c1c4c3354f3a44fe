// The form that finds tokens: text, ID, channel, special tokens, what was not delivered.

import { make } from "../../dom.js";
import { NUMBER } from "../../numbers.js";
import { channelsOf, isEmpty, search, stepFrom } from "../model/search.js";

/** @import { Model } from "../model/model.js" */
/** @import { Elements } from "../elements.js" */
/** @import { Place } from "../model/search.js" */

export class Finder {
  /**
   * @param {Elements} elements
   * @param {{ model: () => Model, token: () => number | null, go: (i: number) => void,
   *   matched: (cells: Set<number>) => void }} on
   */
  constructor(elements, on) {
    this.elements = elements;
    this.on = on;
    /** @type {Place[]} */
    this.places = [];
    /** @type {number | null} the place that was gone to last */
    this.at = null;
    this.searched = -1; // cells of the model that were searched
    const { find, "find-words": words } = elements;
    find.onsubmit = (event) => {
      event.preventDefault();
      this.step(1);
    };
    find.oninput = () => this.#search();
    find.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.close();
      else if (event.key === "Enter" && event.shiftKey && event.target === words) {
        event.preventDefault();
        this.step(-1);
      }
    };
    elements["find-back"].onclick = () => this.step(-1);
    elements["find-close"].onclick = () => this.close();
  }

  open() {
    const { find, "find-words": words, "find-channel": channel } = this.elements;
    if (find.hidden) {
      const chosen = channel.value;
      const names = channelsOf(this.on.model());
      channel.replaceChildren(new Option("any channel", ""), ...names.map((name) => new Option(name)));
      channel.value = names.includes(chosen) ? chosen : "";
    }
    find.hidden = false;
    words.focus();
    words.select();
    this.#search({ go: false });
  }

  close() {
    this.elements.find.hidden = true;
    this.places = [];
    this.on.matched(new Set());
    this.elements.scroller.focus({ preventScroll: true });
  }

  /** The model is another one, or has grown. */
  refresh() {
    if (!this.elements.find.hidden && this.on.model().count !== this.searched) this.#search({ go: false });
  }

  /** @param {1 | -1} by */
  step(by) {
    this.refresh();
    this.at = stepFrom(this.places, this.on.token(), by);
    if (this.at !== null) this.on.go(this.places[this.at][0]);
    this.#tell();
  }

  #query() {
    const { elements } = this;
    return {
      words: elements["find-words"].value,
      channel: elements["find-channel"].value,
      special: elements["find-special"].checked,
      undelivered: elements["find-undelivered"].checked,
    };
  }

  #search({ go = true } = {}) {
    const model = this.on.model();
    const query = this.#query();
    this.searched = model.count;
    this.places = search(model, query);
    const cells = new Set();
    for (const [start, end] of this.places) for (let i = start; i < end; i++) cells.add(i);
    this.on.matched(cells);
    const token = this.on.token();
    const current = this.places.findIndex(([start, end]) => token !== null && start <= token && token < end);
    this.at = current < 0 ? null : current;
    if (go && this.at === null && !isEmpty(query)) {
      this.at = stepFrom(this.places, token, 1);
      if (this.at !== null) this.on.go(this.places[this.at][0]);
    }
    this.#tell();
  }

  #tell() {
    const all = NUMBER.format(this.places.length);
    const current = this.at === null ? "" : `${NUMBER.format(this.at + 1)} of `;
    const none = isEmpty(this.#query()) ? "" : "no match";
    this.elements["find-count"].replaceChildren(
      make("span", "", this.places.length ? `${current}${all}` : none),
    );
  }
}
