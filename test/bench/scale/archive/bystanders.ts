import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../../../cluster/api.ts'
import { until } from '../../../until.ts'
import { inParallel, succeeded } from '../patient-api.ts'
import { nodeName } from '../simulated-nodes.ts'
import { NODES } from './observed-jobs.ts'

export const BYSTANDERS = 'bystanders'
const PODS = `/api/v1/namespaces/${BYSTANDERS}/pods`
const CLIENTS = 32
const BATCH = 1000

const nameOf = (index: number) => `pod-${index}`

/**
 * Creates pods without observers, and waits until all run. The next batch begins when the pods of
 * the last one run. Otherwise, kwok would fall behind.
 */
export async function createBystanders(
  api: Api,
  count: number,
  say: (line: string) => void,
): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first)
    await inParallel(size, CLIENTS, async (offset) => {
      succeeded(await api.post(PODS, buildPod(first + offset)))
    })
    await until('all pods run', () => doAllRun(api), { patienceMs: 3_600_000, pauseMs: 250 })
    if ((first / BATCH) % 10 === 0) say(`${first + size} of ${count} pods without observers`)
  }
}

async function doAllRun(api: Api): Promise<boolean> {
  const query = '?limit=1&fieldSelector=status.phase%3DPending'
  return succeeded(await api.get(`${PODS}${query}`)).body.items.length === 0
}

/** A pod of the usual size: a few kilobytes. */
function buildPod(index: number): object {
  const env = Array.from({ length: 12 }, (_, place) => ({
    name: `SETTING_${place}`,
    value: `value of setting ${place} of the application`,
  }))
  const http = { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 10 }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: nameOf(index),
      labels: { 'app.kubernetes.io/name': 'service', 'app.kubernetes.io/instance': `${index}` },
      annotations: { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '8080' },
    },
    spec: {
      nodeName: nodeName(index % NODES),
      containers: [
        {
          ...{ name: 'app', image: 'registry.example.org/team/service:1.2.3', env },
          ...{ readinessProbe: http, livenessProbe: http },
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        },
      ],
    },
  }
}

/** Changes the status of one pod after another, at a rate, for some seconds. */
export async function updateBystanders(
  api: Api,
  count: number,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<number> {
  const begin = performance.now()
  const pending = new Set<Promise<void>>()
  let sent = 0
  while (performance.now() - begin < seconds * 1000) {
    const due = Math.floor(((performance.now() - begin) / 1000) * perSecond)
    for (; sent < due; sent += 1) {
      const path = `${PODS}/${nameOf(sent % count)}/status`
      const update = api.merge(path, { status: { message: `update ${sent}` } }).then(succeeded)
      const task: Promise<void> = update.then(() => {
        pending.delete(task)
      })
      pending.add(task)
    }
    await sleep(20)
  }
  await Promise.all(pending)
  return sent / ((performance.now() - begin) / 1000)
}
