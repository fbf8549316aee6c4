import { startLiveLog } from '../../../src/runs/top/live-log.ts'
import { startLiveStore } from '../../../src/runs/top/live-store.ts'
import { findNoProgress } from '../../../src/runs/top/no-progress.ts'
import type { Running } from '../../observers/pod.ts'
import { BUILT_IN_ROWS } from '../../src/runs/log/built-in.ts'

/**
 * What `top` says about a log of mpi-trace that grows, without an apiserver. The time is that of
 * the last row, so that an observer whose rows are read late is not a silent one.
 */
export interface LiveTop {
  /** Reads the new lines of the log, and returns what `top` says now. */
  readonly look: () => readonly string[]
}

export function liveTop({ log: textOf }: Pick<Running, 'log'>): LiveTop {
  const description = BUILT_IN_ROWS.get('mpi-trace')
  if (description === undefined) throw new Error('the catalog describes the rows of mpi-trace')
  const live = startLiveStore('mpi-trace', 'hpc/app')
  const log = startLiveLog(description, live)
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  const observer = { metric: 'mpi-trace', log, live, isShown: true, ...state }
  const pod = { namespace: 'hpc', pod: 'app', node: null, pod_index: '0', observers: [observer] }
  let read = 0
  return {
    look: () => {
      const text = textOf()
      const end = text.lastIndexOf('\n') + 1
      for (const line of text.slice(read, end).split('\n')) log.push(line, Date.now())
      read = end
      return findNoProgress([pod], log.lastAt() ?? Date.now()).map(({ sentence }) => sentence)
    },
  }
}
