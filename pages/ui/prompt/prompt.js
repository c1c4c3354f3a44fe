// The prompt: what it differs in, in sentences, then a block for each message.

import { make, paint } from "../dom.js";
import { NUMBER } from "../numbers.js";
import { isDark } from "../strip/draw/canvas.js";
import { plainText, visibleParts } from "../text.js";

/** @import { Component } from "../component.d.ts" */

/** @typedef {{ kind: "gap" | "missing", text: string }} Between */
/**
 * @typedef {object} Message
 * @property {"message"} kind
 * @property {string} title
 * @property {string} meta
 * @property {string} hue
 * @property {boolean} open the header that the response continues
 * @property {string} text
 * @property {number} text_more characters that are not here
 * @property {[text: string, id: number, header: boolean][] | null} tokens
 * @property {number} tokens_more
 * @property {string[]} notes
 */
/**
 * @typedef {object} Prompt
 * @property {string} level
 * @property {string} sentence
 * @property {string} source
 * @property {{ level: string, text: string }[]} rest
 * @property {number} more differences that are not here
 * @property {(Between | Message)[]} blocks
 */

const SIGNS = new Map([
  ["warning", { sign: "!", word: "warning" }],
  ["note", { sign: "i", word: "note" }],
  ["clean", { sign: "✓", word: "no difference" }],
]);
const UNKNOWN = { sign: "?", word: "not compared" };
const SENTENCE_AT_MOST = 600;

/** @param {Component<Prompt>} component */
export default function ({ data, parentElement }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".prompt"));
  const ground = getComputedStyle(root).getPropertyValue("--st-background-color");
  root.dataset.theme = isDark(ground) ? "dark" : "light";
  const differences = make("ul", "told");
  differences.setAttribute("aria-label", "Differences from the request");
  differences.append(
    said(data.level, data.sentence),
    ...data.rest.map(({ level, text }) => said(level, text)),
  );
  if (data.more) differences.append(make("li", "quiet", `${NUMBER.format(data.more)} more differences`));
  const list = make("ol", "blocks");
  list.setAttribute("aria-label", "Messages of the prompt");
  list.append(...data.blocks.map((block) => (block.kind === "message" ? message(block) : between(block))));
  root.replaceChildren(differences, make("p", "quiet", `From ${data.source}.`), list);
}

/**
 * @param {string} level
 * @param {string} words
 */
function said(level, words) {
  const { sign, word } = SIGNS.get(level) ?? UNKNOWN;
  const line = make("li", "said");
  line.dataset.level = level;
  const bullet = make("span", "bullet", sign);
  bullet.setAttribute("role", "img");
  bullet.setAttribute("aria-label", word);
  line.append(bullet, sentence("span", "", words));
  return line;
}

/** @param {Between} block */
function between({ kind, text }) {
  return sentence("li", kind, kind === "gap" ? `⋯ ${text} ⋯` : text);
}

/** @param {Message} block */
function message(block) {
  const item = make("li", block.open ? "message open" : "message");
  item.dataset.hue = block.hue;
  const head = make("div", "head");
  head.append(
    paint(make("span", "title"), visibleParts(block.title, { spaces: false, most: 160 })),
    make("span", "meta", block.meta),
  );
  item.append(head, ...block.notes.map((words) => sentence("p", "note", words)));
  if (block.tokens) item.append(tokens(block.tokens, block.tokens_more));
  else if (!block.open) item.append(body(block));
  return item;
}

/** @param {Message} block */
function body({ title, text, text_more }) {
  const box = make("div", "text");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `Text of ${plainText(title, 160)}`);
  if (text) paint(box, visibleParts(text, { spaces: false }));
  else box.append(make("span", "quiet", "empty"));
  if (text_more) box.append(rest(text_more, "characters"));
  return box;
}

/**
 * @param {[text: string, id: number, header: boolean][]} cells
 * @param {number} more
 */
function tokens(cells, more) {
  const row = make("div", "tokens");
  for (const [text, id, header] of cells) {
    const cell = make("span", header ? "cell header" : "cell");
    cell.append(
      paint(make("span", "word"), visibleParts(text, { most: 60 })),
      make("span", "id", String(id)),
    );
    row.append(cell);
  }
  if (more) row.append(rest(more, "tokens"));
  return row;
}

/**
 * @param {number} amount
 * @param {string} what
 */
function rest(amount, what) {
  return make("span", "rest", `… ${NUMBER.format(amount)} more ${what}`);
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} style
 * @param {string} words
 */
function sentence(tag, style, words) {
  return paint(make(tag, style), visibleParts(words, { spaces: false, most: SENTENCE_AT_MOST }));
}
