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
 * Say that a component stands as high as it will: what is below it is held back until then, see page.css.
 * @param {Element | ShadowRoot} parent where Streamlit put it
 */
export function drawn(parent) {
  const host = parent instanceof ShadowRoot ? parent.host : parent;
  host.setAttribute("data-drawn", "");
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
