import assert from "node:assert/strict";
import { test } from "node:test";

import { cellRows, describeCell } from "../../../../pages/ui/strip/model/cell-description.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { stream } from "./sample.js";

test("a cell is described in one line", () => {
  const model = new Model(stream(4));
  assert.equal(
    describeCell(model, 13),
    "token 13 · “·w1041” · ID 1041 · body of message 1 · 1,000 ms · delivered in content",
  );
  assert.equal(
    describeCell(model, 0),
    "token 0 · “<200005>” · ID 200005 · special token in the header of message 0 · 0 ms",
  );
});

test("what is known of a cell stands in rows, and what is wrong is marked", () => {
  const rows = new Map(cellRows(new Model(stream(4)), 14).map(([name, ...rest]) => [name, rest]));
  assert.deepEqual([...rows.keys()], ["ID", "text", "bytes", "state", "channel", "event", "delivered"]);
  assert.deepEqual(rows.get("delivered"), ["not delivered", "bad"]);
  assert.deepEqual(rows.get("event"), ["4 (3 tokens), at 1,000 ms"]);
});

test("framing is no text, so nobody lost it", () => {
  const rows = new Map(cellRows(new Model(stream(4)), 8).map(([name, value]) => [name, value]));
  assert.equal(rows.get("delivered"), "framing, not text");
});

test("reconstructed tokens say so, and name no ID where several fit", () => {
  const model = new Model({ ...stream(4), reconstructed: true, uncertain: [[13, 14]] });
  const rows = (/** @type {number} */ i) => new Map(cellRows(model, i).map(([name, value]) => [name, value]));
  assert.ok(rows(12).get("source")?.startsWith("reconstructed"));
  assert.deepEqual(
    [rows(12).get("ID"), rows(13).get("ID")],
    [String(model.ids?.[12]), "one of several possible IDs"],
  );
  assert.ok(describeCell(model, 12).includes("· reconstructed ·"));
  assert.ok(!describeCell(model, 13).includes("· ID "));
});

test("two servers are named by their sides and names", () => {
  const payload = stream(4);
  const [{ lanes }] = payload.pipelines;
  payload.pipelines.push({
    server: "other",
    per_event: null,
    lanes,
    fates: [[12, 16, "misrouted", 1, 0, ""]],
  });
  const line = describeCell(new Model(payload), 13);
  assert.ok(line.endsWith("left: vLLM: in content · right: other: in reasoning, not in content"), line);
});
