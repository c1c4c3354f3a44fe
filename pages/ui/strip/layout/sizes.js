// Sizes and fonts of the strip, as strip.css has them: the layout computes where each cell stands from these.

const FAMILIES = {
  mono: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  sans: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
};

export const SIZE = {
  text: 13,
  id: 10,
  label: 10,
  name: 9,
  cellPad: 6,
  cellGap: 3,
  eventGap: 9,
  leastCell: 18,
  textHeight: 23,
  idHeight: 14,
  laneHeight: 16,
  rowGap: 9,
  blockPadX: 14,
  blockPadY: 9,
  headerHeight: 26,
  wordsHeight: 17,
  metaHeight: 18,
  blockGap: 9,
  gutter: 16,
  fold: 18,
  mostCharacters: 30,
};

export const FONT = {
  text: `${SIZE.text}px ${FAMILIES.mono}`,
  id: `${SIZE.id}px ${FAMILIES.mono}`,
  label: `500 ${SIZE.label}px ${FAMILIES.sans}`,
  name: `500 ${SIZE.name}px ${FAMILIES.sans}`,
  words: `12px ${FAMILIES.sans}`,
  title: `600 14px ${FAMILIES.sans}`,
  meta: `12.5px ${FAMILIES.sans}`,
};

/**
 * How wide a text is in a font, in pixels.
 * @typedef {(text: string, font: string) => number} TextWidth
 */
