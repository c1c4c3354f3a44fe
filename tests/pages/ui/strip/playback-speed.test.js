import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../../../../pages/ui/strip/model/model.js";
import { autoSpeedLabel, speedOf } from "../../../../pages/ui/strip/model/playback-speed.js";
import { TimeAxis } from "../../../../pages/ui/strip/model/time-axis.js";
import { stream } from "./sample.js";

/** @param {number} seconds between events */
function axisOf(seconds, words = 12) {
  const whole = stream(words);
  const at = whole.events.index.map((k) => (k + 1) * seconds);
  return new TimeAxis(new Model({ ...whole, events: { ...whole.events, at } }), false);
}

test("a short capture takes some seconds by itself, a long one its own time", () => {
  const short = axisOf(0.004);
  const pace = speedOf("auto", short);
  assert.ok(pace.by === "time" && pace.factor > 0);
  assert.ok(Math.abs(short.length / pace.factor - 6) < 1e-9);
  assert.equal(autoSpeedLabel(short), "auto: 6 s");
  const long = axisOf(2);
  assert.deepEqual(speedOf("auto", long), { by: "time", factor: 1 });
  assert.equal(autoSpeedLabel(long), "auto: 1×");
});

test("a capture of a few events does not wait six seconds for them", () => {
  const axis = axisOf(0.004, 0);
  assert.equal(axis.places.length, 3);
  assert.equal(autoSpeedLabel(axis), "auto: 2 s");
});

test("an empty capture has a pace", () => {
  const none = { ...stream(), count: 0, ids: [], blocks: [], pipelines: [], findings: [] };
  const axis = new TimeAxis(new Model({ ...none, events: { index: [], start: [], at: [] } }), false);
  assert.equal(autoSpeedLabel(axis), "auto: 1×");
});

test("a pace is a share of the recorded time, or a number of events or tokens", () => {
  const axis = axisOf(0.5);
  assert.deepEqual(speedOf("0.01", axis), { by: "time", factor: 0.01 });
  assert.deepEqual(speedOf("max", axis), { by: "time", factor: axis.length / 2 });
  assert.deepEqual(speedOf("event/0", axis), { by: "event", rate: 0 });
  assert.deepEqual(speedOf("token/12", axis), { by: "token", rate: 12 });
});

test("after some cells come those of the next event", () => {
  const axis = axisOf(0.1);
  assert.deepEqual(
    [0, 1, 2, 3, 5, axis.count - 1, axis.count].map((shown) => axis.after(shown)),
    [3, 3, 3, 6, 6, axis.count, axis.count],
  );
});
