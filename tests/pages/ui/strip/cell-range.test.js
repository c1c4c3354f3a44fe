import assert from "node:assert/strict";
import { test } from "node:test";

import { copyOf } from "../../../../pages/ui/strip/input/copy.js";
import {
  between,
  marksOf,
  rangeRows,
  rangeWords,
  textOf,
} from "../../../../pages/ui/strip/model/cell-range.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { Selection } from "../../../../pages/ui/strip/model/selection.js";
import { stream } from "./sample.js";

/** @param {import("../../../../pages/ui/strip/model/cell-description.js").WordRow[]} rows */
function words(rows) {
  return Object.fromEntries(rows.map(([name, value]) => [name, value]));
}

test("a range says how many tokens it has, how long they took and how fast they came", () => {
  const model = new Model(stream());
  // Events of three tokens, a quarter of a second apart: cells 3 to 8 are two of them.
  const told = words(rangeRows(model, { start: 3, end: 9 }));
  assert.deepEqual([told.tokens, told.events, told.time, told.speed], ["6", "2", "250 ms", "12 tokens/s"]);
  assert.equal(told.lost, undefined);
  const lost = model.findings[0].start ?? 0;
  assert.equal(words(rangeRows(model, { start: lost - 1, end: lost + 2 })).lost, "1 token not delivered");
});

test("what came in one event has no speed, and without times there is none", () => {
  const rows = words(rangeRows(new Model(stream()), { start: 3, end: 6 }));
  assert.deepEqual([rows.time, rows.speed], ["0 ms", undefined]);
  const { events, ...rest } = stream();
  const untimed = words(
    rangeRows(new Model({ ...rest, events: { ...events, at: null } }), { start: 3, end: 9 }),
  );
  assert.deepEqual([untimed.time, untimed.speed], [undefined, undefined]);
});

test("a range goes from where it began to the cell that was chosen last, in either order", () => {
  const model = new Model(stream());
  const selection = new Selection();
  selection.choose(model, 9);
  selection.extend(model, 12);
  assert.deepEqual(selection.range, { start: 9, end: 13 });
  selection.extend(model, 4);
  assert.deepEqual([selection.range, selection.token], [{ start: 4, end: 10 }, 4]);
  selection.extend(model, 9);
  assert.equal(selection.range, null, "one cell is no range");
  selection.extend(model, 6, 2);
  assert.deepEqual(selection.range, { start: 2, end: 7 });
  selection.choose(model, 6);
  assert.equal(selection.range, null);
  assert.equal(between(3, 3), null);
});

test("a range that a smaller model does not have is forgotten", () => {
  const selection = new Selection();
  selection.extend(new Model(stream(20)), 40, 2);
  selection.fit(new Model(stream(4)));
  assert.equal(selection.range, null);
});

test("the marks of a range are cells in order of arrival", () => {
  assert.deepEqual(marksOf(new Model(stream()), { start: 4, end: 8 }), { from: 4, until: 8 });
  // Two servers: here the second half arrived first.
  const pieces = { ...stream(), unit: /** @type {const} */ ("piece"), ids: null, count: 4, pipelines: [] };
  const events = { index: [2, 3, 0, 1], start: [0, 1, 2, 3], at: null };
  const texts = { 0: "a", 1: "b", 2: "c", 3: "d" };
  const model = new Model({ ...pieces, blocks: [], findings: [], events, texts });
  assert.deepEqual(marksOf(model, { start: 1, end: 3 }), { from: 0, until: 4 });
  assert.equal(textOf(model, { start: 1, end: 3 }), "bc");
  assert.equal(rangeWords({ start: 1, end: 3 }, model), " · 2 pieces selected, 1 to 2");
});

test("of a range its IDs and its text are copied", () => {
  const model = new Model(stream());
  const range = { start: 0, end: 3 };
  assert.equal(copyOf(model, 2, "id", range), "[200005, 35644, 200008]");
  assert.equal(copyOf(model, 2, "text", range), textOf(model, range));
});
