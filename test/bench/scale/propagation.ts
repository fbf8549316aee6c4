import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../../cluster/api.ts'
import { operationsOf, podOf, post, reviewOf } from '../../webhook/server.ts'
import type { Installation, RunningReplica } from './installation.ts'
import { succeeded } from './patient-api.ts'

const SAMPLES = 20
const PATIENCE_MS = 60_000
/** The pod requests the metric itself, so that no replica looks up its namespace. */
const POD = podOf({ 'ridealong.dev/inject': 'perf-sysstat' })
const OPTION = 'perf-sysstat.ridealong.dev/rate'

/**
 * Changes an option in the annotations of a namespace several times, and measures each time until
 * all replicas use the new value.
 *
 * @returns the times in milliseconds after the answer of the apiserver to the change
 */
export async function measurePropagation(
  api: Api,
  { ca, replicas }: Installation,
  namespace: string,
): Promise<readonly number[]> {
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const value = `${1000 + sample}`
    const patch = { metadata: { annotations: { [OPTION]: value } } }
    succeeded(await api.merge(`/api/v1/namespaces/${namespace}`, patch))
    const begin = performance.now()
    await Promise.all(replicas.map((replica) => untilKnown(replica, ca, { namespace, value })))
    times.push(performance.now() - begin)
  }
  return times
}

async function untilKnown(
  { port }: RunningReplica,
  ca: string,
  { namespace, value }: { readonly namespace: string; readonly value: string },
): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  const review = reviewOf(POD, { namespace })
  while (true) {
    const operations = operationsOf(await post({ port, ca }, '/mutate/pods', review))
    if (JSON.stringify(operations).includes(`"value":"${value}"`)) return
    if (performance.now() > end)
      throw new Error(`a replica does not know the change of the namespace ${namespace}`)
    await sleep(1)
  }
}
