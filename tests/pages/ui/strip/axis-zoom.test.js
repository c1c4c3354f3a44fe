import assert from "node:assert/strict";
import { test } from "node:test";

import { Zoom } from "../../../../pages/ui/strip/model/axis-zoom.js";

/** @param {Zoom} zoom */
function ends({ from, until }) {
  return [from, until].map((place) => Math.round(place * 1000) / 1000);
}

test("zooming keeps what is under the pointer where it is", () => {
  const zoom = new Zoom();
  const before = zoom.toView(0.3);
  zoom.by(0.5, 0.3);
  assert.deepEqual([ends(zoom), zoom.toView(0.3), zoom.zoomed], [[0.15, 0.65], before, true]);
  assert.ok(Math.abs(zoom.fromView(zoom.toView(0.42)) - 0.42) < 1e-12);
  zoom.by(2, 0.3);
  assert.deepEqual([ends(zoom), zoom.zoomed], [[0, 1], false]);
});

test("no zoom leaves the axis, and none is endless", () => {
  const zoom = new Zoom();
  zoom.by(0.5, 0);
  zoom.pan(-3);
  assert.deepEqual(ends(zoom), [0, 0.5]);
  zoom.pan(9);
  assert.deepEqual(ends(zoom), [0.5, 1]);
  for (let step = 0; step < 60; step++) zoom.by(0.5, 0.75);
  assert.ok(zoom.span > 1 / 20_001 && zoom.from <= 0.75 && zoom.until >= 0.75);
  zoom.by(1e9, 0.75);
  assert.deepEqual(ends(zoom), [0, 1]);
});

test("a place out of sight is brought into sight, one in sight moves nothing", () => {
  const zoom = new Zoom();
  zoom.show(0.4, 0.5);
  zoom.include(0.45);
  assert.deepEqual(ends(zoom), [0.4, 0.5]);
  zoom.include(0.8);
  assert.deepEqual(ends(zoom), [0.71, 0.81]);
  zoom.include(0);
  assert.deepEqual(ends(zoom), [0, 0.1]);
});
