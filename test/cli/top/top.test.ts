import t, { type Test } from 'tap'
import { pod } from '../../src/runs/collect/pod.ts'
import { growingLog } from '../../stand-ins/growing-log.ts'
import { standIn } from '../../stand-ins/pod-logs.ts'
import { run } from '../command.ts'
import { RUNNING } from './run-of-pods.ts'
import { openTerminal } from './terminal.ts'

// `top` while a job of MPI hangs. The rows are inputs, whose numbers a test chooses; the tests of
// mpi-trace compare what `top` says with real jobs.

const SIZE = 3
const HEAD = `METADATA START {"metricName":"mpi-trace","metricOptions":{"rate":10}}
METADATA END
METRICS OPERATOR COLLECTION START
`

type Shape = 'waits' | 'sleeps' | 'moves'

/** The rows of a process at a second: in its sixth collective call since second 20, or in none. */
function rowsAt(second: number, rank: number, shape: Shape, begin: number): string {
  const time = new Date(begin + second * 1000).toISOString()
  const own = { container: 'app', program: 'lmp', pid: 7, mpi_rank: rank }
  const since = shape === 'moves' ? second - 0.1 : 20
  const isOpen = shape === 'waits'
  const call = isOpen ? { call: 'MPI_Allreduce', communicator: 'world', number: 6 } : {}
  const state = { process_state: isOpen ? 'running' : 'sleeping', cpu_time: isOpen ? second : 1 }
  const open = { mpi_size: SIZE, job: '7', thread: 1, since, elapsed: second, longest_gap: 0.5 }
  const begun = shape === 'moves' ? second : isOpen ? 6 : 5
  const rows = [
    { time, section: 'open', ...own, ...open, ...call, ...state },
    { time, section: 'progress', ...own, communicator: 'world', size: SIZE, begun },
  ]
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}

/**
 * A run of three pods with one process each. The logs of mpi-trace grow.
 *
 * @param begin the time of MPI_Init, in milliseconds since 1970
 */
function hangingRun(begin = Date.now()) {
  const indexes = Array.from({ length: SIZE }, (_, index) => index)
  const metrics = ['perf-sysstat', 'mpi-trace']
  const pods = indexes.map((index) => pod({ index, metrics, ...RUNNING }))
  const own = indexes.map(() => growingLog(HEAD))
  const others = indexes.map(() => growingLog(''))
  const logs = Object.fromEntries(
    indexes.flatMap((index) => [
      [`lammps-${index}-abcde/mpi-trace`, own[index]?.answer],
      [`lammps-${index}-abcde/perf-sysstat`, others[index]?.answer],
    ]),
  )
  const append = (second: number, shapes: readonly Shape[] = ['waits', 'waits', 'sleeps']) => {
    for (const [index, shape] of shapes.entries())
      own[index]?.append(rowsAt(second, index, shape, begin))
  }
  return { world: { pods: () => pods, logs }, append }
}

const SENTENCE =
  'For 20 s, MPI ranks 0-1 wait in MPI_Allreduce number 6 on MPI_COMM_WORLD. ' +
  'MPI rank 2 has not come: it sleeps in a system call.'

async function once(t: Test, { world }: ReturnType<typeof hangingRun>, ...words: string[]) {
  const { kubeconfig } = await standIn(t, world as Parameters<typeof standIn>[1])
  const ended = await run(['top', 'job/lammps', '--once', '--kubeconfig', kubeconfig, ...words])
  t.equal(ended.code, 0, ended.err)
  return ended.out
}

t.test('a job that hangs is described above the table', async (t) => {
  const hanging = hangingRun()
  for (const second of [20, 30, 40]) hanging.append(second)
  const [first, second, third] = (await once(t, hanging)).split('\n')
  t.equal(first, SENTENCE)
  t.match(second, /^The last 20 s on 3 pods; it makes no progress\. The efficiency is not known/)
  t.equal(third, '')
})

t.test('JSON and CSV have the sentence in the lines of the pods that it is about', async (t) => {
  const hanging = hangingRun()
  for (const second of [20, 30, 40]) hanging.append(second)
  const { lines } = JSON.parse(await once(t, hanging, '-o', 'json', '--sort', 'pod'))
  t.strictSame(
    lines.map((line: { readonly no_progress: unknown }) => line.no_progress),
    [SENTENCE, SENTENCE, SENTENCE],
  )
  t.strictSame(
    lines.map((line: { readonly findings: unknown }) => line.findings),
    [['no-progress'], ['no-progress'], ['no-progress']],
  )
  t.match(await once(t, hanging, '-o', 'csv'), `waiting,,"${SENTENCE}",no-progress,`)
})

t.test('a process must wait for ten seconds, and at two timepoints', async (t) => {
  const hanging = hangingRun()
  hanging.append(20)
  t.notMatch(await once(t, hanging), /MPI_Allreduce/)
  hanging.append(29)
  t.notMatch(await once(t, hanging), /MPI_Allreduce/)
})

t.test('rows that do not arrive say nothing', async (t) => {
  const hanging = hangingRun(Date.now() - 120_000)
  for (const second of [20, 30, 40]) hanging.append(second)
  t.notMatch(await once(t, hanging), /MPI_Allreduce/)
})

t.test('the description appears while the job hangs, and goes when it moves', async (t) => {
  const { world, append } = hangingRun()
  const { kubeconfig } = await standIn(t, world as Parameters<typeof standIn>[1])
  const words = ['top', 'job/lammps', '--kubeconfig', kubeconfig]
  const terminal = await openTerminal(t, words, { columns: 70, rows: 20 })
  append(20)
  await terminal.shows(/^POD +STATE/m)
  t.notMatch((await terminal.screen()).join('\n'), /MPI_Allreduce/)
  append(30)
  await terminal.shows(/^For 10 s/m)
  append(40)
  const screen = (await terminal.shows(/^For 20 s/m)).split('\n')
  const head = screen.findIndex((line) => line.startsWith('For'))
  const table = screen.findIndex((line) => line.startsWith('POD'))
  const above = screen.slice(head, table - 1).join(' ')
  t.ok(above.startsWith(`${SENTENCE} The last`), 'the lines fit into the terminal')
  t.match(screen.slice(table + 1), [/^0 /, /^1 /, /^2 /])
  append(50, ['moves', 'moves', 'moves'])
  const after = await terminal.shows(/^job\/lammps in hpc.*\nThe last/m)
  t.notMatch(after, /MPI_Allreduce/)
  terminal.press('q')
  t.equal((await terminal.end()).code, 0)
})
