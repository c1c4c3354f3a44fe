// The list of findings beside the tokens.

import { make, paint } from "../../dom.js";
import { count, NUMBER } from "../../numbers.js";
import { visibleParts } from "../../text.js";
import { groupCount, groupWords, rowsOf, rowWith } from "../model/finding-groups.js";

/** @import { Group, ListRow } from "../model/finding-groups.js" */
/** @import { PlacedFinding } from "../model/placed-findings.js" */
/** @import { Elements } from "../elements.js" */

const MOST = 200; // rows listed at once; n and p reach the other findings
const STRIDE = 50; // by which that stretch of them moves

/**
 * @typedef {object} ListState
 * @property {number | null} chosen
 * @property {number} shown cells that had arrived
 * @property {number} version another one builds the list again
 * @property {boolean} compared two responses: only what differs is listed
 * @property {(number: number) => void} choose
 */

/** @typedef {{ open: Set<string>, rows: ListRow[], of: PlacedFinding[] | null, opened: number }} Memory */

/** @type {WeakMap<Element, Memory>} which groups are open, and the rows that this makes */
const memories = new WeakMap();

/**
 * Where the chosen finding is among those known, beside a picture that does not show all of them at once.
 * @param {Elements} elements
 * @param {PlacedFinding[]} findings
 * @param {{ chosen: PlacedFinding | null, shown: number, partly: boolean }} state
 */
export function paintSteps(elements, findings, { chosen, shown, partly }) {
  let known = 0;
  for (const finding of findings) if (finding.knownAt <= shown) known++;
  const at = chosen === null ? "" : `${NUMBER.format(chosen.number + 1)} of `;
  const words = at ? at + NUMBER.format(known) : count(known, "finding");
  if (elements["finding-at"].textContent !== words) elements["finding-at"].textContent = words;
  elements["finding-at"].title = chosen?.title ?? "";
  elements.steps.hidden = !partly || known < 2;
}

/**
 * The list is built once for a capture (or a stretch of a very long list); what is not known yet is hidden in it.
 * @param {Elements} elements
 * @param {PlacedFinding[]} findings
 * @param {ListState} state
 */
export function paintFindings(elements, findings, state) {
  const { chosen, shown } = state;
  const list = elements.findings;
  const memory = memoryOf(list, findings);
  const first = firstListed(memory.rows.length, chosen === null ? 0 : rowWith(memory.rows, chosen));
  const built = `${state.version} ${first} ${memory.opened}`;
  if (list.dataset.built !== built) {
    list.dataset.built = built;
    const toggle = (/** @type {string} */ key) => {
      if (!memory.open.delete(key)) memory.open.add(key);
      memory.of = null;
      paintFindings(elements, findings, state);
    };
    list.replaceChildren(...listed(findings, memory, first, { choose: state.choose, toggle }));
  }
  let known = 0;
  for (const finding of findings) if (finding.knownAt <= shown) known++;
  elements["findings-count"].textContent = known ? NUMBER.format(known) : "";
  for (const row of /** @type {Iterable<HTMLElement>} */ (list.children)) {
    const { finding, group } = row.dataset;
    const now = { chosen, shown };
    if (finding !== undefined) {
      const { knownAt, number } = findings[Number(finding)];
      paintItem(list, row, { known: knownAt <= shown, current: number === chosen });
    } else if (group !== undefined) paintGroup(list, row, findings, memory, now);
    else row.hidden = known < findings.length;
  }
  list.hidden = known === 0;
  elements["findings-none"].hidden = known > 0;
  elements["findings-none"].textContent = findings.length
    ? "none at this time"
    : state.compared
      ? "none that differs"
      : "none";
}

/**
 * @param {Element} list
 * @param {PlacedFinding[]} findings
 */
function memoryOf(list, findings) {
  /** @type {Memory} */
  const memory = memories.get(list) ?? { open: new Set(), rows: [], of: null, opened: 0 };
  memories.set(list, memory);
  if (memory.of !== findings) {
    memory.rows = rowsOf(findings, memory.open);
    memory.of = findings;
    memory.opened++;
  }
  return memory;
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
 * @param {Memory} memory
 * @param {number} first
 * @param {{ choose: (number: number) => void, toggle: (key: string) => void }} on
 */
function listed(findings, { rows, open }, first, { choose, toggle }) {
  const items = rows.slice(first, first + MOST).map((row) => {
    if ("group" in row) return groupItem(findings, row.group, open.has(row.group.key), toggle);
    const item = findingItem(findings[row.number], choose);
    item.classList.toggle("within", row.key !== null);
    return item;
  });
  const after = rows.length - first - items.length;
  if (first > 0) items.unshift(note(`${count(first, "row")} before`));
  if (after > 0) items.push(note(`${count(after, "row")} more: press n and p to step through the findings`));
  return items;
}

/** @param {string} words */
function note(words) {
  const row = make("div", "quiet", words);
  row.setAttribute("role", "listitem");
  return row;
}

/**
 * @param {PlacedFinding[]} findings
 * @param {Group} group
 * @param {boolean} open
 * @param {(key: string) => void} toggle
 */
function groupItem(findings, group, open, toggle) {
  const { label, severity } = findings[group.numbers[0]];
  const title = make("span", "title");
  title.append(make("b", "", label), " ", make("span", "place"), make("i", "sign", open ? "▾" : "▸"));
  const words = visibleParts(groupWords(findings, group), { spaces: false, most: 200 });
  const row = rowItem(severity, [make("i", "bullet many"), title, paint(make("span", "line"), words)]);
  row.dataset.group = group.key;
  const button = buttonOf(row);
  button.setAttribute("aria-expanded", String(open));
  button.onclick = () => toggle(group.key);
  return row;
}

/**
 * @param {string} severity
 * @param {HTMLElement[]} elements
 */
function rowItem(severity, elements) {
  const row = make("div", "row-item");
  row.setAttribute("role", "listitem");
  const button = make("button", `item ${severity}`);
  button.type = "button";
  button.append(...elements);
  row.append(button);
  return row;
}

/** @param {string} severity */
function bulletOf(severity) {
  const bullet = make("i", "bullet");
  bullet.setAttribute("role", "img");
  bullet.setAttribute("aria-label", severity);
  return bullet;
}

/** @param {HTMLElement} row */
function buttonOf(row) {
  return /** @type {HTMLButtonElement} */ (row.firstElementChild);
}

/**
 * @param {PlacedFinding} finding
 * @param {(number: number) => void} choose
 */
function findingItem(finding, choose) {
  const { label: kind } = finding;
  const place = paint(
    make("span", "place"),
    visibleParts(placeWords(finding, kind), { spaces: false, most: 60 }),
  );
  const title = make("span", "title");
  title.append(make("b", "", kind), " ", place);
  const line = paint(make("span", "line"), visibleParts(finding.line, { spaces: false, most: 220 }));
  const row = rowItem(finding.severity, [bulletOf(finding.severity), title, line]);
  row.dataset.finding = String(finding.number);
  const item = buttonOf(row);
  item.onclick = () => choose(finding.number);
  return row;
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
 * @param {HTMLElement} row
 * @param {PlacedFinding[]} findings
 * @param {Memory} memory
 * @param {{ chosen: number | null, shown: number }} now
 */
function paintGroup(list, row, findings, { rows, open }, now) {
  const grouped = rows.find((each) => "group" in each && each.group.key === row.dataset.group);
  if (!grouped || !("group" in grouped)) return;
  const { known, words, current } = groupCount(findings, grouped.group, now);
  const place = /** @type {HTMLElement} */ (row.querySelector(".place"));
  if (place.textContent !== words) place.textContent = words;
  paintItem(list, row, { known: known > 0, current: current && !open.has(grouped.group.key) });
}

/**
 * @param {HTMLElement} list
 * @param {HTMLElement} row
 * @param {{ known: boolean, current: boolean }} state
 */
function paintItem(list, row, { known, current }) {
  const button = buttonOf(row);
  row.hidden = !known;
  if (current === button.hasAttribute("aria-current")) return;
  if (!current) {
    button.removeAttribute("aria-current");
    return;
  }
  button.setAttribute("aria-current", "true");
  const up = row.offsetTop - list.scrollTop;
  const down = up + row.offsetHeight - list.clientHeight;
  if (up < 0) list.scrollTop += up;
  else if (down > 0) list.scrollTop += down;
}
