// Whether the page is dark: from the colour of its ground.

/** @param {string} colour as CSS has it */
export function isDark(colour) {
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  pen.fillStyle = "#ffffff";
  pen.fillStyle = colour; // one that is none changes nothing
  const hex = /^#(..)(..)(..)/.exec(pen.fillStyle);
  if (!hex) return false;
  const [red, green, blue] = hex.slice(1).map((part) => Number.parseInt(part, 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 < 128;
}
