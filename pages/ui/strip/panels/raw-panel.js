// The raw event of the chosen token, below the tokens; of a comparison the events of both sides.

import { make, paint } from "../../dom.js";
import { NUMBER } from "../../numbers.js";
import { visibleParts } from "../../text.js";
import { copy } from "../input/copy.js";

/** @import { Model } from "../model/model.js" */
/** @import { RawEvent, RawEvents } from "./raw-events.js" */

const MOST = 8000; // characters
const NOTHING_CHOSEN = "Select a token to see the event that brought it.";

/**
 * @typedef {object} Card one event with its title
 * @property {HTMLElement} title
 * @property {HTMLButtonElement} button
 * @property {HTMLElement} text
 * @property {RawEvent | null} shown
 */

/** @type {WeakMap<HTMLElement, Card[]>} */
const cards = new WeakMap();

/**
 * @param {HTMLElement} box
 * @param {Model} model
 * @param {RawEvents | null} raw
 * @param {number | null} token
 * @param {{ playing: boolean }} now while it plays, Python is not asked for each token's event
 */
export function paintRaw(box, model, raw, token, { playing }) {
  box.hidden = raw === null;
  if (raw === null) return;
  const mine = cardsIn(box, raw.events.length);
  const late = !playing && isLate(model, raw, token);
  for (const [n, event] of raw.events.entries()) paintCard(mine[n], event, late, token);
}

/**
 * True until Python has told the event of the cell that is chosen now.
 * @param {Model} model
 * @param {RawEvents} raw
 * @param {number | null} token
 */
function isLate(model, raw, token) {
  if (raw.cell === token || token === null) return false;
  if (raw.events.length > 1) return true;
  const k = model.events.of(token);
  return k >= 0 && model.events.index[k] >= 0 && model.events.index[k] !== raw.events[0].event;
}

/**
 * @param {HTMLElement} box
 * @param {number} count
 */
function cardsIn(box, count) {
  const known = cards.get(box);
  if (known?.length === count) return known;
  const made = Array.from({ length: count }, () => newCard());
  box.replaceChildren(
    ...made.map(({ title, button, text }) => {
      const part = make("section");
      const head = make("h2");
      head.append(title, button);
      part.append(head, text);
      return part;
    }),
  );
  cards.set(box, made);
  return made;
}

/** @returns {Card} */
function newCard() {
  const card = {
    title: make("span"),
    button: make("button", "small", "copy"),
    text: make("pre"),
    shown: null,
  };
  card.title.dataset.part = "raw-title";
  card.text.tabIndex = 0;
  card.button.type = "button";
  /** @type {Card} */
  const made = card;
  card.button.onclick = () => copy(card.button, made.shown?.text ?? null);
  return made;
}

/**
 * @param {Card} card
 * @param {RawEvent} raw
 * @param {boolean} late
 * @param {number | null} token
 */
function paintCard(card, raw, late, token) {
  const side = raw.side ? `${raw.side}: ` : "";
  const name = raw.event === null ? `${side}event` : `${side}event ${NUMBER.format(raw.event)}`;
  const state = late ? ", loading" : raw.event === null ? "" : ", as received";
  card.title.textContent = name.slice(0, 1).toUpperCase() + name.slice(1) + state;
  card.button.disabled = raw.event === null;
  if (card.shown === raw && raw.event !== null) return;
  card.shown = raw;
  const absent = raw.side && token !== null ? "This side has no event for this token." : NOTHING_CHOSEN;
  paint(card.text, visibleParts(raw.event === null ? absent : raw.text, { spaces: false, most: MOST }));
  if (!raw.more) return;
  const where = raw.side ? "open the capture in Replay" : "see the tab Events";
  card.text.append(` … ${NUMBER.format(raw.more)} more characters: ${where}`);
}
