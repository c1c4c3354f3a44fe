// Numbers, counts and times for the eye.

export const NUMBER = new Intl.NumberFormat("en-US");

/**
 * @param {number} number
 * @param {string} singular the noun, `token`
 * @param {string} [plural] its plural where it does not end in s
 */
export function count(number, singular, plural) {
  return `${NUMBER.format(number)} ${number === 1 ? singular : (plural ?? `${singular}s`)}`;
}

/**
 * A probability, 0 to 1; never rounded to certain or impossible.
 * @param {number} chance
 */
export function percent(chance) {
  if (chance >= 0.995 && chance < 1) return ">99%";
  if (chance > 0 && chance < 0.005) return "<1%";
  return `${Math.round(chance * 100)}%`;
}

/**
 * Below ten seconds milliseconds, then seconds with one decimal, then minutes.
 * @param {number | null | undefined} seconds
 */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const ms = seconds * 1000;
  if (ms >= 0 && ms < 0.05) return ms ? "<0.1 ms" : "0 ms";
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 10000) return `${NUMBER.format(Math.round(ms))} ms`;
  if (seconds < 600) return `${seconds.toFixed(1)} s`;
  return `${NUMBER.format(Math.round(seconds / 60))} min`;
}
