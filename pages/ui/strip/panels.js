// Beside the tokens: the list of findings, the chosen finding with its texts, the chosen token.

const LIST_MOST = 200; // findings listed at once; n and p reach the others
const AROUND = 48; // characters of text shown before and after a lost part
const REFUSALS = new Set(["unexpected_token", "bad_header"]);

const LEGEND = [
  ["ribbon", "ok", "reasoning", "delivered as reasoning"],
  ["ribbon", "ok", "content", "as content"],
  ["ribbon", "ok", "tool", "as tool arguments"],
  ["ribbon", "ok", "other", "in another field"],
  ["ribbon", "unknown", "other", "delivered, not known whether whole"],
  ["ribbon", "dropped", "other", "not delivered"],
  ["ribbon", "misrouted", "content", "in the wrong field"],
  ["ribbon", "unserved", "other", "no field for it"],
  ["sample", "marker", null, "marker"],
  ["sample", "header", null, "header"],
  ["sample", "culprit", null, "rejected by the parser"],
  ["sample", "unsent", null, "not sent"],
  ["sample", "reconstructed", null, "reconstructed"],
];

function paintLegend(element, model) {
  const seen = new Set();
  for (const lane of model.lanes) {
    for (const [, , field, state] of lane.runs) {
      const known = ["ok", "unknown", "misrouted", "unserved"].includes(state);
      if (state === "ok") seen.add("ok " + fieldHue(field));
      else seen.add((known ? state : "dropped") + " *");
    }
  }
  const framed = model.ids !== null && model.blocks.some((block) => block.kind === "message");
  const samples = { marker: framed, header: framed, culprit: model.blocks.some((block) => block.culprit), unsent: model.unsent.size > 0,
    reconstructed: model.reconstructed };
  const items = LEGEND.filter(([kind, state, hue]) => (kind === "sample" ? samples[state] : state === "ok" ? seen.has("ok " + hue) : seen.has(state + " *")));
  element.replaceChildren(...items.map(([kind, state, hue, words]) => {
    const item = make("span", "item");
    const swatch = make("i", `swatch ${kind} ${state}`, kind === "sample" ? "ab" : "");
    if (hue) swatch.dataset.hue = hue;
    item.append(swatch, words);
    return item;
  }));
  if (model.lanes.length > 1) {
    model.lanes.forEach((lane, number) => {
      const item = make("span", "item");
      item.append(make("b", "lane-key", String.fromCharCode(65 + number)));
      paintInto(item, lane.label);
      element.append(item);
    });
  }
}

function paintInto(element, text) {
  const holder = make("span");
  paint(holder, visibleParts(text, { spaces: false, most: 400 }));
  element.append(holder);
  return holder;
}

// The list is built once for a capture (or a stretch of a very long list); what is not known yet is hidden in it.
function paintFindings(parts, model, { chosen, shown, choose, version }) {
  const list = parts.findings;
  const { findings } = model;
  const first = findings.length <= LIST_MOST ? 0 :
    Math.max(0, Math.min(Math.floor(((chosen ?? 0) - LIST_MOST / 2) / 50) * 50, findings.length - LIST_MOST));
  const built = `${version} ${first}`;
  if (list.dataset.built !== built) {
    list.dataset.built = built;
    const items = findings.slice(first, first + LIST_MOST).map((finding) => findingItem(finding, choose));
    const after = findings.length - first - items.length;
    if (first > 0) items.unshift(make("p", "quiet", `${count(first, "finding")} before`));
    if (after > 0) items.push(make("p", "quiet", `${count(after, "finding")} more: n and p go through them`));
    items.push(make("p", "quiet none"));
    list.replaceChildren(...items);
  }
  let known = 0;
  for (const finding of findings) if (finding.knownAt <= shown) known++;
  parts["findings-count"].textContent = known ? NUMBER.format(known) : "";
  const none = list.lastElementChild;
  none.hidden = known > 0;
  none.textContent = findings.length ? "none yet at this moment" : "none";
  for (const item of list.children) {
    if (item.dataset.finding === undefined) { if (item !== none) item.hidden = known < findings.length; continue; }
    const number = Number(item.dataset.finding);
    item.hidden = findings[number].knownAt > shown;
    const current = number === chosen;
    if (current === item.hasAttribute("aria-current")) continue;
    item.toggleAttribute("aria-current", current);
    if (!current) continue;
    item.setAttribute("aria-current", "true");
    const up = item.offsetTop - list.scrollTop, down = up + item.offsetHeight - list.clientHeight;
    if (up < 0) list.scrollTop += up;
    else if (down > 0) list.scrollTop += down;
  }
}

// The title without the kind that it begins with: `tokens 4–5`.
function placeWords(finding) {
  const kind = finding.kind.replaceAll("_", " ");
  return finding.title.startsWith(kind) ? finding.title.slice(kind.length).trim() : finding.title;
}

function findingItem(finding, choose) {
  const item = make("button", "item " + finding.severity);
  item.setAttribute("role", "listitem");
  item.dataset.finding = finding.number;
  const kind = finding.kind.replaceAll("_", " ");
  const title = make("span", "title");
  title.append(make("b", "", kind), " ", paint(make("span", "place"), visibleParts(placeWords(finding), { spaces: false, most: 60 })));
  const line = make("span", "line");
  paint(line, visibleParts(finding.line, { spaces: false, most: 220 }));
  item.append(make("i", "bullet"), title, line);
  item.setAttribute("aria-label", `${finding.severity}: ${plainText(finding.title, 100)}. ${plainText(finding.line, 300)}`);
  item.onclick = () => choose(finding.number);
  return item;
}

function paintToken(parts, model, i) {
  const { token: list } = parts;
  const title = parts["token-title"];
  const noun = model.unit === "piece" ? "Piece" : "Token";
  if (i === null) {
    title.textContent = noun;
    list.replaceChildren(make("p", "quiet", model.count ? "Click one, or move with the arrow keys." : "This capture shows none."));
    return;
  }
  const unsent = model.unsentOf(i);
  title.textContent = !unsent ? `${noun} ${NUMBER.format(i)}` : unsent.kind === "gap" ? "Tokens not sent" : `Rejected ${unsent.kind}`;
  const rows = tokenRows(model, i);
  list.replaceChildren(...rows.flatMap(([name, value, style]) => {
    const shown = make("dd", style === "bytes" ? "mono" : style ?? "");
    paint(shown, visibleParts(String(value), { spaces: style === "mono", most: 400 }));
    return [paint(make("dt"), visibleParts(name, { spaces: false, most: 40 })), shown];
  }));
}

function tokenRows(model, i) {
  const block = model.blocks[model.blockOf(i)];
  const text = model.textOf(i);
  const rows = [];
  const unsent = model.unsentOf(i);
  if (unsent) return unsentRows(model, i, unsent, block);
  if (model.ids) {
    const id = model.idOf(i);
    rows.push(id === null ? ["id", "one of several that fit"] : ["id", id, "mono"]);
    if (text === undefined) rows.push(["text", "this id is not in the vocabulary"]);
    else if (text === null) rows.push(["text", "part of a character that a later token completes"]);
    else rows.push(["text", text, "mono"]);
    const bytes = model.bytesOf(i);
    if (bytes) rows.push(["bytes", spacedHex(bytes.length > 128 ? bytes.slice(0, 128) : bytes) + (bytes.length > 128 ? " …" : ""), "bytes"]);
  } else rows.push(["text", text, "mono"]);
  if (model.reconstructed) rows.push(["source", "reconstructed from the final object; its tokens add up to the server's count"]);
  rows.push(["state", stateWords(model, i, block)]);
  if (block.kind === "message") {
    rows.push(["channel", block.channel ?? "none"]);
    if (block.recipient) rows.push(["recipient", block.recipient, "mono"]);
  }
  const k = model.eventOf(i);
  if (k >= 0 && model.events.index[k] >= 0) {
    const size = model.eventSize(k);
    const time = duration(model.arrivalOf(i));
    const unit = model.unit === "piece" ? "piece" : "token";
    const event = NUMBER.format(model.events.index[k]);
    if (model.unit === "piece" && model.lanes.length && model.runOf(0, i)?.[3] === "dropped") rows.push(["event", `missing at event ${event}`]);
    else rows.push(["event", `${event} (${count(size, unit)})${time ? ", at " + time : ""}`]);
  } else rows.push(["event", "not known"]);
  model.lanes.forEach((lane, number) => {
    const run = model.runOf(number, i);
    const [words, bad] = deliveredWords(model, i, run, block);
    rows.push([model.lanes.length > 1 ? lane.label : "delivered", words, bad ? "bad" : ""]);
  });
  return rows;
}

// What is known of a token that the server never sent.
function unsentRows(model, i, unsent, block) {
  const rows = [];
  if (unsent.id !== null) rows.push(["id", unsent.id, "mono"]);
  if (unsent.text) rows.push([unsent.kind === "header" ? "header" : "text", unsent.text, "mono"]);
  rows.push(["sent", unsent.words, "bad"]);
  if (block.reason) rows.push(["parser", block.reason]);
  const k = model.eventOf(i);
  const time = duration(model.arrivalOf(i));
  if (k >= 0) rows.push(["error", `event ${NUMBER.format(model.events.index[k])}${time ? ", at " + time : ""}`]);
  return rows;
}

function stateWords(model, i, block) {
  const unsent = model.unsentOf(i);
  if (unsent) return unsent.words;
  const state = model.stateOf(i, block);
  if (state === "piece") return "piece of " + fieldWords(block.channel);
  if (state === "refused") return block.state ? `rejected, parser state: ${block.state.replaceAll("_", " ")}` : "rejected";
  const message = "message " + block.number;
  if (state === "body") return "body of " + message;
  if (state === "header") return "header of " + message;
  return i < block.body ? "marker in the header of " + message : "marker that closes " + message;
}

function deliveredWords(model, i, run, block) {
  if (run === null) {
    if (model.unsent.has(i)) return ["never sent", true];
    const state = model.stateOf(i, block);
    const framing = state === "marker" || state === "header" || (state === "refused" && (i < block.body || MARKERS.has(model.ids?.[i])));
    return framing ? ["framing, not text", false] : ["not known", false];
  }
  const field = fieldWords(run[2]);
  switch (run[3]) {
    case "ok": return ["in " + field, false];
    case "unknown": return [`in ${field}; whether that is all is not known`, false];
    case "misrouted": {
      const told = model.findings.find((one) => one.kind === "misrouted" && one.start <= i && i < one.end);
      return [`in ${field}${told?.field ? ", not in " + fieldWords(told.field) : ""}`, true];
    }
    case "dropped": return ["nowhere", true];
    case "garbled": return [`in ${field}, with other characters`, true];
    case "reordered": return [`in ${field}, out of order`, true];
    case "duplicated": return [`in ${field}, more than once`, true];
    case "unserved": return ["nowhere: no field is promised for it", true];
    default: return [run[3], true];
  }
}

function describeCell(model, i) {
  const block = model.blocks[model.blockOf(i)];
  const noun = model.unit === "piece" ? "piece" : "token";
  const text = model.textOf(i);
  const unsent = model.unsentOf(i);
  const words = [unsent ? (unsent.kind === "gap" ? "gap" : "rejected " + unsent.kind) : `${noun} ${NUMBER.format(i)}`];
  if (unsent?.kind === "gap") return [...words, unsent.words].join(" · ");
  if (text === undefined) words.push("not in the vocabulary");
  else if (text === null) words.push("part of a character");
  else words.push("“" + plainText(text, 60, true) + "”");
  const id = unsent ? unsent.id : model.idOf(i);
  if (id !== null) words.push("id " + id);
  if (model.reconstructed && !unsent) words.push("reconstructed");
  words.push(stateWords(model, i, block));
  const time = duration(model.arrivalOf(i));
  if (time) words.push(time);
  model.lanes.forEach((lane, number) => {
    const run = model.runOf(number, i);
    if (run) words.push((model.lanes.length > 1 ? lane.label + ": " : "delivered ") + deliveredWords(model, i, run, block)[0]);
  });
  return words.join(" · ");
}

function paintFinding(element, model, number) {
  const finding = number === null ? null : model.findings[number];
  element.hidden = !finding;
  if (!finding) return;
  const head = make("h3", finding.severity);
  head.append(make("i", "bullet"), paint(make("span"), visibleParts(finding.title, { spaces: false, most: 120 })));
  const lines = [head];
  const explanation = make("p", "explanation");
  paint(explanation, visibleParts(finding.explanation, { spaces: false, most: 1200 }));
  lines.push(explanation);
  const sides = make("div", "sides");
  if (REFUSALS.has(finding.kind)) {
    if (finding.start !== null) sides.append(side("generated by the model", rejectedText(model, finding)));
    if (finding.delivered) sides.append(side("the parser’s words", [[finding.delivered, "words"]]));
  } else if (finding.kind === "server_error" || finding.kind === "disconnected") {
    if (finding.delivered) sides.append(side(finding.kind === "disconnected" ? "the connection’s words" : "the server’s words", [[finding.delivered, "words"]]));
  } else if (finding.kind === "invalid_tool_arguments" && finding.generated !== null) {
    const [left, right] = differing(finding.generated ?? "", finding.delivered ?? "");
    sides.append(side("generated by the model", left), side("delivered to the client", right));
  } else if (finding.start !== null && finding.generated) {
    sides.append(side("generated by the model", around(model, finding)));
    const field = finding.field ? ` in ${fieldWords(finding.field)}` : " to the client";
    sides.append(side("delivered" + field, arrived(model, finding)));
    if (finding.delivered && finding.delivered_in && finding.delivered_in !== finding.field) {
      sides.append(side(`delivered in ${fieldWords(finding.delivered_in)}`, [[finding.delivered, "found"]]));
    }
  } else if (finding.delivered) sides.append(side("delivered to the client", [[finding.delivered, "found"]]));
  if (sides.childElementCount) lines.push(sides);
  const issues = finding.known_issues ?? [];
  if (issues.length) lines.push(issueBox(issues));
  element.replaceChildren(...lines);
}

// What the catalogue of known issues says: the likeliest with its side and first step, the others by title.
function issueBox([first, ...others]) {
  const box = make("div", "issue");
  const title = make("p");
  title.append(make("span", "caption", "known issue "), make("b", "", first.title));
  box.append(title, make("p", "fix", first.fix));
  for (const issue of others.slice(0, 3)) {
    const other = make("p", "other");
    other.append(make("span", "caption", "or "), issue.title);
    box.append(other);
  }
  return box;
}

function side(title, parts) {
  const box = make("div", "side-text");
  const text = make("div", "text");
  for (const [words, style] of parts) {
    if (style === "gap") {
      const gap = make("span", "gap", "missing");
      text.append(gap);
    } else if (style) paint(text.appendChild(make("mark", style)), visibleParts(words, { spaces: false, most: 600 }));
    else paint(text.appendChild(make("span")), visibleParts(words, { spaces: false, most: 1200 }));
  }
  if (!parts.some(([words, style]) => words || style === "gap")) text.append(make("span", "quiet", "nothing"));
  box.append(make("span", "caption", title), text);
  return box;
}

// Generated text around a finding, with its part marked.
function around(model, finding) {
  const block = model.blocks[model.blockOf(finding.start)];
  const text = (from, to) => {
    let joined = "";
    for (let i = from; i < to && joined.length < 2000; i++) joined += model.textOf(i) ?? "";
    return joined;
  };
  const floor = REFUSALS.has(finding.kind) ? 0 : Math.min(block.body, finding.start);
  const before = text(Math.max(floor, finding.start - AROUND), finding.start);
  const after = text(finding.end, Math.min(REFUSALS.has(finding.kind) ? model.count : bodyEnd(model, block), finding.end + AROUND));
  return [[ending(before), null], [text(finding.start, finding.end), "lost"], [beginning(after), null]];
}

// Generated text around a rejected token or header, with the gap before one that was not sent.
function rejectedText(model, finding) {
  const [before, part, after] = around(model, finding);
  const gap = model.unsentOf(finding.start - 1)?.kind === "gap";
  return [before, ...(gap ? [["", "gap"]] : []), part, after];
}

// The same stretch as the promised field delivered it.
function arrived(model, finding) {
  const block = model.blocks[model.blockOf(finding.start)];
  const delivered = (from, to) => {
    let joined = "";
    for (let i = from; i < to && joined.length < 2000; i++) {
      const run = model.lanes.length ? model.runOf(0, i) : null;
      if (run && (finding.field === null || run[2] === finding.field) && run[3] !== "misrouted") joined += model.textOf(i) ?? "";
    }
    return joined;
  };
  const before = delivered(Math.max(Math.min(block.body, finding.start), finding.start - AROUND), finding.start);
  const after = delivered(finding.end, Math.min(bodyEnd(model, block), finding.end + AROUND));
  const inPlace = finding.kind === "garbled" || finding.kind === "reordered" || finding.kind === "duplicated";
  return [[ending(before), null], inPlace && finding.delivered ? [finding.delivered, "found"] : ["", "gap"], [beginning(after), null]];
}

function bodyEnd(model, block) {
  return block.complete && block.end > block.body && model.stateOf(block.end - 1, block) === "marker" ? block.end - 1 : block.end;
}

function ending(text) {
  return text.length > AROUND ? "…" + Array.from(text).slice(-AROUND).join("") : text;
}

function beginning(text) {
  return text.length > AROUND ? Array.from(text).slice(0, AROUND).join("") + "…" : text;
}

// Two texts with what they do not share at the front and the back marked.
function differing(left, right) {
  const a = Array.from(left), b = Array.from(right);
  let front = 0;
  while (front < a.length && front < b.length && a[front] === b[front]) front++;
  let back = 0;
  while (back < a.length - front && back < b.length - front && a[a.length - 1 - back] === b[b.length - 1 - back]) back++;
  const cut = (list, style) => [
    [list.slice(0, front).join(""), null],
    [list.slice(front, list.length - back).join(""), style],
    [list.slice(list.length - back).join(""), null],
  ].filter(([words]) => words);
  const shown = cut(b, "found");
  if (a.length - front - back > 0 && b.length - front - back === 0) shown.splice(front ? 1 : 0, 0, ["", "gap"]);
  return [cut(a, "lost"), shown];
}
