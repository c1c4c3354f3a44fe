// Findings on the cells of the strip: where each lies, and from which moment of the stream it is known.

/** @import { FindingRow, KindRow } from "./payload.d.ts" */
/** @import { Arrivals } from "./arrivals.js" */

/**
 * A finding with its place: cells `start` to `end`, null when it has none; known when `knownAt` cells have arrived.
 * `marks` says that these cells themselves are wrong: others point at a place or a whole body.
 * @typedef {FindingRow & KindRow & { number: number, start: number | null, end: number, knownAt: number }} PlacedFinding
 */

/**
 * True for what a parser rejected.
 * @param {PlacedFinding} finding
 */
export function isRejection(finding) {
  return finding.side === "model";
}

/**
 * True where text arrived in another field than the promised one.
 * @param {PlacedFinding} finding
 */
export function arrivedElsewhere({ delivered, delivered_in: into, field }) {
  return Boolean(delivered && into && into !== field);
}

/**
 * @param {PlacedFinding} finding
 * @param {number} i
 */
export function holds(finding, i) {
  return finding.start !== null && finding.start <= i && i < finding.end;
}

/**
 * @param {FindingRow[]} findings
 * @param {Record<string, KindRow>} kinds
 * @returns {PlacedFinding[]}
 */
export function numbered(findings, kinds, first = 0) {
  return findings.map((finding, k) => {
    const label = finding.kind.replaceAll("_", " ");
    const kind = kinds[finding.kind] ?? { label, marks: false, side: "", of_delivery: false };
    return { ...finding, ...kind, number: first + k, start: null, end: 0, knownAt: 0 };
  });
}

/**
 * Place a finding among the cells that there are now.
 * @param {PlacedFinding} finding
 * @param {Arrivals} events
 */
export function place(finding, events) {
  const byCell = finding.cell_start !== undefined;
  const start = byCell ? finding.cell_start : finding.token_start;
  const end = byCell ? finding.cell_end : finding.token_end;
  if (start === null || start === undefined || events.cells === 0) finding.start = null;
  else {
    finding.start = Math.min(start, events.cells - 1);
    finding.end = Math.min(Math.max(end ?? start + 1, finding.start + 1), events.cells);
  }
  finding.knownAt = knownAt(finding, events);
}

/**
 * How many cells must have arrived before a finding can be known.
 * @param {PlacedFinding} finding
 * @param {Arrivals} events
 */
function knownAt(finding, events) {
  if (finding.start !== null) return events.ranks.values[finding.start] + 1;
  if (finding.event_start === null || finding.event_start === undefined) return events.cells;
  let cells = 0;
  for (let k = 0; k < events.index.length; k++) {
    if (events.index[k] <= finding.event_start) cells += events.size(k);
  }
  return Math.min(events.cells, Math.max(1, cells));
}

/**
 * The number of the narrowest finding about the very cells that include i; null when there is none.
 * @param {PlacedFinding[]} findings
 * @param {number} i
 */
export function narrowestAt(findings, i) {
  /** @type {PlacedFinding | null} */
  let best = null;
  for (const finding of findings) {
    if (!finding.marks || !holds(finding, i)) continue;
    if (best === null || width(finding) < width(best)) best = finding;
  }
  return best?.number ?? null;
}

/** @param {PlacedFinding} finding */
function width(finding) {
  return finding.start === null ? 0 : finding.end - finding.start;
}
