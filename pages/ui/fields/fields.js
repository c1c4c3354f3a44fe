// Table of fields: what each side has is marked, what it lacks is a dashed gap; shapes differ, not hues alone.

import { make, paint } from "../dom.js";
import { visibleParts } from "../text.js";
import { fieldStretch } from "./stretch.js";

/** @import { Component } from "../component.d.ts" */
/** @import { FieldPart } from "./stretch.js" */

/**
 * @typedef {object} FieldRow
 * @property {string[]} field its name, and the part of a call
 * @property {FieldPart[] | null} left null when it is not known
 * @property {FieldPart[] | null} right null where the capture has no delivered side
 * @property {boolean | null} equal
 * @property {string} note why texts that differ are right; empty where they are equal
 */

/** @param {Component<[{ heads: [string, string], rows: FieldRow[] }]>} component */
export default function ({ data: [data], parentElement }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".fields"));
  if (!data.rows.length) {
    root.replaceChildren(make("p", "quiet", "No field contains text."));
    return;
  }
  const table = make("div", "table");
  table.setAttribute("role", "table");
  const head = make("div", "row head");
  head.setAttribute("role", "row");
  for (const words of ["field", ...data.heads]) head.append(cell("columnheader", make("span", "", words)));
  table.append(head, ...data.rows.map((row) => line(row, data.heads)));
  root.replaceChildren(table);
  // A text that scrolls must be reachable without a mouse.
  for (const text of /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll(".text"))) {
    if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
  }
}

/**
 * @param {FieldRow} row
 * @param {[string, string]} heads
 */
function line({ field, left, right, equal, note }, heads) {
  const element = make("div", "row");
  element.setAttribute("role", "row");
  const name = make("div", "field");
  for (const [k, words] of field.entries()) {
    name.append(paint(make("span", k ? "part" : "whole"), visibleParts(words, { spaces: false, most: 80 })));
  }
  if (equal !== null) {
    const words = note ? `✓ ${note}` : equal ? "✓ equal" : "≠ differs";
    name.append(make("span", equal ? "same-sign" : "differs-sign", words));
  }
  element.append(
    cell("rowheader", name),
    cell("cell", side(left, "lost", heads[0], "unknown: the stream has no token IDs")),
    cell("cell", side(right, "found", heads[1], "none: this is a list of token IDs")),
  );
  return element;
}

/**
 * @param {string} role
 * @param {HTMLElement} content
 */
function cell(role, content) {
  const box = make("div", "cell");
  box.setAttribute("role", role);
  box.append(content);
  return box;
}

/**
 * @param {FieldPart[] | null} parts
 * @param {string} style of what only this side has
 * @param {string} label
 * @param {string} without what is shown where there are no parts
 */
function side(parts, style, label, without) {
  const text = make("div", "text");
  text.dataset.label = label;
  if (parts === null) text.append(make("span", "quiet", without));
  else if (!parts.some(([kind]) => kind !== "gap")) text.append(make("span", "quiet", "empty"));
  else text.append(...parts.map((part) => fieldStretch(part, style)));
  return text;
}
