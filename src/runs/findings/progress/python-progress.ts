import { maximum } from '../../../lib/statistics.ts'
import type { StuckPython } from '../../metrics/python-profile/stuck-python.ts'
import type { PythonProcess } from '../../waiting/current-stacks.ts'
import { MIN_STARTING } from './start-progress.ts'

/** The seconds after which processes that wait for others are named. */
const MIN_UNCHANGED = 60
/** The times the longest time without a change before, after which they are named. */
const MIN_GAPS = 10

/**
 * Returns the processes of Python that make no progress, if that counts, with the late processes
 * that count. `top` uses the same thresholds.
 */
export function countedPython(stuck: StuckPython): readonly StuckPython[] {
  const { why, waiting, late, longestGap } = stuck
  const least = stuck.isBeginning ? MIN_STARTING : MIN_UNCHANGED
  const patience = Math.max(least, MIN_GAPS * longestGap)
  const isStill = ({ unchanged }: PythonProcess) => unchanged >= patience
  if (!waiting.every(({ process }) => isStill(process))) return []
  const still = late.filter(({ process }) => process.hasEnded || isStill(process))
  // A rank that computes is late as well. A process of a data loader that does is only slow.
  const named = still.length === 0 && why === 'python-late' ? late : still
  const counted = named.map((one) => ({ ...one, workers: one.workers.filter(isStill) }))
  return counted.length === 0 ? [] : [{ ...stuck, late: counted }]
}

/** The part of the processes of Python that wait, or are late, in one pod. */
interface PythonOfPod {
  readonly pod: string
  /** The names of the processes. */
  readonly things: readonly string[]
  /** The seconds for which a process of the pod waits; null if none does. */
  readonly lost: number | null
  /** The numbers of processes. */
  readonly waiting: number
  readonly late: number
}

/** Returns the pods of the processes that wait or are late. */
export function pythonOfPods({ waiting, late }: StuckPython): readonly PythonOfPod[] {
  const pods = new Set([...late, ...waiting].map(({ process }) => process.pod))
  return [...pods].map((pod) => {
    const own = waiting.filter(({ process }) => process.pod === pod)
    const absent = late.filter(({ process }) => process.pod === pod)
    return {
      pod,
      things: [...absent, ...own].map(({ process }) => nameOf(process)),
      lost: maximum(own.map(({ process }) => process.unchanged)),
      waiting: own.length,
      late: absent.length,
    }
  })
}

function nameOf({ program, pid }: PythonProcess): string {
  return `${program ?? 'process'} ${pid}`
}

/** Identifies the cause of a finding. */
export function causeOfPython({ why, late }: StuckPython): string {
  return JSON.stringify([why, ...late.map(({ process }) => [process.source, process.pid])])
}
