import assert from "node:assert/strict";
import { test } from "node:test";

import { blockHue, blockWords, covering, grew } from "../../../../pages/ui/strip/model/blocks.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { block, stream } from "./sample.js";

test("an open block that became longer looks as before; another header does not", () => {
  const open = block({ start: 4, body: 6, end: 9, complete: false });
  assert.ok(grew(open, { ...open, end: 12, complete: true }));
  assert.ok(!grew(open, { ...open, end: 8 }));
  assert.ok(!grew(open, { ...open, channel: "analysis", end: 12 }));
  assert.ok(!grew(open, undefined));
  const header = block({ start: 4, body: 9, end: 9, complete: false });
  assert.ok(grew(header, { ...header, body: 11, end: 12 }), "a body that begins behind what is drawn");
  assert.ok(!grew(open, { ...open, body: 7, end: 12 }), "a body that begins elsewhere in what is drawn");
});

test("every cell has a block and messages are numbered", () => {
  const told = [
    block({ start: 2, end: 4 }),
    block({ kind: "refused", start: 4, end: 6 }),
    block({ start: 7, end: 9 }),
  ];
  const all = covering(told, 12);
  assert.deepEqual(
    all.map(({ start, end }) => [start, end]),
    [
      [0, 2],
      [2, 4],
      [4, 6],
      [6, 7],
      [7, 9],
      [9, 12],
    ],
  );
  assert.deepEqual(
    all.map(({ number }) => number),
    [0, 1, null, 2, 3, 4],
  );
  const again = covering([...all, block({ start: 9, end: 12 })], 12);
  assert.deepEqual(
    again.map(({ start }) => start),
    [0, 2, 4, 6, 7, 9],
    "blocks without a name give way",
  );
});

test("a comparison numbers messages by their side, and says where one goes on", () => {
  const told = [
    block({ start: 0, end: 4, message: 0 }),
    block({ start: 4, end: 6, message: 0, continued: true }),
    block({ start: 6, end: 9, message: 2 }),
  ];
  const all = covering(told, 9);
  assert.deepEqual(
    all.map(({ number }) => number),
    [0, 0, 2],
  );
  const { meta } = blockWords(new Model(stream(4)), all[1], 9, false);
  assert.match(meta, /^message 0, continued · assistant · 2 tokens/);
});

test("a block has the hue of the field that its body belongs to", () => {
  const hues = [
    block({ channel: "analysis" }),
    block({ channel: "final" }),
    block({ channel: "commentary" }),
    block({ channel: "commentary", recipient: "functions.f" }),
    block({ channel: "commentary", recipient: "python" }),
    block({ channel: "constructor" }),
    block({ channel: null }),
    block({ kind: "refused" }),
    block({ kind: "field", channel: "tool_calls[0].arguments" }),
  ].map(blockHue);
  const expected = ["reasoning", "content", "preamble", "tool", "other", "other", "other", "loss", "tool"];
  assert.deepEqual(hues, expected);
});

test("the head says what is known so far", () => {
  const model = new Model(stream(4));
  const [first, second] = model.blocks;
  const words = (/** @type {number} */ known, open = false) => blockWords(model, first, known, open);
  assert.deepEqual(words(2, true), { title: "header: w35644", meta: "message 0 · 2 tokens" });
  assert.deepEqual(words(8), { title: "analysis", meta: "message 0 · assistant · 8 tokens · 500 ms" });
  const call = { ...second, recipient: "functions.f", content_type: "json", complete: false };
  assert.deepEqual(blockWords(model, call, model.count, false), {
    title: "final → functions.f",
    meta: "message 1 · assistant · content type json · 9 tokens · 750 ms · not closed",
  });
});

test("a refused block says what the parser was at, and where it went on", () => {
  const payload = stream(4);
  payload.blocks[0] = block({ kind: "refused", end: 8, role: null, state: "between_messages", reason: "no" });
  const model = new Model(payload);
  const meta = "8 tokens · parser state: between messages · parsing resumed at token 8, message 0";
  assert.deepEqual(blockWords(model, model.blocks[0], 8, false), { title: "rejected by the parser", meta });
  const side = { ...model.blocks[0], role: "only left" };
  assert.equal(blockWords(model, side, 8, false).meta, `only left · ${meta}`);
});
