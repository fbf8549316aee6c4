import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Answer, Api } from '../api.ts'

/** The outcomes of the created pods. */
export interface Tally {
  readonly created: number
  /** Pods that requested observers and have no status, because no webhook answered. */
  readonly missed: number
  /** Pods with a status other than `injected`. */
  readonly left: number
  /** Pods with the status `injected` that do not have exactly one container of each metric. */
  readonly wrong: number
  /** The number of pods with the status `injected`, by the revision of the catalog. */
  readonly catalogs: Readonly<Record<string, number>>
  /** Pods whose creation returned a warning, such as the warning of the guard. */
  readonly warned: number
  /** The apiserver's messages for failed creations. */
  readonly denied: readonly string[]
  /** The duration of the longest creation, in seconds. */
  readonly longestSeconds: number
}

const NONE: Tally = {
  created: 0,
  missed: 0,
  left: 0,
  wrong: 0,
  catalogs: {},
  warned: 0,
  denied: [],
  longestSeconds: 0,
}

/** A running load that creates pods. */
export interface SteadyLoad {
  /** Stops the load, and returns the outcomes and the number of created pods per second. */
  stop(): Promise<{ readonly tally: Tally; readonly rate: number }>
}

/** A namespace in which pods are created, and the annotations of these pods. */
export interface Place {
  readonly namespace: string
  readonly annotations: Readonly<Record<string, string>>
}

/**
 * Creates pods at a steady rate without waiting for earlier calls, up to a number of parallel
 * calls. Checks each pod that the apiserver returns. The pods are never scheduled, and are deleted.
 *
 * @param places the namespaces, which are used in turn
 * @param rate pods per second
 */
export function startLoad(api: Api, places: readonly Place[], rate: number): SteadyLoad {
  let tally = NONE
  const start = performance.now()
  let isOver = false
  const open = new Set<Promise<void>>()
  const create = async ({ namespace, annotations }: Place) => {
    const asked = performance.now()
    const answer = await api.post(`/api/v1/namespaces/${namespace}/pods`, podOf(annotations))
    tally = withPod(tally, answer, (performance.now() - asked) / 1000)
  }
  const run = async () => {
    for (let fired = 0; !isOver; ) {
      const due = Math.floor(((performance.now() - start) / 1000) * rate)
      while (fired < due && open.size < MAX_OPEN) {
        fired += 1
        const call = create(places[fired % places.length] as Place)
          .catch(({ message }: Error) => {
            tally = { ...tally, denied: [...tally.denied, message] }
          })
          .finally(() => open.delete(call))
        open.add(call)
      }
      await sleep(1000 / rate)
    }
  }
  const clean = async () => {
    while (!isOver) {
      await sleep(1000)
      // A failed deletion is repeated a second later.
      for (const { namespace } of places) {
        await api.delete(`/api/v1/namespaces/${namespace}/pods`).catch(() => {})
      }
    }
  }
  const running = Promise.all([run(), clean()])
  return {
    async stop() {
      isOver = true
      const seconds = (performance.now() - start) / 1000
      await running
      await Promise.all(open)
      return { tally, rate: tally.created / seconds }
    },
  }
}

/** The time in milliseconds until an earlier change has taken effect on all connections. */
const AFTERMATH_MS = 3000

/** The namespaces of a load, and its pods per second. */
export interface Load {
  readonly places: readonly Place[]
  readonly rate: number
}

/** Creates pods during an action, and returns their outcomes. */
export async function during(
  t: Test,
  api: Api,
  { places, rate: wanted }: Load,
  action: () => Promise<unknown>,
): Promise<Tally> {
  const load = startLoad(api, places, wanted)
  const end = () => load.stop()
  t.teardown(end)
  await action()
  await sleep(AFTERMATH_MS)
  const { tally, rate } = await end()
  const slowest = tally.longestSeconds.toFixed(1)
  t.comment(`${tally.created} pods, ${rate.toFixed(0)} a second, the slowest in ${slowest} s`)
  return tally
}

/** The maximum number of parallel calls: as many as in a large cluster with many controllers. */
const MAX_OPEN = 100

function podOf(annotations: Place['annotations']) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'steady-', annotations },
    spec: { schedulerName: 'nobody', containers: [{ name: 'app', image: 'app' }] },
  }
}

function withPod(tally: Tally, { status, body, warnings }: Answer, seconds: number): Tally {
  if (status !== 201) return { ...tally, denied: [...tally.denied, `${status} ${body?.message}`] }
  const said = body.metadata.annotations?.['ridealong.dev/status'] ?? ''
  const isInjected = said.includes('"outcome":"injected"')
  const { metrics = [], catalog = '' } = isInjected ? JSON.parse(said) : {}
  return {
    ...tally,
    created: tally.created + 1,
    missed: tally.missed + Number(said === ''),
    left: tally.left + Number(said !== '' && !isInjected),
    wrong: tally.wrong + Number(isInjected && !hasEachOnce(body.spec, metrics)),
    catalogs: isInjected
      ? { ...tally.catalogs, [catalog]: (tally.catalogs[catalog] ?? 0) + 1 }
      : tally.catalogs,
    warned: tally.warned + Number(warnings.length > 0),
    longestSeconds: Math.max(tally.longestSeconds, seconds),
  }
}

interface PodContainers {
  readonly initContainers?: readonly { readonly name: string }[]
  readonly containers: readonly { readonly name: string }[]
}

/** Reports whether a pod has one container of each name, and only `app` besides. */
function hasEachOnce(
  { initContainers = [], containers }: PodContainers,
  names: readonly string[],
): boolean {
  const found = [...initContainers, ...containers].map(({ name }) => name).sort()
  return found.join() === ['app', ...names].sort().join()
}
