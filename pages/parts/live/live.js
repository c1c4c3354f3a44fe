// State now, metrics and delivered text of a run. Two tell of a run that grows: the strip's feed at once, and Python
// once a second. What is drawn stays until a newer state arrives, and never goes back.

import { make, paint } from "../../ui/dom.js";
import { NUMBER } from "../../ui/numbers.js";
import { STREAM_STATE } from "../../ui/strip/run-feed.js";
import { visibleParts } from "../../ui/text.js";
import { figureWords, newer, stateWords } from "./stream-words.js";

/** @import { Component } from "../../ui/component.d.ts" */
/** @import { PaceRow, StreamState } from "../../ui/strip/model/payload.d.ts" */
/** @import { StreamUpdate } from "../../ui/strip/run-feed.js" */

/** @typedef {[name: string, text: string, length: number]} Field */
/**
 * What Python tells of a run: where it is, or its text.
 * @typedef {object} Told
 * @property {Head} [head]
 * @property {Field[]} [fields]
 */
/**
 * @typedef {object} Head
 * @property {string} feed the address of the strip's feed
 * @property {boolean} sent true while only the request was sent
 * @property {string} silence for how long nothing has come; empty while the stream flows
 * @property {StreamState} now
 * @property {PaceRow} pace
 */

/** @type {WeakMap<HTMLElement, StreamUpdate>} by place what is drawn there */
const drawn = new WeakMap();

/** @param {Component<Told>} component */
export default function ({ data: { head, fields }, parentElement }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".now"));
  root.classList.toggle("line", head !== undefined);
  if (!head) {
    root.replaceChildren(...(fields?.length ? [cards(fields)] : []));
    return;
  }
  if (drawn.get(root)?.feed !== head.feed) {
    drawn.set(root, head);
    const state = make("p", "state");
    state.append(make("i", "pulse"), make("span", "quiet", "now: "), make("span", "words"));
    root.replaceChildren(state, make("dl", "figures"));
    listen(root, head.feed);
  }
  draw(root, head);
}

/**
 * @param {HTMLElement} root
 * @param {string} feed
 */
function listen(root, feed) {
  /** @param {Event} event */
  const hear = (event) => {
    const { detail } = /** @type {CustomEvent<StreamUpdate>} */ (event);
    const listens = root.isConnected && drawn.get(root)?.feed === feed;
    if (!listens) window.removeEventListener(STREAM_STATE, hear);
    else if (detail.feed === feed) draw(root, detail);
  };
  window.addEventListener(STREAM_STATE, hear);
}

/**
 * @param {HTMLElement} root
 * @param {StreamUpdate & Partial<Head>} told
 */
function draw(root, { feed, now: told, pace: paceTold, sent = false, silence = "" }) {
  const before = drawn.get(root);
  const now = newer(before?.now, told) ?? told;
  const pace = newer(before?.pace, paceTold);
  drawn.set(root, { feed, now, pace });
  const [known, derived] = stateWords(now, sent);
  const words = paint(make("b"), visibleParts(known, { spaces: false, most: 200 }));
  const silent = make("span", "silence", silence && now === told ? ` · ${silence}` : "");
  root.querySelector(".words")?.replaceChildren(words, make("span", "quiet", derived), silent);
  if (pace) root.querySelector(".figures")?.replaceChildren(...figureWords(pace).map(figure));
}

/** @param {[value: string, label: string]} words */
function figure([value, label]) {
  const pair = make("div");
  pair.append(make("dd", "", value), make("dt", "", label));
  return pair;
}

/** @param {Field[]} all */
function cards(all) {
  const box = make("div", "fields");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "What the client received");
  for (const [name, text, length] of all) {
    const card = make("section");
    const head = paint(make("h2"), visibleParts(name, { spaces: false, most: 60 }));
    head.append(make("span", "quiet", ` ${NUMBER.format(length)} characters`));
    const body = make("pre");
    if (text.length < length) body.append(make("span", "quiet", "… "));
    body.append(text);
    card.append(head, body);
    box.append(card);
  }
  return box;
}
