// Blocks of cells: messages, refused runs, fields. They cover every cell once, in order.

import { count, duration, NUMBER } from "../../numbers.js";
import { fieldHue, fieldWords } from "./fields.js";

/** @import { Block } from "./payload.d.ts" */
/** @import { Model } from "./model.js" */

/**
 * A block as the strip holds it: `number` counts messages; `unnamed` stands for cells that no block is told of.
 * @typedef {Block & { number: number | null, unnamed?: true }} Placed
 */

const NO_TIME = 0.00005; // seconds that would read 0.0 ms
const HEADER_CELLS = 200; // cells of a header that its title reads
/** @type {(keyof Block)[]} */
const SHOWN_IN_HEAD = ["kind", "start", "role", "channel", "recipient", "content_type", "reason"];
const CHANNEL_HUES = new Map([
  ["analysis", "reasoning"],
  ["final", "content"],
  ["commentary", "preamble"],
]);

/**
 * True for an open block that only became longer: the cells that it had look as before.
 * @param {Block} before
 * @param {Block | undefined} after
 */
export function grew(before, after) {
  if (after === undefined) return false;
  const same = SHOWN_IN_HEAD.every((name) => before[name] === after[name]);
  const body = before.body === after.body || before.body >= before.end;
  return same && body && after.end >= before.end;
}

/**
 * The blocks with cells that none tells of in blocks without a name, and messages numbered.
 * @param {(Block | Placed)[]} blocks
 * @param {number} cells
 * @returns {Placed[]}
 */
export function covering(blocks, cells) {
  /** @type {Placed[]} */
  const covered = [];
  let at = 0;
  for (const block of blocks) {
    // An increment may tell of cells before their block: the block comes with a later one.
    if ("unnamed" in block) continue;
    if (block.start > at) covered.push(unnamed(at, block.start));
    covered.push("number" in block ? block : { ...block, number: null });
    at = Math.max(at, block.end);
  }
  if (at < cells) covered.push(unnamed(at, cells));
  let message = 0;
  for (const block of covered) block.number = block.message ?? (block.kind === "message" ? message++ : null);
  return covered;
}

/**
 * @param {number} start
 * @param {number} end
 * @returns {Placed}
 */
function unnamed(start, end) {
  const header = { role: null, channel: null, recipient: null, content_type: null };
  const place = { kind: /** @type {const} */ ("message"), start, body: start, end };
  return { ...place, ...header, complete: false, reason: "", number: null, unnamed: true };
}

/**
 * The hue of a block: the field that its body should arrive in.
 * @param {Block} block
 */
export function blockHue(block) {
  if (block.kind === "refused") return "loss";
  if (block.kind === "field") return fieldHue(block.channel);
  if (block.recipient) return block.recipient.startsWith("functions.") ? "tool" : "other";
  return CHANNEL_HUES.get(block.channel ?? "") ?? "other";
}

/**
 * Title and meta of a block, as far as they are known after `known` cells; `open` while its header is read.
 * @param {Model} model
 * @param {Placed} block
 * @param {number} known
 * @param {boolean} open
 * @returns {{ title: string, meta: string }}
 */
export function blockWords(model, block, known, open) {
  const size = Math.max(0, Math.min(known, model.sentEnd(block.start, block.end)) - block.start);
  const cells = count(size, model.unit === "piece" ? "piece" : "token");
  const seconds = model.durationOf(block, known) ?? 0;
  const time = duration(seconds < NO_TIME ? null : seconds);
  if (block.kind === "field") {
    return { title: fieldWords(block.channel), meta: joined("field", cells, time) };
  }
  if (block.kind === "refused") return refusedWords(model, block, size ? cells : "");
  const header = open || block.in_body === false;
  const meta = joined(
    `message ${block.number}${block.continued ? ", continued" : ""}`,
    open ? null : block.role,
    !open && block.content_type ? `content type ${block.content_type}` : null,
    cells,
    time,
    !open && !block.complete && known >= block.end ? "not closed" : null,
  );
  if (header) {
    const words = headerText(model, block, known);
    return { title: words ? `header: ${words}` : "header", meta };
  }
  const name = block.channel ?? "no channel";
  return { title: block.recipient ? `${name} → ${block.recipient}` : name, meta };
}

/**
 * @param {Model} model
 * @param {Placed} block
 * @param {string} cells
 */
function refusedWords(model, block, cells) {
  const unsent = model.sentEnd(block.start, block.end) < block.end;
  const meta = joined(
    block.role, // of a comparison: the side that has the block
    cells,
    unsent ? "the rejected token was not sent" : null,
    block.state ? `parser state: ${block.state.replaceAll("_", " ")}` : null,
    unsent ? "the server stopped here" : resumed(model, block),
  );
  return { title: `rejected by the parser${block.continued ? ", continued" : ""}`, meta };
}

/**
 * @param {Model} model
 * @param {Placed} block
 */
function resumed(model, block) {
  const next = model.blocks.find((other) => other.kind === "message" && other.start >= block.end);
  if (!next) return "nothing after this was parsed";
  return `parsing resumed at token ${NUMBER.format(next.start)}, message ${next.number}`;
}

/**
 * A header's words as far as `known` cells tell them, without the special tokens between them.
 * @param {Model} model
 * @param {Placed} block
 * @param {number} known
 */
function headerText(model, block, known) {
  const header = block.in_body === false ? block.end : block.body;
  const end = Math.min(known, header, block.start + HEADER_CELLS);
  let words = "";
  for (let i = block.start; i < end; i++) words += model.isSpecialToken(i) ? " " : (model.textOf(i) ?? "");
  return words.trim().replace(/\s+/g, " ");
}

/** @param {(string | null)[]} facts */
function joined(...facts) {
  return facts.filter(Boolean).join(" · ");
}
