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
 * @property {string} server whose releases the first columns are
 * @property {number} beside how many of the last columns are other servers
 * @property {string | null} release the selected column
 * @property {string | null} script the selected row
 * @property {string[]} opened classes
 * @property {Record<string, [outcome: string, sign: string, words: string]>} signs by letter
 * @property {Counts[]} totals
 * @property {Group[]} groups
 */

const ALL = "All scripts";
const LETTERS = ["c", "r", "s"];
const OTHERS = "other servers, newest";
const ROOMY = 12; // so few columns have room for names beside each other
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
  reveal(root);
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
function matrix({ columns, server, beside, release, script, signs, totals, groups }, opened) {
  const table = make("table", columns.length - beside > ROOMY ? "" : "roomy");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", "Scripts by release");
  const first = columns.length - beside; // of the other servers
  const row = (/** @type {HTMLTableCellElement[]} */ ...cells) => {
    const line = make("tr");
    line.append(...cells);
    return line;
  };
  const column = (/** @type {HTMLTableCellElement} */ cell, /** @type {number} */ k) => {
    cell.dataset.release = columns[k];
    if (columns[k] === release) cell.dataset.selected = "";
    if (k >= first) cell.dataset.beside = k === first ? "first" : "";
    return cell;
  };
  const head = make("thead");
  head.append(
    row(
      label("Script", "col"),
      ...columns.map((title, k) => {
        const cell = column(label("", "col"), k);
        const words = k === 0 ? server : k === first ? OTHERS : "";
        if (words) cell.append(make("i", "", words));
        cell.append(make("span", "", title));
        return cell;
      }),
    ),
  );
  const sums = (/** @type {Counts[]} */ counts, /** @type {string} */ words, /** @type {Group[]} */ of) =>
    counts.map((count, k) => column(sum(count, signs, `${columns[k]}, ${words}`, !allOwn(of, k)), k));
  const body = make("tbody");
  const everything = label(ALL, "row");
  everything.append(amount(groups.flatMap((group) => group.rows).length));
  body.append(row(everything, ...sums(totals, ALL.toLowerCase(), groups)));
  for (const group of groups) {
    const { name, words, totals: counts, rows } = group;
    const open = opened.has(name);
    const title = label(words, "row");
    title.prepend(make("span", "fold", open ? "▾" : "▸"));
    title.append(amount(rows.length));
    title.dataset.group = name;
    title.setAttribute("aria-expanded", String(open));
    const line = row(title, ...sums(counts, words, [group]));
    line.className = "group";
    body.append(line);
    if (!open) continue;
    for (const [scriptName, sentence, outcomes] of rows) {
      const first = label(scriptName, "row");
      first.title = sentence;
      first.dataset.script = scriptName;
      const cells = [...outcomes].map((letter, k) => {
        const cell = column(outcome(signs[letter], `${columns[k]}, ${scriptName}`), k);
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
 * Whether all scripts ran in a column, with their own tokens.
 * @param {Group[]} groups
 * @param {number} column
 */
function allOwn(groups, column) {
  return groups.every(({ rows }) => rows.every(([, , outcomes]) => LETTERS.includes(outcomes[column])));
}

/**
 * The counts of several scripts: a bar with the share of each outcome, and the number of the worst one.
 * @param {Counts} counts
 * @param {Matrix["signs"]} signs
 * @param {string} place
 * @param {boolean} starred whether some did not run, or with other tokens
 */
function sum(counts, signs, place, starred) {
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
  const words = worst === 0 ? sign : worst === 1 ? `${sign}${counts[1]}` : String(counts[2]);
  cell.textContent = starred ? `${words}*` : words;
  cell.style.setProperty("--silent-share", `${(100 * counts[2]) / all}%`);
  cell.style.setProperty("--failed-share", `${(100 * (counts[1] + counts[2])) / all}%`);
  const parts = LETTERS.map((letter, k) => `${counts[k]} ${signs[letter][2]}`);
  if (starred) parts.push("some not run, or with other tokens than the script's");
  describe(cell, `${place}: ${parts.join(", ")}`);
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
 * Scroll to what is selected, below the names of the columns.
 * @param {HTMLElement} root
 */
function reveal(root) {
  const selected = root.querySelector("[aria-selected], tr[data-selected] > th");
  if (!selected) return;
  const names = root.querySelector("thead")?.getBoundingClientRect().height ?? 0;
  const box = root.getBoundingClientRect();
  const { top, bottom } = selected.getBoundingClientRect();
  if (bottom > box.bottom) root.scrollTop += bottom - box.bottom;
  else if (top < box.top + names) root.scrollTop -= box.top + names - top;
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
