// Find in tokens: the places that hold a text or a token ID, and filters on channel, kind and delivery.

/** @import { Model } from "./model.js" */

/**
 * What is looked for. Empty words match every cell that passes the filters.
 * @typedef {object} Query
 * @property {string} words a text in any case, or a token ID
 * @property {string} channel empty for every channel
 * @property {boolean} special special tokens only
 * @property {boolean} undelivered what the client did not get only
 */
/** @typedef {[start: number, end: number]} Place cells, half-open */

/** @param {Query} query */
export function isEmpty({ words, channel, special, undelivered }) {
  return !words && !channel && !special && !undelivered;
}

/**
 * The channels, or fields where no tokens are known, that blocks have, in the order of the stream.
 * @param {Model} model
 */
export function channelsOf(model) {
  const names = model.blocks.map(({ channel }) => channel).filter((name) => name !== null);
  return [...new Set(names)];
}

/**
 * All places that match, in order.
 * @param {Model} model
 * @param {Query} query
 * @returns {Place[]}
 */
export function search(model, query) {
  if (isEmpty(query)) return [];
  const passes = (/** @type {number} */ i) => passesFilters(model, query, i);
  if (!query.words) return stretches(model.count, passes, query.special);
  const places = [...byText(model, query.words), ...byId(model, query.words)];
  const kept = places.filter(([start, end]) => some(start, end, passes));
  kept.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  return kept.filter(([start], n) => n === 0 || start !== kept[n - 1][0]);
}

/**
 * The number of the place to go to from a cell: the next one after it or the previous one before it, going round.
 * @param {Place[]} places
 * @param {number | null} from
 * @param {1 | -1} by
 */
export function stepFrom(places, from, by) {
  if (!places.length) return null;
  const origin = from ?? (by > 0 ? -1 : Infinity);
  if (by > 0) {
    const next = places.findIndex(([start]) => start > origin);
    return next < 0 ? 0 : next;
  }
  const before = places.findLastIndex(([start]) => start < origin);
  return before < 0 ? places.length - 1 : before;
}

/**
 * @param {Model} model
 * @param {Query} query
 * @param {number} i
 */
function passesFilters(model, { channel, special, undelivered }, i) {
  if (channel && model.blockAt(i).channel !== channel) return false;
  if (special && !model.isSpecialToken(i)) return false;
  return !undelivered || isUndelivered(model, i);
}

/**
 * Whether the client did not get a cell.
 * @param {Model} model
 * @param {number} i
 */
export function isUndelivered(model, i) {
  if (model.unsentOf(i)) return true;
  return model.pictures.some((picture) => picture.lost(i));
}

/**
 * Neighbours that pass are one place, unless each counts for itself.
 * @param {number} count
 * @param {(i: number) => boolean} passes
 * @param {boolean} apart
 * @returns {Place[]}
 */
function stretches(count, passes, apart) {
  /** @type {Place[]} */
  const places = [];
  for (let i = 0; i < count; i++) {
    if (!passes(i)) continue;
    const last = places[places.length - 1];
    if (!apart && last && last[1] === i) last[1] = i + 1;
    else places.push([i, i + 1]);
  }
  return places;
}

/**
 * Texts are looked for in each block as a whole, so that words that several tokens make are found.
 * @param {Model} model
 * @param {string} words
 * @returns {Place[]}
 */
function byText(model, words) {
  const wanted = words.toLowerCase();
  /** @type {Place[]} */
  const places = [];
  for (const block of model.blocks) {
    let text = "";
    /** @type {number[]} where the text of each cell begins */
    const starts = [];
    for (let i = block.start; i < block.end; i++) {
      starts.push(text.length);
      text += (model.textOf(i) ?? "").toLowerCase();
    }
    let cell = 0;
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      while (cell + 1 < starts.length && starts[cell + 1] <= at) cell++;
      let last = cell;
      while (last + 1 < starts.length && starts[last + 1] < at + wanted.length) last++;
      places.push([block.start + cell, block.start + last + 1]);
    }
  }
  return places;
}

/**
 * @param {Model} model
 * @param {string} words
 * @returns {Place[]}
 */
function byId(model, words) {
  const digits = words.trim().replaceAll(/[\s,_]/g, "");
  if (!/^\d+$/.test(digits)) return [];
  const wanted = Number(digits);
  /** @type {Place[]} */
  const places = [];
  for (let i = 0; i < model.count; i++) {
    const id = model.unsentOf(i)?.id ?? model.idOf(i);
    if (id === wanted) places.push([i, i + 1]);
  }
  return places;
}

/**
 * @param {number} start
 * @param {number} end
 * @param {(i: number) => boolean} passes
 */
function some(start, end, passes) {
  for (let i = start; i < end; i++) if (passes(i)) return true;
  return false;
}
