// The frame of a block: its head with title and meta, as far as they are known, around its rows.

import { make, paint } from "../../dom.js";
import { plainText, visibleParts } from "../../text.js";
import { SIZE } from "../layout/sizes.js";
import { blockHue, blockWords } from "../model/blocks.js";

/** @import { Placed } from "../model/blocks.js" */
/** @import { Layout } from "../layout/layout.js" */
/** @import { Model } from "../model/model.js" */

export class Frame {
  /**
   * @param {Layout} layout
   * @param {number} b
   */
  constructor(layout, b) {
    const { model } = layout;
    const block = model.blocks[b];
    this.layout = layout;
    this.b = b;
    this.known = -1; // cells up to which it is painted
    this.stale = false; // its block has grown since
    this.title = make("span", "title");
    this.meta = make("span", "meta");
    this.element = make("div", "block");
    this.element.style.top = `${layout.blockTop[b]}px`;
    this.element.dataset.hue = blockHue(block);
    this.element.setAttribute("role", "group");
    const head = make("div", layout.metaLines(block) ? "head wraps" : "head");
    head.style.height = `${layout.headerHeight(block)}px`;
    // For the pointer; the key c does the same, and the label says whether it is folded.
    const folded = layout.folds.folded.has(block.start);
    const sign = make("span", "fold", folded ? "▸" : "▾");
    sign.dataset.start = String(block.start);
    sign.title = folded ? "Expand this message (c)" : "Collapse this message (c)";
    sign.setAttribute("aria-hidden", "true");
    this.folded = folded;
    head.append(sign, this.title, this.meta);
    if (block.kind === "refused") {
      const words = make("span", "words");
      words.style.height = `${layout.wordLines(block) * SIZE.wordsHeight}px`;
      head.append(paint(words, visibleParts(`“${block.reason}”`, { spaces: false })));
    }
    this.element.append(head);
  }

  /**
   * Paint what is known when `shown` cells have arrived.
   * @param {number} shown
   */
  paint(shown) {
    const { layout, b } = this;
    const { model } = layout;
    const block = model.blocks[b];
    const known = knownIn(model, block, shown);
    if (known === this.known) return;
    this.known = known;
    const { element } = this;
    element.classList.toggle("absent", known <= block.start);
    if (known <= block.start) return;
    const bottom = layout.rowBottom(layout.rowOf(known - 1)) + SIZE.blockPadY;
    element.style.height = `${bottom - layout.blockTop[b]}px`;
    const open = known <= block.body && block.kind === "message" && known < block.end;
    element.classList.toggle("open", open);
    const words = blockWords(model, block, known, open);
    paint(this.title, visibleParts(words.title, { spaces: false, most: 80 }));
    paint(this.meta, visibleParts(words.meta, { spaces: false, most: 200 }));
    element.setAttribute(
      "aria-label",
      plainText(`${words.title}, ${words.meta}${this.folded ? ", collapsed" : ""}`, 200),
    );
  }
}

/**
 * Past the last cell of a block that has arrived; within a block cells stand in order of arrival.
 * @param {Model} model
 * @param {Placed} block
 * @param {number} shown
 */
function knownIn(model, block, shown) {
  if (!model.events.inOrder) return Math.max(block.start, Math.min(block.end, shown));
  let low = block.start;
  let high = block.end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (model.rankOf(middle) < shown) low = middle + 1;
    else high = middle;
  }
  return low;
}
