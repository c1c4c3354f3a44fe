import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyPayload } from "../../../../pages/ui/strip/model/increments.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { look } from "./look.js";
import { block, cuts, increments, MESSAGE, stream, TABLES } from "./sample.js";

test("a cell is a marker, of a header, of a body, or refused", () => {
  const model = new Model(stream(4));
  const states = Array.from({ length: model.count }, (_, i) => model.stateOf(i));
  const head = ["marker", "header", "marker"];
  const body = Array(4).fill("body");
  assert.deepEqual(states, [...head, ...body, "marker", "marker", ...head, ...body, "marker"]);
  const refused = new Model({ ...stream(4), blocks: [block({ kind: "refused", end: 17 })] });
  assert.equal(refused.stateOf(0), "refused");
});

test("a marker inside a body is text of it, and so is the last one of an open message", () => {
  const payload = stream(4);
  (payload.ids ?? [])[5] = MESSAGE;
  payload.blocks[1].complete = false;
  const model = new Model(payload);
  assert.deepEqual([model.stateOf(5), model.stateOf(model.count - 1)], ["body", "body"]);
});

test("text is that of the vocabulary, unless a split character says otherwise", () => {
  const payload = stream(4);
  payload.ids?.splice(3, 3, 999999, 5, 6);
  Object.assign(payload.vocab ?? {}, { 5: [null, "f09f"], 6: [null, "918b"] });
  payload.texts = { 4: "", 5: "👋" };
  const model = new Model(payload);
  assert.deepEqual(
    [3, 4, 5].map((i) => model.textOf(i)),
    [undefined, null, "👋"],
  );
  assert.deepEqual(
    [3, 4].map((i) => model.bytesOf(i)),
    [null, "f09f"],
  );
});

test("pieces are their own text, by field, and arrive by event", () => {
  const events = { index: [0, 2, 1], start: [0, 1, 2], at: [0, 2, 1] };
  const model = new Model({
    ...emptyPayload("pieces", "piece"),
    count: 3,
    texts: { 0: "a", 1: "b", 2: "c" },
    events,
    blocks: [
      block({ kind: "field", end: 2, channel: "reasoning" }),
      block({ kind: "field", start: 2, end: 3 }),
    ],
  });
  assert.deepEqual(
    [0, 1, 2].map((rank) => model.arrived(rank)),
    [0, 2, 1],
  );
  assert.deepEqual(
    [model.textOf(2), model.stateOf(1), model.pictures[0].fieldOf(model.pictures[0].laneOf(1))],
    ["c", "piece", "reasoning"],
  );
});

test("what was never sent stands behind what was", () => {
  const payload = stream(4);
  payload.count += 2;
  payload.ids?.push(null, 1000);
  payload.events.index.push(9);
  payload.events.start.push(payload.sent);
  payload.events.at?.push(9);
  payload.unsent = [
    { at: payload.sent, kind: "gap", id: null, text: "", label: "", words: "some are missing" },
    { at: payload.sent + 1, kind: "token", id: 1000, text: " w", label: "", words: "not sent" },
  ];
  const model = new Model(payload);
  assert.deepEqual([model.sent, model.count], [payload.sent, payload.sent + 2]);
  assert.equal(model.stateOf(payload.sent), "unsent");
  assert.equal(model.textOf(payload.sent + 1), " w");
  assert.equal(model.sentEnd(0, model.count), payload.sent);
  assert.equal(model.events.mostPerEvent, 3);
});

test("a model that grew is the one that was made whole, wherever the stream was cut", () => {
  const whole = look(new Model(stream(20)));
  for (let seed = 1; seed <= 60; seed++) {
    const model = new Model(emptyPayload("sample", "token", TABLES));
    const places = cuts(stream(20).count, seed);
    for (const columns of increments(stream(20), places)) model.append(columns);
    assert.deepEqual(look(model), whole, `cut at ${places}`);
  }
});

test("only what may look different is told as changed", () => {
  const [first, second, third] = increments(stream(20), [10, 40]);
  const model = new Model(emptyPayload("sample", "token", TABLES));
  assert.equal(model.append(first), 0);
  assert.equal(model.append({ ...second, pipelines: [] }), 10, "the open block only grew");
  assert.equal(
    model.append({ ...third, pipelines: [], texts: { 12: "late" } }),
    12,
    "a text that is told late",
  );
});

test("a block that turns out to be another one is drawn again from its start", () => {
  const [first, second] = increments(stream(20), [30]);
  const model = new Model(emptyPayload("sample", "token", TABLES));
  model.append(first);
  second.blocks = { from: 1, items: [block({ kind: "refused", start: 24, body: 24, end: second.count })] };
  assert.equal(model.append({ ...second, pipelines: [] }), 24);
});

test("rules between events are drawn when some event brought several tokens", () => {
  assert.equal(new Model(stream()).rules, true);
  const single = stream();
  const each = Array.from({ length: single.count }, (_, i) => i);
  assert.equal(new Model({ ...single, events: { index: each, start: each, at: null } }).rules, false);
  const unknown = { index: [-1], start: [0], at: null };
  assert.equal(new Model({ ...single, events: unknown }).rules, false);
});
