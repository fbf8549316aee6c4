import fc from 'fast-check'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import type { TimePart } from '../../../../src/runs/time/parts.ts'
import { JOB_UID } from './measure.ts'

/** A history of pods, as Kubernetes would write it, and where its time went. */
export interface History {
  /** Objects of core/v1 Pod. */
  readonly pods: readonly Fields[]
  /** When the workload was created, in milliseconds since 1970. */
  readonly begun: number
  /** Seconds for each part, added over all places. */
  readonly seconds: ReadonlyMap<TimePart, number>
  /** The seconds from the creation of the workload to the end of the last container. */
  readonly whole: number
  readonly places: number
  readonly restarts: number
}

/** Seconds; times in a status have no smaller unit. */
const GAP = fc.integer({ min: 0, max: 120 })
/** Each run is longer than all first pods of a place need to be created. */
const LENGTH = fc.integer({ min: 121, max: 600 })

const INIT_CONTAINER = fc.record({
  isOurs: fc.boolean(),
  isSidecar: fc.boolean(),
  gap: GAP,
  length: GAP,
})

const POD = fc.record({
  creating: GAP,
  scheduling: GAP,
  init: fc.array(INIT_CONTAINER, { maxLength: 3 }),
  gap: GAP,
  /** The runs of the application, each after a gap. */
  runs: fc.array(fc.record({ gap: GAP, length: LENGTH }), { minLength: 1, maxLength: 2 }),
  /** How long a sidecar runs after the application. */
  after: GAP,
})
type PodPlan = typeof POD extends fc.Arbitrary<infer Plan> ? Plan : never

/** Pods that failed, and the last one, which succeeded. */
const PLACE = fc.array(POD, { minLength: 1, maxLength: 3 })

export const HISTORY: fc.Arbitrary<History> = fc
  .array(PLACE, { minLength: 1, maxLength: 4 })
  .map(playHistory)

const BEGUN = Date.UTC(2026, 10, 30)

function playHistory(plans: readonly (readonly PodPlan[])[]): History {
  const places = plans.map((pods, index) => playPlace(pods, index))
  const whole = Math.max(...places.map(({ end }) => end))
  const first = Math.min(...places.map(({ firstStart }) => firstStart))
  const together = places.filter(({ created }) => created <= first)
  const last = Math.max(...together.map(({ firstStart }) => firstStart))
  const seconds = new Map<TimePart, number>()
  const add = (part: TimePart, length: number) =>
    seconds.set(part, (seconds.get(part) ?? 0) + length)
  for (const { before, running, ended } of places) {
    for (const [part, length] of before) add(part, length)
    const partial = Math.min(Math.max(last - running, 0), ended - running)
    add('partial', partial)
    add('running', ended - running - partial)
    add('ending', whole - ended)
  }
  return {
    pods: places.flatMap(({ objects }) => objects),
    begun: BEGUN,
    seconds,
    whole,
    places: places.length,
    restarts: places.reduce((sum, { restarts }) => sum + restarts, 0),
  }
}

type Length = readonly [TimePart, number]

/** Plays the pods of a place one after the other. Times are seconds since the beginning. */
function playPlace(pods: readonly PodPlan[], index: number) {
  const played: Played[] = []
  for (const [retry, plan] of pods.entries())
    played.push(playPod(plan, { index, retry, now: played.at(-1)?.end ?? 0 }))
  const [first, last] = [played[0], played.at(-1)] as [Played, Played]
  const lost: Length = ['lost', last.running - first.firstStart]
  const inPlace = pods.reduce((sum, { runs }) => sum + runs.length - 1, 0)
  return {
    objects: played.map(({ object }) => object(object === last.object)),
    created: first.created,
    firstStart: first.firstStart,
    before: [...first.before, lost],
    running: last.running,
    ended: last.ended,
    end: last.end,
    restarts: pods.length - 1 + inPlace,
  }
}
type Played = ReturnType<typeof playPod>

/** Where a pod is created: its index, the time, and the number of pods before it. */
interface Creation {
  readonly index: number
  readonly now: number
  readonly retry: number
}

function playPod(plan: PodPlan, { index, now, retry }: Creation) {
  const created = now + plan.creating
  const scheduled = created + plan.scheduling
  const init = playInitContainers(plan.init, scheduled)
  const firstStart = init.end + plan.gap
  const runs = playRuns(plan.runs, firstStart)
  const last = runs.at(-1) as Times
  const end = last.to + (plan.init.some(({ isSidecar }) => isSidecar) ? plan.after : 0)
  const before: readonly Length[] = [
    ['creating', plan.creating],
    ['scheduling', plan.scheduling],
    ...init.before,
    [plan.init.length === 0 ? 'preparing' : 'pulling', plan.gap],
  ]
  const object = (hasSucceeded: boolean): Fields => ({
    metadata: describePod(plan, `train-${index}-${retry}`, index, created),
    spec: {
      containers: [{ name: 'app' }],
      initContainers: plan.init.map(({ isOurs, isSidecar }, position) => {
        const policy = isSidecar ? { restartPolicy: 'Always' } : {}
        return { name: nameOf(isOurs, position), ...policy }
      }),
    },
    status: {
      phase: hasSucceeded ? 'Succeeded' : 'Failed',
      conditions: [
        { type: 'PodScheduled', status: 'True', lastTransitionTime: timeText(scheduled) },
      ],
      initContainerStatuses: init.runs.map(({ name, from, to }) => {
        return { name, restartCount: 0, state: stateOf({ from, to: to ?? end }, 0) }
      }),
      containerStatuses: [
        {
          name: 'app',
          restartCount: runs.length - 1,
          state: stateOf(last, hasSucceeded ? 0 : 1),
          lastState: runs.length > 1 ? stateOf(runs[0] as Times, 1) : {},
        },
      ],
    },
  })
  return { created, before, firstStart, running: last.from, ended: last.to, end, object }
}

function describePod({ init }: PodPlan, name: string, index: number, created: number): Fields {
  const ours = init.flatMap(({ isOurs }, position) => (isOurs ? [nameOf(true, position)] : []))
  const controller = { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: JOB_UID }
  return {
    namespace: 'hpc',
    name,
    uid: name,
    creationTimestamp: timeText(created),
    labels: { 'batch.kubernetes.io/job-completion-index': String(index) },
    annotations: {
      'batch.kubernetes.io/job-completion-index': String(index),
      'ridealong.dev/status': JSON.stringify({ outcome: 'injected', metrics: ours }),
    },
    ownerReferences: [{ ...controller, controller: true }],
  }
}

interface Times {
  readonly from: number
  readonly to: number
}

interface InitRun {
  readonly name: string
  readonly from: number
  /** Undefined for a sidecar, which runs as long as the pod. */
  readonly to: number | undefined
}

function playInitContainers(init: PodPlan['init'], scheduled: number) {
  let end = scheduled
  const played = init.map(({ isOurs, isSidecar, gap, length }, position) => {
    const from = end + gap
    end = isSidecar ? from : from + length
    const run = { name: nameOf(isOurs, position), from, to: isSidecar ? undefined : end }
    const parts: readonly Length[] = [
      [imagePart(isOurs, position), gap],
      [isOurs ? 'observers' : 'init', end - from],
    ]
    return { run, parts }
  })
  const runs: readonly InitRun[] = played.map(({ run }) => run)
  return { before: played.flatMap(({ parts }) => parts), runs, end }
}

function imagePart(isOurs: boolean, position: number): TimePart {
  if (position === 0) return 'preparing'
  return isOurs ? 'observers' : 'pulling'
}

function playRuns(runs: PodPlan['runs'], firstStart: number): readonly Times[] {
  let now = firstStart
  return runs.map(({ gap, length }, position) => {
    const from = position === 0 ? now : now + gap
    now = from + length
    return { from, to: now }
  })
}

function nameOf(isOurs: boolean, position: number): string {
  return `${isOurs ? 'ours' : 'init'}-${position}`
}

function stateOf({ from, to }: Times, exitCode: number): Fields {
  return { terminated: { exitCode, startedAt: timeText(from), finishedAt: timeText(to) } }
}

function timeText(seconds: number): string {
  return new Date(BEGUN + seconds * 1000).toISOString().replace('.000', '')
}
