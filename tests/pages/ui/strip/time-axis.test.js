import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyPayload } from "../../../../pages/ui/strip/model/increments.js";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { TimeAxis } from "../../../../pages/ui/strip/model/time-axis.js";
import { stream } from "./sample.js";

/** @param {number[] | null} at */
function axisOf(at, shortened = false) {
  const whole = stream(4);
  const start = Array.from({ length: at?.length ?? 6 }, (_, k) => k * 3);
  const events = { index: start.map((_, k) => k), start, at };
  return new TimeAxis(new Model({ ...whole, events }), shortened);
}

test("a place of the axis shows the whole events that had arrived", () => {
  const axis = axisOf([0.1, 0.2, 0.2, 0.5, 0.6, 0.9]);
  assert.deepEqual(
    [0, 0.1, 0.15, 0.2, 0.5, 2].map((place) => axis.shownAt(place)),
    [0, 3, 3, 9, 12, 17],
  );
  assert.equal(axis.length, 0.9);
  assert.equal(axis.timed, true);
});

test("the place of what is shown shows it", () => {
  for (const axis of [
    axisOf([0.1, 0.2, 0.2, 0.5, 0.6, 0.9]),
    axisOf(null),
    axisOf([0, 9, 9, 18, 30, 31], true),
  ]) {
    for (let shown = 1; shown <= axis.count; shown++) {
      assert.ok(axis.shownAt(axis.placeOf(shown)) >= shown);
    }
    assert.equal(axis.placeOf(0), 0);
    assert.equal(axis.placeOf(axis.count), axis.length);
  }
});

test("waits are counted and shortened on request", () => {
  const at = [4, 4.1, 8.1, 8.2, 8.3, 8.4];
  assert.deepEqual([axisOf(at).gaps, axisOf(at).length], [2, 8.4]);
  assert.ok(Math.abs(axisOf(at, true).length - 1.4) < 1e-9);
});

test("a clock that goes back does not make the axis shorter", () => {
  const axis = axisOf([0.1, 0.4, 0.2, 0.3, 0.5, 0.6]);
  assert.equal(Math.abs(axis.length - 0.6) < 1e-9, true);
  assert.ok(axis.places.every((place, k) => k === 0 || place >= axis.places[k - 1]));
});

test("without times every event is one step, and one event is a step a cell", () => {
  const axis = axisOf(null);
  assert.deepEqual([axis.timed, axis.byCell, axis.length], [false, false, 0.5]);
  const single = new TimeAxis(
    new Model({ ...stream(4), events: { index: [-1], start: [0], at: null } }),
    false,
  );
  assert.deepEqual([single.byCell, single.shownAt(single.length / 2)], [true, 8]);
});

test("nothing has an axis without length", () => {
  const axis = new TimeAxis(new Model(emptyPayload("none", "token")), false);
  assert.deepEqual([axis.length, axis.shownAt(1), axis.placeOf(1)], [0, 0, 0]);
});
