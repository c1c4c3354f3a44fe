import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyPayload, join, joinedUp, startsOver } from "../../../../pages/ui/strip/model/increments.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { look } from "./look.js";
import { cuts, finding, increments, stream, TABLES } from "./sample.js";

/** @import { Increment } from "../../../../pages/ui/strip/model/payload.d.ts" */

/**
 * What an audit tells: no cell.
 * @param {number} count
 * @param {Partial<Increment>} [more]
 * @returns {Increment}
 */
function told(count, more = {}) {
  const events = { index: [], start: [], at: [] };
  const blocks = { from: 2 ** 31, items: [] };
  return {
    unit: "token",
    from: count,
    count,
    ids: [],
    vocab: {},
    texts: {},
    events,
    blocks,
    unsent: [],
    ...more,
  };
}

test("a stream begins anew with its first cell, when there are others or of another kind", () => {
  const [first, second] = increments(stream(), [5]);
  const none = { unit: /** @type {const} */ ("token"), count: 0 };
  assert.equal(startsOver(none, first), false, "into an empty strip of tokens");
  assert.equal(startsOver({ ...none, count: 5 }, first), true, "once more from the start");
  assert.equal(startsOver(none, { ...first, unit: "piece" }), true, "pieces while no token is there");
  assert.equal(startsOver({ unit: "piece", count: 7 }, first), true, "ids after pieces");
  assert.equal(startsOver({ ...none, count: 5 }, second), false, "what follows");
  assert.equal(startsOver(none, told(0, { unit: null })), false, "a look before the first token");
  assert.equal(startsOver({ ...none, count: 5 }, told(5)), false, "a look at what is there");
  assert.equal(startsOver({ ...none, count: 5 }, told(0)), false, "what adds no cell");
});

test("joined increments give the same strip as one after the other", () => {
  const whole = look(new Model(stream(20)));
  for (let seed = 1; seed <= 60; seed++) {
    const parts = increments(stream(20), cuts(stream(20).count, seed));
    const model = new Model(emptyPayload("sample", "token", TABLES));
    const joined = parts.reduce((before, after) => join(before, after));
    model.append(joined);
    assert.deepEqual(look(model), whole);
    assert.equal(joined.from, 0);
  }
});

test("changes of the end of a list are told from where the first of them begins", () => {
  const whole = stream(20);
  const [first, second] = increments(whole, [40]);
  const [analysis, final] = first.blocks.items;
  assert.deepEqual(second.blocks, { from: 1, items: [whole.blocks[1]] });
  const later = join({ ...first, blocks: { from: 0, items: [analysis, final] } }, second);
  assert.deepEqual(later.blocks, { from: 0, items: whole.blocks });
  const all = { ...second, blocks: { from: 0, items: whole.blocks } };
  const earlier = join({ ...first, blocks: { from: 1, items: [final] } }, all);
  assert.deepEqual(earlier.blocks, all.blocks);
});

test("what only one of them tells stays", () => {
  const [first] = increments(stream(), [9]);
  const findings = { from: 0, items: [finding({})] };
  const unsent = [{ at: 9, kind: /** @type {const} */ ("gap"), id: null, text: "", label: "", words: "" }];
  const joined = join({ ...first, unsent }, told(9, { findings, unit: null }));
  assert.deepEqual([joined.findings, joined.unsent, joined.unit], [findings, unsent, "token"]);
  assert.deepEqual(joined.pipelines, first.pipelines);
});

test("increments are joined while they follow on one another", () => {
  const [first, second, third] = increments(stream(20), [10, 30]);
  assert.deepEqual(
    joinedUp([first, second, third]).map(({ from, count }) => [from, count]),
    [[0, third.count]],
  );
  assert.deepEqual(joinedUp([second, first]).length, 2, "one that begins anew");
  assert.deepEqual(joinedUp([first, { ...second, unit: "piece" }]).length, 2, "cells of another kind");
  assert.deepEqual(joinedUp([first, told(10, { unit: null }), second]).length, 1, "a look between them");
  assert.deepEqual(joinedUp([]), []);
});
