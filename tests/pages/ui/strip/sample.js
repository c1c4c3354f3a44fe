// Streams for the tests: payloads as Python makes them, whole and cut into increments.

/** @import { Block, FateRun, FindingRow, Increment, Payload, Piece, Pipeline, PipelineChange, Tables } from "../../../../pages/ui/strip/model/payload.d.ts" */

export const CHANNEL = 200005;
export const MESSAGE = 200008;
export const END = 200007;
export const RETURN = 200002;
const LOSS = { marks: true, side: "text", of_delivery: true };
/** @type {Tables} */
export const TABLES = {
  kinds: {
    dropped: { label: "dropped", ...LOSS },
    misrouted: { label: "misrouted", ...LOSS },
    garbled: { label: "garbled", ...LOSS },
    unexpected_token: { label: "unexpected token", marks: true, side: "model", of_delivery: false },
    truncated: { label: "truncated", marks: false, side: "stream", of_delivery: false },
  },
  special_tokens: [RETURN, CHANNEL, 200006, END, MESSAGE],
};

/**
 * @param {Partial<Block>} block
 * @returns {Block}
 */
export function block(block) {
  const header = { role: "assistant", channel: "final", recipient: null, content_type: null };
  return { kind: "message", start: 0, body: 0, end: 0, complete: true, reason: "", ...header, ...block };
}

/**
 * @param {Partial<FindingRow>} finding
 * @returns {FindingRow}
 */
export function finding(finding) {
  const kind = finding.kind ?? "dropped";
  return {
    kind,
    severity: "error",
    title: kind,
    line: "",
    explanation: "",
    field: "content",
    token_start: null,
    token_end: null,
    event_start: null,
    event_end: null,
    generated: null,
    delivered: null,
    delivered_in: null,
    choice: 0,
    sent: true,
    known_issues: [],
    ...finding,
  };
}

/**
 * Two messages, three tokens an event, one token of the answer lost; `words` tokens in each body.
 * @param {number} words
 * @returns {Payload}
 */
export function stream(words = 12) {
  const thought = words + 4;
  const count = thought + words + 5;
  const body = thought + 4;
  const ids = Array.from({ length: count }, (_, i) => 1000 + ((i * 7) % 50));
  ids.splice(0, 3, CHANNEL, 35644, MESSAGE);
  ids.splice(thought - 1, 5, END, 200006, CHANNEL, 17196, MESSAGE);
  ids[count - 1] = RETURN;
  const events = Math.ceil(count / 3);
  const lost = body + 2;
  return {
    key: "sample",
    unit: "token",
    count,
    sent: count,
    hidden: 0,
    ids,
    vocab: Object.fromEntries(ids.map((id) => [id, [id < 200000 ? ` w${id}` : `<${id}>`, "20"]])),
    texts: {},
    events: {
      index: Array.from({ length: events }, (_, k) => k),
      start: Array.from({ length: events }, (_, k) => k * 3),
      at: Array.from({ length: events }, (_, k) => k / 4),
    },
    blocks: [
      block({ channel: "analysis", start: 0, body: 3, end: thought }),
      block({ channel: "final", start: thought, body, end: count }),
    ],
    pipelines: [
      {
        server: "vLLM",
        per_event: null,
        lanes: [
          { field: "reasoning", label: "reasoning", pieces: [[3, thought - 1, null, ""]] },
          {
            field: "content",
            label: "answer",
            pieces: [
              [body, lost, null, ""],
              [lost + 1, lost + 1, " twice", "duplicated"],
              [lost + 1, count - 1, null, ""],
            ],
          },
        ],
        fates: [
          [0, 3, "framing", null, null, ""],
          [3, thought - 1, "delivered", 0, 0, ""],
          [thought - 1, body, "framing", null, null, ""],
          [body, lost, "delivered", 1, 1, ""],
          [lost, lost + 1, "lost", 1, null, ""],
          [lost + 1, count - 1, "delivered", 1, 1, ""],
          [count - 1, count, "framing", null, null, ""],
        ],
      },
    ],
    unsent: [],
    ...TABLES,
    findings: [finding({ token_start: lost, token_end: lost + 1, generated: " w" })],
    first_at: 0,
    last_at: (events - 1) / 4,
    finish: "stop",
    evidence: "token ids",
  };
}

/**
 * The increments of a stream that is told up to each of `cuts`, then whole; fates come with their cells.
 * @param {Payload} whole
 * @param {number[]} cuts
 * @returns {Increment[]}
 */
export function increments(whole, cuts) {
  let from = 0;
  return [...cuts, whole.count].map((count) => {
    const events = whole.events.start.flatMap((start, k) => (start >= from && start < count ? [k] : []));
    const { at } = whole.events;
    const increment = {
      unit: whole.unit,
      from,
      count,
      ids: whole.ids?.slice(from, count) ?? null,
      vocab: whole.vocab ?? {},
      texts: Object.fromEntries(
        Object.entries(whole.texts).filter(([i]) => Number(i) >= from && Number(i) < count),
      ),
      events: {
        index: events.map((k) => whole.events.index[k]),
        start: events.map((k) => whole.events.start[k]),
        at: at && events.map((k) => at[k]),
      },
      blocks: blocksBetween(whole.blocks, from, count),
      unsent: [],
      findings: { from: 0, items: count === whole.count ? whole.findings : [] },
      pipelines: whole.pipelines.map((pipeline) => changesBetween(pipeline, from, count)),
    };
    from = count;
    return increment;
  });
}

/**
 * Blocks that are new or longer when the cells from `from` to `count` come; those that had ended stay.
 * @param {Block[]} blocks
 * @param {number} from
 * @param {number} count
 */
function blocksBetween(blocks, from, count) {
  const settled = blocks.filter(({ end }) => end <= from).length;
  const items = blocks.slice(settled).filter(({ start }) => start < count);
  return {
    from: settled,
    items: items.map(({ body, end, complete, ...rest }) => ({
      ...rest,
      body: Math.min(body, count),
      end: Math.min(end, count),
      complete: complete && end <= count,
    })),
  };
}

/**
 * What a picture has more when the cells from `from` to `count` come.
 * @param {Pipeline} pipeline
 * @param {number} from
 * @param {number} count
 * @returns {PipelineChange}
 */
export function changesBetween({ lanes, fates, ...server }, from, count) {
  return {
    ...server,
    lanes: lanes.map(({ field, label, pieces }) => {
      const kept = pieces.filter(([, end]) => end < from).length;
      return { field, label, from: kept, pieces: within(pieces, count).slice(kept) };
    }),
    fates: fatesBetween(fates, from, count),
  };
}

/**
 * @param {FateRun[]} fates
 * @param {number} from
 * @param {number} count
 */
function fatesBetween(fates, from, count) {
  const kept = fates.filter(([, end]) => end <= from).length;
  return { from: kept, items: within(fates, count).slice(kept) };
}

/**
 * @template {FateRun | Piece} Item
 * @param {Item[]} items
 * @param {number} count
 */
function within(items, count) {
  return items
    .filter(([start, end]) => start < count && (start !== end || end < count))
    .map(([start, end, ...rest]) => /** @type {Item} */ ([start, Math.min(end, count), ...rest]));
}

/**
 * Numbers that look random and are the same each time.
 * @param {number} seed
 */
export function dice(seed) {
  let state = seed;
  return (/** @type {number} */ sides) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * sides);
  };
}

/**
 * Ascending places to cut a stream at.
 * @param {number} count
 * @param {number} seed
 */
export function cuts(count, seed) {
  const roll = dice(seed);
  const places = Array.from({ length: 1 + roll(8) }, () => 1 + roll(count - 1));
  return [...new Set(places)].sort((a, b) => a - b);
}
