// The payload of the strip as Python sends it, see `pack` in __init__.py.

/** @import { Payload } from "./payload.d.ts" */

/**
 * A payload whose long columns are binary: a line that gives their type and length by name, the payload without
 * them as a line of JSON, then the columns.
 * @param {Uint8Array} bytes
 * @returns {Payload}
 */
export function payloadOf(bytes) {
  const reader = new TextDecoder();
  const first = bytes.indexOf(10);
  const second = bytes.indexOf(10, first + 1);
  /** @type {Record<string, ["i" | "d", number]>} */
  const columns = JSON.parse(reader.decode(bytes.subarray(0, first)));
  const payload = JSON.parse(reader.decode(bytes.subarray(first + 1, second)));
  let at = second + 1;
  for (const [name, [type, length]] of Object.entries(columns)) {
    const kind = type === "i" ? Int32Array : Float64Array;
    const end = at + length * kind.BYTES_PER_ELEMENT;
    const values = Array.from(new kind(bytes.slice(at, end).buffer));
    if (name === "ids") payload.ids = values;
    else payload.events[name] = values;
    at = end;
  }
  return payload;
}
