// The picture in an HTML report: the same figure over the same model, without a server, a network or Python.
// `#t=0.25` in the address shows the state at that second.

import { measuredOnCanvas } from "../draw/canvas.js";
import { describeCell } from "../model/cell-description.js";
import { Model } from "../model/model.js";
import { watchingSpeed } from "../model/playback-speed.js";
import { TimeAxis } from "../model/time-axis.js";
import { Figure } from "./figure.js";

/** @import { Elements } from "../elements.js" */
/** @import { Payload } from "../model/payload.d.ts" */

/**
 * @param {HTMLElement} root with the parts of a figure
 * @param {Payload} payload
 */
export function showReport(root, payload) {
  /** @type {Record<string, HTMLElement>} */
  const parts = {};
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-part]"))) {
    parts[part.dataset.part ?? ""] = part;
  }
  const model = new Model(payload);
  const axis = new TimeAxis(model, false);
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const first = model.findings.find(({ start }) => start !== null)?.start ?? null;
  /** @type {number | null} */
  let selected = null;
  /** @type {number | null} */
  let hover = null;
  let shown = model.count;
  let frame = 0;

  const figure = new Figure(/** @type {Elements} */ (/** @type {unknown} */ (parts)), measuredOnCanvas(), {
    select: (i) => {
      stop();
      choose(i);
    },
    hover: (i) => {
      hover = i;
      paint();
    },
  });
  figure.show(model, { again: false });

  const paint = () => {
    const playing = frame !== 0;
    figure.paint({ shown, playing, live: false, selected, hover });
    const i = hover ?? selected;
    parts["pipeline-words"].textContent = i === null || playing ? "" : describeCell(model, i);
    parts["watch-word"].textContent = playing ? "Skip" : "Watch it happen";
  };
  /** @param {number | null} i */
  const choose = (i) => {
    selected = i;
    if (i === null) figure.fit();
    else figure.reveal(i, { legibly: true });
    const at = i === null ? null : model.events.time(i);
    // A notebook's frame has no address.
    if (at !== null && location.protocol !== "about:") history.replaceState(null, "", `#t=${at}`);
    paint();
  };
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    shown = model.count;
  };
  const rest = () => {
    stop();
    choose(first);
  };
  const play = () => {
    const speed = watchingSpeed(axis);
    const rate = speed.by === "time" ? 1 : speed.rate;
    const began = performance.now();
    shown = 0;
    const step = () => {
      const steps = Math.floor(((performance.now() - began) / 1000) * rate) + 1;
      if (shown >= model.count) {
        rest();
        return;
      }
      shown = Math.min(model.count, axis.ends[Math.min(steps, axis.ends.length) - 1] ?? model.count);
      frame = requestAnimationFrame(step);
      paint();
    };
    frame = requestAnimationFrame(step);
    paint();
  };
  parts.watch.onclick = () => (frame ? rest() : play());
  parts.pipeline.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    stop();
    choose(Math.max(0, Math.min(model.count - 1, (selected ?? -by) + by)));
  };
  new ResizeObserver(() => figure.resized()).observe(root);

  const linked = () => {
    const second = Number(/^#t=([\d.e-]+)$/.exec(location.hash)?.[1]);
    return Number.isFinite(second) && model.events.at ? Math.max(1, axis.shownAt(second)) : null;
  };
  const follow = () => {
    const at = linked();
    if (at === null) return false;
    stop();
    choose(model.arrived(Math.min(at, model.count) - 1));
    return true;
  };
  window.addEventListener("hashchange", follow);
  if (!model.count) return;
  if (follow()) return;
  if (still) rest();
  else play();
}
