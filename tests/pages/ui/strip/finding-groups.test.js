import assert from "node:assert/strict";
import { test } from "node:test";

import { groupCount, groupWords, rowsOf, rowWith } from "../../../../pages/ui/strip/model/finding-groups.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { finding, stream } from "./sample.js";

/** @param {number} count */
function losses(count) {
  return Array.from({ length: count }, (_, k) =>
    finding({ token_start: 3 + k, token_end: 4 + k, generated: " ab" }),
  );
}

test("many findings of one sort are one row, where the first of them stood", () => {
  const other = finding({ kind: "garbled", token_start: 5, token_end: 6 });
  const { findings } = new Model({ ...stream(), findings: [other, ...losses(8)] });
  const rows = rowsOf(findings, new Set());
  assert.equal(rows.length, 2);
  assert.deepEqual(rows[0], { number: 0, key: null });
  assert.ok("group" in rows[1]);
  const { group } = rows[1];
  assert.deepEqual(group.numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(groupWords(findings, group), "24 characters of content");
  assert.equal(rowWith(rows, 5), 1);
  const open = rowsOf(findings, new Set([group.key]));
  assert.equal(open.length, 10);
  assert.equal(rowWith(open, 5), 6);
  assert.deepEqual(groupCount(findings, group, { chosen: 3, shown: 99 }), {
    known: 8,
    words: "3 of 8",
    current: true,
  });
  assert.equal(groupCount(findings, group, { chosen: 0, shown: 5 }).words, "2");
});

test("a few findings stay single, and other fields and issues are other sorts", () => {
  const few = new Model({ ...stream(), findings: losses(3) });
  assert.equal(rowsOf(few.findings, new Set()).length, 3);
  const reasoning = losses(6).map((row) => ({ ...row, field: "reasoning" }));
  const issue = { id: "x", title: "", side: "", fix: "" };
  const known = losses(6).map((row) => ({ ...row, known_issues: [issue] }));
  const { findings } = new Model({ ...stream(), findings: [...losses(6), ...reasoning, ...known] });
  assert.equal(rowsOf(findings, new Set()).length, 3);
});
