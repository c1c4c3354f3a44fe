import assert from "node:assert/strict";
import { test } from "node:test";

import { canCopy, copyOf } from "../../../../pages/ui/strip/input/copy.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { channelsOf, isEmpty, search, stepFrom } from "../../../../pages/ui/strip/model/search.js";
import { CHANNEL, MESSAGE, stream } from "./sample.js";

const NOTHING = { words: "", channel: "", special: false, undelivered: false };

/** @param {import("../../../../pages/ui/strip/model/search.js").Query} query */
function places(query, model = new Model(stream(4))) {
  return search(model, query);
}

test("without words and filters nothing is looked for", () => {
  assert.ok(isEmpty(NOTHING));
  assert.deepEqual(places(NOTHING), []);
});

test("a text is found in any case, across tokens, and not across messages", () => {
  const payload = stream(4);
  payload.ids?.splice(3, 3, 1, 2, 3);
  Object.assign(payload.vocab ?? {}, { 1: [" Wea", ""], 2: ["ther", ""], 3: [" weather", ""] });
  const model = new Model(payload);
  assert.deepEqual(places({ ...NOTHING, words: "WEATHER" }, model), [
    [3, 5],
    [5, 6],
  ]);
  const text = model.textOf(model.blocks[0].end - 1) ?? "";
  const next = model.textOf(model.blocks[1].start) ?? "";
  assert.deepEqual(places({ ...NOTHING, words: text + next }, model), []);
});

test("a token ID is found where it stands, with or without separators", () => {
  const starts = places({ ...NOTHING, words: String(MESSAGE) });
  assert.deepEqual(
    starts.map(([start]) => new Model(stream(4)).ids?.[start]),
    [MESSAGE, MESSAGE],
  );
  assert.deepEqual(places({ ...NOTHING, words: "200,008" }), starts);
});

test("filters hold alone and together with words", () => {
  const model = new Model(stream(4));
  const special = places({ ...NOTHING, special: true });
  assert.ok(special.length > 4);
  assert.ok(special.every(([start, end]) => end === start + 1 && model.isSpecialToken(start)));
  const [first, second] = channelsOf(model);
  const [mine] = places({ ...NOTHING, channel: second });
  assert.equal(model.blockAt(mine[0]).channel, second);
  assert.deepEqual(mine, [model.blocks[1].start, model.count]);
  const channel = places({ ...NOTHING, words: String(CHANNEL), channel: first });
  assert.ok(channel.length > 0 && channel.every(([start]) => model.blockAt(start).channel === first));
});

test("what was not delivered is one place for neighbours", () => {
  const model = new Model(stream(4));
  const lost = places({ ...NOTHING, undelivered: true });
  assert.ok(lost.length > 0);
  for (const [start, end] of lost) {
    for (let i = start; i < end; i++) assert.equal(model.pictures[0].fateOf(i), "lost");
  }
});

test("steps go round, from the chosen token", () => {
  /** @type {[number, number][]} */
  const three = [
    [2, 3],
    [5, 7],
    [9, 10],
  ];
  assert.deepEqual(
    [stepFrom(three, null, 1), stepFrom(three, 5, 1), stepFrom(three, 9, 1), stepFrom(three, null, -1)],
    [0, 2, 0, 2],
  );
  assert.deepEqual([stepFrom(three, 5, -1), stepFrom(three, 2, -1), stepFrom([], 2, 1)], [0, 2, null]);
});

test("copies are the ID, the text, the message and all IDs", () => {
  const model = new Model(stream(4));
  const ids = model.ids ?? [];
  assert.equal(copyOf(model, 3, "id"), String(ids[3]));
  assert.equal(copyOf(model, 3, "text"), model.textOf(3));
  assert.equal(copyOf(model, 0, "message-text"), [3, 4, 5, 6].map((i) => model.textOf(i)).join(""));
  assert.equal(copyOf(model, 0, "message-ids"), `[${ids.slice(0, model.blocks[0].end).join(", ")}]`);
  assert.equal(copyOf(model, null, "ids"), `[${ids.join(", ")}]`);
  assert.equal(copyOf(model, null, "text"), null);
  assert.deepEqual([canCopy(model, null, "ids"), canCopy(model, null, "id")], [true, false]);
});

test("an ID that is not certain is not copied", () => {
  const model = new Model({ ...stream(4), reconstructed: true, uncertain: [[3, 4]] });
  assert.equal(copyOf(model, 3, "id"), null);
  assert.equal(copyOf(model, null, "ids"), null);
});
