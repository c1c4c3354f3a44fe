// The fields of a client in words and colours.

/** @type {Record<string, string>} */
const LETTERS = { reasoning: "R", content: "C", tool: "T", other: "O" };

/**
 * The hue of a field: each has its own, server-side tools and plain completions share one.
 * @param {string | null} field
 */
export function fieldHue(field) {
  if (field === "reasoning" || field === "content") return field;
  return field?.startsWith("tool_calls") ? "tool" : "other";
}

/**
 * The letter that tells bars apart where their label does not fit, and where there are no colours.
 * @param {string | null} field
 */
export function fieldLetter(field) {
  return field === null ? "" : (LETTERS[fieldHue(field)] ?? "");
}

/** @param {string | null} field */
export function fieldWords(field) {
  const call = /^tool_calls\[(\d+)\]\.(name|arguments)$/.exec(field ?? "");
  if (!call) return field ?? "";
  return (call[1] === "0" ? "tool " : `tool ${Number(call[1]) + 1} `) + call[2];
}
