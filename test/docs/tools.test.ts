import { readdirSync } from 'node:fs'
import t from 'tap'
import { imagesOf } from '../../src/core/catalog.ts'
import { answerIn, podOf } from '../src/core/build.ts'
import { COMMUNICATOR, COPY, HEADER, ROW, ROWS } from '../tools/mpi/trace-file.ts'
import { catalog, EXAMPLES, observed, rowsOf } from './example-observer.ts'
import { textOf } from './pages.ts'

// Tests of the examples of tools in docs/examples/tools. Their images are not run. The tests of
// jvm-profile, whose tool is run, are in test/tools/jvm.

const NAMES = ['darshan', 'hpctoolkit', 'mpitrace']

t.test('the examples are valid metrics with a tool, and say that they were not run', async (t) => {
  t.strictSame(
    readdirSync(EXAMPLES).sort(),
    [...NAMES, 'jvm-profile'].sort().map((name) => `${name}.yaml`),
  )
  for (const name of NAMES) {
    const metric = catalog.metrics.get(name)
    t.ok(metric?.tool, `${name} has a tool`)
    const images = metric === undefined ? [] : imagesOf(metric)
    t.match(images, [/^ghcr\.io\/converged-computing\/metric-/, /:\w+$/])
    t.match(textOf(`docs/examples/tools/${name}.yaml`), /^# An example that was not run: /)
    t.match(textOf('docs/metrics/own-tool.md'), `(../examples/tools/${name}.yaml)`)
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

/** Returns the parts of a table of offsets, and where the last one ends. */
function readOffsets(table: string) {
  const rows = [...table.matchAll(/^\| (\d+) \| ([^|]+) \|/gm)]
  const parts = rows.map(([, offset, sizes = '']) => {
    const products = sizes.split(', ').map((product) => product.split(' × ').map(Number))
    const bytes = products.map((factors) => factors.reduce((one, other) => one * other))
    return { offset: Number(offset), bytes: bytes.reduce((sum, more) => sum + more) }
  })
  const end = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  return { offsets: parts.map(({ offset }) => offset), parts, end }
}

t.test('the tables of the file of mpi-trace have the offsets of its reader', async (t) => {
  const [, text = ''] = textOf('docs/metrics/tools.md').split('**mpi-trace.** The file')
  const tables = text.split('| offset ').slice(1, 4).map(readOffsets)
  for (const { parts, offsets } of tables) {
    const ends = parts.map((_, at) => parts.slice(0, at).reduce((sum, part) => sum + part.bytes, 0))
    t.strictSame(offsets, ends, 'there is no gap')
  }
  t.strictSame(tables[0]?.offsets.slice(-2), [HEADER, ROWS])
  t.strictSame(
    tables.map(({ end }) => end),
    [ROWS + 1024 * ROW, COMMUNICATOR, ROW],
  )
  t.match(text, `offset ${COPY}.`)
})
