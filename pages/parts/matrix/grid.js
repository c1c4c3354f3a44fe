// The conformance matrix: releases across, classes of scripts down, which open to their scripts.
//
// A grid in the sense of ARIA: one cell can be reached by Tab, the arrows move from there, Enter picks.

import { make } from "../../ui/dom.js";
import { isDark } from "../../ui/strip/draw/canvas.js";

/** @import { Component } from "../../ui/component.d.ts" */

/** @typedef {[complete: number, reported: number, silent: number]} Counts */
/**
 * @typedef {object} Group
 * @property {string} name
 * @property {string} words
 * @property {Counts[]} totals one for each column
 * @property {[name: string, sentence: string, outcomes: string][]} rows an outcome is one letter for each column
 */
/**
 * @typedef {object} Matrix
 * @property {string[]} columns
 * @property {string | null} release the selected column
 * @property {string | null} script the selected row
 * @property {string[]} opened classes
 * @property {Record<string, [outcome: string, sign: string, words: string]>} signs by letter
 * @property {Counts[]} totals
 * @property {Group[]} groups
 */

const ALL = "All scripts";
const LETTERS = ["c", "r", "s"];
const MOVES = new Map([
  ["ArrowLeft", [0, -1]],
  ["ArrowRight", [0, 1]],
  ["ArrowUp", [-1, 0]],
  ["ArrowDown", [1, 0]],
  ["Home", [0, -Infinity]],
  ["End", [0, Infinity]],
]);
/** @type {WeakMap<Element, { row: number, column: number }>} the cell that Tab reaches */
const places = new WeakMap();

/** @param {Component<[Matrix]>} component */
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".matrix"));
  const ground = getComputedStyle(root).getPropertyValue("--st-background-color");
  root.dataset.theme = isDark(ground) ? "dark" : "light";
  const opened = new Set(data.opened);
  const draw = () => {
    const focused = root.matches(":focus-within");
    const table = matrix(data, opened);
    root.replaceChildren(table);
    stand(root, places.get(root) ?? { row: 0, column: 0 }, focused);
  };
  draw();
  root.onclick = ({ target }) => {
    const cell = target instanceof Element ? target.closest("td, th") : null;
    if (!(cell instanceof HTMLTableCellElement)) return;
    stand(root, placeOf(cell), true);
    pick(cell);
  };
  root.onkeydown = (event) => {
    const cell = event.target;
    if (!(cell instanceof HTMLTableCellElement)) return;
    const move = MOVES.get(event.key);
    if (move) {
      const { row, column } = placeOf(cell);
      stand(root, { row: row + move[0], column: column + move[1] }, true);
    } else if (event.key === "Enter" || event.key === " ") pick(cell);
    else return;
    event.preventDefault();
  };
  /** @param {HTMLTableCellElement} cell */
  function pick({ dataset }) {
    const { group, release = "", script = "" } = dataset;
    if (group !== undefined && !release) {
      if (!opened.delete(group)) opened.add(group);
      draw();
      setTriggerValue?.("opened", [...opened]);
    } else if (release || script) setTriggerValue?.("picked", [release, script]);
  }
}

/**
 * @param {Matrix} data
 * @param {Set<string>} opened
 */
function matrix({ columns, release, script, signs, totals, groups }, opened) {
  const table = make("table");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", "Scripts by vLLM release");
  const row = (/** @type {HTMLTableCellElement[]} */ ...cells) => {
    const line = make("tr");
    line.append(...cells);
    return line;
  };
  const column = (/** @type {HTMLTableCellElement} */ cell, /** @type {string} */ title) => {
    cell.dataset.release = title;
    if (title === release) cell.dataset.selected = "";
    return cell;
  };
  const head = make("thead");
  head.append(
    row(
      label("Script", "col"),
      ...columns.map((title) => {
        const cell = column(label("", "col"), title);
        cell.append(make("span", "", title));
        return cell;
      }),
    ),
  );
  const sums = (/** @type {Counts[]} */ counts, /** @type {string} */ words) =>
    counts.map((count, k) => column(sum(count, signs, `${columns[k]}, ${words}`), columns[k]));
  const body = make("tbody");
  const everything = label(ALL, "row");
  everything.append(amount(groups.flatMap((group) => group.rows).length));
  body.append(row(everything, ...sums(totals, ALL.toLowerCase())));
  for (const { name, words, totals: counts, rows } of groups) {
    const open = opened.has(name);
    const title = label(words, "row");
    title.prepend(make("span", "fold", open ? "▾" : "▸"));
    title.append(amount(rows.length));
    title.dataset.group = name;
    title.setAttribute("aria-expanded", String(open));
    const line = row(title, ...sums(counts, words));
    line.className = "group";
    body.append(line);
    if (!open) continue;
    for (const [scriptName, sentence, outcomes] of rows) {
      const first = label(scriptName, "row");
      first.title = sentence;
      first.dataset.script = scriptName;
      const cells = [...outcomes].map((letter, k) => {
        const cell = column(outcome(signs[letter], `${columns[k]}, ${scriptName}`), columns[k]);
        cell.dataset.script = scriptName;
        if (columns[k] === release && scriptName === script) cell.setAttribute("aria-selected", "true");
        return cell;
      });
      const scriptLine = row(first, ...cells);
      if (scriptName === script) scriptLine.dataset.selected = "";
      body.append(scriptLine);
    }
  }
  table.append(head, body);
  return table;
}

/**
 * @param {string} words
 * @param {"col" | "row"} scope
 */
function label(words, scope) {
  const cell = make("th", "", words);
  cell.scope = scope;
  return cell;
}

/** @param {number} count */
function amount(count) {
  return make("span", "amount", ` ${count}`);
}

/**
 * @param {Matrix["signs"][string] | undefined} sign
 * @param {string} place
 */
function outcome(sign, place) {
  const cell = make("td", "", sign ? sign[1] : "–");
  cell.dataset.outcome = sign ? sign[0] : "missing";
  describe(cell, `${place}: ${sign ? sign[2] : "not recorded"}`);
  return cell;
}

/**
 * The counts of several scripts: a bar with the share of each outcome, and the number of the worst one.
 * @param {Counts} counts
 * @param {Matrix["signs"]} signs
 * @param {string} place
 */
function sum(counts, signs, place) {
  const all = counts.reduce((total, count) => total + count, 0);
  const worst = counts.findLastIndex((count) => count > 0);
  const cell = make("td", "sum");
  if (worst < 0) {
    cell.textContent = "–";
    describe(cell, `${place}: not recorded`);
    return cell;
  }
  const [name, sign] = signs[LETTERS[worst]];
  cell.dataset.outcome = name;
  cell.textContent = worst === 0 ? sign : worst === 1 ? `${sign}${counts[1]}` : String(counts[2]);
  cell.style.setProperty("--silent-share", `${(100 * counts[2]) / all}%`);
  cell.style.setProperty("--failed-share", `${(100 * (counts[1] + counts[2])) / all}%`);
  const words = LETTERS.map((letter, k) => `${counts[k]} ${signs[letter][2]}`);
  describe(cell, `${place}: ${words.join(", ")}`);
  return cell;
}

/**
 * @param {HTMLTableCellElement} cell
 * @param {string} words
 */
function describe(cell, words) {
  cell.title = words;
  cell.setAttribute("aria-label", words);
}

/** @param {HTMLTableCellElement} cell */
function placeOf(cell) {
  const line = /** @type {HTMLTableRowElement} */ (cell.parentElement);
  return { row: line.rowIndex, column: cell.cellIndex };
}

/**
 * Make one cell reachable by Tab, the nearest where the place lies outside.
 * @param {HTMLElement} root
 * @param {{ row: number, column: number }} place
 * @param {boolean} focused
 */
function stand(root, place, focused) {
  const table = root.querySelector("table");
  if (!table) return;
  const line = table.rows[Math.max(0, Math.min(place.row, table.rows.length - 1))];
  const cell = line.cells[Math.max(0, Math.min(place.column, line.cells.length - 1))];
  for (const before of table.querySelectorAll("[tabindex]")) before.removeAttribute("tabindex");
  cell.tabIndex = 0;
  places.set(root, placeOf(cell));
  if (focused) cell.focus();
}
