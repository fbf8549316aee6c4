import t from 'tap'
import { eventsOf, namesOf, traceParts } from './converted.ts'
import { recordedRun } from './recorded.ts'
import { secondsIn, showInSpeedscope } from './speedscope-viewer.ts'

t.test('speedscope shows the slices of each process of MPI', async (t) => {
  const run = recordedRun('all-metrics')
  const events = eventsOf(run)
  const names = namesOf(events)
  const threads = events.filter(({ name }) => name === 'thread_name')
  t.equal(threads.length, 2)
  const shown = await showInSpeedscope(t, 'run.trace.json', traceParts(run).join(''), 2)
  for (const [index, { pid, tid, args }] of threads.entries()) {
    const { title, functions } = shown[index] ?? { title: '', functions: [] }
    t.equal(title, `${names.get(pid)} (pid ${pid}), ${args.name} (tid ${tid}) (${index + 1}/2)`)
    const slices = events.filter((event) => event.ph === 'X' && event.tid === tid)
    const longest = Math.max(...slices.map(({ dur }) => dur)) / 1e6
    t.ok(Math.abs(secondsIn(functions[0]?.self ?? '') - longest) <= 0.005)
    t.match(functions[0]?.name, /^\d+ % in MPI \{"mpi_seconds":/)
  }
})
