// The picture of a run before there is one: the figure alone, with nothing to choose in it.

import { drawn } from "../../ui/dom.js";
import { isDark, measuredOnCanvas } from "../../ui/strip/draw/canvas.js";
import { elementsOf } from "../../ui/strip/elements.js";
import { Model } from "../../ui/strip/model/model.js";
import { payloadOf } from "../../ui/strip/model/payload-bytes.js";
import { Figure } from "../../ui/strip/pipeline/figure.js";

/** @import { Component } from "../../ui/component.d.ts" */

const MOMENT = { playing: false, live: false, ghost: true, selected: null, hover: null };

/** @param {Component<Uint8Array | ArrayBuffer>} component */
export default function ({ data, parentElement }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".hi"));
  const ground = getComputedStyle(root).getPropertyValue("--st-background-color").trim();
  root.dataset.theme = isDark(ground) ? "dark" : "light";
  root.dataset.ready = "ghost";
  const model = new Model(payloadOf(data instanceof Uint8Array ? data : new Uint8Array(data)));
  const figure = new Figure(elementsOf(root), measuredOnCanvas(), { select: () => {}, hover: () => {} });
  figure.ids.of({ live: true });
  figure.show(model, { again: false });
  figure.fitted = false; // at full size, even where it does not fit
  figure.scale = 1;
  figure.paint({ ...MOMENT, shown: model.count });
  const size = new ResizeObserver(() => figure.resized());
  size.observe(root);
  drawn(parentElement);
  return () => {
    size.disconnect();
    figure.close();
  };
}
