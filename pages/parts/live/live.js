// State now, figures, message cards and delivered text of a run; drawn again whenever Python tells.

const TOLD = "inspector-feed"; // from the strip's feed, between two words from Python
const listening = new WeakMap();

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".now");
  const parts = [];
  if (data.state) {
    const state = make("p", "state");
    if (data.feed) state.append(make("i", "pulse"));
    state.append(make("span", "quiet", "now: "), stateWords(data.state));
    parts.push(state);
  }
  if (data.figures) parts.push(figures(data.figures));
  if (data.verdict) parts.push(paint(make("p", "found"), visibleParts(data.verdict, { spaces: false, most: 400 })));
  if (data.cards?.length) parts.push(cards(data.cards));
  if (data.fields?.length) parts.push(fields(data.fields));
  root.replaceChildren(...parts);
  if (data.feed && listening.get(root) !== data.feed) {
    listening.set(root, data.feed);
    const hear = ({ detail }) => {
      if (!root.isConnected || listening.get(root) !== data.feed) { window.removeEventListener(TOLD, hear); return; }
      if (detail.feed === data.feed) update(root, detail);
    };
    window.addEventListener(TOLD, hear);
  }
}

function stateWords(words) {
  return paint(make("b"), visibleParts(words, { spaces: false, most: 200 }));
}

function update(root, { now, pace }) {
  const framed = now.state === "body" || now.state === "header";
  const of = framed && now.channel ? ` of ${now.channel}` : "";
  const to = framed && now.recipient ? ` to ${now.recipient}` : "";
  root.querySelector(".state b")?.replaceWith(stateWords(now.state + of + to));
  if (!pace) return;
  const count = (number) => Math.round(number).toLocaleString("en");
  root.querySelector(".figures")?.replaceWith(figures([
    ["tokens", count(pace.tokens)],
    ["tokens/s", pace.tokens_per_s === null ? "–" : count(pace.tokens_per_s)],
    ["first token", time(pace.first_token_s)],
    ["gap, median", time(pace.gap_p50_s)],
    ["gap, 95th percentile", time(pace.gap_p95_s)],
    ["events", count(pace.events)],
  ]));
}

function time(seconds) {
  if (seconds === null) return "–";
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)} ms`;
  return seconds < 10 ? `${Math.round(seconds * 1000).toLocaleString("en")} ms` : `${seconds.toFixed(1)} s`;
}

function figures(rows) {
  const list = make("dl", "figures");
  for (const [label, value] of rows) {
    const pair = make("div");
    pair.append(make("dd", "", value), make("dt", "", label));
    list.append(pair);
  }
  return list;
}

function cards(all) {
  const list = make("ol", "cards");
  list.setAttribute("aria-label", "Messages");
  for (const card of all) {
    const item = make("li");
    item.dataset.channel = card.recipient.startsWith("functions.") ? "tool" : card.channel;
    if (card.open) item.dataset.open = "";
    item.append(paint(make("b"), visibleParts(card.channel || "no channel", { spaces: false, most: 60 })));
    const words = [card.recipient && `to ${card.recipient}`, card.content_type, card.role].filter(Boolean).join(" · ");
    item.append(paint(make("span", "who"), visibleParts(words, { spaces: false, most: 160 })));
    const tokens = `${card.tokens.toLocaleString("en")} token${card.tokens === 1 ? "" : "s"}`;
    item.append(make("span", "size", `${tokens} · ${card.time}${card.open ? " · open" : ""}`));
    list.append(item);
  }
  return list;
}

function fields(all) {
  const box = make("div", "fields");
  for (const [name, text, length] of all) {
    const one = make("section");
    one.dataset.field = name.split(" ")[0];
    const head = make("h3", "", `delivered in ${name}`);
    head.append(make("span", "quiet", ` ${length.toLocaleString("en")} characters`));
    const body = make("pre");
    if (text.length < length) body.append(make("span", "quiet", "… "));
    body.append(text);
    one.append(head, body);
    box.append(one);
  }
  return box;
}
