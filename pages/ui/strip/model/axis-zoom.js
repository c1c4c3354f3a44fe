// The stretch of the time axis that the track shows, in shares of the axis.

const LEAST = 1 / 20_000;
const MARGIN = 0.1; // of the stretch, before what is brought into sight

export class Zoom {
  constructor() {
    this.from = 0;
    this.until = 1;
  }

  get span() {
    return this.until - this.from;
  }

  get zoomed() {
    return this.span < 1;
  }

  fit() {
    this.show(0, 1);
  }

  /**
   * @param {number} from
   * @param {number} until
   */
  show(from, until) {
    const span = Math.min(1, Math.max(LEAST, until - from));
    this.from = Math.max(0, Math.min(1 - span, from));
    this.until = this.from + span;
  }

  /**
   * Make the stretch longer or shorter; what is at `around` stays where it is.
   * @param {number} factor
   * @param {number} around
   */
  by(factor, around) {
    const span = Math.min(1, Math.max(LEAST, this.span * factor));
    const from = around - (around - this.from) * (span / this.span);
    this.show(from, from + span);
  }

  /** @param {number} share of the stretch */
  pan(share) {
    const from = this.from + share * this.span;
    this.show(from, from + this.span);
  }

  /** @param {number} place */
  include(place) {
    const { span } = this;
    if (place < this.from) this.show(place - span * MARGIN, place + span * (1 - MARGIN));
    else if (place > this.until) this.show(place - span * (1 - MARGIN), place + span * MARGIN);
  }

  /**
   * Where a place of the axis is in the stretch: 0 at its left end, 1 at its right end.
   * @param {number} place
   */
  toView(place) {
    return (place - this.from) / this.span;
  }

  /** @param {number} view */
  fromView(view) {
    return this.from + view * this.span;
  }
}
