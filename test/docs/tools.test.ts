import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { loadCatalog } from '../../src/catalog/load.ts'
import { imagesOf } from '../../src/core/catalog.ts'
import { descriptionsIn } from '../../src/runs/log/descriptions.ts'
import type { Entry } from '../../src/runs/log/entry.ts'
import { readLog } from '../../src/runs/log/read.ts'
import { answerIn, podOf } from '../src/core/build.ts'
import { REPOSITORY, textOf } from './pages.ts'

// Tests of the examples of tools in docs/examples/tools. Their images are not run.

const FOLDER = join(REPOSITORY, 'docs/examples/tools')
const NAMES = ['darshan', 'hpctoolkit', 'mpitrace']
const catalog = await loadCatalog({ folder: FOLDER })

t.test('the examples are valid metrics with a tool, and say that they were not run', async (t) => {
  for (const name of NAMES) {
    const metric = catalog.metrics.get(name)
    t.ok(metric?.tool, `${name} has a tool`)
    const images = metric === undefined ? [] : imagesOf(metric)
    t.match(images, [/^ghcr\.io\/converged-computing\/metric-/, /:\w+$/])
    t.match(textOf(`docs/examples/tools/${name}.yaml`), /^# An example that was not run: /)
    t.match(textOf('docs/tools.md'), `(examples/tools/${name}.yaml)`)
  }
})

t.test('each example is added to a pod in a namespace that allows tools', async (t) => {
  for (const name of NAMES) {
    const pod = podOf({ 'ridealong.dev/inject': name })
    const allowed = answerIn({ catalog, labels: { 'ridealong.dev/tools': 'true' } }, pod)
    t.match(allowed.decision, { outcome: 'injected' }, name)
    t.match(answerIn({ catalog }, pod).decision, { reason: 'tools-not-allowed' })
  }
})

/** Lines of a file of mpitrace, from an example of the Metrics Operator. */
const PROFILE = `Data for MPI rank 1 of 4:
Times from MPI_Init() to MPI_Finalize().
-----------------------------------------------------------------------
MPI Routine                        #calls     avg. bytes      time(sec)
-----------------------------------------------------------------------
MPI_Comm_rank                          10            0.0          0.000
MPI_Send                            20560         9788.2          0.017
MPI_Wait                            20560            0.0          1.601
-----------------------------------------------------------------------
total communication time = 1.633 seconds.

MPI_Send                  #calls    avg. bytes      time(sec)
                               8           0.0          0.000
                            9870        2541.4          0.003
`

/** A run of the script of an example's observer. */
interface ObserverRun {
  /** The files of the results, by name. */
  readonly files: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** Stand-ins for programs of the image: shell scripts by name. */
  readonly programs?: Readonly<Record<string, string>>
  /** The text in the log after which the script gets SIGTERM. */
  readonly until?: string
}

/** Runs the script of an example's observer, and returns its log. */
async function observed(t: Test, name: string, run: ObserverRun): Promise<string> {
  const { files, env, programs = {}, until = 'COLLECTION START\n' } = run
  const folder = t.testdir({ results: { ...files }, bin: {} })
  for (const [program, script] of Object.entries(programs))
    writeFileSync(join(folder, 'bin', program), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const { spec } = parse(textOf(`docs/examples/tools/${name}.yaml`))
  const [program = '', ...words] = spec.container.command
  const { PATH } = process.env
  const own = { PATH: `${join(folder, 'bin')}:${PATH}`, RESULTS: join(folder, 'results') }
  const child = spawn(program, [...words, ...spec.container.args], {
    env: { ...own, RIDEALONG_MODE: 'native', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  let log = ''
  for await (const part of child.stdout.setEncoding('utf8')) {
    log += part
    if (log.includes(until)) child.kill('SIGTERM')
  }
  t.strictSame(await closed, [0, null])
  return log
}

/** Reads the rows of a log as the description of the metric says. */
function rowsOf(t: Test, name: string, log: string): readonly Entry[] {
  const entries = readLog(log, { source: `${name}.log` }, descriptionsIn(catalog))
  t.match(
    entries.filter(({ kind }) => kind === 'log'),
    [{ cuts: [] }],
  )
  t.notOk(
    entries.some(({ kind }) => kind === 'unmatched'),
    'every row matches the description',
  )
  return entries.filter(({ kind }) => kind === 'pod')
}

t.test('the observer of mpitrace prints a row for each rank and MPI function', async (t) => {
  const files = { 'mpi_profile.114.1': PROFILE, other: 'x' }
  const rows = rowsOf(t, 'mpitrace', await observed(t, 'mpitrace', { files }))
  t.equal(rows.length, 3)
  t.match(rows, [
    { mpi_rank: 1, call: 'MPI_Comm_rank', calls: 10, mean_bytes: 0, call_seconds: 0 },
    { mpi_rank: 1, call: 'MPI_Send', calls: 20560, mean_bytes: 9788.2, call_seconds: 0.017 },
    { mpi_rank: 1, call: 'MPI_Wait', calls: 20560, mean_bytes: 0, call_seconds: 1.601 },
  ])
})

t.test('the observer of darshan prints a row for each total of darshan-parser', async (t) => {
  const programs = { 'darshan-parser': 'echo "# a log"; echo "total_POSIX_OPENS: 16"' }
  const log = await observed(t, 'darshan', { files: { 'a.darshan': '' }, programs })
  const rows = rowsOf(t, 'darshan', log)
  t.equal(rows.length, 1)
  t.match(rows, [{ log: 'a.darshan', counter: 'POSIX_OPENS', value: 16 }])
})

t.test('the observer of hpctoolkit lists the files, and empties large files', async (t) => {
  const files = { 'a-000.hpcrun': 'x'.repeat(8192) }
  const roomy = { RIDEALONG_TOOL_SIZE_LIMIT: `${2 ** 30}` }
  const whole = await observed(t, 'hpctoolkit', { files, env: roomy })
  t.match(rowsOf(t, 'hpctoolkit', whole), [{ file: 'a-000.hpcrun', bytes: 8192 }])
  const small = { RIDEALONG_TOOL_SIZE_LIMIT: '8192' }
  const until = '"notice":"the measurements were deleted'
  const cut = await observed(t, 'hpctoolkit', { files, env: small, until })
  t.match(rowsOf(t, 'hpctoolkit', cut), [{ file: 'a-000.hpcrun', bytes: 0 }])
})
