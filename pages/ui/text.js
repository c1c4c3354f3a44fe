// Text for the eye: nothing invisible, nothing that turns the line around, bytes where there is no character yet.
// Every string of a model reaches the page through textContent only.

const NAMES = new Map([
  [0x7f, "DEL"], [0x85, "NEL"], [0xa0, "NBSP"], [0xad, "SHY"], [0x034f, "CGJ"], [0x061c, "ALM"],
  [0x180e, "MVS"], [0x200b, "ZWSP"], [0x200c, "ZWNJ"], [0x200d, "ZWJ"], [0x200e, "LRM"], [0x200f, "RLM"],
  [0x2028, "LSEP"], [0x2029, "PSEP"], [0x202a, "LRE"], [0x202b, "RLE"], [0x202c, "PDF"], [0x202d, "LRO"],
  [0x202e, "RLO"], [0x202f, "NNBSP"], [0x2060, "WJ"], [0x2066, "LRI"], [0x2067, "RLI"], [0x2068, "FSI"],
  [0x2069, "PDI"], [0x3000, "IDSP"], [0xfe0e, "VS15"], [0xfe0f, "VS16"], [0xfeff, "BOM"],
]);
const C0 = ("NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC " +
  "FS GS RS US").split(" ");
const INVISIBLE = /^[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\u034f\ufe0e\ufe0f]$/u;
const PICTURE = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]$/u;
const COMBINING = /^\p{M}$/u;

function nameOf(code) {
  return NAMES.get(code) ?? (code < 0x20 ? C0[code] : "U+" + code.toString(16).toUpperCase().padStart(4, "0"));
}

// Parts of a text: {text} to be shown as it is, {text, name: true} for a character that has no picture of its own.
// `spaces` shows spaces and line ends as signs; `most` is the number of characters shown, the rest is counted.
function visibleParts(text, { spaces = true, most = Infinity } = {}) {
  const parts = [];
  // A text may be megabytes long: no more of it is looked at than can be shown.
  const looked = most === Infinity ? text : text.slice(0, most * 4 + 4096);
  const characters = Array.from(looked);
  const beyond = text.length - looked.length;
  let plain = "";
  const flush = () => { if (plain) parts.push({ text: plain }); plain = ""; };
  let shown = 0;
  for (let i = 0; i < characters.length; i++) {
    const char = characters[i];
    let run = 1;
    while (i + run < characters.length && characters[i + run] === char) run++;
    if (spaces && run > 6 && (char === " " || char === "\n" || char === "\t")) {
      plain += sign(char);
      flush();
      parts.push({ text: "×" + NUMBER.format(run), name: true });
      i += run - 1;
      shown += 2;
      continue;
    }
    if (shown >= most) {
      flush();
      parts.push({ text: "+" + NUMBER.format(characters.length - i + beyond), name: true });
      return parts;
    }
    shown++;
    if (char === " ") plain += spaces ? "·" : " ";
    else if (char === "\n") plain += spaces ? "↵" : "↵\n";
    else if (char === "\t") plain += spaces ? "⇥" : "⇥\t";
    else if (joins(characters, i)) plain += char;
    else if (INVISIBLE.test(char)) {
      flush();
      parts.push({ text: nameOf(char.codePointAt(0)), name: true });
    } else if (COMBINING.test(char) && i === 0) plain += "◌" + char;
    else plain += char;
  }
  flush();
  if (beyond > 0) parts.push({ text: "+" + NUMBER.format(beyond), name: true });
  return parts;
}

function sign(char) {
  return char === " " ? "·" : char === "\n" ? "↵" : "⇥";
}

// A joiner or a variation selector inside an emoji sequence belongs to the picture.
function joins(characters, i) {
  const before = characters[i - 1];
  if (before === undefined) return false;
  if (characters[i] === "\ufe0f" || characters[i] === "\ufe0e") return PICTURE.test(before) || /[0-9#*]/.test(before);
  if (characters[i] !== "\u200d") return false;
  const after = characters[i + 1];
  return after !== undefined && PICTURE.test(after) && (PICTURE.test(before) || before === "\ufe0f");
}

function paint(element, parts) {
  element.replaceChildren(...parts.map((part) => {
    if (!part.name) return document.createTextNode(part.text);
    const name = document.createElement("span");
    name.className = "name";
    name.textContent = part.text;
    return name;
  }));
  return element;
}

function plainText(text, most, spaces = false) {
  return visibleParts(text, { most, spaces }).map((part) => (part.name ? "‹" + part.text + "›" : part.text)).join("");
}

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function spacedHex(hex) {
  return hex.replace(/../g, "$& ").trimEnd();
}

const NUMBER = new Intl.NumberFormat("en-US");

function count(number, one, many) {
  return NUMBER.format(number) + " " + (number === 1 ? one : many ?? one + "s");
}

// Below ten seconds milliseconds, then seconds with one decimal.
function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const ms = seconds * 1000;
  if (ms < 9.95) return ms.toFixed(1) + " ms";
  if (ms < 10000) return NUMBER.format(Math.round(ms)) + " ms";
  if (seconds < 600) return seconds.toFixed(1) + " s";
  return NUMBER.format(Math.round(seconds / 60)) + " min";
}

function span(start, end, word) {
  return end - start === 1 ? `${word} ${NUMBER.format(start)}` : `${word}s ${NUMBER.format(start)}–${NUMBER.format(end - 1)}`;
}
