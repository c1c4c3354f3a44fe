// The buttons beside the legend and under the token: findings, find, keys, copies.

import { copyOf } from "./copying.js";
import { moveToFinding, showHelp } from "./keyboard.js";
import { offerCopies } from "./token-panel.js";

/** @import { Strip } from "./strip.js" */

/** @param {Strip} strip */
export function wireTools(strip) {
  const { parts } = strip;
  parts["finding-back"].onclick = () => moveToFinding(strip, -1);
  parts["finding-next"].onclick = () => moveToFinding(strip, 1);
  parts["find-open"].onclick = () => strip.finder.open();
  parts["help-open"].onclick = () => showHelp(parts);
  const { help } = parts;
  help.onclick = (event) => {
    if (event.target === help) help.close();
  };
  help.onclose = () => parts.scroller.focus({ preventScroll: true });
  const chosen = () => {
    const { token, range } = strip.selection;
    return { model: strip.model, token, range };
  };
  offerCopies(parts, chosen);
  parts.scroller.oncopy = (event) => {
    const { model, token, range } = chosen();
    const words = copyOf(model, token, "text", range);
    if (words === null || !event.clipboardData) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", words);
  };
}
