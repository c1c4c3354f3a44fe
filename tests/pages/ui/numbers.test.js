import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { count, duration } from "../../../pages/ui/numbers.js";

/**
 * What tests/capture/test_formats.py puts to Python.
 * @type {{ duration: [number, string][], count: [number, string, string | null, string][] }}
 */
const CASES = JSON.parse(readFileSync(new URL("../../capture/formats.json", import.meta.url), "utf-8"));

test("times read the same as in Python", () => {
  assert.deepEqual(
    CASES.duration.map(([seconds]) => [seconds, duration(seconds)]),
    CASES.duration,
  );
});

test("counts read the same as in Python", () => {
  assert.deepEqual(
    CASES.count.map(([number, singular, plural]) => [
      number,
      singular,
      plural,
      count(number, singular, plural ?? undefined),
    ]),
    CASES.count,
  );
});

test("a time that is not known has no words", () => {
  assert.equal(duration(null), "");
  assert.equal(duration(undefined), "");
});
