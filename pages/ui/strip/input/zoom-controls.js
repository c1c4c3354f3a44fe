// What zooms the track: wheel, pinch, buttons and the minimap.

import { shareAt } from "../draw/minimap.js";
import { KNOB } from "../draw/time-track.js";

/** @import { Elements } from "../elements.js" */
/** @import { Zoom } from "../model/axis-zoom.js" */

const WHEEL = 0.002; // of a step of the wheel, as an exponent
const STEP = 0.5; // of a button

/**
 * @param {Elements} elements
 * @param {Zoom} zoom
 * @param {{ changed: () => void, around: () => number, seek: (share: number) => void }} on
 *   `around` is the share of the axis at which the play head or the chosen cell is
 */
export function listenToZoom(elements, zoom, { changed, around, seek }) {
  const { track, map } = elements;
  const box = /** @type {HTMLElement} */ (track.parentElement);
  const at = (/** @type {number} */ clientX) => {
    const { left, width } = track.getBoundingClientRect();
    return zoom.fromView(Math.max(0, Math.min(1, (clientX - left - KNOB) / (width - KNOB * 2))));
  };
  const by = (/** @type {number} */ factor, place = around()) => {
    zoom.by(factor, place);
    changed();
  };
  box.addEventListener(
    "wheel",
    (event) => {
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      // At its widest the track leaves the wheel to the page.
      if (!zoom.zoomed && (sideways || event.deltaY > 0)) return;
      event.preventDefault();
      if (sideways) zoom.pan((event.deltaX || event.deltaY) / track.clientWidth);
      else zoom.by(Math.exp(event.deltaY * WHEEL * (event.ctrlKey ? 4 : 1)), at(event.clientX));
      changed();
    },
    { passive: false },
  );
  let apart = 0; // pixels between two fingers
  box.addEventListener(
    "touchmove",
    (event) => {
      if (event.touches.length !== 2) return;
      event.preventDefault();
      const [first, second] = [event.touches[0].clientX, event.touches[1].clientX];
      const now = Math.max(8, Math.abs(first - second));
      if (apart) by(apart / now, at((first + second) / 2));
      apart = now;
    },
    { passive: false },
  );
  box.addEventListener("touchend", () => {
    apart = 0;
  });
  elements["zoom-in"].onclick = () => by(STEP);
  elements["zoom-out"].onclick = () => by(1 / STEP);
  elements["zoom-fit"].onclick = () => {
    zoom.fit();
    changed();
  };
  const go = (/** @type {PointerEvent} */ event) => {
    const share = shareAt(map, event.clientX);
    if (!zoom.zoomed) seek(share);
    else {
      zoom.show(share - zoom.span / 2, share + zoom.span / 2);
      changed();
    }
  };
  map.onpointerdown = (event) => {
    map.setPointerCapture(event.pointerId);
    go(event);
  };
  map.onpointermove = (event) => {
    if (map.hasPointerCapture(event.pointerId)) go(event);
  };
}
