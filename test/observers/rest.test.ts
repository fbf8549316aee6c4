import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { observer, podOf, until } from './pod.ts'
import { observerTests, parse, type Row, summaryOf, timepointsIn } from './prerequisites.ts'

// Tests that the observer notices every change of a process that sleeps most of the time.

const RATE = 0.3
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: String(RATE) }

/**
 * Waits for SIGUSR1. Then computes, allocates memory, opens files, starts a thread and writes a
 * little. Between these steps, the program sleeps for ten intervals.
 */
const IN_TURNS = `
import os, signal, sys, threading, time
def rest(): time.sleep(10 * ${RATE})
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print('started', flush=True)
signal.sigwait([signal.SIGUSR1])
begun = time.process_time()
while time.process_time() < begun + 0.3: pass
rest()
memory = bytearray(64 << 20)
for at in range(0, len(memory), 4096): memory[at] = 1
rest()
files = [open('/dev/null') for _ in range(10)]
rest()
threading.Thread(target=rest).start()
rest()
rest()
with open(sys.argv[1], 'wb') as file:
    for _ in range(20):
        os.write(file.fileno(), bytes(65536))
        os.fsync(file.fileno())
        time.sleep(${RATE})
print('ran', time.process_time() - begun, flush=True)
time.sleep(600)`

t.test('all changes of a process that mostly sleeps are in the log', observerTests(), async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-rest-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { run } = await podOf(t)
  const app = await run('app', ['python3', '-c', IN_TURNS, join(folder, 'data')])
  await until(app, /^started/m)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV)
  await until(watching, () => timepointsIn(watching.log()) >= 3)
  app.signal('SIGUSR1')
  await until(app, /^ran /m)
  const last = timepointsIn(watching.log()) + 3
  await until(watching, () => timepointsIn(watching.log()) >= last)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const { data } = parse('perf-sysstat', watching.log())
  const program = summaryOf(watching.log()).find(({ program }) => program === 'python3') ?? {}
  const column: Column = (section, key) =>
    data
      .flatMap((timepoint) => timepoint[section] ?? [])
      .filter((row) => row.program === 'python3')
      .map((row) => Number(row[key]))
  hasTimes(t, column, Number(/^ran ([0-9.]+)/m.exec(app.log())?.[1]) * 1000)
  hasMemory(t, column, program)
  hasFilesAndThreads(t, column)
  hasWrites(t, column, program)
})

/** Returns the values of a column in the rows of the program. */
type Column = (section: string, key: string) => readonly number[]

/** @param said the milliseconds for which the program computed, as it says */
function hasTimes(t: Test, column: Column, said: number): void {
  // The first row includes the start of the program.
  const ran = ['usr_ms', 'system_ms'].map((key) => column('cpu_statistics_child', key).slice(1))
  t.ok(Math.abs(sum(...ran) - said) <= 30, `observer: ${sum(...ran)} ms, program: ${said} ms`)
  const shares = column('cpu_statistics_task', 'percent_cpu')
  const slept = shares.filter((share) => share === 0)
  t.ok(slept.length > shares.length / 2, `the program slept in most intervals: ${shares}`)
}

function hasMemory(t: Test, column: Column, program: Row): void {
  const shares = column('cpu_statistics_task', 'percent_cpu')
  const resident = column('pagefaults_task', 'rss')
  const growth = resident.findIndex((kibibytes) => kibibytes >= Number(resident[0]) + 60_000)
  t.ok(growth > 0, `the resident memory grew: ${resident}`)
  t.ok(
    shares.slice(1, growth - 2).some((share) => share > 0),
    'the program computed before it allocated memory',
  )
  t.ok(Number(program.peak_rss_kib) >= Math.max(...resident))
  const faults = column('pagefaults_child', 'minflt_nr')
  const isRight = Number(faults[growth]) > 0 && faults.at(-1) === 0
  t.ok(isRight, `the growth caused page faults, and the end did not: ${faults}`)
}

function hasFilesAndThreads(t: Test, column: Column): void {
  const files = column('kernel_tables', 'fd_nr')
  t.ok(files.includes(Number(files[1]) + 10), `ten files were opened: ${files}`)
  t.match(column('kernel_tables', 'threads').join(''), /^1+2+1+$/)
}

function hasWrites(t: Test, column: Column, program: Row): void {
  const written = column('io_statistics', 'kb_wr_s')
  const writing = written.filter((rate) => rate > 0)
  t.ok(writing.length >= 8, `at least 8 intervals have written bytes: ${written}`)
  t.equal(written.at(-1), 0)
  // On a busy machine, intervals are longer, so that the rates are lower.
  const [said, bytes] = [sum(written) * RATE * 1024, Number(program.bytes_written)]
  t.ok(said >= bytes / 2 && said <= 1.25 * bytes, `${said} of ${bytes} bytes`)
  t.ok(Number(program.bytes_written) >= 20 * 65_536)
}

t.test(
  'the row of a process names the processor on which the process now runs',
  { skip: availableParallelism() < 2 ? 'the test needs two processors' : observerTests().skip },
  async (t) => {
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV)
    const app = await run('app', ['python3', '-c', 'import time\nwhile True: time.sleep(0.05)'])
    for (const processor of [0, 1, 0]) {
      execFileSync('taskset', ['-cp', String(processor), String(app.pid)])
      const before = rowsOf(watching.log()).length
      await until(watching, () => rowsOf(watching.log()).length >= before + 3)
      t.equal(rowsOf(watching.log()).at(-1)?.cpu, processor)
    }
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
  },
)

/** Returns the CPU rows of python3. Before python3 starts, its process runs a shell. */
function rowsOf(log: string): readonly Row[] {
  const lines = [...log.matchAll(/^CPU STATISTICS TASK\n(\[.*\])\n/gm)]
  const rows: readonly Row[] = lines.flatMap(([, list = '']) => JSON.parse(list))
  return rows.filter(({ program }) => program === 'python3')
}

function sum(...columns: readonly (readonly number[])[]): number {
  return columns.flat().reduce((total, number) => total + number, 0)
}
