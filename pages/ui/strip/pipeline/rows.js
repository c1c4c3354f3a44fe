// Where the rows of the pipeline stand: the time, the tokens of the model, and for each server its bar and the
// lanes of the client. Of two servers the first one's rows stand above the tokens, in reverse.

/** @import { Picture } from "../model/picture.js" */

/**
 * Top edges: of the bar, of each lane, and of each row with its lanes; `down` is where tokens fall.
 * @typedef {{ bar: number, lanes: number[], rows: { top: number, lanes: number[] }[], folded: number, down: 1 | -1 }}
 *   ServerRows
 */
/**
 * `band` is the row of the names of messages, null without one, and `ids` the room of IDs under the tokens.
 * @typedef {{ band: number | null, time: number, model: number, ids: number, servers: ServerRows[], height: number }} Rows
 */
/**
 * @typedef {object} Shown
 * @property {boolean} [opened] whether tokens have IDs below them, and messages names above
 * @property {(picture: Picture) => Iterable<number>} [inView] the lanes that have tokens in view
 */

export const HEIGHT = { box: 24, bar: 26, time: 20, map: 12, band: 20, ids: 15 };
const LANES_SHOWN = 6; // lanes with a row of their own
const ROWS = 4; // of more lanes, for those with tokens in view; the last row is for all that have none of their own
const FALL = 46; // pixels between the tokens and a bar
const BELOW = 16; // between a bar and its first lane
const STEP = 36; // from lane to lane
const PARTED = 9; // of a token that one server alone has, towards that server
const LABEL = 16; // room for a lane's name above it, where there is none beside it
const NOTE = 20; // for how many lanes have no row

/**
 * @param {readonly Picture[]} pictures
 * @param {boolean} narrow
 * @param {Shown} [shown]
 * @returns {Rows}
 */
export function rowsOf(pictures, narrow, { opened = false, inView = ({ lanes }) => lanes.keys() } = {}) {
  const step = STEP + (narrow ? LABEL : 0);
  const below = BELOW + (narrow ? LABEL : 0);
  const all = (pictures.length ? pictures : [null]).map((picture) => lanesByRow(picture, inView));
  let y = HEIGHT.map + 4;
  // Of two servers each has messages of its own.
  const band = opened && all.length === 1 ? y : null;
  if (band !== null) y += HEIGHT.band;
  const time = y;
  y += HEIGHT.time;
  /** @type {ServerRows[]} */
  const servers = [];
  if (all.length > 1) {
    const bar = y + all[0].length * step + BELOW;
    servers.push(placed(bar, all[0], pictures[0], (row) => bar - BELOW - row * step - HEIGHT.box, -1));
    y = bar + HEIGHT.bar + FALL;
  }
  const model = y;
  const ids = opened ? HEIGHT.ids : 0;
  const bar = y + HEIGHT.box + ids + FALL;
  y = bar + HEIGHT.bar + below;
  const last = all[all.length - 1];
  servers.push(placed(bar, last, pictures[all.length - 1], (row) => y + row * step, 1));
  const note = pictures.some(({ lanes }) => lanes.length > LANES_SHOWN) ? NOTE : 0;
  const end = last.length ? y + (last.length - 1) * step + HEIGHT.box : bar + HEIGHT.bar;
  return { band, time, model, ids, servers, height: end + 10 + note };
}

/**
 * The lanes of each row, in order; a row is kept for those that the view does not show.
 * @param {Picture | null} picture
 * @param {(picture: Picture) => Iterable<number>} inView
 * @returns {number[][]}
 */
function lanesByRow(picture, inView) {
  if (picture?.server === "") return [];
  const count = picture?.lanes.length ?? 0;
  if (!picture || count <= LANES_SHOWN)
    return Array.from({ length: Math.max(1, count) }, (_, lane) => [lane]);
  /** @type {number[][]} */
  const rows = Array.from({ length: ROWS }, () => []);
  let row = 0;
  for (const lane of [...inView(picture)].sort((a, b) => a - b)) rows[Math.min(row++, ROWS - 1)].push(lane);
  return rows;
}

/**
 * @param {number} bar
 * @param {number[][]} byRow
 * @param {Picture | undefined} picture
 * @param {(row: number) => number} topOf
 * @param {1 | -1} down
 * @returns {ServerRows}
 */
function placed(bar, byRow, picture, topOf, down) {
  const rows = byRow.map((lanes, row) => ({ top: topOf(row), lanes }));
  /** @type {number[]} */
  const lanes = [];
  for (const { top, lanes: own } of rows) for (const lane of own) lanes[lane] = top;
  const folded = byRow.length ? Math.max(0, (picture?.lanes.length ?? 0) - byRow.flat().length) : 0;
  return { bar, lanes, rows, folded, down };
}

/**
 * The top edge of a lane.
 * @param {ServerRows} server
 * @param {number} lane
 */
export function laneTop(server, lane) {
  return server.lanes[lane] ?? server.rows[server.rows.length - 1]?.top ?? server.bar;
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
