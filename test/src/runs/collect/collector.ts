import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { type CollectOptions, collect } from '../../../../cli/collect/collect.ts'
import { createSession } from '../../../cli/host.ts'
import { standIn } from '../../../stand-ins/pod-logs.ts'
import { pod } from './pod.ts'

/** The log of the only observer of the run of `collector`. */
export const LOG = readFileSync(
  new URL('../../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
  'utf8',
)

/** Returns a function that collects the log of a pod, and the kubeconfig of its cluster. */
export async function collector(t: Test) {
  const world = { pods: () => [pod({ index: 0 })], logs: { 'lammps-0-abcde/perf-sysstat': LOG } }
  const { kubeconfig } = await standIn(t, world)
  const collectTo = (to: string, more: Partial<CollectOptions> = {}) =>
    collect(
      ['job/lammps'],
      { output: 'jsonl', parallel: 2, kubeconfig, to, ...more },
      createSession(),
    )
  return { collectTo, kubeconfig }
}

/** Returns the line of a journal about a log with these names. */
export function journalEntry(pod: string, container: string): string {
  const texts = { namespace: 'hpc', pod, container, uid: 'u', format: 'f', facts: 'f' }
  const others = { owner: null, attempt: null, restarts: 0, bytes: 1, samples: 1, cuts: [] }
  return `${JSON.stringify({ ...texts, ...others })}\n`
}
