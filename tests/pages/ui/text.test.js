import assert from "node:assert/strict";
import { test } from "node:test";

import { plainText, spacedHex, visibleParts } from "../../../pages/ui/text.js";

/** @param {string} text */
const named = (text) => visibleParts(text).flatMap((part) => (part.name ? [part.text] : []));

test("spaces and line ends are signs, or stay as they are under their sign", () => {
  assert.deepEqual(visibleParts("a b\n\t"), [{ text: "a·b↵⇥" }]);
  assert.deepEqual(visibleParts("a b\n\t", { spaces: false }), [{ text: "a b↵\n⇥\t" }]);
});

test("a long run of the same space is counted", () => {
  assert.deepEqual(visibleParts("x       y"), [{ text: "x·" }, { text: "×7", name: true }, { text: "y" }]);
  assert.deepEqual(visibleParts(" ".repeat(6)), [{ text: "·".repeat(6) }]);
  assert.deepEqual(visibleParts(" ".repeat(1500))[1], { text: "×1,500", name: true });
});

test("what has no picture is named", () => {
  assert.deepEqual(named("a\u202eb\u200d\0\x1b\x7f\u00a0\ufeff"), [
    "RLO",
    "ZWJ",
    "NUL",
    "ESC",
    "DEL",
    "NBSP",
    "BOM",
  ]);
  assert.deepEqual(named("\ud83d"), ["U+D83D"], "half of a surrogate pair");
  assert.deepEqual(named("\u{e0041}"), ["U+E0041"], "a tag character");
  assert.deepEqual(named("\u001f"), ["US"]);
});

test("joiners and selectors inside an emoji belong to its picture, elsewhere they are named", () => {
  for (const picture of ["👩\u200d🚀", "❤\ufe0f", "👋🏽", "7\ufe0f", "🏳\ufe0f\u200d🌈"]) {
    assert.deepEqual(visibleParts(picture), [{ text: picture }], picture);
  }
  assert.deepEqual(named("a\u200db"), ["ZWJ"]);
  assert.deepEqual(named("a\ufe0f"), ["VS16"]);
});

test("a mark without a letter stands on a circle", () => {
  assert.deepEqual(visibleParts("\u0301a"), [{ text: "◌\u0301a" }]);
});

test("no more is shown than asked for, and the rest is counted", () => {
  assert.deepEqual(visibleParts("abcdef", { most: 4 }), [{ text: "abcd" }, { text: "+2", name: true }]);
  const long = "x".repeat(3_000_000);
  assert.deepEqual(visibleParts(long, { most: 3 }), [{ text: "xxx" }, { text: "+2,999,997", name: true }]);
});

test("every character is shown, named or counted", () => {
  for (let code = 0; code <= 0x10ffff; code += 97) {
    const [part] = visibleParts(String.fromCodePoint(code));
    assert.ok(part.text.length > 0, `U+${code.toString(16)}`);
  }
  assert.deepEqual(visibleParts(""), []);
});

test("a text for a label has names in quotes", () => {
  assert.equal(plainText("a\u202eb", 10), "a‹RLO›b");
  assert.equal(plainText("a b", 10, true), "a·b");
});

test("bytes are grouped", () => {
  assert.equal(spacedHex("f09f98"), "f0 9f 98");
  assert.equal(spacedHex(""), "");
});
