// The component through which Python tells the raw events of the chosen token; it shows nothing itself.

import { tellRaw } from "./raw-events.js";

/** @import { Component } from "../component.d.ts" */
/** @import { RawEvents } from "./raw-events.js" */

/** @param {Component<[RawEvents]>} component */
export default function ({ data: [data] }) {
  tellRaw(data);
}
