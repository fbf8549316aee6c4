import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { type StandIn, standIn, type World } from '../../stand-ins/pod-logs.ts'

// The pods, Jobs and JobSet are recorded from a real cluster, on a machine that was so busy that
// the container runtime removed some cgroups before the observers read them for the last time.

// biome-ignore lint/suspicious/noExplicitAny: recorded objects.
export function recorded(name: string): { items: any[] } {
  return JSON.parse(readFileSync(new URL(`../../logs/runs/${name}.json`, import.meta.url), 'utf8'))
}

const resources = (name: string, kind: string) => {
  return { kind: 'APIResourceList', resources: [{ name, kind, namespaced: true }] }
}

const CONTROLLERS = {
  '/apis/batch/v1': resources('jobs', 'Job'),
  '/apis/batch/v1/namespaces/runs/jobs': recorded('jobs'),
  '/apis/jobset.x-k8s.io/v1alpha2': resources('jobsets', 'JobSet'),
  '/apis/jobset.x-k8s.io/v1alpha2/namespaces/runs/jobsets': recorded('jobsets'),
}

/**
 * Starts an apiserver with the recorded runs of the namespace `runs`.
 *
 * @param logs of their observers, as in `World`
 * @param changed other answers than the recorded ones, by path
 */
export function startRecordedRuns(
  t: Test,
  pods: readonly object[] = recorded('pods').items,
  logs: World['logs'] = {},
  changed: World['others'] = {},
): Promise<StandIn> {
  const select = (query: URLSearchParams) => {
    const [label, value] = (query.get('labelSelector') ?? '').split('=')
    return pods.filter((pod) => {
      const { metadata } = pod as { metadata: { labels?: Readonly<Record<string, string>> } }
      return value === undefined || metadata.labels?.[label ?? ''] === value
    })
  }
  return standIn(t, { pods: select, logs, others: { ...CONTROLLERS, ...changed } })
}
