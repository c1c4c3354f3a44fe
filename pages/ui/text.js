// Text for the eye: nothing invisible, nothing that turns the line around.

import { NUMBER } from "./numbers.js";

/**
 * A stretch of text to be shown as it is, or the name of a character that has no picture of its own.
 * @typedef {{ text: string, name?: true }} Part
 */

/** @type {Map<number, string>} */
const NAMES = new Map([
  [0x7f, "DEL"],
  [0x85, "NEL"],
  [0xa0, "NBSP"],
  [0xad, "SHY"],
  [0x034f, "CGJ"],
  [0x061c, "ALM"],
  [0x180e, "MVS"],
  [0x200b, "ZWSP"],
  [0x200c, "ZWNJ"],
  [0x200d, "ZWJ"],
  [0x200e, "LRM"],
  [0x200f, "RLM"],
  [0x2028, "LSEP"],
  [0x2029, "PSEP"],
  [0x202a, "LRE"],
  [0x202b, "RLE"],
  [0x202c, "PDF"],
  [0x202d, "LRO"],
  [0x202e, "RLO"],
  [0x202f, "NNBSP"],
  [0x2060, "WJ"],
  [0x2066, "LRI"],
  [0x2067, "RLI"],
  [0x2068, "FSI"],
  [0x2069, "PDI"],
  [0x3000, "IDSP"],
  [0xfe0e, "VS15"],
  [0xfe0f, "VS16"],
  [0xfeff, "BOM"],
]);
const C0 = (
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI " +
  "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
).split(" ");
const INVISIBLE = /^(?:[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]|\u034f|\ufe0e|\ufe0f)$/u;
const PICTURE = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]$/u;
const COMBINING = /^\p{M}$/u;
const SIGNS = new Map([
  [" ", "·"],
  ["\n", "↵"],
  ["\t", "⇥"],
]);
const RUN_SHOWN = 6; // more of the same space in a row are counted

/**
 * Parts of a text. `spaces` shows spaces and line ends as signs; `most` is the number of characters shown,
 * the rest is counted.
 * @param {string} text
 * @param {{ spaces?: boolean, most?: number }} [options]
 */
export function visibleParts(text, { spaces = true, most = Infinity } = {}) {
  /** @type {Part[]} */
  const parts = [];
  // A text may be megabytes long: no more of it is looked at than can be shown.
  const looked = most === Infinity ? text : text.slice(0, most * 4 + 4096);
  const characters = Array.from(looked);
  const beyond = text.length - looked.length;
  let plain = "";
  const flush = () => {
    if (plain) parts.push({ text: plain });
    plain = "";
  };
  let shown = 0;
  for (let i = 0; i < characters.length; i++) {
    const char = characters[i];
    const sign = SIGNS.get(char);
    let run = 1;
    while (i + run < characters.length && characters[i + run] === char) run++;
    if (spaces && run > RUN_SHOWN && sign) {
      plain += sign;
      flush();
      parts.push({ text: `×${NUMBER.format(run)}`, name: true });
      i += run - 1;
      shown += 2;
      continue;
    }
    if (shown >= most) {
      flush();
      parts.push({ text: `+${NUMBER.format(characters.length - i + beyond)}`, name: true });
      return parts;
    }
    shown++;
    if (sign) plain += inLine(char, sign, spaces);
    else if (joins(characters, i)) plain += char;
    else if (INVISIBLE.test(char)) {
      flush();
      parts.push({ text: nameOf(/** @type {number} */ (char.codePointAt(0))), name: true });
    } else if (COMBINING.test(char) && i === 0) plain += `◌${char}`;
    else plain += char;
  }
  flush();
  if (beyond > 0) parts.push({ text: `+${NUMBER.format(beyond)}`, name: true });
  return parts;
}

/**
 * A text as one string, for labels: names of characters stand in angle quotes.
 * @param {string} text
 * @param {number} most
 */
export function plainText(text, most, spaces = false) {
  return visibleParts(text, { most, spaces })
    .map((part) => (part.name ? `‹${part.text}›` : part.text))
    .join("");
}

/** @param {string} hex */
export function spacedHex(hex) {
  return hex.replace(/../g, "$& ").trimEnd();
}

/**
 * A space, line end or tab: as its sign, or as itself where the sign would hide how the text is laid out.
 * @param {string} char
 * @param {string} sign
 * @param {boolean} spaces
 */
function inLine(char, sign, spaces) {
  if (spaces) return sign;
  return char === " " ? char : sign + char;
}

/** @param {number} code */
function nameOf(code) {
  const known = NAMES.get(code) ?? (code < 0x20 ? C0[code] : undefined);
  return known ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/**
 * A joiner or a variation selector inside an emoji sequence belongs to the picture.
 * @param {string[]} characters
 * @param {number} i
 */
function joins(characters, i) {
  const before = characters[i - 1];
  if (before === undefined) return false;
  if (characters[i] === "\ufe0f" || characters[i] === "\ufe0e")
    return PICTURE.test(before) || /[0-9#*]/.test(before);
  if (characters[i] !== "\u200d") return false;
  const after = characters[i + 1];
  return after !== undefined && PICTURE.test(after) && (PICTURE.test(before) || before === "\ufe0f");
}
