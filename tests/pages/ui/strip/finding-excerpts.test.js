import assert from "node:assert/strict";
import { test } from "node:test";

import {
  around,
  aroundRejected,
  arrived,
  differing,
  isLocated,
} from "../../../../pages/ui/strip/model/finding-excerpts.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { block, finding, stream } from "./sample.js";

/** @param {Parameters<typeof finding>[0]} row */
function located(row) {
  const model = new Model({ ...stream(4), findings: [finding(row)] });
  const [placed] = model.findings;
  assert.ok(isLocated(placed));
  return { model, finding: placed };
}

test("what two texts do not share is marked between what they share", () => {
  assert.deepEqual(differing("abXc", "abYYc"), [
    [
      ["ab", null],
      ["X", "lost"],
      ["c", null],
    ],
    [
      ["ab", null],
      ["YY", "found"],
      ["c", null],
    ],
  ]);
  assert.deepEqual(differing("abc", "ac"), [
    [
      ["a", null],
      ["b", "lost"],
      ["c", null],
    ],
    [
      ["a", null],
      ["", "gap"],
      ["c", null],
    ],
  ]);
  assert.deepEqual(differing("", "x"), [[], [["x", "found"]]]);
  assert.deepEqual(differing("x", ""), [[["x", "lost"]], [["", "gap"]]]);
});

test("both sides are the texts they were made of, whatever they are", () => {
  for (const [left, right] of [
    ["aaa", "aa"],
    ["👩‍🚀", "👩"],
    ["", ""],
    ["aba", "ababa"],
  ]) {
    const [mine, other] = differing(left, right).map((parts) => parts.map(([text]) => text).join(""));
    assert.deepEqual([mine, other], [left, right]);
  }
});

test("a lost token stands in its message's text, and is missing from what arrived", () => {
  const { model, finding } = located({ token_start: 14, token_end: 15 });
  const text = (/** @type {number} */ i) => model.textOf(i) ?? "";
  assert.deepEqual(around(model, finding), [
    [text(12) + text(13), null],
    [text(14), "lost"],
    [text(15), null],
  ]);
  assert.deepEqual(arrived(model, finding), [
    [text(12) + text(13), null],
    ["", "gap"],
    [text(15), null],
  ]);
});

test("text that arrived with other characters stands where it belongs", () => {
  const { model, finding } = located({
    kind: "garbled",
    token_start: 14,
    token_end: 15,
    delivered: "\ufffd",
  });
  assert.deepEqual(arrived(model, finding)[1], ["\ufffd", "found"]);
});

test("a rejected token is shown with what is before its message too", () => {
  const { model, finding } = located({ kind: "unexpected_token", token_start: 8, token_end: 9 });
  const [[before]] = around(model, finding);
  assert.ok(before.endsWith("<200007>"), "the marker that closed the message before");
});

test("around a rejected token of finding server nothing is shown of what the other finding rejected", () => {
  const sample = stream(4);
  const end = sample.count;
  const ids = [...(sample.ids ?? []), 1000, 1007];
  const refused = (/** @type {number} */ at) =>
    block({ kind: "refused", role: null, start: at, body: at, end: at + 1, complete: false });
  const unsent = (/** @type {number} */ at, /** @type {string} */ text) =>
    /** @type {const} */ ({ at, kind: "token", id: ids[at], text, label: "", words: "" });
  const model = new Model({
    ...sample,
    ids,
    count: end + 2,
    blocks: [...sample.blocks, refused(end), refused(end + 1)],
    unsent: [unsent(end, "LEFT"), unsent(end + 1, "RIGHT")],
    findings: [end, end + 1].map((at) =>
      finding({ kind: "unexpected_token", token_start: end, cell_start: at, cell_end: at + 1 }),
    ),
  });
  const shown = model.findings.map((finding) => {
    assert.ok(isLocated(finding));
    return aroundRejected(model, finding);
  });
  const texts = shown.map((parts) => parts.map(([text]) => text).join(""));
  assert.ok(texts[0].endsWith("LEFT") && !texts[0].includes("RIGHT"), texts[0]);
  assert.ok(texts[1].endsWith("RIGHT") && !texts[1].includes("LEFT"), texts[1]);
});
