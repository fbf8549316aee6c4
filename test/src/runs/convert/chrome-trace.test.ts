import t from 'tap'
import { convertRun } from '../../../../src/runs/convert/convert.ts'
import { pageData } from '../../../../src/runs/report/data.ts'
import { mpiLines, runOf } from '../metrics/mpi-trace/mpi-rows.ts'
import { eventsOf, namesOf, traceParts } from './converted.ts'
import { profileRows } from './profile-rows.ts'
import { recordedRun } from './recorded.ts'
import { problemsOf } from './trace-rules.ts'

for (const name of ['all-metrics', 'findings', 'mpi'] as const) {
  t.test(`the trace of ${name} follows the rules of the format`, async (t) => {
    const run = recordedRun(name)
    const events = eventsOf(run)
    t.ok(events.length > 50)
    t.strictSame(problemsOf([...events].map((event) => ({ ...event }))), [])
    const { pods } = pageData(run, 'auto')
    t.strictSame(
      [...namesOf(events).values()],
      pods.map((pod) => `pod ${pod}`),
    )
  })
}

t.test('the slices of a process have the time in MPI of the report', async (t) => {
  for (const name of ['all-metrics', 'mpi'] as const) {
    const run = recordedRun(name)
    const slices = eventsOf(run).filter(({ ph }) => ph === 'X')
    const threads = Map.groupBy(slices, ({ tid }) => tid)
    const sums = [...threads.values()].map((own) =>
      own.reduce((sum, { args }) => sum + (args.mpi_seconds ?? 0), 0),
    )
    const jobs = pageData(run, 'auto').mpi?.jobs ?? []
    const known = jobs.flatMap(({ columns, rows }) => {
      const at = columns.findIndex(({ key }) => key === 'mpi_seconds')
      return rows.map(({ values }) => values[at] ?? 0)
    })
    t.equal(sums.length, known.length)
    const sorted = [sums, known].map((list) => list.map((one) => one.toFixed(3)).sort())
    t.strictSame(sorted[0], sorted[1], `${name}: ${sorted[0]}`)
  }
})

t.test('a counter has the values that the report plots', async (t) => {
  const run = recordedRun('all-metrics')
  const events = eventsOf(run)
  const { plots } = pageData(run, 'auto')
  const names = namesOf(events)
  const lines = plots.lines.filter(({ program }) => program === 'lmp')
  t.equal(lines.length, 2)
  for (const { pod, program, pid, values } of lines) {
    for (const [index, { title, unit }] of plots.measures.slice(0, 2).entries()) {
      const own = events.filter(
        (event) =>
          names.get(event.pid) === `pod ${pod}` &&
          event.name === `perf-sysstat ${program} ${pid}: ${title}`,
      )
      const shown = own.map(({ args }) => Number(args[unit]?.toPrecision(4)))
      const plotted = (values[index] ?? []).flat().filter((value) => typeof value === 'number')
      t.ok(plotted.length > 5)
      t.strictSame(shown.slice(0, plotted.length), plotted, `${title} of pod ${pod}`)
      t.strictSame(shown.slice(plotted.length), [0], 'the process ends before the observer')
    }
  }
})

t.test('the first slice begins at the end of MPI_Init, also before the first sample', async (t) => {
  const process = { rank: 0, size: 1, state: 'running' }
  const run = runOf([
    { ...process, elapsed: 4, seconds: 1, timepoint: 0 },
    { ...process, elapsed: 14, seconds: 9, timepoint: 1 },
    { ...process, elapsed: 16, seconds: 9.5, timepoint: 2, state: 'finalized' },
  ])
  const slices = eventsOf(run).filter(({ ph }) => ph === 'X')
  t.strictSame(
    slices.map(({ name, ts, dur, args }) => [name, ts, dur, args.mpi_seconds]),
    [
      ['25 % in MPI', 0, 4_000_000, 1],
      ['80 % in MPI', 4_000_000, 10_000_000, 8],
      ['25 % in MPI', 14_000_000, 2_000_000, 0.5],
    ],
  )
})

t.test('the text of a large run is made in short parts', async (t) => {
  const ranks = Array.from({ length: 2_000 }, (_, rank) => ({ rank, size: 2_000 }))
  const parts = traceParts(
    runOf(ranks.flatMap((one) => [one, { ...one, timepoint: 1, elapsed: 110 }])),
  )
  t.ok(parts.length > 5, `${parts.length} parts`)
  t.ok(parts.every((part) => part.length < 70_000))
  t.strictSame(problemsOf(JSON.parse(parts.join('')).traceEvents), [])
})

t.test('names with quotes and control characters are text', async (t) => {
  t.equal(mpiLines({ rank: 0, size: 1 }).length, 1)
  const run = runOf([{ rank: 0, size: 1, pod: 'a"\u001b' }])
  t.ok([...namesOf(eventsOf(run)).values()].includes('pod a"\u001b'))
  t.notMatch(traceParts(run).join(''), '\u001b')
})

t.test('a run without values over time is an error that names the metrics', async (t) => {
  const run = profileRows([{ stack: 'main', seconds: 1 }])
  t.throws(() => convertRun(run, 'chrome-trace', 'ridealong'), {
    name: 'NothingToConvert',
    message: /^no values over time were collected; observe the run with .*perf-sysstat/,
  })
  t.throws(() => convertRun(recordedRun('profiles'), 'chrome-trace', 'ridealong'), {
    name: 'NothingToConvert',
  })
})
