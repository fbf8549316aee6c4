import t from 'tap'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import { readPodFacts } from '../../../../src/runs/facts/pod-facts.ts'
import { joinHistories } from '../../../../src/runs/facts/pod-history.ts'
import type { TimeOfRun } from '../../../../src/runs/time/parts.ts'
import { JOB_UID, measureTime, type Situation } from './measure.ts'

const BEGUN = Date.UTC(2026, 10, 30)

/** Returns the time that is some seconds after the creation of the workload. */
function at(seconds: number): string {
  return new Date(BEGUN + seconds * 1000).toISOString()
}

function running(from: number): Fields {
  return { running: { startedAt: at(from) } }
}

function ended(from: number, to: number, exitCode = 0): Fields {
  return { terminated: { exitCode, startedAt: at(from), finishedAt: at(to) } }
}

interface PodPlan {
  readonly name?: string
  readonly index?: string
  readonly created?: number
  readonly phase: string
  readonly scheduled?: number
  readonly deleted?: number
  readonly init?: readonly Fields[]
  readonly containers?: readonly Fields[]
  readonly labels?: Fields
}

/** Builds a core/v1 Pod of a Job. The statuses of containers have their names. */
function podOf(plan: PodPlan): Fields {
  const { name = 'train', index, created = 0, phase, scheduled, deleted } = plan
  const { init = [], containers = [], labels = {} } = plan
  const condition = { type: 'PodScheduled', status: 'True' }
  const conditions =
    scheduled === undefined ? [] : [{ ...condition, lastTransitionTime: at(scheduled) }]
  const isDeleted = deleted !== undefined
  return {
    metadata: {
      ...{ namespace: 'hpc', name, uid: name, creationTimestamp: at(created), labels },
      ...(index === undefined
        ? {}
        : { annotations: { 'batch.kubernetes.io/job-completion-index': index } }),
      ...(isDeleted ? { deletionTimestamp: at(deleted + 30), deletionGracePeriodSeconds: 30 } : {}),
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: JOB_UID, controller: true },
      ],
    },
    spec: {
      containers: containers.map((container) => ({ name: container.name })),
      initContainers: init.map((container) => ({ name: container.name })),
    },
    status: { phase, conditions, initContainerStatuses: init, containerStatuses: containers },
  }
}

type JobOfPods = Pick<Situation, 'pods' | 'gone'> & Partial<Pick<Situation, 'facts'>>

/** Returns the time of a Job, 1000 s after its creation if it goes on. */
function measure({ facts, ...situation }: JobOfPods): TimeOfRun {
  return measureTime({ ...situation, facts: { begun: BEGUN, ...facts }, now: BEGUN + 1_000_000 })
}

/** Returns the parts that are not 0, in seconds. */
function partsOf(situation: JobOfPods): Readonly<Record<string, number>> {
  const { seconds } = measure(situation)
  return Object.fromEntries(Object.entries(seconds).filter(([, part]) => part !== 0))
}

const DONE = { finished: 'Succeeded' } as const
const app = (status: Fields) => ({ name: 'app', restartCount: 0, ...status })

t.test('a pod that waits', async (t) => {
  const waiting = podOf({ created: 5, phase: 'Pending' })
  t.strictSame(partsOf({ pods: [waiting] }), { creating: 5, scheduling: 995 })
  const creating = [app({ state: { waiting: { reason: 'ContainerCreating' } } })]
  const pulling = podOf({ phase: 'Pending', scheduled: 10, containers: creating })
  t.strictSame(partsOf({ pods: [pulling] }), { scheduling: 10, preparing: 990 })
  const init = [{ name: 'fetch', restartCount: 0, state: running(30) }]
  const fetching = podOf({ phase: 'Pending', scheduled: 10, init })
  t.strictSame(partsOf({ pods: [fetching] }), { scheduling: 10, preparing: 20, init: 970 })
})

t.test('a pod that runs', async (t) => {
  const pod = podOf({ phase: 'Running', scheduled: 1, containers: [app({ state: running(10) })] })
  t.strictSame(partsOf({ pods: [pod] }), { scheduling: 1, preparing: 9, running: 990 })
})

t.test('a Job that was resumed begins again', async (t) => {
  const containers = [app({ state: ended(110, 200) })]
  const pod = podOf({ created: 100, phase: 'Succeeded', scheduled: 105, containers })
  const resumed = { ...DONE, begun: BEGUN + 95_000 }
  const parts = { creating: 5, scheduling: 5, preparing: 5, running: 90 }
  t.strictSame(partsOf({ pods: [pod], facts: resumed }), parts)
})

t.test('a Job without indexes creates a pod in the place of one that failed', async (t) => {
  const failed = podOf({
    ...{ name: 'train-a', phase: 'Failed', scheduled: 0 },
    containers: [app({ state: ended(10, 50, 1) })],
  })
  const retry = podOf({
    ...{ name: 'train-b', created: 60, phase: 'Succeeded', scheduled: 61 },
    containers: [app({ state: ended(65, 100) })],
  })
  const time = measure({ pods: [retry, failed], facts: { ...DONE, failed: 1 } })
  t.equal(time.places, 1)
  t.equal(time.restarts, 1)
  t.match(time.seconds, { preparing: 10, lost: 55, running: 35, creating: 0, unknown: 0 })
})

t.test('pods of a Job that run one after the other lose no time', async (t) => {
  const pods = [0, 1].map((index) => {
    const created = index * 100
    return podOf({
      ...{ name: `train-${index}`, index: String(index), created, phase: 'Succeeded' },
      ...{ scheduled: created, containers: [app({ state: ended(created + 10, created + 90) })] },
    })
  })
  const time = measure({ pods, facts: DONE })
  t.equal(time.places, 1)
  t.match(time.seconds, { creating: 10, preparing: 20, running: 160, lost: 0, unknown: 0 })
})

t.test('failed pods that do not exist any more', async (t) => {
  const containers = [app({ state: ended(65, 100) })]
  const pod = podOf({ created: 60, phase: 'Succeeded', scheduled: 61, containers })
  const { seconds, reasons } = measure({ pods: [pod], facts: { ...DONE, failed: 2 } })
  t.match(seconds, { creating: 0, unknown: 60, running: 35 })
  t.strictSame(reasons, ['earlier pods, which failed, do not exist any more'])
  const labels = { 'jobset.sigs.k8s.io/restart-attempt': '1' }
  const later = podOf({ created: 60, phase: 'Succeeded', scheduled: 61, containers, labels })
  t.match(measure({ pods: [later], facts: DONE }).seconds, { unknown: 60, running: 35 }, 'JobSet')
})

t.test('a container that was started again', async (t) => {
  const plan = { phase: 'Running', scheduled: 0 }
  const again = { restartCount: 1, lastState: ended(10, 50, 1) }
  const one = podOf({ ...plan, containers: [app({ ...again, state: running(60) })] })
  t.strictSame(partsOf({ pods: [one] }), { preparing: 10, lost: 50, running: 940 })

  const waiting = { restartCount: 0, lastState: ended(10, 50, 1), state: { waiting: {} } }
  const backOff = podOf({ ...plan, containers: [app(waiting)] })
  t.strictSame(partsOf({ pods: [backOff] }), { preparing: 10, lost: 990 })

  const often = podOf({
    ...plan,
    containers: [app({ ...again, restartCount: 5, state: running(60) })],
  })
  const { seconds, reasons, restarts } = measure({ pods: [often] })
  t.match(seconds, { preparing: 0, lost: 0, unknown: 60, running: 940 })
  t.equal(restarts, 5)
  t.strictSame(reasons, [
    'train: its status does not have the time when its application started first',
  ])

  const other = { name: 'other', restartCount: 0, state: running(12) }
  const both = podOf({ ...plan, containers: [app({ ...again, state: running(60) }), other] })
  const part = measure({ pods: [both] })
  t.match(part.seconds, { preparing: 10, lost: 2, unknown: 48, running: 940 })
  t.strictSame(part.reasons, ['train: only some of its containers were started again (app)'])
})

t.test('init containers that ran again after the application had started', async (t) => {
  const init = [{ name: 'fetch', restartCount: 1, state: ended(55, 58) }]
  const again = { restartCount: 1, lastState: ended(20, 50, 1), state: running(60) }
  const pod = podOf({ phase: 'Running', scheduled: 1, init, containers: [app(again)] })
  const parts = { scheduling: 1, unknown: 19, lost: 40, running: 940 }
  t.strictSame(partsOf({ pods: [pod] }), parts)
})

t.test('a pod that was deleted while it ran', async (t) => {
  const containers = [app({ state: running(10) })]
  const plan = { name: 'train-0', phase: 'Running', scheduled: 0, deleted: 40, containers }
  const facts = { isGone: true }
  const parts = { preparing: 10, running: 30 }
  t.strictSame(partsOf({ pods: [podOf(plan)], facts, gone: ['train-0'] }), parts)
})

t.test('a pod that is added to a run does not make it wait', async (t) => {
  const first = podOf({
    ...{ name: 'head', index: '0', phase: 'Running', scheduled: 0 },
    containers: [app({ state: running(10) })],
  })
  const added = podOf({
    ...{ name: 'late', index: '1', created: 500, phase: 'Running', scheduled: 500 },
    containers: [app({ state: running(600) })],
  })
  t.match(measure({ pods: [first, added] }).seconds, { partial: 0, running: 990 + 400 })
  const together = podOf({
    ...{ name: 'late', index: '1', created: 0, phase: 'Running', scheduled: 500 },
    containers: [app({ state: running(600) })],
  })
  t.match(measure({ pods: [first, together] }).seconds, { partial: 590, running: 400 + 400 })
  const pending = podOf({ name: 'late', index: '1', created: 0, phase: 'Pending' })
  t.match(measure({ pods: [first, pending] }).seconds, { partial: 990, running: 0 }, 'never starts')
})

t.test('the first times of a pod are remembered', async (t) => {
  const history = (pod: Fields) => readPodFacts(pod, new Set()).history
  const plan = { phase: 'Running', scheduled: 0 }
  const first = history(podOf({ ...plan, containers: [app({ state: running(10) })] }))
  const often = { restartCount: 5, lastState: ended(300, 350, 1), state: running(360) }
  const last = history(podOf({ ...plan, containers: [app(often)] }))
  const joined = joinHistories(first, last)
  t.match(joined.starts, [
    { name: 'app', first: BEGUN + 10_000, last: BEGUN + 360_000, restarts: 5 },
  ])
  t.strictSame(
    joined.starts[0]?.runs.map(({ number }) => number),
    [1, 5, 6],
  )
  t.strictSame(joined.marks.at(-1)?.at, BEGUN + 10_000)
})
