import assert from "node:assert/strict";
import { test } from "node:test";

import { Model } from "../../../../pages/ui/strip/model/model.js";
import {
  cellOf,
  findingAt,
  nextBlock,
  nextFinding,
  Selection,
} from "../../../../pages/ui/strip/model/selection.js";
import { finding, stream } from "./sample.js";

/** @param {Parameters<typeof finding>[0][]} rows */
function modelWith(...rows) {
  return new Model({ ...stream(), findings: rows.map(finding) });
}

test("a finding lies within the cells, and is known once its first cell is there", () => {
  const model = modelWith({ token_start: 5, token_end: 9 }, { token_start: 30, token_end: 99 });
  const [inside, beyond] = model.findings;
  assert.deepEqual([inside.start, inside.end, inside.knownAt], [5, 9, 6]);
  assert.deepEqual([beyond.start, beyond.end], [30, model.count]);
});

test("cells come before tokens, and a finding without either is known by its event", () => {
  const model = modelWith(
    { token_start: 5, token_end: 9, cell_start: 20, cell_end: 21 },
    { cell_start: null, cell_end: null, token_start: 5, event_start: 2 },
    { event_start: null },
  );
  const [cell, event, nowhere] = model.findings;
  assert.deepEqual([cell.start, cell.end], [20, 21]);
  assert.deepEqual([event.start, event.knownAt], [null, 9], "events 0 to 2 brought nine cells");
  assert.deepEqual([nowhere.start, nowhere.knownAt], [null, model.count]);
  assert.deepEqual([cellOf(model, cell), cellOf(model, event), cellOf(model, nowhere)], [20, 6, null]);
});

test("a cell belongs to the narrowest finding about cells", () => {
  const model = modelWith(
    { kind: "misrouted", token_start: 4, token_end: 10 },
    { kind: "dropped", token_start: 6, token_end: 7 },
    { kind: "truncated", token_start: 6, token_end: 7 },
  );
  assert.deepEqual(
    [4, 6, 10].map((i) => findingAt(model, i)),
    [0, 1, null],
  );
  assert.equal(model.wrong.values[6], 1);
  assert.equal(model.wrong.values[10], 0);
});

test("findings are gone through in a ring, from the chosen cell on", () => {
  const model = modelWith(
    { token_start: 4, token_end: 5 },
    { token_start: 9, token_end: 10 },
    { event_start: 1 },
  );
  const at = (/** @type {number | null} */ token, /** @type {number | null} */ chosen) =>
    Object.assign(new Selection(), { token, finding: chosen });
  assert.equal(nextFinding(model, at(5, null), 1), 1);
  assert.equal(nextFinding(model, at(5, null), -1), 0);
  assert.equal(nextFinding(model, at(20, null), 1), 0, "none beyond: the first");
  assert.equal(nextFinding(model, at(0, 2), 1), 0);
  assert.equal(nextFinding(model, at(0, 0), -1), 2);
  assert.equal(nextFinding(modelWith(), at(0, null), 1), null);
});

test("a step by block goes to its beginning first, then on", () => {
  const model = modelWith();
  const [, second] = model.blocks;
  assert.equal(nextBlock(model, null, 1), 0);
  assert.equal(nextBlock(model, 3, 1), second.start);
  assert.equal(nextBlock(model, second.start + 2, -1), second.start);
  assert.equal(nextBlock(model, second.start, -1), 0);
  assert.equal(nextBlock(model, second.start, 1), second.start, "the last one");
});

test("a chosen finding stays while the chosen cell is in it", () => {
  const model = modelWith(
    { kind: "truncated", token_start: 2, token_end: 8 },
    { token_start: 6, token_end: 7 },
  );
  const selection = new Selection();
  selection.choose(model, 3, 0);
  selection.choose(model, 6);
  assert.equal(selection.finding, 0);
  selection.choose(model, 9);
  assert.equal(selection.finding, null);
  selection.choose(model, 6);
  assert.deepEqual([selection.finding, selection.needs(model)], [1, 7]);
  selection.fit(modelWith());
  assert.deepEqual([selection.token, selection.finding], [6, null], "another model has no such finding");
});
