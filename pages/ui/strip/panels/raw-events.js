// The raw events of the chosen token. Python sends them through a component of their own, which shows nothing: its
// default export. The strip imports the same module and listens.

/** @import { Component } from "../../component.d.ts" */

/**
 * @typedef {object} RawEvent
 * @property {string} side of a comparison; empty for the one event of a capture
 * @property {number | null} event null when no event is known
 * @property {string} text as received, bounded
 * @property {number} more characters after it
 */
/**
 * @typedef {object} RawEvents
 * @property {string} key of the payload that the strip shows
 * @property {number | null} cell that they brought
 * @property {RawEvent[]} events
 */

/** @type {Map<string, RawEvents>} the last ones, by payload */
const last = new Map();
/** @type {Set<(raw: RawEvents) => void>} */
const listeners = new Set();
const KEPT = 8;

/** @param {Component<[RawEvents]>} component */
export default function ({ data: [raw] }) {
  last.delete(raw.key);
  last.set(raw.key, raw);
  for (const key of last.keys()) if (last.size > KEPT) last.delete(key);
  for (const listener of listeners) listener(raw);
}

/** @param {string} key */
export function rawOf(key) {
  return last.get(key) ?? null;
}

/**
 * @param {(raw: RawEvents) => void} listener
 * @returns {() => void} ends it
 */
export function hearRaw(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
