// Columns of numbers that grow at the end, and the search in sorted ones.

/** @typedef {Uint8Array | Uint16Array | Int32Array} Numbers */

/** @template {Numbers} Kind */
export class Column {
  /** @param {Kind} values an empty array of the kind to hold, its size a first guess */
  constructor(values) {
    this.values = values;
    this.length = 0;
  }

  /** @param {number} length */
  grow(length) {
    if (length > this.values.length) {
      const Wider = /** @type {new (length: number) => Kind} */ (this.values.constructor);
      const wider = new Wider(Math.max(length, this.values.length * 2));
      wider.set(this.values);
      this.values = wider;
    }
    this.length = length;
  }
}

/**
 * The last place in a sorted list whose value is at most `value`; -1 when there is none.
 * @template Item
 * @param {ArrayLike<Item>} list
 * @param {number} value
 * @param {(item: Item) => number} of
 */
export function lastAtMost(list, value, of) {
  let low = -1;
  let high = list.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (of(list[middle]) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
