import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { sectionsOf } from "../../../../pages/ui/strip/panels/client-view.js";
import { block, stream } from "./sample.js";

/** @import { FateRun } from "../../../../pages/ui/strip/model/payload.d.ts" */

/** @param {ReturnType<typeof sectionsOf>} sections */
function told(sections) {
  return sections.map(({ field, title, pieces }) => [
    field,
    title,
    pieces.map(({ look, text }) => (look === "delivered" ? text : `[${look}${text}]`)).join(""),
  ]);
}

test("what arrived in a field is one section, with what was lost in its place", () => {
  const model = new Model(stream(4));
  const [reasoning, answer] = told(sectionsOf(model, model.count));
  assert.deepEqual(
    [reasoning[0], reasoning[1], answer[0], answer[1]],
    ["reasoning", "Reasoning", "content", "Answer"],
  );
  assert.match(String(answer[2]), /^ w\d+ w\d+\[lost w\d+\] w\d+$/);
});

test("only what had arrived is shown", () => {
  const model = new Model(stream(4));
  const [reasoning, ...others] = sectionsOf(model, 5);
  assert.deepEqual([reasoning.pieces.length, others.length], [2, 0]);
});

test("text in the wrong field is shown where it arrived, and calls have their names", () => {
  const whole = stream(4);
  const [thought, answer] = whole.blocks;
  const call = block({ ...answer, channel: "commentary", recipient: "functions.get_weather" });
  const lanes = ["content", "tool_calls[0].arguments"].map((field) => ({ field, label: field, pieces: [] }));
  const fates = whole.pipelines[0].fates.map(
    ([start, end, fate, own, arrived, sign]) =>
      /** @type {FateRun} */ ([start, end, own === 0 ? "misrouted" : fate, own, arrived, sign]),
  );
  const model = new Model({
    ...whole,
    blocks: [thought, call],
    pipelines: [{ server: "", per_event: null, lanes, fates }],
  });
  const sections = sectionsOf(model, model.count);
  assert.deepEqual(
    sections.map(({ title, pieces }) => [title, pieces.length, pieces[0].look]),
    [
      ["Answer", 4, "misrouted"],
      ["Call of get_weather", 4, "delivered"],
    ],
  );
});

test("a comparison has the sections of each side, with what was lost in its field", () => {
  const whole = stream(3);
  const lanes = [{ field: "tool_calls[0].arguments", label: "", pieces: [] }];
  /** @type {FateRun[]} */
  const left = [[2, 6, "delivered", 0, 0, ""]];
  /** @type {FateRun[]} */
  const right = [
    [9, 11, "lost", 0, null, ""],
    [12, 13, "lost", null, null, "unserved"],
  ];
  const pipelines = [left, right].map((fates) => ({ server: "", per_event: null, lanes, fates }));
  const model = new Model({ ...whole, pipelines });
  assert.deepEqual(
    [0, 1].map((side) => sectionsOf(model, model.count, side).map(({ field }) => field)),
    [["tool_calls[0].arguments"], ["tool_calls[0].arguments", ""]],
  );
});

test("long responses are pieces of whole runs, split at messages", () => {
  const model = new Model(stream(2000));
  const sections = sectionsOf(model, model.count);
  assert.deepEqual(
    sections.map(({ pieces }) => pieces.length),
    [1, 3],
  );
});
