// What can be copied: the ID or text of a token, the IDs or text of its message, all IDs.

import { textOf as textOfRange } from "../model/cell-range.js";

/** @import { Model } from "../model/model.js" */
/** @import { Range } from "../model/cell-range.js" */

const SHOWN_FOR = 1200; // ms that a button says that it has copied

/** @typedef {"id" | "text" | "message-ids" | "message-text" | "ids"} Copied */

/**
 * Whether there is something to copy, without making it: this is asked with every move of the pointer.
 * @param {Model} model
 * @param {number | null} i
 * @param {Copied} what
 */
export function canCopy(model, i, what) {
  if (what === "ids") return model.ids !== null && model.sent > 0;
  if (i === null) return false;
  return what === "text" || what === "message-text" || model.ids !== null;
}

/**
 * What a button copies; null when there is nothing of it.
 * @param {Model} model
 * @param {number | null} i
 * @param {Copied} what
 * @param {Range | null} [range] what the ID and the text are of, in place of the cell's
 */
export function copyOf(model, i, what, range = null) {
  if (range && what === "id") return idsOf(model, range.start, range.end);
  if (range && what === "text") return textOfRange(model, range);
  if (what === "ids") return idsOf(model, 0, model.count);
  if (i === null) return null;
  const { start, body, end } = model.blockAt(i);
  switch (what) {
    case "id":
      return idOf(model, i)?.toString() ?? null;
    case "text":
      return model.textOf(i) ?? null;
    case "message-ids":
      return idsOf(model, start, end);
    default:
      return textOf(model, body, end);
  }
}

/**
 * @param {Model} model
 * @param {number} i
 */
function idOf(model, i) {
  return model.unsentOf(i)?.id ?? model.idOf(i);
}

/**
 * A list that `inspector audit` reads; null unless all IDs are known.
 * @param {Model} model
 * @param {number} start
 * @param {number} end
 */
function idsOf(model, start, end) {
  const ids = [];
  for (let i = start; i < end; i++) {
    if (model.unsentOf(i)) continue;
    const id = model.idOf(i);
    if (id === null) return null;
    ids.push(id);
  }
  return ids.length ? `[${ids.join(", ")}]` : null;
}

/**
 * The text of a body, without the special token that closes it.
 * @param {Model} model
 * @param {number} start
 * @param {number} end
 */
function textOf(model, start, end) {
  let text = "";
  for (let i = start; i < end; i++) {
    const state = model.stateOf(i);
    if (state === "body" || state === "piece") text += model.textOf(i) ?? "";
  }
  return text || null;
}

/**
 * Put words on the clipboard; the button says that it did.
 * @param {HTMLElement} button
 * @param {string | null} words
 */
export async function copy(button, words) {
  if (words === null) button.dataset.done = "not known";
  else button.dataset.done = (await put(words)) ? "copied" : "not allowed";
  setTimeout(() => delete button.dataset.done, SHOWN_FOR);
}

/** @param {string} words */
async function put(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    return putBySelection(words);
  }
}

/**
 * Pages that came by plain HTTP from another machine have no clipboard of their own.
 * @param {string} words
 */
function putBySelection(words) {
  const area = document.createElement("textarea");
  area.value = words;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
