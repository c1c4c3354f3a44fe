import assert from "node:assert/strict";
import { test } from "node:test";

import { Arrivals } from "../../../../pages/ui/strip/model/arrivals.js";

const SENT = () => true;

test("each cell knows its event, its time and its place in the order of arrival", () => {
  const events = new Arrivals();
  events.append({ index: [2, 5], start: [0, 3], at: [0.1, 0.4] }, 5, SENT);
  assert.deepEqual(
    [0, 2, 3, 4].map((i) => events.of(i)),
    [0, 0, 1, 1],
  );
  assert.deepEqual([events.size(0), events.size(1), events.mostPerEvent], [3, 2, 3]);
  assert.deepEqual([events.time(2), events.time(3)], [0.1, 0.4]);
  assert.deepEqual([events.startsAt(0), events.startsAt(1), events.startsAt(3)], [true, false, true]);
  assert.equal(events.inOrder, null);
});

test("an event that goes on brings its cells without being told again", () => {
  const events = new Arrivals();
  events.append({ index: [0], start: [0], at: [0] }, 2, SENT);
  events.append({ index: [], start: [], at: [] }, 5, SENT);
  assert.deepEqual([events.of(4), events.size(0), events.mostPerEvent], [0, 5, 5]);
});

test("one event without a time leaves all without", () => {
  const events = new Arrivals();
  events.append({ index: [0], start: [0], at: [0.5] }, 1, SENT);
  events.append({ index: [1], start: [1], at: null }, 2, SENT);
  events.append({ index: [2], start: [2], at: [0.9] }, 3, SENT);
  assert.equal(events.at, null);
  assert.equal(events.time(0), null);
});

test("cells that stand by field are ranked by their events", () => {
  const events = new Arrivals();
  events.append({ index: [1, 4, 2, 3], start: [0, 1, 2, 4], at: [0, 3, 1, 2] }, 5, SENT);
  assert.deepEqual([...(events.inOrder ?? [])], [0, 2, 3, 4, 1]);
  assert.deepEqual([...events.ranks.values.slice(0, 5)], [0, 4, 1, 2, 3]);
  assert.deepEqual(events.order(), [0, 2, 3, 1]);
});

test("cells that were never sent do not count as tokens of an event", () => {
  const events = new Arrivals();
  events.append({ index: [0, 1, 9], start: [0, 1, 2], at: [0, 1, 2] }, 4, (cell) => cell < 2);
  assert.equal(events.mostPerEvent, 1);
});
