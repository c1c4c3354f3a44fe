// Table of fields: what each side has is marked, what it lacks is a dashed gap; shapes differ, not hues alone.

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".fields");
  if (!data.rows.length) {
    root.replaceChildren(make("p", "quiet", "No field carries text."));
    return;
  }
  const table = make("div", "table");
  table.setAttribute("role", "table");
  const head = make("div", "row head");
  head.setAttribute("role", "row");
  for (const words of ["field", ...data.heads]) cell(head, "columnheader", make("span", "", words));
  table.append(head);
  for (const row of data.rows) {
    const line = make("div", "row");
    line.setAttribute("role", "row");
    const name = make("div", "field");
    name.append(...row.field.map((words, k) => paint(make("span", k ? "part" : "whole"), visibleParts(words, { spaces: false, most: 80 }))));
    if (row.equal !== null) name.append(make("span", row.equal ? "same-sign" : "differs-sign", row.equal ? "✓ equal" : "≠ differs"));
    cell(line, "rowheader", name);
    cell(line, "cell", side(row.left, "lost", data.heads[0]));
    cell(line, "cell", side(row.right, "found", data.heads[1]));
    table.append(line);
  }
  root.replaceChildren(table);
}

function cell(line, role, content) {
  const box = make("div", "cell");
  box.setAttribute("role", role);
  box.append(content);
  line.append(box);
}

function side(parts, style, label) {
  const text = make("div", "text");
  text.dataset.label = label;
  if (parts === null) text.append(make("span", "quiet", "not known: the stream has no token ids"));
  else if (!parts.some(([kind]) => kind !== "gap")) text.append(make("span", "quiet", "empty"));
  else for (const [kind, words] of parts) {
    if (kind === "gap") {
      const gap = make("span", "gap");
      gap.setAttribute("role", "img");
      gap.setAttribute("aria-label", "the other side has text here");
      text.append(gap);
    } else if (kind === "fold") text.append(make("span", "fold", "⋯ " + words + " ⋯"));
    else text.append(paint(make(kind === "mark" ? "mark" : "span", kind === "mark" ? style : ""), visibleParts(words, { spaces: false })));
  }
  return text;
}
