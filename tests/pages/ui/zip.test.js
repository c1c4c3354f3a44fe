import assert from "node:assert/strict";
import { File } from "node:buffer";
import { test } from "node:test";

import { crc32, distinct, packed } from "../../../pages/ui/anywhere/zip.js";

test("the checksum is that of the standard", () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
});

test("no file takes the name of another", () => {
  const names = distinct(["a", "b", "a", "a", "2 a"]);
  assert.equal(new Set(names).size, names.length);
});

test("the directory has every file, and leads to its content", async () => {
  const texts = ["one", "", "drei ä"];
  const files = texts.map((text, number) => ({ name: `runs/ü${number}`, file: new File([text], "x") }));
  const bytes = await (await packed(/** @type {any} */ (files))).arrayBuffer();
  const view = new DataView(bytes);
  const end = bytes.byteLength - 22;
  assert.equal(view.getUint32(end, true), 0x06054b50);
  assert.equal(view.getUint16(end + 10, true), files.length);
  let at = view.getUint32(end + 16, true);
  assert.equal(at + view.getUint32(end + 12, true), end);
  const decoder = new TextDecoder();
  const read = files.map(() => {
    const [size, length] = [view.getUint32(at + 20, true), view.getUint16(at + 28, true)];
    const name = decoder.decode(new Uint8Array(bytes, at + 46, length));
    const local = view.getUint32(at + 42, true);
    assert.equal(view.getUint32(local, true), 0x04034b50);
    at += 46 + length;
    return [name, decoder.decode(new Uint8Array(bytes, local + 30 + length, size))];
  });
  assert.deepEqual(
    read,
    files.map(({ name }, number) => [name, texts[number]]),
  );
});
