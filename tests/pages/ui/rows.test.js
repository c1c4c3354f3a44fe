import assert from "node:assert/strict";
import { test } from "node:test";

import { compare } from "../../../pages/ui/rows/rows.js";

/** @import { Cell } from "../../../pages/ui/rows/rows.js" */

test("cells sort as numbers or words, and an unknown one is last in both directions", () => {
  /** @type {[Cell[], Cell[], Cell[]][]} */
  const columns = [
    [
      [9, null, 192, 10],
      [9, 10, 192, null],
      [192, 10, 9, null],
    ],
    [
      ["0.9.0", null, "0.13.0"],
      ["0.9.0", "0.13.0", null],
      ["0.13.0", "0.9.0", null],
    ],
  ];
  for (const [cells, ascending, descending] of columns) {
    assert.deepEqual(
      [...cells].sort((left, right) => compare(left, right, 1)),
      ascending,
    );
    assert.deepEqual(
      [...cells].sort((left, right) => compare(left, right, -1)),
      descending,
    );
  }
});
