import type { RowSection } from '../../../core/catalog.ts'
import { type Evidence, idOf, sectionKey, type Thing } from '../../evidence/evidence.ts'
import type { Sample } from '../../log/columns.ts'
import type { MpiProcess } from '../../metrics/mpi-trace/mpi-run.ts'

/**
 * The most things of a section of a log, such as processes, and the most processes of MPI, that
 * count. So `top` needs no more memory when a run starts processes again and again for days.
 */
const MAX_THINGS = 2000
const MAX_PROCESSES = 1024

/** Reports whether the evidence of a log has room for the thing that a row describes. */
export function hasRoom(
  { sections, mpi }: Evidence,
  { name }: RowSection,
  sample: Sample,
): boolean {
  if (mpi.processes.length + mpi.starting.size > MAX_PROCESSES) return false
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

/** Returns the evidence without the processes of MPI that have ended, if there are many. */
export function forgetEndedProcesses(evidence: Evidence): Evidence {
  const { mpi } = evidence
  if (mpi.processes.length < MAX_PROCESSES / 2) return evidence
  const processes = mpi.processes.filter(isRunning)
  const running = [...mpi.running].filter(([, process]) => isRunning(process))
  return { ...evidence, mpi: { ...mpi, processes, running: new Map(running) } }
}

function isRunning({ state }: MpiProcess): boolean {
  return state === 'running'
}
