import type { RowSection } from '../../../core/catalog.ts'
import { type Evidence, idOf, sectionKey, type Thing } from '../../evidence/evidence.ts'
import { changeStores } from '../../evidence/stores.ts'
import type { Sample } from '../../log/columns.ts'

/**
 * The most things of a section of a log, such as processes, that count. So `top` needs no more
 * memory when a run starts processes again and again for days.
 */
const MAX_THINGS = 2000

/** Reports whether the evidence of a log has room for the thing that a row describes. */
export function hasRoom(
  { sections, stores }: Evidence,
  { name }: RowSection,
  sample: Sample,
): boolean {
  const stored = stores.get(sample.metric ?? '')
  if (stored?.of.isFull?.(stored.store) === true) return false
  const known = sections.get(sectionKey(sample.metric ?? '', name))
  if (known === undefined || known.things.size < MAX_THINGS) return true
  return known.things.has(idOf(known.keys, sample))
}

/** Forgets the things without a row in the last timepoint, in sections that have many. */
export function forgetEnded({ sections }: Evidence, timepoint: number): void {
  for (const { things, running } of sections.values()) {
    if (things.size < MAX_THINGS / 2) continue
    for (const map of [things, running]) deleteOlder(map, timepoint)
  }
}

function deleteOlder(things: Map<string, Thing>, timepoint: number): void {
  for (const [id, thing] of things) if (thing.timepoint < timepoint) things.delete(id)
}

/**
 * Returns the evidence without the processes that have ended, if a store has many.
 *
 * @param seconds the last timepoint, in seconds since the first one
 */
export function forgetEndedProcesses(evidence: Evidence, seconds: number): Evidence {
  const stores = changeStores(evidence.stores, (of, store) => {
    return of.forgetEnded === undefined ? store : of.forgetEnded(store, seconds)
  })
  return { ...evidence, stores }
}
