import assert from "node:assert/strict";
import { test } from "node:test";

import { Column, lastAtMost } from "../../../../pages/ui/strip/model/number-columns.js";
import { dice } from "./sample.js";

test("a column keeps its values and its kind when it grows", () => {
  const column = new Column(new Uint8Array(2));
  column.grow(2);
  column.values.set([7, 9]);
  column.grow(1000);
  assert.ok(column.values instanceof Uint8Array);
  assert.deepEqual([...column.values.slice(0, 3)], [7, 9, 0]);
  assert.equal(column.length, 1000);
  assert.ok(column.values.length >= 1000);
});

test("the last place at most a value is what a look at every place finds", () => {
  const roll = dice(3);
  for (let round = 0; round < 300; round++) {
    const list = Array.from({ length: roll(9) }, () => roll(12)).sort((a, b) => a - b);
    const value = roll(14) - 1;
    const looked = list.reduce((last, number, place) => (number <= value ? place : last), -1);
    assert.equal(
      lastAtMost(list, value, (number) => number),
      looked,
      `${list} at most ${value}`,
    );
  }
});
