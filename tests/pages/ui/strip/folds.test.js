import assert from "node:assert/strict";
import { test } from "node:test";

import { Layout } from "../../../../pages/ui/strip/layout/layout.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { stream } from "./sample.js";

const width = (/** @type {string} */ text) => text.length * 7;

/** @param {number} words */
function laidOut(words, change = (/** @type {Layout} */ _) => {}) {
  const layout = new Layout(new Model(stream(words)), width);
  layout.cells.measure();
  change(layout);
  layout.fill(400);
  return layout;
}

/** @param {Layout} layout */
function drawn(layout) {
  return layout.rowStart.flatMap((_, r) => layout.cellsOf(r).map(({ i }) => i));
}

test("a folded message has a head and no cells, and every cell still has a row in its block", () => {
  const whole = laidOut(30);
  const folded = laidOut(30, (layout) => layout.folds.toggle(0));
  const { model } = folded;
  const [thought, answer] = model.blocks;
  assert.deepEqual(
    drawn(folded),
    drawn(whole).filter((i) => i >= answer.start),
  );
  for (let i = 0; i < model.count; i++) {
    assert.equal(folded.rowBlock[folded.rowOf(i)], model.blockOf(i), `cell ${i}`);
  }
  assert.ok(folded.height < whole.height);
  assert.ok(folded.blockTop[1] > folded.headerHeight(thought));
});

test("without framing only bodies are drawn", () => {
  const layout = laidOut(12, ({ folds }) => {
    folds.framing = false;
  });
  const { model } = layout;
  const bodies = drawn(layout);
  assert.ok(bodies.every((i) => model.stateOf(i) === "body"));
  assert.equal(bodies.length, 24);
  for (let i = 0; i < model.count; i++) assert.equal(layout.rowBlock[layout.rowOf(i)], model.blockOf(i));
});

test("steps pass over what is hidden, and going to a hidden cell shows it", () => {
  const { folds, model } = laidOut(12);
  const [thought, answer] = model.blocks;
  folds.framing = false;
  assert.equal(folds.beside(answer.body, -1), thought.end - 2);
  assert.equal(folds.from(0, 1), thought.body);
  assert.equal(folds.beside(thought.body, -1), thought.body, "nothing is shown before it");
  assert.equal(folds.open(answer.start), true);
  assert.equal(folds.framing, true);
  folds.toggle(answer.start);
  assert.equal(folds.beside(thought.end - 1, 1), thought.end - 1);
  assert.equal(folds.open(answer.body + 1), true);
  assert.equal(folds.open(answer.body + 1), false);
});

test("all messages are folded, then unfolded", () => {
  const { folds, model } = laidOut(12);
  folds.toggle(0);
  folds.toggleAll();
  assert.ok(model.blocks.every((block) => folds.folded.has(block.start)));
  folds.toggleAll();
  assert.equal(folds.folded.size, 0);
});
