import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyPayload } from "../../../../pages/ui/strip/model/increments.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { HEIGHT, laneTop, modelTop, rowsOf } from "../../../../pages/ui/strip/pipeline/rows.js";
import { Slots } from "../../../../pages/ui/strip/pipeline/slots.js";
import { cuts, increments, stream, TABLES } from "./sample.js";

const width = (/** @type {string} */ text) => text.length * 7;

/** @param {Slots} slots */
function all(slots) {
  return Array.from({ length: slots.length }, (_, k) => slots.slot(k));
}

test("a cell that no audit has seen is framing or pending, and has the fate that is told later", () => {
  const whole = stream(4);
  const model = new Model({ ...whole, pipelines: [] });
  assert.deepEqual(model.pictures, []);
  const told = new Model(whole);
  const early = new Model({
    ...whole,
    pipelines: [{ ...whole.pipelines[0], fates: whole.pipelines[0].fates.slice(0, 2) }],
  });
  const [first, later] = [early.pictures[0], told.pictures[0]];
  assert.deepEqual(
    [0, 3, 7, 13].map((i) => first.fateOf(i)),
    ["framing", "delivered", "framing", "pending"],
  );
  assert.deepEqual(
    [0, 3, 7, 14].map((i) => later.fateOf(i)),
    ["framing", "delivered", "framing", "lost"],
  );
  assert.deepEqual([later.ownLane(14), later.laneOf(14), later.laneOf(13)], [1, null, 1]);
});

test("every cell stands in one slot, slots do not overlap, and text without a cell has its own", () => {
  for (const framing of [false, true]) {
    const model = new Model(stream(6));
    const slots = new Slots(model, width, framing);
    const cells = all(slots).flatMap(({ start, end }) =>
      Array.from({ length: end - start }, (_, k) => start + k),
    );
    assert.deepEqual(
      cells,
      Array.from({ length: model.count }, (_, i) => i),
    );
    for (const [k, slot] of all(slots).entries()) {
      assert.ok(k === 0 || slot.x >= all(slots)[k - 1].x + all(slots)[k - 1].width);
      assert.equal(slots.at(slot.x), k);
      for (let i = slot.start; i < slot.end; i++) assert.equal(slots.slotOf[i], k);
    }
    const inserted = all(slots).filter(({ kind }) => kind === "insert");
    assert.deepEqual(
      inserted.map(({ label, start }) => [label, start]),
      [["twice", 17]],
    );
    assert.equal(
      all(slots).some(({ kind }) => kind === "pill"),
      !framing,
    );
  }
});

test("with IDs every token has room for its own, and its row moves what is below and nothing above", () => {
  const model = new Model(stream(6));
  const slots = new Slots(model, width, true);
  for (const { kind, start, width: wide } of all(slots)) {
    if (kind === "cell") assert.ok(wide >= width(String(model.idOf(start))));
  }
  const [closed, open] = [false, true].map((opened) => rowsOf(model.pictures, false, { opened }));
  assert.deepEqual([closed.band, closed.ids], [null, 0]);
  const above = open.model - closed.model;
  assert.equal(open.height - closed.height, above + open.ids);
  assert.equal(open.servers[0].bar - closed.servers[0].bar, above + open.ids);
  assert.ok(open.band !== null && open.band < open.time && open.time < open.model);
});

test("a pill names the message whose header it is, and the last one what ended the stream", () => {
  const list = all(new Slots(new Model(stream(4)), width, false));
  assert.deepEqual(
    list.filter(({ kind }) => kind === "pill").map(({ label }) => label),
    ["analysis", "final", "<200002>"],
  );
});

test("slots of a stream that grew are those of the whole one", () => {
  const whole = stream(9);
  const expected = all(new Slots(new Model(whole), width, false));
  for (let seed = 0; seed < 40; seed++) {
    const at = cuts(whole.count, seed);
    const model = new Model(emptyPayload("sample", "token", TABLES));
    const slots = new Slots(model, width, false);
    for (const columns of increments(whole, at)) slots.update(model.append(columns));
    assert.deepEqual(all(slots), expected);
  }
});

test("two servers stand on either side of the tokens, and a lane beyond the last row shares it", () => {
  const { pictures } = new Model(stream(4));
  const single = rowsOf(pictures, false);
  assert.ok(single.model < single.servers[0].bar && single.servers[0].bar < laneTop(single.servers[0], 0));
  assert.equal(laneTop(single.servers[0], 99), laneTop(single.servers[0], 1));
  const two = rowsOf([pictures[0], pictures[0]], true);
  const [up, down] = two.servers;
  assert.ok(
    laneTop(up, 0) < up.bar && up.bar < two.model && two.model < down.bar && down.bar < laneTop(down, 0),
  );
  assert.ok(laneTop(down, 1) < two.height);
});

test("lanes without tokens in view give up their rows, and the picture keeps its height", () => {
  const whole = stream(4);
  const field = (/** @type {unknown} */ _, /** @type {number} */ k) => {
    const name = `tool_calls[${k}].arguments`;
    return { field: name, label: name, pieces: [] };
  };
  const lanes = Array.from({ length: 40 }, field);
  const { pictures } = new Model({ ...whole, pipelines: [{ ...whole.pipelines[0], lanes }] });
  const { height } = rowsOf(pictures, false);
  for (let first = 0; first < 38; first++) {
    for (const size of [0, 1, 3, 4, 9]) {
      const inView = [...lanes.keys()].slice(first, first + size);
      const rows = rowsOf(pictures, false, { inView: () => inView });
      const [server] = rows.servers;
      assert.equal(rows.height, height);
      assert.equal(server.folded + inView.length, 40);
      assert.deepEqual(
        server.rows.flatMap((row) => row.lanes),
        inView,
      );
      const tops = new Set(inView.map((lane) => laneTop(server, lane)));
      assert.equal(tops.size, Math.min(4, inView.length));
      for (const top of tops) assert.ok(top > server.bar && top + HEIGHT.box < height);
    }
  }
});

test("a list of token IDs has no lanes", () => {
  const whole = stream(4);
  const { pictures } = new Model({
    ...whole,
    pipelines: [{ ...whole.pipelines[0], server: "", lanes: [], fates: [] }],
  });
  assert.deepEqual(rowsOf(pictures, false).servers[0].rows, []);
});

test("a token that one of two servers has alone stands nearer to that server", () => {
  const whole = stream(4);
  const { pictures } = new Model({ ...whole, pipelines: [whole.pipelines[0], whole.pipelines[0]] });
  const rows = rowsOf(pictures, false);
  const [both, first, second] = [
    modelTop(rows, ["delivered", "lost"]),
    modelTop(rows, ["delivered", "pending"]),
    modelTop(rows, ["pending", "framing"]),
  ];
  assert.equal(both, rows.model);
  assert.ok(rows.servers[0].bar < first && first < both);
  assert.ok(both < second && second < rows.servers[1].bar);
  const alone = rowsOf(pictures.slice(0, 1), false);
  assert.equal(modelTop(alone, ["delivered"]), alone.model);
});
