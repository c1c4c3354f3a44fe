// Findings of one sort as one row of the list: 192 equal losses are one fact, not 192.

import { count, NUMBER } from "../../numbers.js";
import { fieldWords } from "./fields.js";

/** @import { PlacedFinding } from "./placed-findings.js" */

const LEAST = 4; // findings of a sort that make a group

/** @typedef {{ key: string, numbers: number[] }} Group findings of one sort, by their numbers */
/** @typedef {{ group: Group } | { number: number, key: string | null }} ListRow a group, or a finding, of a group or of none */

/**
 * The rows of the list: groups that are closed stand for their findings.
 * @param {PlacedFinding[]} findings
 * @param {Set<string>} open keys of the groups whose findings are listed
 * @returns {ListRow[]}
 */
export function rowsOf(findings, open) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const finding of findings) {
    const key = sortOf(finding);
    const group = groups.get(key) ?? { key, numbers: [] };
    groups.set(key, group);
    group.numbers.push(finding.number);
  }
  /** @type {ListRow[]} */
  const rows = [];
  for (const finding of findings) {
    const group = /** @type {Group} */ (groups.get(sortOf(finding)));
    if (group.numbers.length < LEAST) rows.push({ number: finding.number, key: null });
    else if (group.numbers[0] === finding.number) {
      rows.push({ group });
      if (open.has(group.key)) rows.push(...group.numbers.map((number) => ({ number, key: group.key })));
    }
  }
  return rows;
}

/**
 * The row that shows a finding: its own, or that of its closed group; -1 when there is none.
 * @param {ListRow[]} rows
 * @param {number} number
 */
export function rowWith(rows, number) {
  const own = rows.findIndex((row) => "number" in row && row.number === number);
  return own >= 0 ? own : rows.findIndex((row) => "group" in row && row.group.numbers.includes(number));
}

/**
 * What a group is, in a line.
 * @param {PlacedFinding[]} findings
 * @param {Group} group
 */
export function groupWords(findings, { numbers }) {
  const [first] = numbers.map((number) => findings[number]);
  const characters = numbers.reduce((sum, number) => sum + [...(findings[number].generated ?? "")].length, 0);
  const of = first.field ? ` of ${fieldWords(first.field)}` : "";
  const into = first.delivered_in && first.delivered_in !== first.field;
  return [
    characters ? `${count(characters, "character")}${of}` : first.field ? fieldWords(first.field) : "",
    into ? `delivered in ${fieldWords(first.delivered_in ?? "")}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

/**
 * How many of a group are known, and which of them is chosen.
 * @param {PlacedFinding[]} findings
 * @param {Group} group
 * @param {{ chosen: number | null, shown: number }} now
 */
export function groupCount(findings, { numbers }, { chosen, shown }) {
  const known = numbers.filter((number) => findings[number].knownAt <= shown).length;
  const at = chosen === null ? -1 : numbers.indexOf(chosen);
  return {
    known,
    words: `${at < 0 ? "" : `${NUMBER.format(at + 1)} of `}${NUMBER.format(known)}`,
    current: at >= 0,
  };
}

/** @param {PlacedFinding} finding */
function sortOf({ kind, severity, field, delivered_in: into, known_issues: issues }) {
  return [kind, severity, field, into, issues[0]?.id].join(" ");
}
