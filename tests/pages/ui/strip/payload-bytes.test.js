import assert from "node:assert/strict";
import { test } from "node:test";
import { payloadOf } from "../../../../pages/ui/strip/model/payload-bytes.js";

/** @param {object[]} lines @param {ArrayBufferView[]} columns */
function bytes(lines, columns) {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const parts = columns.map((column) => Buffer.from(column.buffer, column.byteOffset, column.byteLength));
  return new Uint8Array(Buffer.concat([Buffer.from(text), ...parts]));
}

test("columns come after the line that names them and the rest", () => {
  const rest = { key: "k", ids: [], events: { index: [], start: [], at: [] } };
  const names = { ids: ["i", 3], index: ["i", 2], start: ["i", 2], at: ["d", 2] };
  const columns = [
    new Int32Array([200005, 10, -1]),
    new Int32Array([4, 9]),
    new Int32Array([0, 2]),
    new Float64Array([0.1, 1e-9]),
  ];
  const payload = payloadOf(bytes([names, rest], columns));
  assert.deepEqual(payload.ids, [200005, 10, -1]);
  assert.deepEqual(payload.events, { index: [4, 9], start: [0, 2], at: [0.1, 1e-9] });
  assert.equal(payload.key, "k");
});

test("a column that is not named stays what the JSON says", () => {
  const rest = { key: "k", ids: [5e9, null], events: { index: [], start: [0], at: null } };
  const payload = payloadOf(bytes([{ index: ["i", 1] }, rest], [new Int32Array([10])]));
  assert.deepEqual(payload.ids, [5e9, null]);
  assert.deepEqual(payload.events, { index: [10], start: [0], at: null });
});
