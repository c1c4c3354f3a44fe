// How fast the strip plays: by the clock of the capture, or one event or token after the other.

/** @import { TimeAxis } from "./time-axis.js" */

const MAX_SECONDS = 2; // how long "max" takes for a whole capture
const SHORT_SECONDS = 6; // how long a shorter capture takes by itself
const STEP_SECONDS = 0.75; // how long one of its events takes at most, on average
const WATCHED_STEP_SECONDS = 0.25; // how long an event takes at most while the picture plays

/**
 * By time: seconds of the axis that pass in a second. By event or token: how many in a second, 0 for one a click.
 * @typedef {{ by: "time", factor: number } | { by: "event" | "token", rate: number }} PlaybackSpeed
 */

/**
 * What a value of the list of paces means for an axis.
 * @param {string} value
 * @param {TimeAxis} axis
 * @returns {PlaybackSpeed}
 */
export function speedOf(value, axis) {
  const [by, rate] = value.split("/");
  if (by === "event" || by === "token") return { by, rate: Number(rate) };
  if (value === "max") return { by: "time", factor: axis.length / MAX_SECONDS };
  if (value !== "auto") return { by: "time", factor: Number(value) };
  const seconds = Math.min(SHORT_SECONDS, axis.places.length * STEP_SECONDS);
  return { by: "time", factor: seconds > axis.length ? axis.length / seconds : 1 };
}

/**
 * How fast the picture plays: event by event, all in six seconds at most.
 * @param {TimeAxis} axis
 * @returns {PlaybackSpeed}
 */
export function watchingSpeed(axis) {
  const steps = axis.places.length;
  const seconds = Math.min(SHORT_SECONDS, Math.max(1, steps * WATCHED_STEP_SECONDS));
  return { by: axis.byCell ? "token" : "event", rate: steps / seconds };
}

/**
 * What the pace that nobody chose is.
 * @param {TimeAxis} axis
 */
export function autoSpeedLabel(axis) {
  const pace = speedOf("auto", axis);
  if (pace.by !== "time" || pace.factor >= 1 || !axis.length) return "auto: 1×";
  return `auto: ${Math.round(axis.length / pace.factor)} s`;
}
