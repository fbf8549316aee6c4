import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Sample } from '../../../src/runs/log/columns.ts'
import { readLog } from '../../../src/runs/log/read.ts'
import { BUILT_IN_ROWS } from '../../src/runs/log/built-in.ts'
import { mismatchesIn } from '../json-rows.ts'
import { networkPodOf, withNetworks } from '../network/pod-network.ts'
import { childrenOf, observer, type Running, until } from '../pod.ts'
import { observerTests, summaryOf, timepointsIn } from '../prerequisites.ts'

// Compares the numbers of vitals with those of perf-sysstat, pressure and network, which observe
// the same processes at the same time. At the end the processes are stopped, so that all observers
// read the same counters. Rates are compared by their sums, because each observer has intervals of
// its own. The loads begin after all observers have seen them, so the sums are about the same time.

const RATE = 0.5
const THREE = ['perf-sysstat', 'pressure', 'network'] as const
const LOAD = fileURLToPath(new URL('load.c', import.meta.url))
const TALK = fileURLToPath(new URL('../network/talk.py', import.meta.url))
const KINDS = ['burn', 'write', 'read', 'switch', 'threads'] as const
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: String(RATE) }
const options = { ...withNetworks(observerTests()), timeout: 800_000 }

/** The sections of vitals, with the metric and the section that measure the same. */
const PLACES = [
  { section: 'process', of: 'perf-sysstat', other: 'process' },
  { section: 'thread', of: 'perf-sysstat', other: 'thread' },
  { section: 'process', of: 'pressure', other: 'process' },
  { section: 'container', of: 'pressure', other: 'container' },
  { section: 'placement', of: 'pressure', other: 'placement' },
  { section: 'interface', of: 'network', other: 'interface' },
  { section: 'tcp', of: 'network', other: 'tcp' },
  { section: 'peer', of: 'network', other: 'socket' },
] as const

/** Columns whose values are amounts of an interval, so that their sum is exact. */
const AMOUNTS = ['usr_ms', 'system_ms', 'guest_ms', 'minflt_nr', 'majflt_nr', 'iodelay']
/** States of the whole machine, and numbers that are read rarely: they differ a little. */
const CHANGING = ['memory_current', 'memory_anon', 'memory_peak', 'migrations', 'pss', 'numa']
/** The seconds for which a load sleeps, so that all observers have seen it before it begins. */
const PAUSE = 3
/** The part by which sums of rates and changing numbers may differ, and the least difference. */
const [PART, MIN] = [0.5, 20]

t.test('vitals measures what the three metrics measure', options, async (t) => {
  const logs = await observe(t)
  for (const { section, of, other } of PLACES) {
    const [own, theirs] = [thingsIn(logs, 'vitals', section), thingsIn(logs, of, other)]
    const loads = [...theirs].filter(([, [row]]) => isCompared(row?.program, of))
    t.ok(loads.length > 0, `${of} has rows of ${section}`)
    for (const [key, rows] of loads)
      compareRows(t, `${section} ${key}`.trim(), own.get(key) ?? [], rows)
  }
  for (const metric of THREE) compareSummaries(t, logs, metric)
})

type Logs = ReadonlyMap<string, Running>

/** Runs the loads and the observers, stops the loads, and returns the logs of the observers. */
async function observe(t: Test): Promise<Logs> {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-vitals-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const kind of KINDS) execFileSync('gcc', ['-O1', '-pthread', '-o', join(folder, kind), LOAD])
  const { run } = await networkPodOf(t)
  const logs = new Map<string, Running>()
  for (const metric of ['vitals', ...THREE] as const) {
    const hasThreads = metric === 'vitals' || metric === 'perf-sysstat'
    const env = hasThreads ? { ...ENV, RIDEALONG_OPTION_THREADS: 'true' } : ENV
    logs.set(metric, await run(metric, [observer(metric)], env))
  }
  const loads = KINDS.map((kind) => `${folder}/${kind} ${kind} ${folder}/${kind}.data ${PAUSE} &`)
  const talks = ['serve 7000 2', 'keep 127.0.0.1 7000 2 3000000 1000000']
  const commands = [...loads, ...talks.map((words) => `python3 ${TALK} ${words} &`)]
  const app = await run('app', ['sh', '-c', `${commands.join(' ')} sleep 600`])
  // The loads run for twelve seconds, so they have not ended when they are stopped.
  await timepoints(logs, 10 + PAUSE / RATE)
  stop(app.pid)
  await timepoints(logs, 4)
  for (const watching of logs.values()) {
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
  }
  t.strictSame(mismatchesIn(logs.get('vitals') as Running, 'vitals'), [])
  return logs
}

/** Waits for more timepoints of each observer. */
async function timepoints(logs: Logs, more: number): Promise<void> {
  const all = [...logs.values()].map((watching) => [watching, countTimepoints(watching)] as const)
  for (const [watching, before] of all)
    await until(watching, () => countTimepoints(watching) >= before + more)
}

function countTimepoints({ log }: Running): number {
  const text = log()
  const marked = timepointsIn(text)
  const times = text.matchAll(/^\{"time":"([^"]*)","section":/gm)
  return marked > 0 ? marked : new Set([...times].map(([, time]) => time)).size
}

/** Stops a process and its descendants. */
function stop(pid: number): void {
  process.kill(pid, 'SIGSTOP')
  for (const child of childrenOf(pid)) if (child > 0) stop(child)
}

const KEYS = ['container', 'program', 'pid', 'tid', 'interface', 'peer'] as const

/** Returns the rows of each thing in a section of a log. */
function thingsIn(logs: Logs, metric: string, section: string): ReadonlyMap<string, Sample[]> {
  const log = logs.get(metric)?.log() ?? ''
  const samples = [...readLog(log, { source: metric }, BUILT_IN_ROWS)].filter(isSample)
  const isOther = metric === 'perf-sysstat'
  const own = samples.filter((one) => (isOther ? one.kind : one.section) === section)
  return Map.groupBy(own, (sample) => KEYS.map((key) => sample[key] ?? '').join(' '))
}

function isSample(entry: { readonly kind: string }): entry is Sample {
  return 'timepoint' in entry
}

/**
 * Reports whether the rows of a program are compared. Rows without a program are. The shell that
 * starts the loads, and talk.py with its launchers, can end between the scans of two observers, but
 * the bytes that talk.py has sent do not change then.
 */
function isCompared(program: Value, metric: string): boolean {
  if (typeof program !== 'string') return true
  const programs: readonly string[] = metric === 'network' ? [...KINDS, 'talk.py'] : KINDS
  return programs.includes(program)
}

function compareRows(
  t: Test,
  what: string,
  own: readonly Sample[],
  theirs: readonly Sample[],
): void {
  const section = BUILT_IN_ROWS.get('vitals')?.sections.find(({ name }) => name === own[0]?.section)
  if (section === undefined) {
    t.fail(`${what} has no rows in vitals`)
    return
  }
  for (const column of section.columns) {
    const { name } = column
    if (theirs.every((row) => !(name in row))) continue
    const reduce = reducerOf(column)
    const [found, expected] = [own, theirs].map((rows) => reduce(rows.map((row) => row[name])))
    const isNear = reduce === total || isChanging(name)
    t.ok(isSame(found, expected, isNear), `${what}: ${name} ${found}, expected ${expected}`)
  }
}

function reducerOf({ name, unit = '' }: { readonly name: string; readonly unit?: string }) {
  if (AMOUNTS.includes(name)) return sum
  const isRate = unit.endsWith('/s') || (name.startsWith('percent_') && name !== 'percent_mem')
  return isRate ? total : last
}

const isChanging = (name: string) => CHANGING.some((changing) => name.startsWith(changing))

type Value = string | number | null | undefined

/** Reports whether values are equal; or numbers similar, and texts both known, with `isNear`. */
function isSame(found: Value, expected: Value, isNear: boolean): boolean {
  if (!isNear) return found === expected
  if (typeof found !== 'number' || typeof expected !== 'number')
    return typeof found === typeof expected
  return Math.abs(found - expected) <= Math.max(PART * expected, MIN)
}

const last = (values: readonly Value[]): Value => values.at(-1)

function sum(values: readonly Value[]): number | null {
  const numbers = values.filter((value) => typeof value === 'number')
  return numbers.length === 0 ? null : numbers.reduce((all, one) => all + one, 0)
}

/** Returns the amount of a rate, without the first value, whose interval can be very short. */
function total([, ...rates]: readonly Value[]): number | null {
  const all = sum(rates)
  return all === null ? null : all * RATE
}

/** Compares the lines of the summary: those of the loads, and those of the containers. */
function compareSummaries(t: Test, logs: Logs, metric: string): void {
  const [own = [], theirs = []] = ['vitals', metric].map((name) => {
    return summaryOf(logs.get(name)?.log() ?? '').slice(1)
  })
  const lines = theirs.filter(({ program }) => isCompared(program, metric))
  t.ok(lines.length > 0, `the summary of ${metric} has lines`)
  for (const line of lines) {
    const same = own.find(
      ({ program, container }) => program === line.program && container === line.container,
    )
    for (const [name, value] of Object.entries(line)) {
      const what = `summary of ${metric}: ${name} of ${line.program ?? line.container}`
      const found = same?.[name]
      t.ok(isSame(found, value, isChanging(name)), `${what} ${found}, expected ${value}`)
    }
  }
}
