import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { HARMFUL, HOSTILE } from '../../properties/hostile-text.ts'
import { pod } from '../../src/runs/collect/pod.ts'
import { type ErrorAnswer, standIn } from '../../stand-ins/pod-logs.ts'
import { run } from '../command.ts'
import { pressureRows, RUNNING, runOfPods, timepoint } from './run-of-pods.ts'

// `top --once`, with the recorded log of a real run.

const LOG = readFileSync(new URL('../../logs/perf-sysstat-ridealong.log', import.meta.url), 'utf8')

const PODS = [0, 1, 2]

/** Runs `top --once` on three pods that have ended, with the recorded log. */
async function once(t: Test, ...words: readonly string[]) {
  const logs = Object.fromEntries(
    PODS.map((index) => [`lammps-${index}-abcde/perf-sysstat`, LOG] as const),
  )
  return onceOf(t, { pods: () => PODS.map((index) => pod({ index })), logs }, words)
}

async function onceOf(
  t: Test,
  world: Parameters<typeof standIn>[1],
  words: readonly string[] = [],
) {
  const { kubeconfig } = await standIn(t, world)
  return run(['top', 'job/lammps', '--once', '--kubeconfig', kubeconfig, ...words])
}

t.test('the table has the values of the last timepoint', async (t) => {
  const { code, out, err } = await once(t)
  t.equal(code, 0, err)
  t.equal(err, '')
  // Each value is the sum of dd, md5sum and sort in the last timepoint of the log.
  t.equal(
    out,
    `POD  STATE  FINDING  CPU %  WAIT %    MEMORY   READ     WRITTEN  NODE
0    ended            38.2   236.4  11.7 MiB  0 B/s  41.1 MiB/s  node-1
1    ended            38.2   236.4  11.7 MiB  0 B/s  41.1 MiB/s  node-1
2    ended            38.2   236.4  11.7 MiB  0 B/s  41.1 MiB/s  node-1
`,
  )
})

t.test('each program of a pod can have a line, and any column can be shown', async (t) => {
  const words = ['--by', 'program', '--column', 'minflt_s', 'cswch_s', '--sort', 'percent_cpu']
  const { code, out, err } = await once(t, ...words, '-o', 'csv')
  t.equal(code, 0, err)
  const [header, ...lines] = out.trimEnd().split('\n')
  t.equal(
    header,
    'pod_index,namespace,pod,node,program,state,silent_seconds,no_progress,findings,' +
      'minflt_s,cswch_s,' +
      'percent_cpu,percent_wait,rss,kb_rd_s,kb_wr_s',
  )
  t.equal(lines.length, 9)
  t.equal(
    lines[0],
    '0,hpc,lammps-0-abcde,node-1,md5sum,ended,,,,0,0,16.67,83.49,1740,0,0',
    'the line with the greatest value is first',
  )
  t.match(lines[8], /^2,hpc,lammps-2-abcde,node-1,dd,ended,,,,0,2613\.73,9\.8,/)
})

t.test('JSON has the values in the units of the columns', async (t) => {
  const { code, out } = await once(t, '-o', 'json', '--sort', 'pod')
  t.equal(code, 0)
  t.strictSame(JSON.parse(out).lines[1], {
    pod_index: '1',
    namespace: 'hpc',
    pod: 'lammps-1-abcde',
    node: 'node-1',
    state: 'ended',
    silent_seconds: null,
    no_progress: null,
    findings: [],
    values: { percent_cpu: 38.23, percent_wait: 236.4, rss: 11972, kb_rd_s: 0, kb_wr_s: 42039.22 },
  })
})

t.test('the counters of running observers are shown as their growth per second', async (t) => {
  const { pods, logs, pressure, perf } = runOfPods(2)
  pressure[0]?.append(pressureRows(-40, 1, 0.5) + pressureRows(0, 11, 20.5))
  pressure[1]?.append(pressureRows(0, 1.5, 1.5))
  perf[0]?.append(timepoint([{ cpu: 10 }, { pid: 8, cpu: null, rss: 512 }]))
  const { code, out, err } = await onceOf(t, { pods: () => pods, logs }, ['-o', 'json'])
  t.equal(code, 0, err)
  const [first, second] = JSON.parse(out).lines
  t.match(first, { pod_index: '0', state: 'running' })
  t.match(first.values, { percent_cpu: 10, run_delay: 0.25, throttled: 0.5, rss: 1536 })
  t.match(second.values, { percent_cpu: null, run_delay: null, throttled: null, rss: null })
})

t.test('the exit code is 1 if a log cannot be read, and 2 if no log can be read', async (t) => {
  const gone: ErrorAnswer = { code: 404, message: 'the log is gone' }
  const pods = () => [0, 1].map((index) => pod({ index }))
  const logs = { 'lammps-0-abcde/perf-sysstat': LOG, 'lammps-1-abcde/perf-sysstat': gone }
  const some = await onceOf(t, { pods, logs })
  t.equal(some.code, 1)
  t.match(some.out, /^0 +ended +38\.2/m)
  t.match(some.out, /^1 +ended +- +-/m)
  t.match(some.err, 'the log of hpc/lammps-1-abcde/perf-sysstat cannot be read: the log is gone')
  const none = await onceOf(t, { pods: () => [pod({ index: 1 })], logs })
  t.equal(none.code, 2)
})

t.test('pods that have not started have no values', async (t) => {
  const pods = () => [pod({ index: 0, phase: 'Pending', state: { waiting: {} } })]
  const { code, out } = await onceOf(t, { pods, logs: {} })
  t.equal(code, 0)
  t.match(out, /^0 +no rows yet +- +-/m)
})

t.test('a last timepoint that is still being written is read again', async (t) => {
  const world = runOfPods(1)
  const rows = pressureRows(1, 1.5, 0)
  const cut = rows.indexOf('\n') + 1
  const parts = [pressureRows(0, 1, 0) + rows.slice(0, cut), rows.slice(cut)]
  const answer = world.logs['lammps-0-abcde/pressure']
  let requests = 0
  const logs = {
    ...world.logs,
    'lammps-0-abcde/pressure': ((response, query) => {
      world.pressure[0]?.append(parts[requests] ?? '')
      requests += 1
      answer?.(response, query)
    }) as typeof answer & {},
  }
  const { out } = await onceOf(t, { pods: () => world.pods, logs }, ['-o', 'json'])
  t.equal(requests, 2)
  t.equal(JSON.parse(out).lines[0].values.run_delay, 0.5)
})

t.test('a timepoint that has just begun is not shown', async (t) => {
  const world = runOfPods(1)
  const rows = pressureRows(2, 9, 9)
  const parts = [
    pressureRows(0, 1, 0) + pressureRows(1, 1.5, 0),
    rows.slice(0, rows.indexOf('\n') + 1),
  ]
  const answer = world.logs['lammps-0-abcde/pressure']
  const logs = {
    ...world.logs,
    'lammps-0-abcde/pressure': ((response, query) => {
      world.pressure[0]?.append(parts.shift() ?? '')
      response.setHeader('date', new Date().toUTCString())
      answer?.(response, query)
    }) as typeof answer & {},
  }
  const { out } = await onceOf(t, { pods: () => world.pods, logs }, ['-o', 'json'])
  t.equal(parts.length, 0)
  t.match(JSON.parse(out).lines[0].values, { run_delay: 0.5, throttled: 0 })
})

t.test('there is one moment of waiting for all logs that were just written', async (t) => {
  const { pods, logs: answers, perf } = runOfPods(2)
  for (const log of perf) log.append(timepoint([{ cpu: 10 }]))
  const written = new Date().toUTCString()
  const names: string[] = []
  const logs = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => {
      const atOnce: typeof answer = (response, query) => {
        names.push(name)
        response.setHeader('date', written)
        answer(response, query)
      }
      return [name, atOnce]
    }),
  )
  const { code, err } = await onceOf(t, { pods: () => pods, logs }, ['--parallel', '1'])
  t.equal(code, 0, err)
  t.equal(names.length, 8)
  t.strictSame(names.slice(4), names.slice(0, 4), 'all logs are read before any is read again')
})

t.test('all processes count, although two timepoints are longer than the tail', async (t) => {
  const { pods, logs, pressure } = runOfPods(1)
  for (const second of [0, 10, 20]) {
    const time = new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()
    const rows = Array.from({ length: 2600 }, (_, pid) => {
      const cells = { container: 'app', program: 'lmp', pid, run_delay: second }
      return `${JSON.stringify({ time, section: 'process', ...cells })}\n`
    })
    pressure[0]?.append(rows.join(''))
  }
  const { code, out, err } = await onceOf(t, { pods: () => pods, logs }, ['-o', 'json'])
  t.equal(code, 0, err)
  t.equal(JSON.parse(out).lines[0].values.run_delay, 2600)
})

t.test('the state does not depend on the clock of this machine', async (t) => {
  const { pods, logs, perf, pressure } = runOfPods(1)
  // The clock of the cluster is ten minutes behind, and a minute is between the timepoints.
  pressure[0]?.append(pressureRows(-660, 1, 0) + pressureRows(-600, 1.5, 0))
  perf[0]?.append(timepoint([{ cpu: 10 }]))
  const inPast = Object.fromEntries(
    Object.entries(logs).map(([name, answer]) => {
      const late: typeof answer = (response, query) => {
        response.setHeader('date', new Date(Date.now() - 600_000).toUTCString())
        answer(response, query)
      }
      return [name, late]
    }),
  )
  const { out } = await onceOf(t, { pods: () => pods, logs: inPast }, ['-o', 'json'])
  t.match(JSON.parse(out).lines[0], { state: 'running', silent_seconds: null })
})

t.test('a pod without programs has a line without values', async (t) => {
  const { pods, logs, perf } = runOfPods(2)
  perf[1]?.append(timepoint([{ cpu: 10 }]))
  const words = ['--by', 'program', '--sort', 'pod', '-o', 'json']
  const { out } = await onceOf(t, { pods: () => pods, logs }, words)
  t.match(JSON.parse(out).lines, [
    { pod_index: '0', program: null, state: 'waiting', values: { percent_cpu: null } },
    { pod_index: '1', program: 'lmp', values: { percent_cpu: 10 } },
  ])
})

t.test('hostile names are escaped', async (t) => {
  const { pods, logs, perf } = runOfPods(1)
  perf[0]?.append(timepoint([{ program: HOSTILE, cpu: 20 }]))
  for (const format of ['table', 'json', 'csv']) {
    const words = ['--by', 'program', '-o', format]
    const { code, out } = await onceOf(t, { pods: () => pods, logs }, words)
    t.equal(code, 0)
    t.match(out, 'PWNED', format)
    t.equal(HARMFUL.exec(out)?.[0], undefined, format)
  }
})

const WRONG: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
  'a column that no metric has': [
    ['--column', 'percent_gpu'],
    /no metric of the catalog measures a column percent_gpu; the columns are .*percent_cpu/,
  ],
  'a --sort that is no column': [
    ['--sort', 'speed'],
    /no column speed to sort by; the columns are pod, percent_cpu \(CPU\), percent_wait \(WAIT\)/,
  ],
  'an unknown format': [['-o', 'xml'], /'xml' is invalid.*table, json, csv/],
}

for (const [title, [words, sentence]] of Object.entries(WRONG)) {
  t.test(`${title} is reported`, async (t) => {
    const { code, out, err } = await once(t, ...words)
    t.equal(code, 2)
    t.equal(out, '')
    t.match(err, sentence)
  })
}

t.test('an output format needs --once', async (t) => {
  const { code, err } = await run(['top', 'job/lammps', '-o', 'json'])
  t.equal(code, 2)
  t.match(err, '--output json needs --once')
})

t.test('metrics that the catalog does not describe are named', async (t) => {
  const status = JSON.stringify({ outcome: 'injected', metrics: ['heat'], mode: 'native' })
  const pods = () => [pod({ index: 0, metrics: ['heat'], status, ...RUNNING })]
  const { code, err } = await onceOf(t, { pods, logs: {} })
  t.equal(code, 2)
  t.match(err, 'the catalog describes no column of the observed metrics: heat')
})

t.test('the last timepoint of a log is found before a long summary', async (t) => {
  const programs = Array.from({ length: 200 }, (_, index) => `{"program":"p${index}"}\n`)
  const logs = { 'lammps-0-abcde/perf-sysstat': LOG + programs.join('') }
  const { out } = await onceOf(t, { pods: () => [pod({ index: 0 })], logs })
  t.match(out, /^0 +ended +38\.2 +236\.4/m)
})
