// All that a strip would draw of a model, for comparing two.

/** @import { Model } from "../../../../pages/ui/strip/model/model.js" */

/** @param {Model} model */
export function look(model) {
  return {
    unit: model.unit,
    blocks: model.blocks,
    findings: model.findings,
    lanes: model.pictures.map(({ lanes, inserts, spans }) => ({ lanes, inserts, spans })),
    cells: Array.from({ length: model.count }, (_, i) => ({
      text: model.textOf(i),
      state: model.stateOf(i),
      block: model.blockOf(i),
      event: model.events.of(i),
      time: model.events.time(i),
      rank: model.rankOf(i),
      fates: model.pictures.map((picture) => [
        picture.fateOf(i),
        picture.ownLane(i),
        picture.laneOf(i),
        picture.signOf(i),
      ]),
      wrong: model.wrong.values[i],
    })),
  };
}
