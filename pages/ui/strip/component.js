// The component of Streamlit: one Strip for each place on the page, made once and told of changes. Streamlit
// calls the default export again whenever the payload or the theme changes.

import { drawn } from "../dom.js";
import { payloadOf } from "./model/payload-bytes.js";
import { Strip } from "./strip.js";

/** @import { Component } from "../component.d.ts" */
/** @import { Head, Payload } from "./model/payload.d.ts" */

/** @type {WeakMap<Element | ShadowRoot, { strip: Strip, call: object }>} */
const placed = new WeakMap();

/** @param {Component<Uint8Array | ArrayBuffer>} component */
export default function ({ data, parentElement, setStateValue }) {
  const strip = stripAt(parentElement);
  const call = {};
  placed.set(parentElement, { strip, call });
  const { head, payload } = unpack(data, strip.digest);
  strip.receive(head, payload, (selected) => setStateValue("selection", selected));
  strip.follow(head.feed ?? null);
  drawn(parentElement);
  return () => {
    // Streamlit may clean up after a call when the next one has drawn already.
    if (placed.get(parentElement)?.call !== call) return;
    strip.close();
    placed.delete(parentElement);
  };
}

/** @param {Element | ShadowRoot} parent */
function stripAt(parent) {
  const known = placed.get(parent)?.strip;
  if (known?.root.isConnected) return known;
  known?.close();
  const root = /** @type {HTMLElement & { strip?: Strip }} */ (parent.querySelector(".hi"));
  root.strip = new Strip(root);
  return root.strip;
}

/**
 * Bytes from Python: a head as one line of JSON, then the payload. The head names the payload, so that one already
 * shown is not read again.
 * @param {Uint8Array | ArrayBuffer} data
 * @param {string | null} digest
 * @returns {{ head: Head, payload: Payload | null }}
 */
function unpack(data, digest) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const line = bytes.indexOf(10);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, line)));
  return { head, payload: head.digest === digest ? null : payloadOf(bytes.subarray(line + 1)) };
}
