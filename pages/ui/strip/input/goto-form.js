// The small form that asks for the number of a token.

/** @import { Elements } from "../elements.js" */

export class Goto {
  /**
   * @param {Elements} elements
   * @param {(number: number) => void} go
   */
  constructor({ goto: form, "goto-number": input, scroller }, go) {
    this.form = form;
    this.input = input;
    this.scroller = scroller;
    form.onsubmit = (event) => {
      event.preventDefault();
      const wanted = Number.parseInt(input.value.replace(/[^\d]/g, ""), 10);
      this.#close();
      if (Number.isInteger(wanted)) go(wanted);
    };
    input.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.#close();
    };
    input.onblur = () => {
      form.hidden = true;
    };
  }

  open() {
    this.form.hidden = false;
    this.input.value = "";
    this.input.focus();
  }

  #close() {
    this.form.hidden = true;
    this.scroller.focus({ preventScroll: true });
  }
}
