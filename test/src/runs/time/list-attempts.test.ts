import { deepStrictEqual, ok } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import {
  type AttemptGroup,
  groupAttempts,
  MAX_ATTEMPT_GROUPS,
} from '../../../../src/runs/attempts/attempt-groups.ts'
import { readPodFacts } from '../../../../src/runs/facts/pod-facts.ts'
import { joinHistories } from '../../../../src/runs/facts/pod-history.ts'
import { groupByIndex } from '../../../../src/runs/facts/run.ts'
import { collectedDocument, readCollected } from '../../../../src/runs/time/collected-time.ts'
import { listAttempts } from '../../../../src/runs/time/list-attempts.ts'
import { measureWorkload } from '../../../../src/runs/time/workload-time.ts'
import { readRunOfJob } from './measure.ts'
import { at, attemptsOf, PLAYED, type PlayedPod, podObject } from './played.ts'

const RUNS = { numRuns: 500 }
const ENDED = 9

function list(pods: readonly Fields[], gone: readonly string[] = []): readonly AttemptGroup[] {
  return listAttempts(readRunOfJob({ pods, facts: {}, gone }))
}

const isKnown = ({ attempt }: AttemptGroup) => attempt !== null
const countOf = (attempts: readonly AttemptGroup[]) =>
  attempts.reduce((sum, { count }) => sum + count, 0)
const keyOf = ({ podIndex, container, attempt }: AttemptGroup) =>
  JSON.stringify([podIndex, container, attempt])
const sorted = (attempts: readonly AttemptGroup[]) =>
  attempts.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)))
const startsOf = ({ runs }: PlayedPod) => Object.values(runs).map(({ length }) => length)

/** Returns all attempts of pods, with the number that each has in its place. */
function playAll(pods: readonly PlayedPod[]): readonly AttemptGroup[] {
  return pods.flatMap((pod) => {
    const earlier = pods.filter(({ index, retry }) => index === pod.index && retry < pod.retry)
    const before = earlier.reduce((sum, one) => sum + Math.max(...startsOf(one)), 0)
    return attemptsOf(pod, before)
  })
}

t.test('a status has the last two attempts of a container, and the number of the others', (t) => {
  const property = fc.property(PLAYED, (pods) => {
    const found = list(pods.map((pod) => podObject(pod, ENDED)))
    const all = playAll(pods)
    const last = pods.flatMap((pod) =>
      Object.keys(pod.runs).flatMap((container) => {
        const own = attemptsOf(pod, 0).filter((one) => one.container === container)
        return own.slice(-2).map(({ started }) => `${pod.index} ${container} ${started}`)
      }),
    )
    const kept = all.filter(({ podIndex, container, started }) =>
      last.includes(`${podIndex} ${container} ${started}`),
    )
    deepStrictEqual(sorted(found.filter(isKnown)), sorted(kept))
    deepStrictEqual(countOf(found), all.length)
    ok(found.every((one) => isKnown(one) || one.phase === 'Unknown'))
  })
  t.doesNotThrow(() => fc.assert(property, RUNS))
  t.end()
})

t.test('a history that was always watched has all attempts', (t) => {
  const property = fc.property(PLAYED, (pods) => {
    const run = readRunOfJob({ pods: pods.map((pod) => podObject(pod, ENDED)), facts: {} })
    const watched = run.pods.map((pod) => {
      const played = pods.find(({ index, retry }) => pod.name === `train-${index}-${retry}`)
      const states = Array.from({ length: 6 }, (_, ended) =>
        readPodFacts(podObject(played as PlayedPod, ended), new Set()),
      )
      return { ...pod, history: states.map(({ history }) => history).reduce(joinHistories) }
    })
    deepStrictEqual(sorted(listAttempts({ ...run, pods: watched })), sorted(playAll(pods)))
  })
  t.doesNotThrow(() => fc.assert(property, RUNS))
  t.end()
})

t.test('the pods that are missing are counted, and no attempt becomes another one', (t) => {
  const property = fc.property(PLAYED, fc.nat(), (pods, chosen) => {
    const left = pods.filter(
      ({ retry }, position) => retry > 0 || position !== chosen % pods.length,
    )
    fc.pre(left.length > 0)
    const [found, whole] = [left, pods].map((some) =>
      list(some.map((pod) => podObject(pod, ENDED))),
    )
    const withoutNumber = ({ attempt, ...others }: AttemptGroup) => JSON.stringify(others)
    const known = new Set(whole?.filter(isKnown).map(withoutNumber))
    ok(found?.filter(isKnown).every((one) => known.has(withoutNumber(one))))
    const isRetried = left.some(
      ({ index, retry }) =>
        retry > 0 && !left.some((one) => one.index === index && one.retry === 0),
    )
    const gone = found?.filter((one) => !isKnown(one) && one.podIndex === null) ?? []
    deepStrictEqual(countOf(gone), isRetried ? 1 : 0)
  })
  t.doesNotThrow(() => fc.assert(property, RUNS))
  t.end()
})

/** Removes a field from all ends of containers. */
function without(field: string, pods: readonly Fields[]): readonly Fields[] {
  return JSON.parse(JSON.stringify(pods, (key, value) => (key === field ? undefined : value)))
}

t.test('without a field, it is not known', (t) => {
  const property = fc.property(PLAYED, (pods) => {
    const objects = pods.map((pod) => podObject(pod, ENDED))
    const whole = list(objects).filter(isKnown)
    for (const [field, unknown] of [
      ['startedAt', { started: null, seconds: null }],
      ['finishedAt', { ended: null, seconds: null }],
      ['exitCode', { exitCode: null, phase: 'Unknown' }],
    ] as const)
      deepStrictEqual(
        list(without(field, objects)).filter(isKnown),
        whole.map((one) => ({ ...one, ...unknown })),
      )
  })
  t.doesNotThrow(() => fc.assert(property, RUNS))
  t.end()
})

t.test('groups keep the number of attempts, and the seconds if all are known', (t) => {
  const property = fc.property(PLAYED, fc.integer({ min: 4, max: 20 }), (pods, limit) => {
    const all = list(pods.map((pod) => podObject(pod, ENDED)))
    const groups = groupAttempts(all, limit)
    ok(groups.length <= limit)
    deepStrictEqual(countOf(groups), countOf(all))
    const failed = (some: readonly AttemptGroup[]) =>
      some
        .filter(({ phase }) => phase === 'Failed')
        .reduce((sum, { seconds }) => sum + (seconds ?? 0), 0)
    deepStrictEqual(failed(groups), failed(all))
    deepStrictEqual(groupAttempts(groups, 4), groupAttempts(all, 4), 'twice is as once')
  })
  t.doesNotThrow(() => fc.assert(property, RUNS))
  t.end()
})

/** Returns a pod of the Job in which the container `app` has this status. */
function pod(phase: string, app: Fields | undefined, more: Fields = {}): Fields {
  const played = podObject({ index: 0, retry: 0, runs: { app: [] } }, 0)
  const containerStatuses = app === undefined ? [] : [{ name: 'app', restartCount: 0, ...app }]
  return { ...played, status: { phase, containerStatuses, ...more } }
}

t.test('an attempt that goes on has no end', async (t) => {
  const state = { running: { startedAt: at(5) } }
  t.match(list([pod('Running', { state })]), [
    { attempt: 1, phase: 'Running', exitCode: null, ended: null, seconds: null },
  ])
  const [last] = list([pod('Running', { state })], ['train-0-0'])
  t.equal(last?.phase, 'Unknown', 'the pod was deleted before the end was seen')
})

t.test('a container that waits for its next start has ended its last attempt', async (t) => {
  const lastState = { terminated: { exitCode: 137, reason: 'OOMKilled', signal: 9 } }
  const state = { waiting: { reason: 'CrashLoopBackOff' } }
  const attempts = list([pod('Running', { state, lastState, restartCount: 2 })])
  t.match(attempts, [
    { attempt: 3, phase: 'Failed', reason: 'OOMKilled', exitCode: 137, signal: 9 },
    { attempt: null, phase: 'Unknown', count: 2 },
  ])
  t.strictSame(list([pod('Pending', { state: { waiting: {} } })]), [], 'no attempt yet')
})

t.test('an evicted pod without containers is an attempt that failed', async (t) => {
  const [attempt] = list([pod('Failed', undefined, { reason: 'Evicted' })])
  t.match(attempt, { attempt: 1, container: null, phase: 'Failed', reason: 'Evicted' })
})

t.test('a container that the runtime could not start has no start', async (t) => {
  const [startedAt, finishedAt] = ['1970-01-01T00:00:00Z', at(9)]
  const terminated = { exitCode: 128, reason: 'StartError', startedAt, finishedAt }
  const object = pod('Failed', { state: { terminated } })
  t.match(list([object]), [{ phase: 'Failed', reason: 'StartError', started: null, seconds: null }])
  const { started, containers } = readPodFacts(object, new Set())
  t.match({ started, containers }, { started: null, containers: [{ lifetime: null }] })
})

t.test('the end before a restart of all containers is remembered', async (t) => {
  const history = (status: Fields) => readPodFacts(pod('Running', status), new Set()).history
  const replaced = { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } }
  const after = { restartCount: 1, lastState: replaced, state: { running: { startedAt: at(70) } } }
  t.match(list([pod('Running', after)]), [
    { attempt: 1, phase: 'Failed', reason: 'RestartingAllContainers', exitCode: null },
    { attempt: 2, phase: 'Running' },
  ])
  const running = history({ state: { running: { startedAt: at(5) } } })
  const terminated = { exitCode: 42, reason: 'Error', startedAt: at(5), finishedAt: at(64) }
  const ended = history({ state: { terminated } })
  const [first] = joinHistories(joinHistories(running, ended), history(after)).starts[0]?.runs ?? []
  t.match(first, { number: 1, end: { exitCode: 42, reason: 'Error' } })
  t.equal((first?.to ?? 0) - (first?.from ?? 0), 59_000)
  for (const restartCount of [0, 1]) {
    const waiting = history({ restartCount, lastState: replaced, state: { waiting: {} } })
    const joined = [running, ended, waiting, history(after)].reduce(joinHistories)
    const [before, last, ...more] = joined.starts[0]?.runs ?? []
    t.match([before, last], [first, { number: 2, to: undefined, end: null }])
    t.strictSame(more, [])
  }
  const [unseen] = joinHistories(running, history(after)).starts[0]?.runs ?? []
  t.match(unseen, { from: first?.from, to: null, end: { exitCode: null } })
})

t.test('the pods of a JobSet that has restarted have the places of those before', async (t) => {
  const [first] = readRunOfJob({ pods: [pod('Failed', {})], facts: {} }).pods
  if (first?.controller === undefined) return
  const again = { ...first, uid: 'new', controller: { ...first.controller, uid: 'new' } }
  t.strictSame(groupByIndex([first, again]), [[first, again]])
})

t.test('the failed pods that a Job counts, and that do not exist, are named', async (t) => {
  const object = pod('Succeeded', { state: { terminated: { exitCode: 0 } } })
  const run = readRunOfJob({ pods: [object], facts: { failed: 2 } })
  t.match(listAttempts(run), [
    { attempt: 1, phase: 'Succeeded' },
    { attempt: null, podIndex: null, phase: 'Unknown', count: 2 },
  ])
})

t.test('a run has few groups whatever its attempts are', async (t) => {
  const [first] = list([
    podObject({ index: 0, retry: 0, runs: { app: [{ from: 1, to: 2, exitCode: 1 }] } }, 1),
  ])
  if (first === undefined) return
  const many = Array.from({ length: 40_960 }, (_, number) => ({
    ...first,
    ...{ attempt: (number % 10) + 1, podIndex: `${number % 4096}`, exitCode: number % 255 },
  }))
  const groups = groupAttempts(many, MAX_ATTEMPT_GROUPS)
  t.match(groups, [{ attempt: null, exitCode: null, count: 40_960, seconds: 40_960 }])
  const same = groupAttempts(
    many.map((one) => ({ ...one, exitCode: 137 })),
    MAX_ATTEMPT_GROUPS,
  )
  t.equal(same.length, 10)
  t.match(same[9], { attempt: 10, podIndex: null, exitCode: 137, count: 4096, seconds: 4096 })
})

t.test('collected logs have the attempts of containers that were started again', async (t) => {
  const collected = (restartCount: number) => {
    const state = { running: { startedAt: at(100) } }
    const lastState = { terminated: { exitCode: 1, startedAt: at(5), finishedAt: at(64) } }
    const object = pod('Running', { state, lastState, restartCount })
    const found = { ...readPodFacts(object, new Set()), isObserved: true }
    const above = () => []
    const begun = [{ ...found, controller: undefined }]
    const time = measureWorkload(begun, { above, forbidden: [] }, 'pod/train', Date.now())
    return time === null ? null : readCollected(collectedDocument(time))
  }
  t.match(collected(1), {
    attempts: [
      { attempt: 1, exitCode: 1, seconds: 59 },
      { attempt: 2, phase: 'Running' },
    ],
  })
})
