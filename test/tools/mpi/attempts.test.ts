import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from '../../cli/command.ts'
import { noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { openFolder, type Running, until } from '../../observers/pod.ts'
import { onPath, type Row, summaryOf } from '../../observers/prerequisites.ts'
import { NATIVE } from '../watched-pod.ts'
import { mpirun, mpiTests, programsFor } from './programs.ts'
import { restartedPod, tracedPod } from './traced-pod.ts'

const options = mpiTests()

/** Kills the containers as the kubelet does without a grace period. */
async function killAll(...containers: readonly Running[]): Promise<void> {
  for (const container of containers) container.signal('SIGKILL')
  await Promise.all(containers.map(({ ended }) => ended))
}

/** Waits until two ranks have rows with calls. */
async function untilTwoRanksRun(watching: Running): Promise<void> {
  const running = () => rowsOf(watching, 'rank').filter(({ calls }) => Number(calls) > 0)
  await until(watching, () => new Set(running().map(({ mpi_rank }) => mpi_rank)).size === 2)
}

const stateOfRanks = (watching: Running) =>
  new Map(rowsOf(watching, 'rank').map(({ pid, mpi_rank, state }) => [pid, { mpi_rank, state }]))

/** Ends the observer, and returns its summary. */
async function endOf(watching: Running) {
  watching.signal('SIGTERM')
  await watching.ended
  return summaryOf(watching.log())
}

t.test('after all containers were started again, only new ranks count', options, async (t) => {
  const { install, observe } = await restartedPod(t, NATIVE)
  const { work } = programsFor('mpich')
  await install()
  const first = await observe()
  const killed = await first.start(...mpirun('mpich', 2, work, 'loop'))
  await untilTwoRanksRun(first.watching)
  await killAll(killed, first.watching)
  t.equal(readdirSync(first.results).filter((name) => name.startsWith('mpi_')).length, 2)

  await install()
  const second = await observe()
  const app = await second.start(...mpirun('mpich', 2, work, 'late'))
  t.equal(await app.ended, 0)
  const isDone = ({ state }: Row) => state === 'finalized'
  await until(second.watching, () => rowsOf(second.watching, 'rank').filter(isDone).length === 2)
  const [whole, ...lines] = await endOf(second.watching)
  t.match(whole, { ranks: 2, calls: 1204 })
  t.equal(lines.length, 2)
  t.strictSame(
    [...stateOfRanks(second.watching).values()].map(({ state }) => state),
    ['finalized', 'finalized'],
  )
  t.match(noticesOf(second.watching), [
    /^the volume has the files of 2 processes of an earlier attempt of this pod \(ranks 0, 1; \d+ /,
  ])

  const folder = openFolder('ridealong-attempts-')
  writeFileSync(join(folder, 'pod.mpi-trace.log'), second.watching.log())
  writeFileSync(join(folder, 'pod.mpi-trace.attempt-1.log'), first.watching.log())
  const { known, lost } = await reportOf('-o', 'json', folder)
  t.strictSame(lost, [])
  t.match(known, [
    { attempt: 1, isCounted: false, mpi: sumOfRanks(first.watching) },
    { attempt: 2, isCounted: true, mpi: { ranks: 2, calls: 1204 } },
  ])
  t.ok(known.every(({ efficiency }: Row) => Number(efficiency) > 0))
})

/** Returns the attempts in a report. */
async function reportOf(...words: readonly string[]) {
  const { out, err } = await run(['report', ...words])
  return JSON.parse(out || err).attempts
}

/** Returns the sums of the last rows of all ranks. */
function sumOfRanks(watching: Running) {
  const last = new Map(rowsOf(watching, 'rank').map((row) => [row.mpi_rank, row]))
  const sum = (name: string) => [...last.values()].reduce((all, row) => all + Number(row[name]), 0)
  return { ranks: last.size, calls: sum('calls'), bytes: sum('bytes') }
}

t.test('a target that was started again counts from the beginning', options, async (t) => {
  const { watching, start } = await tracedPod(t, NATIVE)
  const { work } = programsFor('mpich')
  const killed = await start(...mpirun('mpich', 2, work, 'loop'))
  await untilTwoRanksRun(watching)
  await killAll(killed)
  const isLost = ({ state }: Row) => state === 'lost'
  await until(watching, () => rowsOf(watching, 'rank').filter(isLost).length === 2)

  const app = await start(...mpirun('mpich', 2, work, 'late'))
  t.equal(await app.ended, 0)
  const isDone = ({ state }: Row) => state === 'finalized'
  await until(watching, () => rowsOf(watching, 'rank').filter(isDone).length === 2)
  const [whole, ...lines] = await endOf(watching)
  t.match(whole, { ranks: 2, calls: 1204 })
  t.strictSame(
    lines.map(({ state }) => state),
    ['finalized', 'finalized'],
  )
  const rows = ['rank', 'start'].flatMap((section) => rowsOf(watching, section))
  const lost = new Set(rows.filter(isLost).map(({ pid }) => pid))
  const attempts = Map.groupBy(rows, ({ attempt }) => attempt ?? 1)
  t.strictSame([...attempts.keys()], [1, 2])
  t.strictSame(new Set(attempts.get(1)?.map(({ pid }) => pid)), lost)
  const notices = noticesOf(watching)
  t.ok(notices.includes('container app was started again'), notices.join('\n'))
  const before = 'not counted: 2 processes of the attempt before (ranks'
  t.ok(
    notices.some((notice) => notice.startsWith(before)),
    notices.join('\n'),
  )

  const report = await run(['report', '-o', 'json', '-'], watching.log())
  const { pods, attempts: reported } = JSON.parse(report.out)
  const ofLost = rowsOf(watching, 'rank').filter(isLost)
  const calls = ofLost.reduce((sum, row) => sum + Number(row.calls), 0)
  t.match(reported.known, [
    { attempt: 1, isCounted: false, mpi: { ranks: 2, calls } },
    { attempt: 2, isCounted: true, mpi: { ranks: 2, calls: 1204 } },
  ])
  const ranks: readonly Row[] = pods[0].mpi_ranks
  t.strictSame(
    ranks.map(({ state, calls }) => [state, calls]),
    [
      ['finalized', 602],
      ['finalized', 602],
    ],
  )
})

t.test('an observer that is started again counts all ranks of its target', options, async (t) => {
  const { install, observe } = await restartedPod(t, NATIVE)
  const { work } = programsFor('mpich')
  await install()
  const first = await observe()
  const job = (mode: string) => mpirun('mpich', 2, work, mode).join(' ')
  const app = await first.start(onPath('sh'), '-c', `${job('late')} && ${job('loop')}`)
  const runs = ({ state }: { readonly state?: Row[string] | undefined }) => state === 'running'
  await until(first.watching, () => {
    const all = [...stateOfRanks(first.watching).values()]
    return all.length === 4 && all.filter(runs).length === 2
  })
  await killAll(first.watching)
  // The clock of the node was set forward since the files were written.
  for (const name of readdirSync(first.results)) utimesSync(join(first.results, name), 0, 0)

  const { watching } = await observe()
  await until(watching, () => stateOfRanks(watching).size === 4)
  const [whole, ...lines] = await endOf(watching)
  t.match(whole, { ranks: 4 })
  const states = lines.map(({ state }) => state)
  t.strictSame(states.sort(), ['finalized', 'finalized', 'running', 'running'])
  t.strictSame(noticesOf(watching), [])
  app.signal('SIGKILL')
})

t.test(
  'an observer that is started after the end of its target counts its ranks',
  options,
  async (t) => {
    const { install, observe } = await restartedPod(t, NATIVE)
    const { work } = programsFor('mpich')
    await install()
    const first = await observe()
    const killed = await first.start(...mpirun('mpich', 2, work, 'loop'))
    await untilTwoRanksRun(first.watching)
    await killAll(killed)
    const app = await first.start(...mpirun('mpich', 2, work, 'late'))
    await until(first.watching, /container app was started again/)
    t.equal(await app.ended, 0)
    await killAll(first.watching)

    const { watching } = await observe()
    const [whole, ...lines] = await endOf(watching)
    t.match(whole, { ranks: 2, calls: 1204 })
    t.strictSame(
      lines.map(({ state }) => state),
      ['finalized', 'finalized'],
    )
    t.match(watching.log(), /files of 2 processes of an earlier attempt/)
  },
)
