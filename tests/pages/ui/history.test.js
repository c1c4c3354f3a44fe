import assert from "node:assert/strict";
import { test } from "node:test";

import { isStep, keepSteps } from "../../../pages/ui/history.js";

const HOME = "http://127.0.0.1:8501/";

test("another page, capture or run is a step; a token and what a page opened with are none", () => {
  /** @type {[from: string, to: string, step: boolean][]} */
  const changes = [
    ["", "?capture=a&token=4", false],
    ["?capture=a&token=4", "?capture=a&token=5", false],
    ["?capture=a&token=4", "?capture=a&uploads=x", false],
    ["?capture=a&token=4", "?capture=b&token=1", true],
    ["?capture=a", "compare", true],
    ["compare", "compare?left=a&right=b", false],
    ["compare?left=a&right=b", "compare?left=b&right=a", true],
    ["live", "live?run=a", false],
    ["live?run=a", "live?run=b", true],
    ["live?form=a", "live?form=b", false],
    ["library", "library?filter=a", true],
    ["library?filter=a", "library", true],
    ["matrix?release=0.14.1", "matrix?release=0.13.0", true],
  ];
  for (const [from, to, step] of changes) {
    assert.equal(isStep(new URL(from, HOME), new URL(to, HOME)), step, `${from} -> ${to}`);
  }
});

/** @param {string[]} entries */
function historyOf(entries) {
  const here = () => new URL(/** @type {string} */ (entries.at(-1)));
  const history = {
    state: null,
    /** @type {History["pushState"]} */
    pushState: (_data, _unused, url) => void entries.push(new URL(url ?? "", here()).href),
    /** @type {History["replaceState"]} */
    replaceState: (_data, _unused, url) => void entries.splice(-1, 1, new URL(url ?? "", here()).href),
  };
  return { history, acts: keepSteps(history, here) };
}

test("what is no step takes the place of the entry before", () => {
  const entries = [HOME];
  const { history } = historyOf(entries);
  for (const url of ["?capture=a", "?capture=a&token=1", "?capture=b", "?capture=b&token=2", "/live"]) {
    history.pushState({}, "", url);
  }
  assert.deepEqual(entries, [`${HOME}?capture=a&token=1`, `${HOME}?capture=b&token=2`, `${HOME}live`]);
});

test("the page that is left keeps its own address", () => {
  const entries = [`${HOME}matrix`];
  const { history, acts } = historyOf(entries);
  history.pushState({}, "", "/matrix?endpoint=chat");
  acts();
  for (const url of ["/matrix?capture=a&token=4", "/?capture=a&token=4"]) history.pushState({}, "", url);
  acts();
  for (const url of ["/?left=a&right=b", "/compare?left=a&right=b"]) history.pushState({}, "", url);
  acts();
  history.pushState({}, "", "/compare?left=b&right=a");
  assert.deepEqual(
    entries,
    ["matrix?endpoint=chat", "?capture=a&token=4", "compare?left=a&right=b", "compare?left=b&right=a"].map(
      (path) => HOME + path,
    ),
  );
});
