import assert from "node:assert/strict";
import { test } from "node:test";

import { cellParts, endsLines } from "../../../../pages/ui/strip/layout/cell-content.js";
import { Layout } from "../../../../pages/ui/strip/layout/layout.js";
import { SIZE } from "../../../../pages/ui/strip/layout/sizes.js";
import { emptyPayload } from "../../../../pages/ui/strip/model/increments.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { cuts, increments, stream, TABLES } from "./sample.js";

/** @import { FateRun, Increment } from "../../../../pages/ui/strip/model/payload.d.ts" */

const EACH = 7; // pixels of a character, in every font
const textWidth = (/** @type {string} */ text) => text.length * EACH;

/**
 * @param {Model} model
 * @param {number} width
 */
function laidOut(model, width) {
  const layout = new Layout(model, textWidth);
  layout.cells.measure();
  layout.fill(width);
  return layout;
}

/** @param {Layout} layout */
function rows({ rowStart, rowTop, rowTall, rowBlock, blockTop, blockFirstRow, blockHead, height }) {
  return { rowStart, rowTop, rowTall, rowBlock, blockTop, blockFirstRow, blockHead, height };
}

test("rows hold every cell once, in order, and none leaves its row", () => {
  for (const width of [200, 420, 1100]) {
    const model = new Model(stream(60));
    const layout = laidOut(model, width);
    const cells = layout.rowStart.flatMap((_, r) => layout.cellsOf(r).map((cell) => ({ ...cell, r })));
    assert.deepEqual(
      cells.map(({ i }) => i),
      Array.from({ length: model.count }, (_, i) => i),
    );
    cells.forEach((cell, k) => {
      const before = cells[k - 1];
      assert.ok(cell.x + cell.width <= layout.inner + SIZE.eventGap, `cell ${cell.i} at ${width} px`);
      if (before?.r === cell.r) assert.ok(cell.x >= before.x + before.width + SIZE.cellGap);
    });
  }
});

test("a row begins where the next cell would not fit", () => {
  const layout = laidOut(new Model(stream(60)), 420);
  layout.rowStart.forEach((start, r) => {
    const next = layout.rowStart[r + 1];
    if (next === undefined || layout.rowBlock[r + 1] !== layout.rowBlock[r]) return;
    const last = /** @type {{ x: number, width: number }} */ (layout.cellsOf(r).at(-1));
    const lead = layout.model.events.startsAt(next) ? SIZE.eventGap : SIZE.cellGap;
    assert.ok(
      last.x + last.width + lead + layout.cells.width(next) > layout.inner - SIZE.eventGap,
      `row of ${start}`,
    );
  });
});

test("rows stand below one another and blocks do not share any", () => {
  const layout = laidOut(new Model(stream(60)), 420);
  for (let r = 1; r < layout.rowTop.length; r++) assert.ok(layout.rowTop[r] > layout.rowBottom(r - 1));
  assert.deepEqual(
    layout.blockFirstRow.map((r) => layout.rowStart[r]),
    layout.model.blocks.map(({ start }) => start),
  );
  assert.ok(layout.height >= layout.rowBottom(layout.rowTop.length - 1));
});

/**
 * Take increments as the strip does.
 * @param {Layout} layout
 * @param {Increment[]} parts
 */
function grow(layout, parts) {
  const { model, width } = layout;
  for (const columns of parts) {
    const { rules } = model;
    const changed = model.append(columns);
    const from = model.rules === rules ? changed : 0; // rules between events move all cells
    layout.cells.measure(from);
    layout.fill(width, from);
  }
}

for (const [kind, sample] of Object.entries({
  "with its delivery": () => stream(60),
  "whose delivery is not known": () => ({ ...stream(60), pipelines: [] }),
})) {
  test(`a stream ${kind} is laid out growing as it is when it is whole, wherever it was cut`, () => {
    for (let width = 240; width <= 480; width += 10) {
      const whole = rows(laidOut(new Model(sample()), width));
      for (let seed = 1; seed <= 12; seed++) {
        const layout = laidOut(new Model(emptyPayload("sample", "token", TABLES)), width);
        const places = cuts(sample().count, seed);
        grow(layout, increments(sample(), places));
        assert.deepEqual(rows(layout), whole, `${width} px, cut at ${places}`);
      }
    }
  });
}

test("fates that arrive after their cells change the rows from there on", () => {
  const whole = stream(60);
  const expected = rows(laidOut(new Model(whole), 420));
  const layout = laidOut(new Model(emptyPayload("sample", "token", TABLES)), 420);
  const events = { index: [], start: [], at: [] };
  const blocks = { from: 2 ** 31, items: [] };
  /** @type {number[]} */
  const told = [];
  for (const columns of increments(whole, [30, 70, 100])) {
    const look = { ...columns, from: columns.count, ids: [], texts: {}, events, blocks };
    grow(layout, [{ ...columns, pipelines: [] }]);
    told.push(layout.model.append(look));
    layout.cells.measure(told.at(-1));
    layout.fill(420, told.at(-1));
  }
  assert.deepEqual(rows(layout), expected);
  assert.deepEqual(told.slice(1), [3, 70, 71]);
});

test("a run that turns out to be shorter leaves its cells", () => {
  const model = new Model(stream());
  const [picture] = model.pictures;
  const fates = { from: 1, items: [/** @type {FateRun} */ ([3, 5, "delivered", 0, 0, ""])] };
  const lanes = [{ field: "reasoning", label: "reasoning", from: 0, pieces: [] }];
  assert.equal(picture.change({ server: "x", per_event: null, lanes, fates }), 3);
  assert.deepEqual(
    [4, 5, 20].map((i) => picture.fateOf(i)),
    ["delivered", "pending", "pending"],
  );
});

test("a loss is as wide as its label, so that it can be read", () => {
  const model = new Model(stream());
  const layout = laidOut(model, 1100);
  const [start] = model.pictures[0].runs[4];
  assert.ok(layout.cells.width(start) >= "not delivered".length * EACH);
  assert.ok(layout.cells.width(start + 1) < "not delivered".length * EACH);
});

test("only rows with text have room for bars", () => {
  const whole = stream(60);
  const [pipeline] = whole.pipelines;
  /** @type {FateRun[]} */
  const fates = [[70, 71, "delivered", 1, 1, ""]];
  const layout = laidOut(new Model({ ...whole, pipelines: [{ ...pipeline, fates }] }), 420);
  const tall = layout.rowTall.flatMap((tall, r) => (tall ? [layout.rowStart[r]] : []));
  assert.deepEqual(tall, [layout.rowStart[layout.rowOf(70)]]);
});

test("rows break after line ends on request", () => {
  const payload = stream(8);
  payload.texts = { 4: "a\n", 6: "b\n" };
  const model = new Model(payload);
  const layout = laidOut(model, 2000);
  assert.deepEqual(layout.rowStart, [0, 12]);
  layout.breaks = true;
  layout.fill(2000);
  assert.deepEqual(layout.rowStart, [0, 5, 7, 12]);
  assert.deepEqual([endsLines(model), endsLines(new Model(stream(8)))], [true, false]);
});

test("above and below is the cell nearest in x", () => {
  const layout = laidOut(new Model(stream(60)), 420);
  const [first, second] = [layout.rowStart[0], layout.rowStart[1]];
  assert.equal(layout.beside(first, 1), second);
  assert.equal(layout.beside(second, -1), first);
  assert.equal(layout.beside(first, -1), first);
  const last = layout.rowStart[2] - 1;
  assert.equal(layout.rowOf(layout.beside(last, -1)), 0);
});

test("a cell shows its text, its bytes, or why it has none", () => {
  const payload = stream(4);
  payload.ids?.splice(3, 2, 999999, 5);
  Object.assign(payload.vocab ?? {}, { 5: [null, "f09f"] });
  payload.texts = { 4: "", 5: "" };
  (payload.vocab ?? {})[payload.ids?.[5] ?? 0] = ["", ""];
  const model = new Model(payload);
  const shown = [3, 4, 5].map((i) => cellParts(model, i)[0]);
  const words = ["not in vocabulary", "F0 9F", "empty"];
  assert.deepEqual(
    shown,
    words.map((text) => ({ text, name: true })),
  );
});
