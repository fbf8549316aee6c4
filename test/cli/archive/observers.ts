import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { RunningObserver } from '../../../src/runs/collect/observers.ts'

const LOGS = fileURLToPath(new URL('../../logs/all-metrics/', import.meta.url))

/** Returns the text of a recorded log, such as `lammps-0.vitals`. */
export function recordedLog(name: string): string {
  return readFileSync(`${LOGS}${name}.log`, 'utf8')
}

/** Returns an observer that has ended. */
export function endedObserver(pod: string, container: string): RunningObserver {
  return {
    ...{
      namespace: 'hpc',
      pod,
      uid: `uid-of-${pod}`,
      owner: null,
      node: 'node-1',
      pod_index: null,
    },
    ...{
      container,
      attempt: null,
      isPrevious: false,
      state: 'ended',
      restarts: 0,
      message: null,
      before: null,
    },
    ...{ notices: [], ended: null },
    podLimits: { cpu: null, memory: null },
    earlierPods: 0,
  }
}
