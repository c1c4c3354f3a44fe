// The buttons beside the legend and under the token: findings, find, keys, copies.

import { moveToFinding } from "./keyboard.js";
import { offerCopies } from "./token-panel.js";

/** @import { Strip } from "./strip.js" */

/** @param {Strip} strip */
export function wireTools(strip) {
  const { parts } = strip;
  parts["finding-back"].onclick = () => moveToFinding(strip, -1);
  parts["finding-next"].onclick = () => moveToFinding(strip, 1);
  parts["find-open"].onclick = () => strip.finder.open();
  parts["help-open"].onclick = () => strip.help();
  const { help } = parts;
  help.onclick = (event) => {
    if (event.target === help) help.close();
  };
  help.onclose = () => parts.scroller.focus({ preventScroll: true });
  offerCopies(parts, () => ({ model: strip.model, token: strip.selection.token }));
}
