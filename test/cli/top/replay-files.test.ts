import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { run } from '../command.ts'
import { openTerminal } from './terminal.ts'

// `top` with recorded logs. No cluster is asked.

const LOGS = fileURLToPath(new URL('../../logs/', import.meta.url))
const DEMO = fileURLToPath(new URL('../../demo/recordings/', import.meta.url))
const RUN = join(LOGS, 'all-metrics')
const THROTTLED = ['perf-sysstat', 'pressure'].map((metric) => {
  return join(LOGS, 'findings', `${metric}-throttled.log`)
})

t.test('the end of recorded logs is written at once, with the verdict', async (t) => {
  const { code, out, err } = await run(['top', ...THROTTLED, '-o', 'json'])
  t.equal(code, 0, err)
  const { apiVersion, kind, verdict, efficiency, lines } = JSON.parse(out)
  t.strictSame([apiVersion, kind], ['ridealong.dev/v1alpha1', 'Top'])
  t.match(
    verdict,
    /^Took 19 s on 1 pod\. Efficiency at most 0\.20: the CPU limit kept threads from running/,
  )
  t.match(efficiency, { basis: 'processors', size: 1, job: null })
  t.match(efficiency.factors, [
    { name: 'efficiency', of: null },
    { name: 'platform', of: 'efficiency' },
    { name: 'storage' },
    { name: 'activity' },
  ])
  t.equal(efficiency.pods, undefined, 'the lines have the pods')
  t.match(lines, [{ pod_index: '1', state: 'ended', findings: ['throttled'] }])
})

/** No row says for how long storage was waited for. */
const FACTORS = ['load balance 0.99', 'communication and platform 0.10', 'activity 1.00']
const EFFICIENCY = `Efficiency 0.10 = ${FACTORS.join(' × ')} (known factors only)\n`

t.test('a folder is read; the table and the CSV have the findings', async (t) => {
  const table = await run(['top', RUN, '--sort', 'pod'])
  t.equal(table.code, 0, table.err)
  t.match(table.out, /^Took 34\.5 s on 2 MPI ranks in 2 pods\. Efficiency 0\.10: /)
  t.match(table.out, EFFICIENCY)
  t.match(
    table.out,
    /^ {2}Communication and platform 0\.10 = communication 0\.60 × platform 0\.16$/m,
  )
  t.match(table.out, /^0 +ended +waiting-for-cpu .*\n1 +ended +waiting-for-cpu /m)
  const csv = await run(['top', RUN, '--sort', 'pod', '-o', 'csv'])
  t.match(csv.out, /^0,.*,ended,,,waiting-for-cpu much-time-in-mpi,/m)
})

t.test('in a terminal, the rows are shown one timepoint after another', async (t) => {
  const terminal = await openTerminal(t, ['top', RUN, '--speed', '1.5'])
  const during = await terminal.shows(/^Has taken \d+ s so far on 2 MPI ranks in 2 pods\./m)
  t.match(during, /^all-metrics, \d+ s of the 36 s of its rows \(1\.5 times as fast\): 2 pods/m)
  t.match(during, /^0 +running /m)
  terminal.press('q')
  await terminal.end()
})

t.test('the end of a replay stays on the screen', async (t) => {
  const terminal = await openTerminal(t, ['top', RUN, '--speed', '1000'])
  const end = await terminal.shows(/^Took 34\.5 s on 2 MPI ranks in 2 pods\./m)
  t.match(end, /, 36 s of the 36 s of its rows .*: 2 pods, 2 ended$/m)
  t.match(end, EFFICIENCY)
  t.match(end, /^[01] +ended +waiting-for-cpu /m)
  terminal.press('q')
  await terminal.end()
})

const WRONG: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
  'a word that is neither a workload nor a file': [
    ['lammps'],
    /there is no file or folder lammps; a run of the cluster is KIND\/NAME, such as job\/lammps,/,
  ],
  'a missing file': [['./job/lammps'], /there is no file or folder \.\/job\/lammps; /],
  'a misspelt kind': [['jobb/a'], /there is no file or folder jobb\/a \(did you mean job\?\); /],
  'several workloads': [
    ['job/a', 'job/b'],
    /top shows one run at a time, for example job\/a; compare shows several/,
  ],
  'a file of another kind': [['package.json'], /neither the log of an observer nor the output/],
  'a folder without logs': [
    ['cli/top'],
    /cli\/top has no logs: the folder of a run has files such as POD\.CONTAINER\.jsonl/,
  ],
  'an option about pods': [
    [RUN, '-l', 'a=b'],
    /--selector chooses pods of a cluster, but .* files/,
  ],
  'a cluster for a stored run': [
    ['run/melt-1', '-n', 'hpc', '--context', 'lab'],
    /--context chooses pods of a cluster, but the argument is a stored run/,
  ],
  'a speed of 0': [[RUN, '--speed', '0'], /It must be a number above 0, such as 10 or 0\.5/],
  'a speed for a workload': [['job/a', '--speed', '2'], /--speed is for recorded logs/],
  'an unknown column': [
    [RUN, '--column', 'speed'],
    /no metric of the catalog measures a column speed/,
  ],
  'an unknown column to sort by': [[RUN, '--sort', 'speed'], /there is no column speed to sort by/],
}

for (const [title, [words, sentence]] of Object.entries(WRONG)) {
  t.test(`${title} is reported`, async (t) => {
    const { code, out, err } = await run(['top', ...words])
    t.equal(code, 2)
    t.equal(out, '')
    t.match(err, sentence)
  })
}

t.test('rows that no metric of the catalog describes are named', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-replay-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'heat.log')
  const head = 'METADATA START {"metricName":"heat"}\nMETADATA END\n'
  writeFileSync(file, `${head}METRICS OPERATOR COLLECTION START\n{"time":"2026-01-01T10:00:00Z"}\n`)
  const { code, err } = await run(['top', file])
  t.equal(code, 2)
  t.match(err, 'the catalog describes no column of the observed metrics: heat')
})

/** Returns the logs of a folder whose names match. */
function logsIn(folder: string, pattern = /\.log$/): readonly string[] {
  const path = join(LOGS, folder)
  return readdirSync(path).flatMap((name) => (pattern.test(name) ? join(path, name) : []))
}

const SITUATIONS = ['crowded', 'healthy', 'lammps', 'memory', 'storage', 'throttled']
const JOBS = ['balanced', 'collective', 'even', 'imbalanced', 'resumed']

/** All recordings of the tests. */
const RECORDINGS: Readonly<Record<string, readonly string[]>> = {
  'all metrics': logsIn('all-metrics'),
  'a hang in Python': logsIn('nccl-python'),
  'nothing held it up': logsIn('well'),
  'a load that comes and goes': logsIn('top'),
  'profiles of functions': logsIn('profiles'),
  'a deadlock of MPI': [join(DEMO, 'hang')],
  'uneven work': [join(DEMO, 'lammps')],
  ...Object.fromEntries(logsIn('.').map((path) => [basename(path), [path]] as const)),
  ...Object.fromEntries(
    SITUATIONS.map((name) => [name, logsIn('findings', new RegExp(`-${name}\\.log$`))] as const),
  ),
  ...Object.fromEntries(
    JOBS.map((name) => [`mpi ${name}`, logsIn('mpi', new RegExp(`-${name}(-.)?\\.log$`))] as const),
  ),
}

interface Finding {
  readonly rule: string
  readonly sentence: string
  readonly pods: readonly { readonly podIndex: string }[]
}

async function read(verb: 'report' | 'top', files: readonly string[]) {
  const { code, out, err } = await run([verb, ...files, '-o', 'json'])
  if (code !== 0) throw new Error(err)
  return JSON.parse(out)
}

for (const [title, files] of Object.entries(RECORDINGS)) {
  t.test(`report and top say the same: ${title}`, async (t) => {
    const report = await read('report', files)
    const top = await read('top', files)
    const { processes: _, pods: __, omitted: ___, ...efficiency } = report.efficiency
    t.strictSame([top.verdict, top.efficiency], [report.verdict, efficiency])
    const findings: readonly Finding[] = report.findings
    const about = (pod_index: string) =>
      findings.filter(({ pods }) => pods.some(({ podIndex }) => podIndex === pod_index))
    t.ok(top.lines.length > 0)
    for (const line of top.lines) {
      const own = about(line.pod_index)
      t.strictSame(
        line.findings,
        own.map(({ rule }) => rule),
        `pod ${line.pod_index}`,
      )
      const stuck = own.filter(({ rule }) => rule === 'no-progress')
      t.equal(line.no_progress ?? '', stuck.map(({ sentence }) => sentence).join(' '))
    }
  })
}
