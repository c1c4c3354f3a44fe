// The chosen finding's texts: a stretch around it as the tokens have it and as it arrived, with its part marked.

import { barLook } from "./picture.js";
import { arrivedElsewhere, isRejection } from "./placed-findings.js";

/** @import { Placed } from "./blocks.js" */
/** @import { PlacedFinding } from "./placed-findings.js" */
/** @import { Model } from "./model.js" */

/**
 * A stretch of text and how it is drawn: plain, `lost`, `found`, somebody's `words`, or a `gap` where text is missing.
 * @typedef {[text: string, style: null | "lost" | "found" | "words" | "gap"]} Excerpt
 */
/** @typedef {PlacedFinding & { start: number }} Located */

const AROUND = 48; // characters of text shown before and after a marked part
const CHARACTERS_AT_MOST = 2000;

/**
 * True for a finding with a place among the cells.
 * @param {PlacedFinding} finding
 * @returns {finding is Located}
 */
export function isLocated(finding) {
  return finding.start !== null;
}

/**
 * Generated text around a finding, with its part marked.
 * @param {Model} model
 * @param {Located} finding
 * @returns {Excerpt[]}
 */
export function around(model, finding) {
  const { start, end } = finding;
  const block = model.blockAt(start);
  const rejected = isRejection(finding);
  const floor = rejected ? 0 : Math.min(block.body, start);
  const ceiling = rejected ? model.count : bodyEnd(model, block);
  // A comparison has cells of both servers; what the other one rejected is not in this one's stream.
  const elsewhere = (/** @type {number} */ i) =>
    model.unsentOf(i) !== null && (i < block.start || i >= block.end);
  const text = (/** @type {number} */ from, /** @type {number} */ to) =>
    joined(from, to, (i) => (elsewhere(i) ? "" : (model.textOf(i) ?? "")));
  const before = text(Math.max(floor, start - AROUND), start);
  const after = text(end, Math.min(ceiling, end + AROUND));
  return [
    [ending(before), null],
    [text(start, end), "lost"],
    [beginning(after), null],
  ];
}

/**
 * Generated text around a rejected token or header, with the gap before one that was not sent.
 * @param {Model} model
 * @param {Located} finding
 * @returns {Excerpt[]}
 */
export function aroundRejected(model, finding) {
  const [before, part, after] = around(model, finding);
  if (model.unsentOf(finding.start - 1)?.kind !== "gap") return [before, part, after];
  return [before, ["", "gap"], part, after];
}

/**
 * The same stretch as the promised field delivered it.
 * @param {Model} model
 * @param {Located} finding
 * @returns {Excerpt[]}
 */
export function arrived(model, finding) {
  const { start, end } = finding;
  const block = model.blockAt(start);
  const delivered = (/** @type {number} */ from, /** @type {number} */ to) =>
    joined(from, to, (i) => {
      const picture = model.pictures[0];
      const run = picture?.runAt(i);
      const look = run && barLook(run);
      const promised =
        look &&
        look !== "misrouted" &&
        (finding.field ?? picture.fieldOf(run[4])) === picture.fieldOf(run[4]);
      return promised ? (model.textOf(i) ?? "") : "";
    });
  const before = delivered(Math.max(Math.min(block.body, start), start - AROUND), start);
  const after = delivered(end, Math.min(bodyEnd(model, block), end + AROUND));
  /** @type {Excerpt} */
  const part = finding.delivered && !arrivedElsewhere(finding) ? [finding.delivered, "found"] : ["", "gap"];
  return [[ending(before), null], part, [beginning(after), null]];
}

/**
 * Two texts with what they do not share at the front and the back marked.
 * @param {string} left
 * @param {string} right
 * @returns {[Excerpt[], Excerpt[]]}
 */
export function differing(left, right) {
  const a = Array.from(left);
  const b = Array.from(right);
  let front = 0;
  while (front < a.length && front < b.length && a[front] === b[front]) front++;
  let back = 0;
  while (back < Math.min(a.length, b.length) - front && a[a.length - 1 - back] === b[b.length - 1 - back])
    back++;
  /**
   * @param {string[]} list
   * @param {"lost" | "found"} style
   */
  const cut = (list, style) => {
    /** @type {Excerpt[]} */
    const parts = [
      [list.slice(0, front).join(""), null],
      [list.slice(front, list.length - back).join(""), style],
      [list.slice(list.length - back).join(""), null],
    ];
    return parts.filter(([words]) => words);
  };
  const shown = cut(b, "found");
  if (a.length > front + back && b.length === front + back) shown.splice(front ? 1 : 0, 0, ["", "gap"]);
  return [cut(a, "lost"), shown];
}

/**
 * @param {number} from
 * @param {number} to
 * @param {(i: number) => string} of
 */
function joined(from, to, of) {
  let text = "";
  for (let i = from; i < to && text.length < CHARACTERS_AT_MOST; i++) text += of(i);
  return text;
}

/**
 * @param {Model} model
 * @param {Placed} block
 */
function bodyEnd(model, block) {
  const closed = block.complete && block.end > block.body && model.stateOf(block.end - 1, block) === "marker";
  return closed ? block.end - 1 : block.end;
}

/** @param {string} text */
function ending(text) {
  return text.length > AROUND ? `…${Array.from(text).slice(-AROUND).join("")}` : text;
}

/** @param {string} text */
function beginning(text) {
  return text.length > AROUND ? `${Array.from(text).slice(0, AROUND).join("")}…` : text;
}
