// Words on one cell: for the panel of the chosen token, and in one line for a screen reader.

import { count, duration, NUMBER, percent } from "../../numbers.js";
import { plainText, spacedHex } from "../../text.js";
import { fieldWords } from "./fields.js";
import { barLook } from "./picture.js";

/** @import { Placed } from "./blocks.js" */
/** @import { Model } from "./model.js" */
/** @import { UnsentCell } from "./payload.d.ts" */
/** @import { Picture } from "./picture.js" */

/**
 * A name, what is to be said, and how: text with its spaces shown, bytes, or something that is wrong.
 * @typedef {[name: string, value: string, style?: "mono" | "bytes" | "bad"]} WordRow
 */

const HEX_SHOWN = 128; // digits of a token's bytes
const RECONSTRUCTED = "reconstructed from the final object; its tokens add up to the server's count";

/** @param {Model} model */
export function unitOf(model) {
  return model.unit === "piece" ? "piece" : "token";
}

/**
 * What is known of a cell, in rows.
 * @param {Model} model
 * @param {number} i
 * @returns {WordRow[]}
 */
export function cellRows(model, i) {
  const block = model.blockAt(i);
  const unsent = model.unsentOf(i);
  if (unsent) return unsentRows(model, i, unsent, block);
  const rows = textRows(model, i);
  if (model.reconstructed) rows.push(["source", RECONSTRUCTED]);
  rows.push(["state", stateWords(model, i, block)]);
  if (block.kind === "message") {
    rows.push(["channel", block.channel ?? "none"]);
    if (block.recipient) rows.push(["recipient", block.recipient, "mono"]);
  }
  const chance = model.probabilityOf(i);
  if (chance !== null) rows.push(["probability", percent(chance)]);
  const others = model.logprobs?.top[i];
  if (others) rows.push(["instead", alternatives(others), "mono"]);
  rows.push(["event", eventWords(model, i)]);
  for (const [number, picture] of model.pictures.entries()) {
    const { words, bad } = deliveredWords(model, i, picture, block);
    const name = model.compared ? model.serverName(number) : "delivered";
    rows.push(bad ? [name, words, "bad"] : [name, words]);
  }
  return rows;
}

/** @param {[string, number][]} others texts with their log probabilities */
function alternatives(others) {
  return others.map(([text, value]) => `“${text}” ${percent(Math.exp(value))}`).join(", ");
}

/**
 * @param {Model} model
 * @param {number} i
 * @returns {WordRow[]}
 */
function textRows(model, i) {
  const text = model.textOf(i);
  if (!model.ids) return [["text", text ?? "", "mono"]];
  /** @type {WordRow[]} */
  const rows = [];
  const id = model.idOf(i);
  rows.push(id === null ? ["ID", "one of several possible IDs"] : ["ID", String(id), "mono"]);
  if (text === undefined) rows.push(["text", "this ID is not in the vocabulary"]);
  else if (text === null) rows.push(["text", "part of a character that a later token completes"]);
  else rows.push(["text", text, "mono"]);
  const bytes = model.bytesOf(i);
  const more = bytes && bytes.length > HEX_SHOWN ? " …" : "";
  if (bytes) rows.push(["bytes", spacedHex(bytes.slice(0, HEX_SHOWN)) + more, "bytes"]);
  return rows;
}

/**
 * @param {Model} model
 * @param {number} i
 */
function eventWords(model, i) {
  const { events } = model;
  const k = events.of(i);
  if (k < 0 || events.index[k] < 0) return "unknown";
  const event = NUMBER.format(events.index[k]);
  if (model.unit === "piece" && model.pictures[0]?.fateOf(i) === "lost") return `missing at event ${event}`;
  const time = duration(events.time(i));
  return `${event} (${count(events.size(k), unitOf(model))})${time ? `, at ${time}` : ""}`;
}

/**
 * What is known of a token that the server never sent.
 * @param {Model} model
 * @param {number} i
 * @param {UnsentCell} unsent
 * @param {Placed} block
 * @returns {WordRow[]}
 */
function unsentRows(model, i, unsent, block) {
  /** @type {WordRow[]} */
  const rows = [];
  if (unsent.id !== null) rows.push(["ID", String(unsent.id), "mono"]);
  if (unsent.text) rows.push([unsent.kind === "header" ? "header" : "text", unsent.text, "mono"]);
  rows.push(["sent", unsent.words, "bad"]);
  if (block.reason) rows.push(["parser", block.reason]);
  const { events } = model;
  const k = events.of(i);
  const time = duration(events.time(i));
  if (k >= 0) rows.push(["error", `event ${NUMBER.format(events.index[k])}${time ? `, at ${time}` : ""}`]);
  return rows;
}

/**
 * @param {Model} model
 * @param {number} i
 * @param {Placed} block
 */
function stateWords(model, i, block) {
  const unsent = model.unsentOf(i);
  if (unsent) return unsent.words;
  const message = `message ${block.number}`;
  const state = model.stateOf(i, block);
  switch (state) {
    case "piece":
      return `piece of ${fieldWords(block.channel)}`;
    case "refused":
      return block.state ? `rejected, parser state: ${block.state.replaceAll("_", " ")}` : "rejected";
    case "body":
      return `body of ${message}`;
    case "header":
      return `header of ${message}`;
    default:
      return i < block.body
        ? `special token in the header of ${message}`
        : `special token that closes ${message}`;
  }
}

/**
 * Where a server delivered a cell, in words, and whether that is wrong.
 * @param {Model} model
 * @param {number} i
 * @param {Picture} picture
 * @param {Placed} block
 * @returns {{ words: string, bad: boolean }}
 */
function deliveredWords(model, i, picture, block) {
  const run = picture.runAt(i);
  const look = run && barLook(run);
  if (picture.fateOf(i) === "unsent" && !model.unsentOf(i)) {
    return { words: "not sent: the stream broke off before it", bad: false };
  }
  if (!look) return undelivered(model, i, block);
  const [, , , own, arrived] = run;
  const field = fieldWords(picture.fieldOf(arrived));
  switch (look) {
    case "delivered":
      return { words: `in ${field}`, bad: false };
    case "unknown":
      return { words: `in ${field}, possibly incomplete`, bad: false };
    case "misrouted": {
      const meant = own === null ? "" : `, not in ${fieldWords(picture.fieldOf(own))}`;
      return { words: `in ${field}${meant}`, bad: true };
    }
    case "lost":
      return { words: "not delivered", bad: true };
    case "garbled":
      return { words: `in ${field}, with other characters`, bad: true };
    case "reordered":
      return { words: `in ${field}, out of order`, bad: true };
    case "unserved":
      return { words: "not delivered: no API field is defined for it", bad: true };
    default:
      return { words: look, bad: true };
  }
}

/**
 * @param {Model} model
 * @param {number} i
 * @param {Placed} block
 */
function undelivered(model, i, block) {
  const state = model.stateOf(i, block);
  if (state === "unsent") return { words: "never sent", bad: true };
  const framing = state === "marker" || state === "header";
  if (model.compared && state === "body") return { words: "no such token on this side", bad: false };
  const refused = state === "refused" && (i < block.body || model.isSpecialToken(i));
  return { words: framing || refused ? "framing, not text" : "unknown", bad: false };
}

/**
 * A cell in one line.
 * @param {Model} model
 * @param {number} i
 */
export function describeCell(model, i) {
  const block = model.blockAt(i);
  const unsent = model.unsentOf(i);
  if (unsent?.kind === "gap") return `gap · ${unsent.words}`;
  const text = model.textOf(i);
  const words = [unsent ? `rejected ${unsent.kind}` : `${unitOf(model)} ${NUMBER.format(i)}`];
  if (text === undefined) words.push("not in the vocabulary");
  else if (text === null) words.push("part of a character");
  else words.push(`“${plainText(text, 60, true)}”`);
  const id = unsent ? unsent.id : model.idOf(i);
  if (id !== null) words.push(`ID ${id}`);
  if (model.reconstructed && !unsent) words.push("reconstructed");
  words.push(stateWords(model, i, block));
  const time = duration(model.events.time(i));
  if (time) words.push(time);
  for (const [number, picture] of model.pictures.entries()) {
    const run = picture.runAt(i);
    if (!run || !barLook(run)) continue;
    const { words: where } = deliveredWords(model, i, picture, block);
    const name = model.compared
      ? `${model.serverName(number)}: `
      : where.startsWith("in ")
        ? "delivered "
        : "";
    words.push(name + where);
  }
  return words.join(" · ");
}
