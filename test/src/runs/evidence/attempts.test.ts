import t from 'tap'
import { type Attempts, compareAttempt } from '../../../../src/runs/evidence/attempts.ts'
import { addToEvidence, newEvidence } from '../../../../src/runs/evidence/evidence.ts'
import { storeOf } from '../../../../src/runs/evidence/stores.ts'
import type { Cell, Sample } from '../../../../src/runs/log/columns.ts'
import { METRICS } from '../../../../src/runs/metrics/index.ts'
import { PYTHON_STORE } from '../../../../src/runs/metrics/python-profile/current-stacks.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

/** Returns a row of python-profile. */
function row(source: string, pid: number, section: string, cells: Readonly<Record<string, Cell>>) {
  const kind = section === 'now' ? 'thread' : section
  const place = { source, metric: 'python-profile', namespace: null, pod: null, node: null }
  const moment = { pod_index: null, timepoint: 0, time: null, seconds: 0, interval: null }
  const identity = { container: 'app', program: 'train.py', pid, threads: 'main', attempt: null }
  return { kind, section, ...place, ...moment, ...identity, ...cells } as Sample
}

t.test('an attempt of a container is compared with its last one', async (t) => {
  const attempts: Attempts = new Map()
  const compare = (container: string, attempt: number | null | undefined, source = 'a') =>
    compareAttempt(attempts, { ...row(source, 7, 'now', { container }), attempt } as Sample)
  t.equal(compare('app', null), 'last')
  t.equal(compare('app', 2), 'next')
  t.equal(compare('app', 2), 'last')
  t.equal(compare('app', null), 'earlier', 'the rows of the first attempt have no number')
  t.equal(compare('app', undefined), 'last', 'the row is not about a process')
  t.equal(compare('app', 4), 'next')
  t.equal(compare('app', 2), 'earlier')
  t.equal(compare('sidecar', null), 'last')
  t.equal(compare('app', null, 'b'), 'last')
})

t.test('profiles and stores have only the last attempt of each log', async (t) => {
  const evidence = newEvidence([], METRICS)
  const description = BUILT_IN_ROWS.get('python-profile')
  if (description === undefined) throw new Error('the catalog has no python-profile')
  for (const [source, pid, name, attempt] of [
    ['a', 7, 'first', null],
    ['b', 7, 'other', null],
    ['a', 9, 'second', 2],
    ['a', 8, 'first', null],
  ] as const) {
    const cells = { stack: name, function: name, attempt }
    const times = { samples_self: 2, self_wall: 2, self_running: 2, wall: 2, running: 2 }
    for (const section of ['now', 'function', 'stack'])
      addToEvidence(evidence, row(source, pid, section, { ...cells, ...times }), description)
  }
  const [before, ...more] = evidence.earlier.values()
  t.strictSame(more, [])
  const earlier = [...storeOf(before?.stores ?? new Map(), PYTHON_STORE).values()]
  t.strictSame([before?.attempt, before?.source], [1, 'a'])
  t.strictSame(new Set(earlier.map(({ pid }) => pid)), new Set([7, 8]))
  const stacks = [...storeOf(evidence.stores, PYTHON_STORE).values()]
  t.strictSame(
    stacks.map(({ source, pid }) => [source, pid]),
    [
      ['b', 7],
      ['a', 9],
    ],
  )
  const [{ functions, logs } = { functions: [], logs: new Map() }, ...others] =
    evidence.profiles.values()
  t.strictSame(others, [])
  const named = [...logs].map(([source, log]) => [source, functions[log.functions[1]]?.name])
  t.strictSame(named, [
    ['b', 'other'],
    ['a', 'second'],
  ])
})
