import type { Evidence, SectionEvidence, Thing } from './evidence.ts'
import { changeStores } from './stores.ts'

/** Says which rows of an evidence are kept. */
export interface KeptRows {
  /** Reports whether a thing of a section is kept. */
  readonly isThing: (section: string, thing: Thing) => boolean
  /** Reports whether the profiles of a log, and its rows in the stores, are kept. */
  readonly isLog: (source: string) => boolean
  /** Returns the log under which the facts about the pod of a log are kept. */
  readonly podLog: (source: string) => string
}

/**
 * Returns the evidence of some of its rows. It names each part of the evidence, so that a new part
 * does not compile until its rows are chosen here too.
 */
export function keepRows(evidence: Evidence, { isThing, isLog, podLog }: KeptRows): Evidence {
  const { needed, series, sections, ended, podLimits, profiles } = evidence
  const { clocks, standIns, stores, whole } = evidence
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
    ended: movedTo(podLog, ended),
    podLimits: movedTo(podLog, podLimits),
    profiles: new Map(
      [...profiles].map(([key, one]) => [key, { ...one, logs: ofLogs(one.logs, isLog) }]),
    ),
    standIns,
    stores: changeStores(stores, (of, store) => of.keepLogs(store, isLog)),
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

/** Moves facts about pods to other logs. A log that has facts of its own keeps them. */
function movedTo<Value>(
  podLog: KeptRows['podLog'],
  facts: ReadonlyMap<string, Value>,
): Map<string, Value> {
  const moved = [...facts].map(([log, fact]) => [podLog(log), fact] as const)
  const own = [...facts].filter(([log]) => podLog(log) === log)
  return new Map([...moved, ...own])
}
