import t from 'tap'
import { convertRun } from '../../../../src/runs/convert/convert.ts'
import type { CollectedRun } from '../../../../src/runs/report/gather.ts'
import { recordedRun } from './recorded.ts'
import { secondsIn, showInSpeedscope } from './speedscope-viewer.ts'

interface ShownEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur: number
  readonly args: Readonly<Record<string, number>>
}

function partsOf(run: CollectedRun): readonly string[] {
  return [...convertRun(run, 'chrome-trace', 'ridealong 1.0').parts].map(String)
}

function eventsOf(run: CollectedRun): readonly ShownEvent[] {
  return JSON.parse(partsOf(run).join('')).traceEvents
}

/** Returns the names of the processes of a trace, by pid. */
function namesOf(events: readonly ShownEvent[]): ReadonlyMap<number, unknown> {
  const named = events.filter(({ name }) => name === 'process_name')
  return new Map(named.map(({ pid, args }) => [pid, args.name]))
}

t.test('speedscope shows the slices of each process of MPI', async (t) => {
  const run = recordedRun('all-metrics')
  const events = eventsOf(run)
  const names = namesOf(events)
  const threads = events.filter(({ name }) => name === 'thread_name')
  t.equal(threads.length, 2)
  const shown = await showInSpeedscope(t, 'run.trace.json', partsOf(run).join(''), 2)
  for (const [index, { pid, tid, args }] of threads.entries()) {
    const { title, functions } = shown[index] ?? { title: '', functions: [] }
    t.equal(title, `${names.get(pid)} (pid ${pid}), ${args.name} (tid ${tid}) (${index + 1}/2)`)
    const slices = events.filter((event) => event.ph === 'X' && event.tid === tid)
    const longest = Math.max(...slices.map(({ dur }) => dur)) / 1e6
    t.ok(Math.abs(secondsIn(functions[0]?.self ?? '') - longest) <= 0.005)
    t.match(functions[0]?.name, /^\d+ % in MPI \{"mpi_seconds":/)
  }
})
