// The line above a growing run: nothing in it goes back, and a channel that is only derived says so.

import assert from "node:assert/strict";
import test from "node:test";
import { figureWords, newer, stateWords } from "../../../pages/parts/live/stream-words.js";

test("of states told in any order, none is drawn after a newer one", () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  for (let round = 0; round < 200; round++) {
    const told = Array.from({ length: 30 }, () => ({ events: Math.floor(random() * 20) }));
    /** @type {{ events: number } | undefined} */
    let drawn;
    let most = 0;
    for (const state of told) {
      drawn = newer(drawn, random() < 0.1 ? undefined : state) ?? state;
      assert.ok(drawn.events >= most);
      most = drawn.events;
    }
  }
  const [first, second] = [{ events: 3 }, { events: 3 }];
  assert.equal(newer(first, second), second);
});

test("a channel is named where tokens tell it, and derived where only the field is known", () => {
  const nowhere = { events: 1, channel: null, recipient: null, message: null };
  const body = { ...nowhere, state: "body", channel: "commentary", recipient: "functions.f" };
  assert.deepEqual(stateWords(body, false), ["body of commentary to functions.f", ""]);
  assert.deepEqual(stateWords({ ...nowhere, state: "content" }, false), [
    "answer (content)",
    " · expected channel: final",
  ]);
  const call = { ...nowhere, state: "tool_calls[1].arguments" };
  assert.deepEqual(stateWords(call, false), ["tool 2 arguments", " · expected channel: commentary"]);
  assert.deepEqual(stateWords({ ...nowhere, state: "text" }, false), ["text", ""]);
});

test("events are counted where no tokens are", () => {
  const pace = { tokens: 0, events: 12, tokens_per_s: null, first_token_s: null };
  const none = { last_token_s: null, gap_p50_s: null, gap_p95_s: null };
  assert.deepEqual(figureWords({ ...pace, ...none }), [["12", "events"]]);
  const counted = figureWords({ ...pace, ...none, tokens: 1200, tokens_per_s: 9.7, first_token_s: 0.0294 });
  assert.deepEqual(
    counted.map((row) => row.join(" ")),
    ["1,200 tokens", "10 tokens/s", "29 ms first token"],
  );
});
