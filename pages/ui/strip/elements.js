// The elements of strip.html, by what they are for.

/**
 * @typedef {object} Elements
 * @property {HTMLElement} root
 * @property {HTMLCanvasElement} pipeline the picture
 * @property {HTMLElement} pipeline-words the chosen cell in one line
 * @property {HTMLButtonElement} pipeline-ids
 * @property {HTMLButtonElement} pipeline-fit
 * @property {HTMLButtonElement} pipeline-now
 * @property {HTMLButtonElement} watch
 * @property {HTMLElement} watch-word
 * @property {HTMLDetailsElement} tokens all that is below the picture
 * @property {HTMLElement} scroller the window over the tokens, a listbox
 * @property {HTMLElement} canvas what scrolls in it
 * @property {HTMLElement} legend
 * @property {HTMLElement} breaks-label
 * @property {HTMLInputElement} breaks
 * @property {HTMLFormElement} goto
 * @property {HTMLInputElement} goto-number
 * @property {HTMLElement} steps
 * @property {HTMLButtonElement} finding-back
 * @property {HTMLElement} finding-at
 * @property {HTMLButtonElement} finding-next
 * @property {HTMLButtonElement} find-open
 * @property {HTMLButtonElement} help-open
 * @property {HTMLFormElement} find
 * @property {HTMLInputElement} find-words
 * @property {HTMLSelectElement} find-channel
 * @property {HTMLInputElement} find-special
 * @property {HTMLInputElement} find-undelivered
 * @property {HTMLElement} find-count
 * @property {HTMLButtonElement} find-back
 * @property {HTMLButtonElement} find-close
 * @property {HTMLElement} copies
 * @property {HTMLElement} readout
 * @property {HTMLElement} frame around the scroller
 * @property {HTMLElement} client the response as a client shows it
 * @property {HTMLButtonElement} client-view
 * @property {HTMLElement} framing-label
 * @property {HTMLInputElement} framing checked while headers are hidden
 * @property {HTMLElement} heat-label
 * @property {HTMLInputElement} heat
 * @property {HTMLElement} raw the event of the chosen token as it was received
 * @property {HTMLElement} finding the chosen finding
 * @property {HTMLElement} findings the list of them
 * @property {HTMLElement} findings-count
 * @property {HTMLElement} findings-none
 * @property {HTMLElement} token-card
 * @property {HTMLElement} token-title
 * @property {HTMLElement} token
 * @property {HTMLDialogElement} help
 * @property {HTMLButtonElement} back
 * @property {HTMLButtonElement} play
 * @property {HTMLElement} play-word
 * @property {HTMLButtonElement} forward
 * @property {HTMLSelectElement} speed
 * @property {HTMLOptionElement} auto the pace that nobody chose
 * @property {HTMLButtonElement} loop
 * @property {HTMLCanvasElement} track
 * @property {HTMLInputElement} scrub
 * @property {HTMLCanvasElement} map
 * @property {HTMLButtonElement} zoom-in
 * @property {HTMLButtonElement} zoom-out
 * @property {HTMLButtonElement} zoom-fit
 * @property {HTMLElement} clock
 * @property {HTMLElement} pace
 * @property {HTMLElement} gaps-label
 * @property {HTMLInputElement} gaps
 * @property {HTMLButtonElement} all
 */

/**
 * @param {HTMLElement} root
 * @returns {Elements}
 */
export function elementsOf(root) {
  /** @type {Record<string, HTMLElement>} */
  const elements = { root };
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (
    root.querySelectorAll("[data-part], [data-do]")
  )) {
    const { part, do: action } = element.dataset;
    if (part) elements[part] = element;
    if (action) elements[action] = element;
  }
  return /** @type {Elements} */ (/** @type {unknown} */ (elements));
}
