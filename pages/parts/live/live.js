// State now, figures and delivered text of a run; drawn again whenever Python tells, and between
// two words from Python whenever the strip's feed does.

import { make, paint } from "../../ui/dom.js";
import { duration, NUMBER } from "../../ui/numbers.js";
import { STREAM_STATE } from "../../ui/strip/run-feed.js";
import { visibleParts } from "../../ui/text.js";

/** @import { Component } from "../../ui/component.d.ts" */
/** @import { StreamUpdate } from "../../ui/strip/run-feed.js" */

/** @typedef {[label: string, value: string]} Figure */
/** @typedef {[name: string, text: string, length: number]} Field */
/**
 * What Python tells: the head of a run, or its text.
 * @typedef {object} Now
 * @property {string} [state]
 * @property {string} [silence] for how long nothing has come; empty while the stream flows
 * @property {string} [feed] the address of the strip's feed
 * @property {Figure[]} [figures]
 * @property {string | null} [verdict]
 * @property {Field[]} [fields]
 */

/** @type {WeakMap<HTMLElement, string>} the feed that each place listens to */
const listening = new WeakMap();

/** @param {Component<Now>} component */
export default function ({ data, parentElement }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".now"));
  const parts = [];
  if (data.state) {
    const state = make("p", "state");
    if (data.feed) state.append(make("i", "pulse"));
    state.append(make("span", "quiet", "now: "), stateWords(data.state));
    state.append(make("span", "silence", data.silence ? ` · ${data.silence}` : ""));
    parts.push(state);
  }
  if (data.figures) parts.push(figures(data.figures));
  root.classList.toggle("line", data.state !== undefined);
  if (data.verdict) {
    parts.push(paint(make("p", "found"), visibleParts(data.verdict, { spaces: false, most: 400 })));
  }
  if (data.fields?.length) parts.push(fields(data.fields));
  root.replaceChildren(...parts);
  if (data.feed) listen(root, data.feed);
}

/**
 * @param {HTMLElement} root
 * @param {string} feed
 */
function listen(root, feed) {
  if (listening.get(root) === feed) return;
  listening.set(root, feed);
  /** @param {Event} event */
  const hear = (event) => {
    const { detail } = /** @type {CustomEvent<StreamUpdate>} */ (event);
    if (!root.isConnected || listening.get(root) !== feed) window.removeEventListener(STREAM_STATE, hear);
    else if (detail.feed === feed) update(root, detail);
  };
  window.addEventListener(STREAM_STATE, hear);
}

/** @param {string} words */
function stateWords(words) {
  return paint(make("b"), visibleParts(words, { spaces: false, most: 200 }));
}

/**
 * @param {HTMLElement} root
 * @param {StreamUpdate} told
 */
function update(root, { now, pace }) {
  const framed = now.state === "body" || now.state === "header";
  const of = framed && now.channel ? ` of ${now.channel}` : "";
  const to = framed && now.recipient ? ` to ${now.recipient}` : "";
  root.querySelector(".state b")?.replaceWith(stateWords(now.state + of + to));
  root.querySelector(".silence")?.replaceChildren();
  if (!pace) return;
  const rows = /** @type {Figure[]} */ ([
    ["tokens", rounded(pace.tokens)],
    ["tokens/s", rounded(pace.tokens_per_s)],
    ["first token", duration(pace.first_token_s)],
    ["events", rounded(pace.events)],
  ]);
  root.querySelector(".figures")?.replaceWith(figures(rows.filter(([, value]) => value)));
}

/** @param {number | null} number; empty where it is none or unknown */
function rounded(number) {
  return number ? NUMBER.format(Math.round(number)) : "";
}

/** @param {Figure[]} rows */
function figures(rows) {
  const list = make("dl", "figures");
  for (const [label, value] of rows) {
    const pair = make("div");
    pair.append(make("dd", "", value), make("dt", "", label));
    list.append(pair);
  }
  return list;
}

/** @param {Field[]} all */
function fields(all) {
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
