import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { collected, collectedRun, endedWith } from '../../src/runs/log/collected.ts'
import { run } from '../command.ts'

const LOGS = fileURLToPath(new URL('../../logs/', import.meta.url))
const ALL = join(LOGS, 'all-metrics')
const EXAMPLE = join(LOGS, 'perf-sysstat-lammps-ridealong.log')
const SOURCE = 'hpc/lammps-0/perf-sysstat'
const LETTERS = 'abcde'

/**
 * Makes five copies of a recorded log, and five copies of its first timepoints: runs that ended
 * earlier. The runs of `failed` have as few timepoints, and ended with SIGSEGV.
 */
function repeatedRuns(t: Test) {
  const recorded = readFileSync(EXAMPLE, 'utf8')
  const [marker, end] = ['METRICS OPERATOR TIMEPOINT\n', 'METRICS OPERATOR COLLECTION END\n']
  const [head = '', ...timepoints] = recorded.split(marker)
  const half = [head, ...timepoints.slice(0, timepoints.length >> 1)].join(marker) + end
  const folder = t.testdir({})
  const write = (name: string, text: string) =>
    [...LETTERS].map((letter) => {
      const path = join(folder, `${name}-${letter}.jsonl`)
      writeFileSync(path, text)
      return path
    })
  return {
    short: write('short', collected(half, SOURCE, endedWith(recorded, 0))),
    long: write('long', collected(recorded, SOURCE, endedWith(recorded, 0))),
    failed: write('failed', collected(half, SOURCE, endedWith(recorded, 139))),
  }
}

t.test('--fail-above fails if the time became really worse by more than this', async (t) => {
  const { short, long, failed } = repeatedRuns(t)
  const exits = async (...words: readonly string[]) => {
    const { code, err } = await run(['compare', ...words])
    return { code, err }
  }
  t.match(await exits(...short, 'vs', ...long, '--fail-above', '5%'), {
    code: 1,
    err: 'ridealong: B is slower than A by more than 5 %\n',
  })
  t.match(await exits(...short, 'vs', ...long, '--fail-above', '500%'), { code: 0, err: '' })
  t.match(await exits(...long, 'vs', ...short, '--fail-above', '5'), { code: 0, err: '' })
  t.match(await exits(...short, 'vs', ...long), { code: 0, err: '' })
  t.match(await exits(...short.slice(1), 'vs', ...long, '--fail-above', '5%'), {
    code: 2,
    err:
      'ridealong: runs that finished, with a known time: A has 4, B has 5; ' +
      'each side needs at least 5\n',
  })
  t.match(await exits(...long, 'vs', ...failed, '--fail-above', '5%'), {
    code: 1,
    err: 'ridealong: 5 of 5 runs of B did not finish\n',
  })
  t.match(await exits(...failed, 'vs', ...long, '--fail-above', '5%'), {
    code: 2,
    err: 'ridealong: no run of A finished, so that there is no time to compare with\n',
  })
  const logs = [...LETTERS].map((letter) => join(t.testdirName, `${letter}.log`))
  for (const log of logs) copyFileSync(EXAMPLE, log)
  t.match(await exits(...long, 'vs', ...logs, '--fail-above', '5%'), {
    code: 2,
    err: /: runs of which it is not known whether they finished: A has 0, B has 5; collect the runs/,
  })
  t.match(await exits(...short, 'vs', ...long, '--fail-above', 'five'), {
    code: 2,
    err: /It must be a percentage, for example 5% or 2\.5%\./,
  })
})

t.test('a run that did not finish is never faster, and its document says why', async (t) => {
  const { long, failed } = repeatedRuns(t)
  const words = ['compare', ...long, 'vs', ...failed.slice(0, 1), ...long.slice(1)]
  const { out } = await run(words)
  t.match(out, /^1 of 5 runs of B did not finish\. Pod 0 failed: .*exit code 139 \(SIGSEGV\)\. /)
  t.match(out, /\n {2}B {2}5 runs, 1 did not finish {2}1 pod /)
  const { sides, comparisons } = JSON.parse((await run([...words, '-o', 'json'])).out)
  t.match(comparisons, [{ verdict: 'unfinished', headline: /^1 of 5 runs of B/ }])
  t.match(sides[1].runs.slice(0, 2), [
    { seconds: null, programs: ['lmp'], completion: { state: 'unfinished', reason: /^Pod 0 / } },
    { seconds: Number, programs: ['lmp'], completion: { state: 'finished', reason: null } },
  ])
})

/** The recorded runs that did not finish, and why, as the first line of the comparison says it. */
const UNFINISHED = {
  hang: /exit code 1|MPI rank 1 has not come/,
  hanging: /had not called MPI_Finalize|The end of the log .* is missing/,
  crash: /exit code 139 \(SIGSEGV\)/,
  'crash-at-start': /exit code 139 \(SIGSEGV\)/,
  killed: /exit code (137|7)/,
  cut: /had not called MPI_Finalize|The end of the log .* is missing/,
} as const

/** Returns the logs of a recorded run whose names match. */
function filesOf(kind: string, names: RegExp) {
  const files = collectedRun(kind).filter(({ name }) => names.test(name))
  return Object.fromEntries(files.map(({ name, text }) => [name, text]))
}

for (const [kind, reason] of Object.entries(UNFINISHED)) {
  for (const metrics of [/\.vitals\./, /\./]) {
    t.test(`--fail-above fails if one of five runs is ${kind}: ${metrics}`, async (t) => {
      // Each copy of a recording is a run.
      const good = filesOf('healthy', metrics)
      const copies = [...'123456789'].map((number) => [number, { ...good }] as const)
      const folder = t.testdir({ ...Object.fromEntries(copies), bad: filesOf(kind, metrics) })
      const runs = [...copies.map(([name]) => name), 'bad'].map((name) => join(folder, name))
      const sides = [...runs.slice(0, 5), 'vs', ...runs.slice(5)]
      const { code, out, err } = await run(['compare', ...sides, '--fail-above', '5%'])
      t.strictSame([code, err], [1, 'ridealong: 1 of 5 runs of B did not finish\n'])
      t.match(out, /^1 of 5 runs of B did not finish\. /)
      t.match(out, reason)
      t.notMatch(out, /faster/)
    })
  }
}

t.test('the first line says how the time changed, and whether the runs show it', async (t) => {
  const { short, long } = repeatedRuns(t)
  const { out } = await run(['compare', ...short, 'vs', ...long])
  t.match(out, /^B is slower than A: [\d.]+ s instead of [\d.]+ s, \+\d+ % \(95 % interval: /)
  const [one = '', other = ''] = [short[0], long[0]]
  const single = await run(['compare', one, other])
  t.match(
    single.out,
    /^B took [\d.]+ s instead of [\d.]+ s, \+\d+ %\. This may be noise: 1 run of /,
  )
})

t.test('runs of different metrics are compared by their quantities', async (t) => {
  const folder = t.testdir({})
  const paths = ['vitals', 'perf-sysstat'].map((metric) => {
    const path = join(folder, metric)
    mkdirSync(path)
    for (const pod of [0, 1]) {
      const name = `lammps-${pod}.${metric}.log`
      copyFileSync(join(ALL, name), join(path, name))
    }
    return path
  })
  const { code, out, err } = await run(['compare', ...paths, '-o', 'json'])
  t.strictSame([code, err], [0, ''])
  const { kind, sides, comparisons, scaling } = JSON.parse(out)
  t.equal(kind, 'Comparison')
  t.match(sides, [
    { name: 'A', runs: [{ files: paths[0], size: 2, sizeUnit: 'pods', seconds: 34.084 }] },
    { name: 'B', runs: [{ files: paths[1], size: 2, sizeUnit: 'pods', seconds: 32 }] },
  ])
  t.equal(scaling, null)
  const [{ verdict, quantities }] = comparisons
  t.equal(verdict, 'unknown')
  const find = (quantity: string) =>
    quantities.find((one: { quantity: string }) => one.quantity === quantity)
  // The summaries of the logs have these totals.
  t.match(find('process.cpu.time'), {
    base: { median: 4.79 + 5.06, metrics: ['vitals'] },
    other: { median: 9.64, metrics: ['perf-sysstat'] },
    interval: null,
    verdict: 'unknown',
  })
  t.match(find('ridealong.network.interface.rx_bytes'), {
    base: { missing: null },
    other: { median: null, missing: 'no log of vitals', metrics: [] },
    ratio: null,
  })
})

t.test('the efficiency and its factors are compared, if both sides have them', async (t) => {
  const [healthy, throttled] = ['healthy', 'throttled'].map((name) =>
    join(LOGS, 'findings', `pressure-${name}.log`),
  ) as [string, string]
  const { out } = await run(['compare', healthy, throttled])
  t.match(
    out,
    /\nEfficiency\n .*\n {2}efficiency +0\.61 +0\.20 +-67 %\n {2}platform +0\.99 +0\.20 +-80 %/,
  )
  const document = await run(['compare', healthy, throttled, '-o', 'json'])
  const [{ quantities }] = JSON.parse(document.out).comparisons
  const platform = 'ridealong.efficiency.platform'
  t.match(
    quantities.find(({ quantity }: { quantity: string }) => quantity === platform),
    { of: 'processors', unit: 'ratio', other: { median: 0.200038 } },
  )
})

t.test('the efficiency of an MPI job is not compared with that of processors', async (t) => {
  const folder = t.testdir({ mpi: {}, vitals: {} })
  for (const pod of [0, 1])
    for (const [to, metric] of [
      ['mpi', 'mpi-trace'],
      ['mpi', 'vitals'],
      ['vitals', 'vitals'],
    ] as const)
      copyFileSync(
        join(ALL, `lammps-${pod}.${metric}.log`),
        join(folder, to, `${pod}.${metric}.log`),
      )
  const { out } = await run(['compare', join(folder, 'mpi'), join(folder, 'vitals')])
  t.match(out, /\n {2}MPI job: platform +0\.\d\d +– +– +B: no log of mpi-trace\n/)
  t.match(out, /\n {2}processors: platform +– +0\.\d\d +– +A: not measured\n/)
})

t.test('a page, or another format, is written to a file', async (t) => {
  const { short, long } = repeatedRuns(t)
  const folder = t.testdirName
  const write = async (...words: readonly string[]) => {
    const path = join(folder, 'comparison')
    const { code, out, err } = await run([
      'compare',
      ...short,
      'vs',
      ...long,
      ...words,
      '--to',
      path,
    ])
    t.strictSame([code, out, err], [0, '', ''])
    return readFileSync(path, 'utf8')
  }
  const page = await write('-o', 'html', '--title', 'Before and after')
  t.match(page, '<h1>Before and after</h1>')
  t.match(page, /<p class="bad">B is slower than A: /)
  t.equal(JSON.parse(await write('-o', 'json')).kind, 'Comparison')
  t.match(await write(), /^B is slower than A: .*\n\n {2}A {2}5 runs {2}1 pod +/)
  const failed = await run(['compare', ...short, '--to', join(folder, 'missing', 'page')])
  t.match(failed, { code: 2, err: /cannot write .*missing/ })
})

t.test('a problem with the sides or with a file is reported', async (t) => {
  const folder = t.testdir({ empty: {}, 'a.txt': 'hello\n' })
  for (const [words, sentence] of [
    [[EXAMPLE], /there is only one run: name at least two/],
    [[EXAMPLE, 'vs'], /a side has no run: name runs before and after each "vs"/],
    [[EXAMPLE, join(folder, 'empty')], /empty has no logs: the folder of a run has files such as/],
    [[EXAMPLE, join(folder, 'a.txt')], /a\.txt is neither the log of an observer nor the output/],
    [
      [EXAMPLE, join(folder, 'missing')],
      /there is no file or folder .*missing; a run of the cluster/,
    ],
    [Array(27).fill(EXAMPLE), /there are 27 sides, and at most 26 are compared/],
  ] as const) {
    const { code, out, err } = await run(['compare', ...words])
    t.strictSame([code, out], [2, ''])
    t.match(err, sentence)
  }
})
