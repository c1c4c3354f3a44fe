// The list of findings beside the tokens.

import { make, paint } from "../dom.js";
import { count, NUMBER } from "../numbers.js";
import { visibleParts } from "../text.js";

/** @import { PlacedFinding } from "./findings.js" */
/** @import { Parts } from "./parts.js" */

const MOST = 200; // findings listed at once; n and p reach the others
const STRIDE = 50; // by which that stretch of them moves

/**
 * @typedef {object} ListState
 * @property {number | null} chosen
 * @property {number} shown cells that had arrived
 * @property {number} version another one builds the list again
 * @property {(number: number) => void} choose
 */

/**
 * The list is built once for a capture (or a stretch of a very long list); what is not known yet is hidden in it.
 * @param {Parts} parts
 * @param {PlacedFinding[]} findings
 * @param {ListState} state
 */
export function paintFindings(parts, findings, { chosen, shown, choose, version }) {
  const list = parts.findings;
  const first = firstListed(findings.length, chosen ?? 0);
  const built = `${version} ${first}`;
  if (list.dataset.built !== built) {
    list.dataset.built = built;
    list.replaceChildren(...listed(findings, first, choose));
  }
  let known = 0;
  for (const finding of findings) if (finding.knownAt <= shown) known++;
  parts["findings-count"].textContent = known ? NUMBER.format(known) : "";
  const at = chosen === null ? "" : `${NUMBER.format(chosen + 1)} of `;
  parts["finding-at"].textContent = known ? `${at}${count(known, "finding")}` : "";
  parts.steps.hidden = findings.length === 0;
  for (const item of /** @type {Iterable<HTMLElement>} */ (list.children)) {
    const { finding, role } = item.dataset;
    if (finding !== undefined) paintItem(list, item, findings[Number(finding)], chosen, shown);
    else if (role !== "none") item.hidden = known < findings.length;
    else {
      item.hidden = known > 0;
      item.textContent = findings.length ? "none at this time" : "none";
    }
  }
}

/**
 * @param {number} all
 * @param {number} chosen
 */
function firstListed(all, chosen) {
  if (all <= MOST) return 0;
  return Math.max(0, Math.min(Math.floor((chosen - MOST / 2) / STRIDE) * STRIDE, all - MOST));
}

/**
 * @param {PlacedFinding[]} findings
 * @param {number} first
 * @param {(number: number) => void} choose
 */
function listed(findings, first, choose) {
  /** @type {HTMLElement[]} */
  const items = findings.slice(first, first + MOST).map((finding) => findingItem(finding, choose));
  const after = findings.length - first - items.length;
  if (first > 0) items.unshift(make("p", "quiet", `${count(first, "finding")} before`));
  if (after > 0)
    items.push(make("p", "quiet", `${count(after, "finding")} more: press n and p to step through them`));
  const none = make("p", "quiet none");
  none.dataset.role = "none";
  return [...items, none];
}

/**
 * @param {PlacedFinding} finding
 * @param {(number: number) => void} choose
 */
function findingItem(finding, choose) {
  const { label: kind } = finding;
  const item = make("button", `item ${finding.severity}`);
  item.dataset.finding = String(finding.number);
  const place = paint(
    make("span", "place"),
    visibleParts(placeWords(finding, kind), { spaces: false, most: 60 }),
  );
  const title = make("span", "title");
  title.append(make("b", "", kind), " ", place);
  const line = paint(make("span", "line"), visibleParts(finding.line, { spaces: false, most: 220 }));
  const bullet = make("i", "bullet");
  bullet.setAttribute("role", "img");
  bullet.setAttribute("aria-label", finding.severity);
  item.append(bullet, title, line);
  item.onclick = () => choose(finding.number);
  return item;
}

/**
 * The title without its kind: `tokens 4–5`, `event 5`, in a comparison `only left: event 5`.
 * @param {PlacedFinding} finding
 * @param {string} kind
 */
function placeWords({ title }, kind) {
  const at = title.indexOf(kind);
  if (at < 0) return title;
  const place = title
    .slice(at + kind.length)
    .replace(/^,/, "")
    .trim();
  return `${title.slice(0, at)}${place}`;
}

/**
 * @param {HTMLElement} list
 * @param {HTMLElement} item
 * @param {PlacedFinding} finding
 * @param {number | null} chosen
 * @param {number} shown
 */
function paintItem(list, item, finding, chosen, shown) {
  item.hidden = finding.knownAt > shown;
  const current = finding.number === chosen;
  if (current === item.hasAttribute("aria-current")) return;
  if (!current) {
    item.removeAttribute("aria-current");
    return;
  }
  item.setAttribute("aria-current", "true");
  const up = item.offsetTop - list.scrollTop;
  const down = up + item.offsetHeight - list.clientHeight;
  if (up < 0) list.scrollTop += up;
  else if (down > 0) list.scrollTop += down;
}
