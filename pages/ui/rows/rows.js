// A table whose rows open: by a click anywhere in a row, or by Enter on its button, which the arrows move through.

import { make, paint } from "../dom.js";
import { NUMBER } from "../numbers.js";
import { visibleParts } from "../text.js";

/** @import { Component } from "../component.d.ts" */

/** @typedef {{ marked: number, of: number, most: number, hue: string }} Bar a part of an amount, of the largest */
/** @typedef {string | number | Bar | null} Cell */
/**
 * @typedef {object} Table
 * @property {string} label
 * @property {string[]} names of the columns
 * @property {Cell[][]} rows
 * @property {number} opens the column whose text is the button of a row
 * @property {number | null} current the row that is open
 * @property {boolean} sortable
 * @property {number} height most pixels
 */

/** @param {Component<Table[]>} component */
export default function ({ data: [table], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".rows");
  if (!(root instanceof HTMLElement)) return;
  const active = parentElement instanceof ShadowRoot ? parentElement.activeElement : null;
  const focused = Number(active?.closest("tr")?.dataset.row ?? -1);
  const lines = table.rows.map((cells, number) => line(table, cells, number));
  const body = make("tbody");
  body.append(...lines);
  const element = make("table");
  element.setAttribute("aria-label", table.label);
  element.append(head(table, lines, body), body);
  root.style.maxHeight = `${table.height}px`;
  root.replaceChildren(element);
  reach(buttons(body)[Math.max(table.current ?? 0, 0)], body);
  buttons(body)[focused]?.focus();

  body.addEventListener("click", ({ target }) => {
    const row = target instanceof Element && target.closest("tr");
    // The text of a row can be selected without opening it.
    if (row && getSelection()?.isCollapsed !== false) setTriggerValue?.("opened", Number(row.dataset.row));
  });
  body.addEventListener("keydown", (event) => {
    const all = buttons(body);
    const at = event.target instanceof HTMLButtonElement ? all.indexOf(event.target) : -1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    const button = to === undefined || at < 0 ? undefined : all[to];
    if (!button) return;
    event.preventDefault();
    event.stopPropagation(); // the page has keys of its own
    reach(button, body);
    button.focus();
  });
}

/** @param {HTMLElement} body */
function buttons(body) {
  return [...body.querySelectorAll("button")];
}

/**
 * Tab reaches one button of the table.
 * @param {HTMLButtonElement | undefined} button
 * @param {HTMLElement} body
 */
function reach(button, body) {
  for (const other of buttons(body)) other.tabIndex = other === button ? 0 : -1;
}

/**
 * @param {Table} table
 * @param {Cell[]} cells
 * @param {number} number
 */
function line({ opens, current }, cells, number) {
  const row = make("tr");
  row.dataset.row = String(number);
  if (number === current) row.setAttribute("aria-current", "true");
  row.append(
    ...cells.map((cell, column) => {
      if (cell !== null && typeof cell === "object") return bar(cell);
      const box = make("td", typeof cell === "number" ? "number" : "");
      const text = typeof cell === "number" ? NUMBER.format(cell) : (cell ?? "–");
      const place = column === opens ? box.appendChild(make("button")) : box;
      paint(place, visibleParts(text, { spaces: false }));
      box.title = text;
      return box;
    }),
  );
  return row;
}

/** @param {Bar} amounts */
function bar({ marked, of, most, hue }) {
  const box = make("td", "amount");
  const whole = box.appendChild(make("span"));
  whole.style.width = `${(100 * of) / most}%`;
  const part = whole.appendChild(make("span"));
  part.style.width = `${of ? (100 * marked) / of : 0}%`;
  part.dataset.level = hue;
  whole.setAttribute("aria-hidden", "true"); // the column beside it has the numbers
  return box;
}

/**
 * @param {Table} table
 * @param {HTMLTableRowElement[]} lines
 * @param {HTMLElement} body
 */
function head({ names, rows, sortable }, lines, body) {
  const row = make("tr");
  row.append(
    ...names.map((name, column) => {
      if (!name) return make("td"); // a column of bars, whose numbers the next one has
      const box = make("th");
      box.scope = "col";
      if (!sortable) {
        box.textContent = name;
        return box;
      }
      const button = box.appendChild(make("button", "", name));
      button.addEventListener("click", () => {
        const sign = box.ariaSort === "ascending" ? -1 : 1;
        for (const other of row.cells) other.ariaSort = null;
        box.ariaSort = sign > 0 ? "ascending" : "descending";
        const order = [...lines.keys()].sort((left, right) =>
          compare(rows[left][column], rows[right][column], sign),
        );
        body.append(...order.map((number) => lines[number]));
      });
      return box;
    }),
  );
  const element = make("thead");
  element.append(row);
  return element;
}

/**
 * The order of two cells; an unknown one is last, in both directions.
 * @param {Cell} left
 * @param {Cell} right
 * @param {number} sign
 */
export function compare(left, right, sign) {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  if (typeof left === "number" && typeof right === "number") return sign * (left - right);
  return sign * String(left).localeCompare(String(right), "en", { numeric: true });
}
