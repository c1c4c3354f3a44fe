// Files as one zip archive, not compressed: the server reads it in place.

/** @typedef {{ name: string, file: File }} Member */

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const UTF8 = 0x0800;
export const COUNT_AT_MOST = 0xffff; // in two bytes; more would need ZIP64

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** @param {Uint8Array} bytes */
export function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/**
 * Names, with a number before each that another file has already.
 * @param {string[]} names
 */
export function distinct(names) {
  const taken = new Set();
  return names.map((name, number) => {
    const own = taken.has(name) ? `${number} ${name}` : name;
    taken.add(own);
    return own;
  });
}

/**
 * @param {Member[]} members
 * @returns {Promise<Blob>}
 */
export async function packed(members) {
  const names = distinct(members.map(({ name }) => name));
  /** @type {BlobPart[]} */
  const parts = [];
  /** @type {BlobPart[]} */
  const directory = [];
  let offset = 0;
  let directorySize = 0;
  for (const [number, { file }] of members.entries()) {
    const name = new TextEncoder().encode(names[number]);
    const content = new Uint8Array(await file.arrayBuffer());
    const sums = [crc32(content), content.length, content.length];
    // Version, flags, method, time, date.
    const local = record(30, [LOCAL], [20, UTF8, 0, 0, 33], sums, [name.length, 0]);
    const central = record(46, [CENTRAL], [20, 20, UTF8, 0, 0, 33], sums, [name.length, 0, 0, 0, 0]);
    central.setUint32(42, offset, true);
    parts.push(local, name, content);
    directory.push(central, name);
    offset += local.byteLength + name.length + content.length;
    directorySize += central.byteLength + name.length;
  }
  const end = record(22, [END], [0, 0, members.length, members.length], [directorySize, offset], []);
  return new Blob([...parts, ...directory, end]);
}

/**
 * A header of that many bytes: its signature, numbers of two bytes, of four, and of two.
 * @param {number} size
 * @param {number[]} signature
 * @param {number[]} words
 * @param {number[]} longs
 * @param {number[]} lengths
 */
function record(size, signature, words, longs, lengths) {
  const view = new DataView(new ArrayBuffer(size));
  let at = 0;
  for (const value of signature) at = long(view, at, value);
  for (const value of words) at = word(view, at, value);
  for (const value of longs) at = long(view, at, value);
  for (const value of lengths) at = word(view, at, value);
  return view;
}

/**
 * @param {DataView<ArrayBuffer>} view
 * @param {number} at
 * @param {number} value
 */
function word(view, at, value) {
  view.setUint16(at, value, true);
  return at + 2;
}

/**
 * @param {DataView<ArrayBuffer>} view
 * @param {number} at
 * @param {number} value
 */
function long(view, at, value) {
  view.setUint32(at, value, true);
  return at + 4;
}
