// The component through which Python tells the raw event of the chosen token; it shows nothing itself.

import { tellRaw } from "./raw-events.js";

/** @import { Component } from "../component.d.ts" */
/** @import { RawEvent } from "./raw-events.js" */

/** @param {Component<RawEvent>} component */
export default function ({ data }) {
  tellRaw(data);
}
