import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { sectionsOf } from "../../../../pages/ui/strip/panels/client-view.js";
import { block, stream } from "./sample.js";

/** @param {ReturnType<typeof sectionsOf>} sections */
function told(sections) {
  return sections.map(({ field, title, pieces }) => [
    field,
    title,
    pieces.map(({ state, text }) => (state === "ok" ? text : `[${state}${text}]`)).join(""),
  ]);
}

test("what arrived in a field is one section, with what was lost in its place", () => {
  const model = new Model(stream(4));
  const [reasoning, answer] = told(sectionsOf(model, model.count));
  assert.deepEqual(
    [reasoning[0], reasoning[1], answer[0], answer[1]],
    ["reasoning", "Reasoning", "content", "Answer"],
  );
  assert.match(String(answer[2]), /^ w\d+ w\d+\[dropped w\d+\] w\d+$/);
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
  const runs = whole.ribbons[0].runs.map(
    ([start, end, field, state]) =>
      /** @type {import("../../../../pages/ui/strip/model/payload.d.ts").Run} */ ([
        start,
        end,
        field === "reasoning" ? "content" : field && "tool_calls[0].arguments",
        field === "reasoning" ? "misrouted" : state,
      ]),
  );
  const model = new Model({ ...whole, blocks: [thought, call], ribbons: [{ label: "", runs }] });
  const sections = sectionsOf(model, model.count);
  assert.deepEqual(
    sections.map(({ title, pieces }) => [title, pieces.length, pieces[0].state]),
    [
      ["Answer", 4, "misrouted"],
      ["Call of get_weather", 4, "ok"],
    ],
  );
});

test("a comparison has the sections of each side, and numbers its calls by that side", () => {
  const call = { channel: "commentary", recipient: "functions.f", role: "assistant" };
  const told = stream(3);
  const blocks = [
    block({ start: 0, body: 1, end: 8, ...call }),
    block({ start: 8, body: 9, end: 12, ...call, message: 1 }),
    block({ start: 12, body: 12, end: told.count, ...call, message: 1, continued: true }),
  ];
  const lost = /** @type {const} */ ("dropped");
  /** @type {import("../../../../pages/ui/strip/model/payload.d.ts").Run[]} */
  const left = [[2, 6, "tool_calls[0].arguments", "ok"]];
  /** @type {import("../../../../pages/ui/strip/model/payload.d.ts").Run[]} */
  const right = [
    [9, 11, null, lost],
    [12, 13, null, lost],
  ];
  const ribbons = [left, right].map((runs) => ({ label: "", runs }));
  const model = new Model({ ...told, blocks, ribbons });
  assert.deepEqual(
    [0, 1].map((lane) => sectionsOf(model, model.count, lane).map(({ field }) => field)),
    [["tool_calls[0].arguments"], ["tool_calls[0].arguments"]],
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
