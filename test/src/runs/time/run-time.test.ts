import { deepStrictEqual, ok } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import { TIME_PART_NAMES, type TimeOfRun } from '../../../../src/runs/time/parts.ts'
import { HISTORY, type History } from './histories.ts'
import { measureTime } from './measure.ts'

const RUNS = { numRuns: 1000 }

const ENDED = { finished: 'Succeeded', pods: 1 } as const

function measure({ pods, begun }: Pick<History, 'pods' | 'begun'>): TimeOfRun {
  return measureTime({ pods, facts: { ...ENDED, begun }, now: begun + 1e9 })
}

/** The paths of all time stamps in a status. */
type Path = readonly (string | number)[]

function findStamps(value: unknown, path: Path): readonly Path[] {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT/.test(value) ? [path] : []
  if (typeof value !== 'object' || value === null) return []
  const isList = Array.isArray(value)
  return Object.entries(value).flatMap(([key, own]) => {
    return findStamps(own, [...path, isList ? Number(key) : key])
  })
}

/** Returns a copy in which the value at a path is another one. */
function change(value: unknown, [key, ...rest]: Path, to: unknown): unknown {
  if (key === undefined) return to
  if (Array.isArray(value))
    return value.map((one, index) => (index === key ? change(one, rest, to) : one))
  return { ...(value as Fields), [key]: change((value as Fields)[key], rest, to) }
}

function checkSum({ seconds, places, from, to }: TimeOfRun): void {
  const parts = Object.values(seconds)
  ok(parts.every((part) => part >= 0))
  const [sum, whole] = [parts.reduce((all, part) => all + part, 0), (places * (to - from)) / 1000]
  ok(Math.abs(sum - whole) < 1e-6, `${sum} of ${whole}`)
}

t.test('each part of a history has its time', async (t) => {
  const property = fc.property(HISTORY, (history) => {
    const { seconds, places, from, to, restarts, reasons } = measure(history)
    for (const part of TIME_PART_NAMES)
      deepStrictEqual([part, seconds[part]], [part, history.seconds.get(part) ?? 0])
    deepStrictEqual(
      { places, restarts, reasons, whole: (to - from) / 1000 },
      { places: history.places, restarts: history.restarts, reasons: [], whole: history.whole },
    )
  })
  t.doesNotThrow(() => fc.assert(property, RUNS))
})

t.test('without a time stamp, only the time that is not known is more', async (t) => {
  const property = fc.property(HISTORY, fc.nat(), (history, number) => {
    const stamps = findStamps(
      history.pods.map(({ status }) => status),
      [],
    )
    const [pod, ...path] = stamps[number % stamps.length] as Path
    const pods = change(history.pods, [pod ?? 0, 'status', ...path], undefined)
    const [before, after] = [measure(history), measure({ ...history, pods: pods as Fields[] })]
    checkSum(after)
    for (const part of TIME_PART_NAMES)
      ok(part === 'unknown' || after.seconds[part] <= before.seconds[part], part)
  })
  t.doesNotThrow(() => fc.assert(property, RUNS))
})

t.test('parts add up whatever the time stamps are', async (t) => {
  const property = fc.property(
    HISTORY,
    fc.array(fc.tuple(fc.nat(), fc.nat(4000))),
    (history, changes) => {
      const stamps = findStamps(history.pods, [])
      const pods = changes.reduce<unknown>((all, [number, seconds]) => {
        const time = new Date(history.begun + (seconds - 1000) * 1000).toISOString()
        return change(all, stamps[number % stamps.length] as Path, time)
      }, history.pods)
      checkSum(measure({ ...history, pods: pods as Fields[] }))
    },
  )
  t.doesNotThrow(() => fc.assert(property, RUNS))
})
