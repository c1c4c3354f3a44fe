// One row of cells over bars of their delivery. It is built once when it comes into sight; marks are painted over it.

import { make, paint } from "../../dom.js";
import { percent } from "../../numbers.js";
import { FONT, SIZE } from "../layout/sizes.js";
import { fieldHue, fieldLetter } from "../model/fields.js";
import { barLook } from "../model/picture.js";

/** @import { Placed } from "../model/blocks.js" */
/** @import { PlacedFinding } from "../model/placed-findings.js" */
/** @import { CellPlace, Layout } from "../layout/layout.js" */
/** @import { Model } from "../model/model.js" */
/** @import { Range } from "../model/cell-range.js" */

/**
 * What is painted over the cells: the chosen cell, the one under the pointer, the cells of a finding, and how
 * many cells had arrived.
 * @typedef {{ selected: number | null, hover: number | null, finding: PlacedFinding | null, range: Range | null,
 *   shown: number, hits: Set<number> }} Marks
 */
/** @typedef {{ i: number, element: HTMLElement, rule: HTMLElement | null }} Cell */
/**
 * One bar for neighbours that met the same fate; it carries its label where that fits.
 * @typedef {{ element: HTMLElement, from: CellPlace, first: number, last: number, label: string, letter: string,
 *   wide: number, width: number }} Bar
 */

export class Row {
  /**
   * @param {Layout} layout
   * @param {number} r
   */
  constructor(layout, r) {
    const { model } = layout;
    const b = layout.rowBlock[r];
    this.layout = layout;
    this.r = r;
    this.places = layout.cellsOf(r);
    this.start = this.places[0]?.i ?? layout.rowStart[r];
    this.end = this.start + this.places.length;
    this.element = make("div", "row");
    this.element.setAttribute("role", "presentation");
    this.element.style.top = `${layout.rowTop[r] - layout.blockTop[b]}px`;
    this.element.style.height = `${layout.rowHeight(layout.rowTall[r])}px`;
    this.mark = make("i", "span");
    this.range = make("i", "span range");
    this.element.append(this.mark, this.range);
    this.cells = this.places.map((place) => this.#cell(place, model.blocks[b]));
    /** @type {Bar[]} */
    this.bars = [];
    if (layout.rowTall[r]) for (const number of model.pictures.keys()) this.#bars(number);
  }

  /**
   * @param {CellPlace} place
   * @param {Placed} block
   * @returns {Cell}
   */
  #cell({ i, x, width, rule }, block) {
    const { layout } = this;
    const { model } = layout;
    const element = make("div", cellClasses(model, i, block));
    element.style.left = `${x}px`;
    element.style.width = `${width}px`;
    element.dataset.i = String(i);
    element.id = `cell-${i}`;
    element.setAttribute("role", "option");
    element.setAttribute("aria-setsize", String(model.count));
    element.setAttribute("aria-posinset", String(i + 1));
    element.append(paint(make("bdi", "text"), layout.cells.parts(i)));
    const chance = layout.heat ? model.probabilityOf(i) : null;
    if (chance !== null) {
      element.classList.add("heat");
      element.style.setProperty("--heat", `${Math.round((1 - chance) * 100)}%`);
    }
    const below = chance === null ? String(model.idOf(i) ?? "") : percent(chance);
    if (model.ids) element.append(make("span", "id", below));
    const line = rule ? make("i", "rule") : null;
    if (line) {
      line.style.left = `${x - 5}px`;
      this.element.append(line);
    }
    this.element.append(element);
    return { i, element, rule: line };
  }

  /** @param {number} number of the server */
  #bars(number) {
    const { layout, places } = this;
    const { model } = layout;
    const picture = model.pictures[number];
    const top = `${SIZE.textHeight + (model.ids ? SIZE.idHeight : 0) + 3 + number * SIZE.laneHeight}px`;
    for (let first = 0, last = 0; first < places.length; first = last + 1) {
      last = first;
      const k = picture.numberAt(places[first].i);
      if (k < 0) continue;
      while (last + 1 < places.length && picture.numberAt(places[last + 1].i) === k) last++;
      const run = picture.runs[k];
      const look = barLook(run);
      if (look === null) continue;
      const field = picture.fieldOf(run[4]);
      const element = make("span", `ribbon ${look}`);
      element.dataset.hue = fieldHue(field);
      element.style.top = top;
      element.style.left = `${places[first].x}px`;
      this.element.append(element);
      const label = picture.barLabel(run, model.kinds);
      const wide = layout.textWidth(label, FONT.label) + 8;
      const letter = fieldLetter(field);
      this.bars.push({ element, from: places[first], first, last, label, letter, wide, width: -1 });
    }
    if (model.compared) {
      const name = make("span", "lane", serverLetter(model, number));
      name.style.top = top;
      this.element.append(name);
    }
  }

  /**
   * @param {Marks} marks
   * @param {(i: number) => string} describe
   */
  paint(marks, describe) {
    const known = this.#paintCells(marks, describe);
    for (const bar of this.bars) this.#paintBar(bar, known);
    this.#paintFinding(marks, known);
    this.#cover(this.range, marks.range, known);
  }

  /**
   * Paint the cells; returns how many of them, from the first on, had arrived.
   * @param {Marks} marks
   * @param {(i: number) => string} describe
   */
  #paintCells({ selected, hover, shown, hits, range }, describe) {
    const { model } = this.layout;
    let known = this.cells.length;
    for (const [c, { i, element, rule }] of this.cells.entries()) {
      const ghost = model.rankOf(i) >= shown;
      if (ghost && c < known) known = c;
      element.classList.toggle("ghost", ghost);
      element.classList.toggle("selected", i === selected);
      element.classList.toggle("hover", i === hover);
      element.classList.toggle("hit", hits.has(i));
      rule?.classList.toggle("ghost", ghost);
      const ranged = range !== null && range.start <= i && i < range.end;
      if (i === selected) element.setAttribute("aria-description", describe(i));
      if (i === selected || ranged) element.setAttribute("aria-selected", "true");
      else element.removeAttribute("aria-selected");
    }
    return known;
  }

  /**
   * @param {Bar} bar
   * @param {number} known
   */
  #paintBar(bar, known) {
    const last = Math.min(bar.last, known - 1);
    const width = last < bar.first ? 0 : this.places[last].x + this.places[last].width - bar.from.x;
    if (width === bar.width) return;
    bar.width = width;
    bar.element.style.width = `${width}px`;
    bar.element.hidden = width === 0;
    const labelled = width >= bar.wide;
    bar.element.textContent = labelled ? bar.label : "";
    bar.element.dataset.letter = labelled ? "" : bar.letter;
    bar.element.title = bar.label;
  }

  /**
   * The line over the cells of the chosen finding; not over one cell that is chosen itself.
   * @param {Marks} marks
   * @param {number} known
   */
  #paintFinding({ finding, selected }, known) {
    const first = finding?.start ?? null;
    const alone = finding === null || first === null || (finding.end - first === 1 && first === selected);
    this.#cover(this.mark, alone ? null : { start: first, end: finding.end }, known);
  }

  /**
   * Lay a mark over those cells of a range that are in the row and have arrived.
   * @param {HTMLElement} mark
   * @param {Range | null} range
   * @param {number} known
   */
  #cover(mark, range, known) {
    const { places, start, end } = this;
    const from = Math.max(range?.start ?? end, start);
    const to = Math.min(range?.end ?? 0, end, start + known);
    mark.hidden = from >= to;
    if (mark.hidden) return;
    const left = places[from - start];
    const right = places[to - 1 - start];
    mark.style.left = `${left.x - 3}px`;
    mark.style.width = `${right.x + right.width - left.x + 6}px`;
  }
}

/**
 * The letter that stands for a server of a comparison in the legend and in its rows.
 * @param {Model} model
 * @param {number} number
 */
export function serverLetter(model, number) {
  return model.serverName(number).slice(0, 1).toUpperCase();
}

/**
 * @param {Model} model
 * @param {number} i
 * @param {Placed} block
 */
function cellClasses(model, i, block) {
  const state = model.stateOf(i, block);
  const unsent = model.unsentOf(i);
  const { culprit } = block;
  const classes = ["cell", state];
  if (state === "refused" && model.isSpecialToken(i)) classes.push("marker");
  if (unsent) classes.push(`unsent-${unsent.kind}`);
  if (culprit && culprit[0] <= i && i < culprit[1] && unsent?.kind !== "gap") classes.push("culprit");
  if (model.reconstructed && !unsent) classes.push("reconstructed");
  if (model.wrong.values[i]) classes.push("wrong");
  return classes.join(" ");
}
