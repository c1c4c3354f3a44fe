// Where the rows of the pipeline stand: the time, the tokens of the model, and for each server its bar and the
// lanes of the client. Of two servers the first one's rows stand above the tokens, in reverse.

/** @import { Picture } from "../model/picture.js" */

/** @typedef {{ bar: number, lanes: number[], down: 1 | -1 }} ServerRows top edges; `down` is where tokens fall */
/**
 * `band` is the row of the names of messages, null without one, and `ids` the room of IDs under the tokens.
 * @typedef {{ band: number | null, time: number, model: number, ids: number, servers: ServerRows[], height: number }} Rows
 */

export const HEIGHT = { box: 24, bar: 26, time: 20, map: 12, band: 20, ids: 15 };
export const LANES_SHOWN = 12; // lanes with a row of their own; more share the last one
const FALL = 46; // pixels between the tokens and a bar
const BELOW = 16; // between a bar and its first lane
const STEP = 36; // from lane to lane
const PARTED = 9; // of a token that one server alone has, towards that server
const LABEL = 16; // room for a lane's name above it, where there is none beside it

/**
 * @param {readonly Picture[]} pictures
 * @param {boolean} narrow
 * @param {boolean} opened whether tokens have IDs below them, and messages names above
 * @returns {Rows}
 */
export function rowsOf(pictures, narrow, opened) {
  const step = STEP + (narrow ? LABEL : 0);
  const servers = pictures.length ? pictures : [null];
  const counts = servers.map((picture) => Math.max(1, Math.min(LANES_SHOWN, picture?.lanes.length ?? 1)));
  let y = HEIGHT.map + 4;
  // Of two servers each has messages of its own.
  const band = opened && servers.length === 1 ? y : null;
  if (band !== null) y += HEIGHT.band;
  const time = y;
  y += HEIGHT.time;
  /** @type {ServerRows[]} */
  const rows = [];
  if (servers.length > 1) {
    const bottom = y + counts[0] * step + BELOW;
    const lanes = Array.from(
      { length: counts[0] },
      (_, k) => bottom - BELOW - (k + 1) * step + step - HEIGHT.box,
    );
    rows.push({ bar: bottom, lanes, down: -1 });
    y = bottom + HEIGHT.bar + FALL;
  }
  const model = y;
  const ids = opened ? HEIGHT.ids : 0;
  y += HEIGHT.box + ids;
  const bar = y + FALL;
  y = bar + HEIGHT.bar + BELOW + (narrow ? LABEL : 0);
  const lanes = Array.from({ length: /** @type {number} */ (counts.at(-1)) }, (_, k) => y + k * step);
  rows.push({ bar, lanes, down: 1 });
  const height = /** @type {number} */ (lanes.at(-1)) + HEIGHT.box + 10;
  return { band, time, model, ids, servers: rows, height };
}

/**
 * The top edge of a lane.
 * @param {ServerRows} server
 * @param {number} lane
 */
export function laneTop(server, lane) {
  return server.lanes[Math.min(lane, server.lanes.length - 1)];
}

/**
 * The top edge of a token of the model; where the streams of two servers differ, they part.
 * @param {Rows} rows
 * @param {readonly string[]} fates of the token with each server; `pending` where its stream does not have it
 */
export function modelTop({ model, servers }, fates) {
  const having = servers.filter((_, number) => fates[number] !== "pending");
  return having.length === 1 && servers.length > 1 ? model + PARTED * having[0].down : model;
}
