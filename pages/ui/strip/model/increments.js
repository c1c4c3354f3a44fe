// Increments of a growing stream: when one begins the stream anew, and how two become one.

/** @import { Increment, Payload, PipelineChange, Tables } from "./payload.d.ts" */

/** @type {Tables} */
const NO_TABLES = { kinds: {}, special_tokens: [] };

/**
 * True when an increment tells of a stream from its first cell: with cells of another kind (ids came after
 * pieces, or the other way round), or once more. What adds no cell never does.
 * @param {{ unit: Payload["unit"], count: number }} shown
 * @param {Increment} columns
 */
export function startsOver(shown, columns) {
  return (
    columns.from === 0 && columns.count > 0 && (unitAfter(shown, columns) !== shown.unit || shown.count > 0)
  );
}

/**
 * The kind of cells once an increment is taken.
 * @param {{ unit: Payload["unit"] }} shown
 * @param {Increment} columns
 */
export function unitAfter(shown, columns) {
  return columns.unit ?? shown.unit;
}

/**
 * A payload without cells, for a stream that begins.
 * @param {string} key
 * @param {Payload["unit"]} unit
 * @param {Tables} tables
 * @returns {Payload}
 */
export function emptyPayload(key, unit, tables = NO_TABLES) {
  return {
    key,
    unit,
    count: 0,
    sent: 0,
    hidden: 0,
    ids: unit === "token" ? [] : null,
    vocab: {},
    texts: {},
    events: { index: [], start: [], at: [] },
    blocks: [],
    pipelines: [],
    reconstructed: false,
    uncertain: [],
    unsent: [],
    findings: [],
    ...tables,
    first_at: null,
    last_at: null,
    finish: null,
    evidence: "none",
  };
}

/**
 * Increments with those joined that follow on one another: each costs the strip about the same.
 * @param {Increment[]} queue
 */
export function joinedUp(queue) {
  /** @type {Increment[]} */
  const joined = [];
  for (const columns of queue) {
    const before = joined.at(-1);
    if (before && follows(before, columns)) joined[joined.length - 1] = join(before, columns);
    else joined.push(columns);
  }
  return joined;
}

/**
 * @param {Increment} before
 * @param {Increment} after
 */
function follows(before, after) {
  return after.from === before.count && (after.unit === before.unit || after.events.index.length === 0);
}

/**
 * Two increments as one, the second of which begins where the first ends.
 * @param {Increment} before
 * @param {Increment} after
 * @returns {Increment}
 */
export function join(before, after) {
  const { events } = before;
  const times = events.at && after.events.at ? events.at.concat(after.events.at) : null;
  return {
    ...before,
    ...after,
    unit: before.unit,
    from: before.from,
    ids: before.ids && after.ids ? before.ids.concat(after.ids) : before.ids,
    vocab: { ...before.vocab, ...after.vocab },
    texts: { ...before.texts, ...after.texts },
    events: {
      index: events.index.concat(after.events.index),
      start: events.start.concat(after.events.start),
      at: times,
    },
    unsent: before.unsent.concat(after.unsent),
    blocks: joinItems(before.blocks, after.blocks),
    pipelines: joinPipelines(before.pipelines, after.pipelines),
    findings:
      before.findings && after.findings
        ? joinItems(before.findings, after.findings)
        : (after.findings ?? before.findings),
    last_at: after.last_at ?? before.last_at,
  };
}

/**
 * @template Item
 * @param {{ from: number, items: Item[] }} before
 * @param {{ from: number, items: Item[] }} after
 */
function joinItems(before, after) {
  const { from, kept } = tail(before, after, before.items);
  return { from, items: kept.concat(after.items) };
}

/**
 * @param {PipelineChange[] | undefined} before
 * @param {PipelineChange[] | undefined} after
 */
function joinPipelines(before, after) {
  if (!before || !after) return after ?? before;
  return after.map((change, number) => {
    const first = before[number];
    if (!first) return change;
    const lanes = change.lanes.map((lane, k) => {
      if (!lane.from) return lane;
      const { from, kept } = tail(first.lanes[k], lane, first.lanes[k].pieces);
      return { ...lane, from, pieces: kept.concat(lane.pieces) };
    });
    return { ...change, lanes, fates: joinItems(first.fates, change.fates) };
  });
}

/**
 * What stays of a first change of a list's end under a second one: from where on, and which of its items.
 * @template Item
 * @param {{ from: number }} before
 * @param {{ from: number }} after
 * @param {Item[]} items
 */
function tail(before, after, items) {
  if (after.from <= before.from) return { from: after.from, kept: [] };
  return { from: before.from, kept: items.slice(0, after.from - before.from) };
}
