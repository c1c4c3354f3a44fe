// Elements. Every string of a model or a server reaches the page through textContent only.

/** @import { Part } from "./text.js" */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [className]
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * Replace what an element holds by parts of a text; a character without a picture of its own is named.
 * @template {Element} Painted
 * @param {Painted} element
 * @param {Part[]} parts
 * @returns {Painted}
 */
export function paint(element, parts) {
  element.replaceChildren(
    ...parts.map((part) =>
      part.name ? make("span", "name", part.text) : document.createTextNode(part.text),
    ),
  );
  return element;
}
