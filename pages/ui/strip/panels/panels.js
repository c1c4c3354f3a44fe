// The panels around the tokens: findings, the chosen finding, the token or range at hand, and that in one line.

import { describeCell } from "../model/cell-description.js";
import { rangeWords } from "../model/cell-range.js";
import { paintFinding } from "./finding-panel.js";
import { paintFindings } from "./findings-list.js";
import { paintToken } from "./token-panel.js";

/** @import { PlacedFinding } from "../model/placed-findings.js" */
/** @import { Model } from "../model/model.js" */
/** @import { Elements } from "../elements.js" */
/** @import { Selection } from "../model/selection.js" */

export class Panels {
  /**
   * @param {Elements} elements
   * @param {(finding: number) => void} choose
   */
  constructor(elements, choose) {
    this.elements = elements;
    this.choose = choose;
    this.version = 0; // another one builds the list of findings again
    this.panel = ""; // what the panel of the finding shows
  }

  /** The findings are others now. */
  renew() {
    this.version++;
  }

  /**
   * @param {Model} model
   * @param {Selection} selection
   * @param {{ finding: PlacedFinding | null, shown: number, playing: boolean }} now
   */
  paint(model, { token, hover, range }, { finding, shown, playing }) {
    const { elements, version } = this;
    paintFindings(elements, model.findings, {
      chosen: finding?.number ?? null,
      shown,
      version,
      compared: model.compared,
      choose: this.choose,
    });
    const panel = `${version} ${finding?.number}`;
    if (panel !== this.panel) paintFinding(elements.finding, model, finding);
    this.panel = panel;
    paintToken(elements, model, { token: hover ?? token, range: hover === null && !playing ? range : null });
    const words = token === null ? "" : describeCell(model, token);
    const readout = range ? words + rangeWords(range, model) : words;
    if (elements.readout.textContent !== readout) elements.readout.textContent = readout;
  }
}
