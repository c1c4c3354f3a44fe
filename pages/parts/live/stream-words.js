// What the line above a growing run says, and which of two tellings is the newer one.

import { duration, NUMBER } from "../../ui/numbers.js";
import { fieldWords } from "../../ui/strip/model/fields.js";

/** @import { PaceRow, StreamState } from "../../ui/strip/model/payload.d.ts" */

/** By the beginning of a field: the channel that belongs into it. */
const CHANNELS = /** @type {const} */ ([
  ["reasoning", "analysis"],
  ["content", "final"],
  ["tool_calls", "commentary"],
]);

/**
 * The state with more events; if both have as many, the second, which was reported later.
 * @template {{ events: number }} Told
 * @param {Told | undefined} before
 * @param {Told | undefined} told
 */
export function newer(before, told) {
  return before && (!told || told.events < before.events) ? before : told;
}

/**
 * Where a stream is, and what is only derived of it: without token IDs a field is known, and no channel.
 * @param {StreamState} now
 * @param {boolean} sent whether only the request was sent
 * @returns {[known: string, derived: string]}
 */
export function stateWords({ state, channel, recipient }, sent) {
  if (state === "waiting") {
    return [sent ? "request sent, waiting for the first event" : "waiting for the first token", ""];
  }
  if (state === "refused") return ["rejected by the parser", ""];
  if (state === "between messages") return [state, ""];
  if (state === "body" || state === "header") {
    const of = channel ? ` of ${channel}` : "";
    return [state + of + (recipient ? ` to ${recipient}` : ""), ""];
  }
  const expected = CHANNELS.find(([field]) => state.startsWith(field))?.[1];
  const words = state === "content" ? "answer (content)" : fieldWords(state);
  return [words, expected ? ` · expected channel: ${expected}` : ""];
}

/**
 * The metrics that are known: a server that sends no token IDs has neither tokens nor their rate.
 * @param {PaceRow} pace
 * @returns {[value: string, label: string][]}
 */
export function figureWords(pace) {
  const counted = pace.tokens
    ? []
    : [/** @type {const} */ ([rounded(pace.events), pace.events === 1 ? "event" : "events"])];
  /** @type {(readonly [string, string])[]} */
  const rows = [
    [rounded(pace.tokens), pace.tokens === 1 ? "token" : "tokens"],
    [rounded(pace.tokens_per_s), "tokens/s"],
    [duration(pace.first_token_s), "first token"],
    ...counted,
  ];
  return rows.filter(([value]) => value).map(([value, label]) => [value, label]);
}

/** @param {number | null} number empty where it is none or unknown */
function rounded(number) {
  return number ? NUMBER.format(Math.round(number)) : "";
}
