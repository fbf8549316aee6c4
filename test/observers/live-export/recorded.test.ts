import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { NOT_RECORDED } from '../../metrics/recorded.ts'
import { subsetsOf } from '../../properties/subsets.ts'
import { observer } from '../pod.ts'
import { observerTests } from '../prerequisites.ts'
import { exporting, type Point, receive, variablesOf } from './receiver.ts'

// The live export of a recorded run that the built-in metrics observed (test/logs/all-metrics):
// whichever of them are injected, each quantity arrives once, as its metric exports it alone.

const FOLDER = new URL('../../logs/all-metrics/', import.meta.url)
const CATALOG = await loadCatalog({})
const NAMES = [...CATALOG.metrics.keys()].filter((name) => !NOT_RECORDED.includes(name))
const exportingTo = (endpoint: string) => exporting(CATALOG, { endpoint, interval: 1 })

function logOf(metric: string): string {
  const name = readdirSync(FOLDER).find((file) => file.endsWith(`-0.${metric}.log`))
  return readFileSync(new URL(name ?? '', FOLDER), 'utf8')
}

/** Pushes a whole log, and returns the last point of each series. */
async function push(t: Test, metric: string, rows: string): Promise<ReadonlyMap<string, Point>> {
  const receiver = await receive(t)
  const env = variablesOf([metric], exportingTo(receiver.endpoint)).get(metric)
  const pusher = spawn(observer('push'), [], {
    env: { ...env, RIDEALONG_OTLP_ROWS: rows },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = once(pusher, 'exit')
  pusher.stdin.end(logOf(metric))
  await ended
  const series = receiver.points().map((point) => [seriesOf(point), point] as const)
  await receiver.close()
  return new Map(series)
}

const seriesOf = ({ name, attributes }: Point) =>
  JSON.stringify([name, Object.entries(attributes).sort()])

type Series = ReadonlyMap<string, Point>

/** Returns what each observer of a pod exports, without a second push of the same rows. */
async function exportedWith(
  t: Test,
  names: readonly string[],
  pushed: Map<string, Series>,
): Promise<readonly (readonly [string, Series])[]> {
  const exported: (readonly [string, Series])[] = []
  for (const [metric, env] of variablesOf(names, exportingTo('http://localhost:1'))) {
    const rows = env.RIDEALONG_OTLP_ROWS ?? ''
    const points = pushed.get(rows) ?? (await push(t, metric, rows))
    pushed.set(rows, points)
    exported.push([metric, points])
  }
  return exported
}

t.test('each quantity of a recorded run arrives once', observerTests(), async (t) => {
  const pushed = new Map<string, Series>()
  const alone = new Map<string, Series>()
  for (const name of NAMES)
    for (const [metric, points] of await exportedWith(t, [name], pushed)) alone.set(metric, points)
  for (const names of subsetsOf(NAMES)) {
    const exported = await exportedWith(t, names, pushed)
    arrivesOnce(t, names, exported, alone)
  }
  const cpu = [...(alone.get('perf-sysstat')?.keys() ?? [])].filter((series) => {
    return series.includes('process.cpu.time') && series.includes('"lmp"')
  })
  t.equal(cpu.length, 1, 'the CPU time of LAMMPS is among them')
})

/** Verifies that no series arrives twice, that none of OpenTelemetry is lost, and the values. */
function arrivesOnce(
  t: Test,
  names: readonly string[],
  exported: readonly (readonly [string, Series])[],
  alone: ReadonlyMap<string, Series>,
): void {
  const all = exported.flatMap(([metric, points]) =>
    [...points].map(([series, { value }]) => ({ metric, series, value })),
  )
  const seen = new Set(all.map(({ series }) => series))
  t.equal(seen.size, all.length, `${names.join()}: no series arrives twice`)
  const other = all.filter(({ metric, series, value }) => {
    return alone.get(metric)?.get(series)?.value !== value
  })
  t.strictSame(other, [], `${names.join()}: the values are those of each metric alone`)
  const known = names.flatMap((name) => [...(alone.get(name)?.keys() ?? [])])
  const lost = known.filter((series) => !series.startsWith('["ridealong.') && !seen.has(series))
  t.strictSame(lost, [], `${names.join()}: no quantity is lost`)
}
