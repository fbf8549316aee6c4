import type { Evidence, SectionEvidence, Thing } from './evidence.ts'
import { changeStores } from './stores.ts'

/** Says which rows of an evidence are kept. */
export interface KeptRows {
  /** Reports whether a thing of a section is kept. */
  readonly isThing: (section: string, thing: Thing) => boolean
  /** Reports whether the profiles of a log, and its rows in the stores, are kept. */
  readonly isLog: (source: string) => boolean
}

/**
 * Returns the evidence of some of its rows. It names each part of the evidence, so that a new part
 * does not compile until its rows are chosen here too.
 */
export function keepRows(evidence: Evidence, { isThing, isLog }: KeptRows): Evidence {
  const { needed, series, sections, ended, podLimits, uses, profiles } = evidence
  const { clocks, standIns, stores, attempts, earlier, whole } = evidence
  return {
    needed,
    series,
    sections: new Map(
      [...sections].map(([key, one]) => {
        return [key, keepThings(one, (thing) => isThing(key, thing), isLog)]
      }),
    ),
    // It is made again from the sections.
    described: new Map(),
    clocks: ofLogs(clocks, isLog),
    // All logs of a pod have facts about it.
    ended,
    podLimits,
    uses,
    profiles: new Map(
      [...profiles].map(([key, one]) => [key, { ...one, logs: ofLogs(one.logs, isLog) }]),
    ),
    standIns,
    stores: changeStores(stores, (of, store) => of.keepLogs(store, isLog)),
    attempts,
    earlier: new Map([...earlier].filter(([, { source }]) => isLog(source))),
    whole,
  }
}

function keepThings(
  section: SectionEvidence,
  isThing: (thing: Thing) => boolean,
  isLog: KeptRows['isLog'],
): SectionEvidence {
  const kept = (things: ReadonlyMap<string, Thing>) =>
    new Map([...things].filter(([, thing]) => isThing(thing)))
  return {
    ...section,
    things: kept(section.things),
    running: kept(section.running),
    began: ofLogs(section.began, isLog),
  }
}

function ofLogs<Value>(
  values: ReadonlyMap<string, Value>,
  isLog: KeptRows['isLog'],
): Map<string, Value> {
  return new Map([...values].filter(([log]) => isLog(log)))
}
