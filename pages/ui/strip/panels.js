// The panels around the tokens: findings, the chosen finding, the token or range at hand, and that in one line.

import { describeCell } from "./cell-words.js";
import { paintFinding } from "./finding-panel.js";
import { paintFindings } from "./findings-list.js";
import { rangeWords } from "./range.js";
import { paintToken } from "./token-panel.js";

/** @import { PlacedFinding } from "./findings.js" */
/** @import { Model } from "./model.js" */
/** @import { Parts } from "./parts.js" */
/** @import { Selection } from "./selection.js" */

export class Panels {
  /**
   * @param {Parts} parts
   * @param {(finding: number) => void} choose
   */
  constructor(parts, choose) {
    this.parts = parts;
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
    const { parts, version } = this;
    paintFindings(parts, model.findings, {
      chosen: finding?.number ?? null,
      shown,
      version,
      compared: model.lanes.length > 1,
      choose: this.choose,
    });
    const panel = `${version} ${finding?.number}`;
    if (panel !== this.panel) paintFinding(parts.finding, model, finding);
    this.panel = panel;
    paintToken(parts, model, { token: hover ?? token, range: hover === null && !playing ? range : null });
    const words = token === null ? "" : describeCell(model, token);
    const readout = range ? words + rangeWords(range, model) : words;
    if (parts.readout.textContent !== readout) parts.readout.textContent = readout;
  }
}
