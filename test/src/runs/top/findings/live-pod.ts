import { startLogEvidence } from '../../../../../src/runs/top/findings/log-evidence.ts'
import { startLiveLog } from '../../../../../src/runs/top/live-log.ts'
import type { LiveObserver, LivePod } from '../../../../../src/runs/top/pods.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'

/** The time of second 0 in milliseconds since 1970. */
export const START = Date.parse('2026-01-01T10:00:00Z')

/** The marker with which the rows of a whole log begin. */
export const HEAD = 'METRICS OPERATOR COLLECTION START'

/** A row in JSON Lines. */
export function row(second: number, section: string, cells: object): string {
  return JSON.stringify({ time: new Date(START + second * 1000).toISOString(), section, ...cells })
}

/** A pod with one observer, whose log the test writes. */
export interface TestPod extends LivePod {
  readonly observers: readonly [LiveObserver & Pick<Required<LiveObserver>, 'evidence'>]
  /** Reads lines of the log, whose last timepoint is then complete. */
  readonly push: (...lines: readonly string[]) => void
}

/** @param pod_index the index of the pod hpc/app-INDEX */
export function testPod(pod_index: string, metric: string): TestPod {
  const description = BUILT_IN_ROWS.get(metric)
  if (description === undefined) throw new Error(`the catalog describes the rows of ${metric}`)
  const [namespace, pod, node] = ['hpc', `app-${pod_index}`, null]
  const source = `${namespace}/${pod}/${metric}`
  const evidence = startLogEvidence(
    { source, metric, namespace, pod, node, pod_index },
    description,
  )
  const log = startLiveLog(description, evidence)
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  const observer = { metric, log, evidence, isShown: true, ...state }
  const push = (...lines: readonly string[]) => {
    for (const line of lines) log.push(line, START)
    log.settle()
  }
  return { namespace, pod, node, pod_index, observers: [observer], push }
}
