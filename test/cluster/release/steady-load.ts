import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Api } from '../api.ts'

/** What has become of the pods that were created. */
export interface Tally {
  readonly created: number
  /** Pods that asked and carry no status: nobody answered. */
  readonly missed: number
  /** Pods that carry one that is not `injected`. */
  readonly left: number
  /** Pods of which the guard warned. */
  readonly warned: number
  /** Creations that failed, as the apiserver says it. */
  readonly refused: readonly string[]
  /** The longest that a creation took. */
  readonly longestSeconds: number
}

const NONE: Tally = {
  created: 0,
  missed: 0,
  left: 0,
  warned: 0,
  refused: [],
  longestSeconds: 0,
}

/** Pods that are being created all the time. */
export interface SteadyLoad {
  /** Creates no more, and says what became of those that were, and how many there were in a second. */
  stop(): Promise<{ readonly tally: Tally; readonly rate: number }>
}

/** A namespace to create pods in, and their annotations. */
export interface Place {
  readonly namespace: string
  readonly annotations: Readonly<Record<string, string>>
}

/**
 * Creates pods at a steady rate, whether or not the ones before are answered, up to a number of calls at
 * a time. Each is checked as the apiserver returns it. No scheduler wants them, and they are deleted.
 *
 * @param places which take turns
 * @param rate pods in a second
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
      while (fired < due && open.size < MOST_OPEN) {
        fired += 1
        const call = create(places[fired % places.length] as Place)
          .catch(({ message }: Error) => {
            tally = { ...tally, refused: [...tally.refused, message] }
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
      // What could not be deleted now is a second later.
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

/** What the job controllers of a large cluster have open at a time. */
const MOST_OPEN = 100

function podOf(annotations: Place['annotations']) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'steady-', annotations },
    spec: { schedulerName: 'nobody', containers: [{ name: 'app', image: 'app' }] },
  }
}

function withPod(tally: Tally, { status, body, warnings }: Answer, seconds: number): Tally {
  if (status !== 201) return { ...tally, refused: [...tally.refused, `${status} ${body?.message}`] }
  const said = body.metadata.annotations?.['ridealong.dev/status'] ?? ''
  const isInjected = said.includes('"outcome":"injected"')
  return {
    ...tally,
    created: tally.created + 1,
    missed: tally.missed + Number(said === ''),
    left: tally.left + Number(said !== '' && !isInjected),
    warned: tally.warned + Number(warnings.length > 0),
    longestSeconds: Math.max(tally.longestSeconds, seconds),
  }
}
