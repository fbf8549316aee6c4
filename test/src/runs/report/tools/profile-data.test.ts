import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseEntry } from '../../../../../src/runs/log/parse.ts'
import { readLog } from '../../../../../src/runs/log/read.ts'
import { pageData } from '../../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import type { ProfileData } from '../../../../../src/runs/report/tools/profile-data.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'
import { documentOf } from '../document-of.ts'
import { type ProfileRows, profileLines } from './profile-rows.ts'

/** Reads the rows of processes by pod. */
function runOf(rows: readonly (readonly [string, ProfileRows])[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const line of rows.flatMap(([pod, own]) => profileLines(pod, own))) {
    const entry = parseEntry(line, BUILT_IN_ROWS)
    if (entry === undefined) throw new Error('the line is not an entry')
    addEntry(run, entry)
  }
  return run
}

function programsOf(rows: readonly (readonly [string, ProfileRows])[]): readonly ProfileData[] {
  return pageData(runOf(rows), 'auto').profiles?.programs ?? []
}

/** Returns the stacks with time in their innermost function, of all pods or of one pod. */
function stacksIn({ flame }: ProfileData, pod?: string): Readonly<Record<string, number>> {
  const nameOf = (frame: number): string => {
    const [parent = 0, name = ''] = [flame.parents[frame], flame.names[flame.functions[frame] ?? 0]]
    return parent === 0 ? name : `${nameOf(parent)};${name}`
  }
  const one = flame.single.find((single) => single.pod === pod)
  const frames = pod === undefined ? [...flame.seconds.keys()] : (one?.frames ?? [])
  const seconds = pod === undefined ? flame.seconds : (one?.seconds ?? [])
  return Object.fromEntries(
    frames.map((frame, index) => [nameOf(frame), seconds[index] ?? 0]).filter(([, own]) => own),
  )
}

t.test('the page has the functions of real runs of LAMMPS', async (t) => {
  const run = newRun(BUILT_IN_ROWS)
  for (const pod of ['0', '1', '2', '3']) {
    const file = new URL(`../../../../logs/profiles/cpu-profile-lammps-${pod}.log`, import.meta.url)
    const place = { source: `hpc/${pod}/cpu-profile`, pod, pod_index: pod }
    for (const entry of readLog(readFileSync(file, 'utf8'), place, BUILT_IN_ROWS))
      addEntry(run, entry)
  }
  const { profiles, sections } = pageData(run, 'auto')
  t.strictSame(
    sections.map(({ section }) => section),
    ['process'],
    'functions and stacks are no lines over time',
  )
  const [lmp, ...others] = profiles?.programs ?? []
  t.strictSame(others, [])
  if (lmp === undefined) throw new Error('there is no profile')
  t.match(lmp, { program: 'lmp', pods: ['0', '1', '2', '3'], incompleteCount: 0 })
  const compute = 'LAMMPS_NS::PairLJCut::compute'
  t.equal(lmp.functions.rows[0]?.name, compute)
  t.strictSame(lmp.functions.rows[0]?.self, [3.07, 3.1, 6.37, 3.03])
  t.strictSame(lmp.functions.rows[0]?.outliers, [[2], [2]])
  t.match(lmp.differences[0], { name: compute, pods: [{ pod: '2', self: 6.37 }] })
  for (const pod of [undefined, '2']) {
    const sum = Object.values(stacksIn(lmp, pod)).reduce((all, own) => all + own, 0)
    t.equal(Math.round(100 * sum), pod === undefined ? 1991 : 802, 'the samples of the logs')
  }
  const [finding] = documentOf(run, '').findings
  t.match(finding, { rule: 'more-time-in-function', pods: [{ podIndex: '2', things: [compute] }] })
})

t.test('stacks of all pods and processes are merged by program', async (t) => {
  const [lmp, python] = programsOf([
    ['0', { stacks: { 'main;run': 5, main: 1 }, functions: { run: 5, main: 1 } }],
    ['0', { stacks: { 'main;run': 2 }, functions: { run: 2 }, pid: 101 }],
    ['1', { stacks: { 'main;run': 3, '(other)': 1 }, functions: { run: 3, '(other)': 1 } }],
    ['1', { stacks: { eval: 4 }, functions: { eval: 4 }, program: 'python3' }],
  ])
  if (lmp === undefined || python === undefined) throw new Error('a program is missing')
  t.strictSame(stacksIn(lmp), { 'main;run': 10, main: 1, '(other)': 1 })
  t.strictSame(stacksIn(lmp, '0'), { 'main;run': 7, main: 1 })
  t.strictSame(stacksIn(lmp, '1'), { 'main;run': 3, '(other)': 1 })
  t.match(lmp.functions.rows, [
    { name: 'run', library: 'lib.so', self: [7, 3], total: [7, 3] },
    { name: 'main', self: [1, null] },
    { name: '(other)', self: [null, 1] },
  ])
  t.match(python, { program: 'python3', pods: ['1'], seconds: 4 })
})

t.test('the page names processes whose profile is not complete', async (t) => {
  const healthy = { stacks: { run: 5 }, functions: { run: 5 } }
  const [lmp] = programsOf([
    ['0', healthy],
    ['1', { ...healthy, profile: 'incomplete' }],
    ['2', { profile: 'missing' }],
  ])
  t.strictSame(lmp?.incomplete, ['1: lmp 100 (incomplete)', '2: lmp 100 (missing)'])
})

t.test('the data of 4,096 pods is bounded, and begins with the pods that differ', async (t) => {
  const functions = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, 1]))
  const names = Array.from({ length: 60 }, (_, at) => `main;run;step;f${at}`)
  const stacks = Object.fromEntries(names.map((name) => [name, 1]))
  const slow = { ...functions, f39: 9 }
  const rows = Array.from({ length: 4096 }, (_, pod) => {
    return [`${pod}`, { functions: pod === 4000 ? slow : functions, stacks }] as const
  })
  const [lmp] = programsOf(rows)
  t.equal(lmp?.pods.length, 4096)
  t.equal(lmp?.flame.single.length, Math.floor(200_000 / 60))
  t.equal(lmp?.flame.single[0]?.pod, '4000')
  t.equal(lmp?.functions.rows.length, 18)
  t.equal(lmp?.functions.omitted, 22)
  t.ok(
    lmp?.functions.rows.some(({ name }) => name === 'f39'),
    'the function that differs',
  )
  t.match(lmp?.differences, [{ name: 'f39', podCount: 1, pods: [{ pod: '4000' }] }])
  t.ok(JSON.stringify(lmp).length < 6_000_000)
})

t.test('different stacks of a pod are bounded', async (t) => {
  const names = Array.from({ length: 30_000 }, (_, at) => [`main;f${at}`, at % 100 === 0 ? 9 : 1])
  const [lmp] = programsOf([['0', { stacks: Object.fromEntries(names), functions: { f: 1 } }]])
  if (lmp === undefined) throw new Error('there is no profile')
  t.equal(lmp.flame.parents.length, 20_001)
  const stacks = stacksIn(lmp)
  t.equal(stacks['main;f29900'], 9)
  t.equal(
    Object.values(stacks).reduce((sum, own) => sum + own, 0),
    30_000 + 300 * 8,
    'no time is lost',
  )
  t.equal(stacks['main;(smaller frames)'], 30_000 - 19_998)
})

t.test('a run without profiles has no data of profiles', async (t) => {
  const { profiles } = pageData(newRun(BUILT_IN_ROWS), 'auto')
  t.equal(profiles, undefined)
  t.notOk('profiles' in documentOf(newRun(BUILT_IN_ROWS), ''))
})

t.test('the output for programs has the functions of each pod', async (t) => {
  const rows = ['0', '1', '2'].map((pod) => {
    const seconds = pod === '1' ? 90 : 40
    return [pod, { functions: { run: seconds }, stacks: { run: seconds } }] as const
  })
  const { profiles } = documentOf(runOf(rows), '')
  t.strictSame(profiles, [
    {
      program: 'lmp',
      kind: 'processor',
      pods: ['0', '1', '2'],
      seconds: 170,
      functions: [
        {
          function: 'run',
          library: 'lib.so',
          selfSeconds: [40, 90, 40],
          totalSeconds: [40, 90, 40],
          selfOutliers: [],
          totalOutliers: [],
        },
      ],
      omittedFunctions: 0,
      differences: [
        {
          function: 'run',
          library: 'lib.so',
          medianSeconds: 40,
          podsCompared: 3,
          pods: [{ podIndex: '1', selfSeconds: 90, secondsAboveMedian: 50 }],
          podCount: 1,
        },
      ],
      omittedDifferences: 0,
      incomplete: [],
      incompleteCount: 0,
      frames: { functions: [null, 'run'], parents: [0, 0], selfSeconds: [0, 170] },
      framesByPod: [
        { podIndex: '1', frames: [1], selfSeconds: [90] },
        { podIndex: '0', frames: [1], selfSeconds: [40] },
        { podIndex: '2', frames: [1], selfSeconds: [40] },
      ],
    },
  ])
})

t.test('of a program, 50,000 functions are read, and the others are (other)', async (t) => {
  const names = Array.from({ length: 50_002 }, (_, index) => [`compute_${index}`, 1])
  const { evidence } = runOf([['0', { functions: Object.fromEntries(names) }]])
  const profile = evidence.profiles.get('lmp')
  t.equal(profile?.functions.length, 50_001)
  t.equal(profile?.functions.at(-1)?.name, '(other)')
  t.equal(profile?.joined, 2)
})
