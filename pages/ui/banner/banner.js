const LEVELS = {
  error: ["✕", "error"], warning: ["!", "warning"], clean: ["✓", "clean"], unknown: ["?", "no verdict"],
};

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".banner");
  const [sign, word] = LEVELS[data.level] ?? LEVELS.unknown;
  const card = make("section", "card");
  card.dataset.level = data.level;
  card.setAttribute("aria-label", "Verdict");
  const bullet = make("span", "bullet", sign);
  bullet.setAttribute("role", "img");
  bullet.setAttribute("aria-label", word);
  const sentence = paint(make("h1"), visibleParts(data.sentence, { spaces: false, most: 600 }));
  const why = paint(make("p", "why"), visibleParts(data.why, { spaces: false, most: 900 }));
  card.append(bullet, sentence, why);
  if (data.known) card.append(paint(make("p", "why"), visibleParts(data.known, { spaces: false, most: 600 })));
  for (const note of data.notes) card.append(paint(make("p", "note"), visibleParts(note, { spaces: false, most: 600 })));
  const facts = make("ul", "facts");
  facts.setAttribute("aria-label", "Facts");
  for (const [before, value, after] of data.facts) {
    const fact = make("li");
    const strong = paint(make("b"), visibleParts(value, { spaces: false, most: 60 }));
    fact.append(before ? before + " " : "", strong, after ? " " + after : "");
    facts.append(fact);
  }
  root.replaceChildren(card, facts);
}
