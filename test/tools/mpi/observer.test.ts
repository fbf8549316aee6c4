import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { type Running, until } from '../../observers/pod.ts'
import { onPath, type Row, summaryOf } from '../../observers/prerequisites.ts'
import { collectFiles } from '../raw-files.ts'
import { CONTAINER, NATIVE } from '../watched-pod.ts'
import { mpirun, mpiTests, programsFor, SOURCES } from './programs.ts'
import { readTraces } from './trace-file.ts'
import { tracedPod } from './traced-pod.ts'

const options = mpiTests()

/** Builds sessions.c, and returns its path. Open MPI 4.1 has no sessions. */
function sessions(): string {
  const path = join(programsFor('mpich').folder, 'sessions')
  execFileSync('mpicc.mpich', ['-O1', '-w', join(SOURCES, 'sessions.c'), '-o', path])
  return path
}

/** Returns the last row of each rank, in the order of the ranks. */
function lastOf(rows: readonly Row[]): readonly Row[] {
  const last = new Map(rows.map((row) => [row.mpi_rank, row]))
  return [...last.values()].sort((one, other) => Number(one.mpi_rank) - Number(other.mpi_rank))
}

const sum = (rows: readonly Row[], column: string) =>
  rows.reduce((whole, row) => whole + Number(row[column]), 0)

t.test(
  'the log has rows while the processes run, and all rows at their end',
  options,
  async (t) => {
    const { watching, start } = await tracedPod(t)
    const { work } = programsFor('mpich')
    const app = await start(...mpirun('mpich', 2, work, 'late'))
    t.equal(await app.ended, 0)
    t.equal(await watching.ended, 0)
    t.strictSame(mismatchesIn(watching, 'mpi-trace'), [])
    const ranks = lastOf(rowsOf(watching, 'rank'))
    t.match(ranks, [
      { mpi_rank: 0, mpi_size: 2, state: 'finalized', container: 'app', mpi_library: /MPICH/ },
      { mpi_rank: 1, mpi_size: 2, state: 'finalized', container: 'app', mpi_library: /MPICH/ },
    ])
    t.match(ranks, [{ calls: 602 }, { calls: 602 }])
    for (const { pid, time, calls, mpi_seconds } of ranks) {
      const rowsIn = (section: string) =>
        rowsOf(watching, section).filter((row) => row.pid === pid && row.time === time)
      t.equal(sum(rowsIn('call'), 'calls'), calls)
      t.ok(Math.abs(sum(rowsIn('call'), 'mpi_seconds') - Number(mpi_seconds)) < 1e-4)
      t.match(rowsIn('communicator'), [{ communicator: 'world', size: 2, collectives: 601 }])
      t.equal(sum(rowsIn('block'), 'collectives'), 601)
      const blocks = sum(rowsIn('block'), 'mpi_seconds')
      t.ok(Math.abs(blocks - Number(rowsIn('communicator')[0]?.mpi_seconds)) < 1e-3)
    }
    const firsts = ranks.map(({ pid }) =>
      rowsOf(watching, 'block').flatMap((row) => (row.pid === pid ? [row.first] : [])),
    )
    t.strictSame(firsts[0], firsts[1], 'the blocks of both ranks are about the same calls')
    const [whole, ...lines] = summaryOf(watching.log())
    t.match(whole, { metric: 'mpi-trace', ranks: 2, calls: 1204 })
    t.equal(lines.length, 2)
    t.strictSame(noticesOf(watching), [])
  },
)

t.test('a program with sessions only has a notice', options, async (t) => {
  const program = sessions()
  const { watching, start } = await tracedPod(t)
  const app = await start(...mpirun('mpich', 2, program))
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  t.strictSame(app.log(), '2\n2\n')
  t.strictSame(mismatchesIn(watching, 'mpi-trace'), [])
  const notices = noticesOf(watching).join('\n')
  for (const rank of [0, 1]) {
    t.match(notices, new RegExp(`process \\d+ \\(rank ${rank}\\) uses sessions of MPI`))
  }
  t.notMatch(notices, /MPI_Init was not called|without having returned/)
  const after = rowsOf(watching, 'start').filter(({ call }) => call !== null)
  t.strictSame(after, [], 'it is not shown as one that waits in MPI_Init')
})

t.test('a process with calls whose bytes are not counted has one notice', options, async (t) => {
  const { handles } = programsFor('mpich')
  const { watching, start } = await tracedPod(t)
  const app = await start(...mpirun('mpich', 2, handles))
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  const notices = noticesOf(watching).filter((notice) => notice.includes('did not count'))
  t.equal(notices.length, 2)
  t.match(notices.join('\n'), /process \d+ \(rank 0\): .* did not count the bytes of 13 calls/)
})

t.test('a program with a session that calls MPI_Init is recorded', options, async (t) => {
  const program = sessions()
  const { watching, start } = await tracedPod(t)
  const app = await start(...mpirun('mpich', 2, program, 'init'))
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  const ranks = lastOf(rowsOf(watching, 'rank'))
  t.match(ranks, [
    { mpi_rank: 0, state: 'finalized', calls: 21 },
    { mpi_rank: 1, state: 'finalized', calls: 21 },
  ])
  t.strictSame(noticesOf(watching), [])
})

t.test(
  'a process that is killed is lost, and its calls until then are rows',
  options,
  async (t) => {
    const { watching, start } = await tracedPod(t)
    const { work } = programsFor('mpich')
    const app = await start(work, 'kill')
    await app.ended
    t.equal(await watching.ended, 0)
    const states = rowsOf(watching, 'rank').map(({ state }) => state)
    t.equal(states[0], 'running', 'there are rows before the end')
    t.equal(states.at(-1), 'lost')
    t.match(noticesOf(watching).join('\n'), /process \d+ \(rank 0\) ended without MPI_Finalize/)
    t.match(lastOf(rowsOf(watching, 'rank')), [{ program: 'work' }])
  },
)

t.test(
  'the last rows have a time of their own, if a signal ends the observer',
  options,
  async (t) => {
    const { watching, start } = await tracedPod(t, NATIVE)
    const { work } = programsFor('mpich')
    const app = await start(work, 'loop')
    await until(watching, /"section":"rank"/)
    // The next timepoint is due a second after this one.
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    app.signal('SIGKILL')
    const times = rowsOf(watching, 'rank').map(({ time }) => time)
    t.ok(times.length > 1)
    t.strictSame([...new Set(times)], times)
  },
)

/**
 * The words that start a program with the id 22 in a PID namespace of its own. The MPICH of Debian
 * does not start there.
 */
function inNamespace(...words: readonly string[]): readonly string[] {
  const script = 'for i in $(seq 20); do /bin/true; done; "$0" "$@"; exit $?'
  return [onPath('unshare'), '--pid', '--fork', '--kill-child', 'sh', '-c', script, ...words]
}

t.test(
  'a process in a PID namespace of its own has the id that the pod sees',
  options,
  async (t) => {
    const { results, watching, start } = await tracedPod(t)
    const { work } = programsFor('openmpi')
    // Open MPI shares memory under the ids of processes, which are equal here.
    const separate = ['--mca', 'btl', 'self,tcp']
    const app = await start(...mpirun('openmpi', 2, ...separate, ...inNamespace(work, 'steady')))
    t.equal(await app.ended, 0)
    t.equal(await watching.ended, 0)
    t.strictSame(mismatchesIn(watching, 'mpi-trace'), [])
    const [first = '', second] = readdirSync(results).filter((name) => /^mpi_/.test(name))
    t.equal(second, `${first}.1`, 'both processes see the same id')
    const ranks = lastOf(rowsOf(watching, 'rank'))
    t.match(ranks, [
      { mpi_rank: 0, state: 'finalized', calls: 1002, program: 'work' },
      { mpi_rank: 1, state: 'finalized', calls: 1002, program: 'work' },
    ])
    const pids = new Set(ranks.map(({ pid }) => pid))
    t.equal(pids.size, 2)
    t.notOk(pids.has(Number(first.slice('mpi_'.length))), 'the id is not that of the namespace')
    t.strictSame(noticesOf(watching), [])
  },
)

t.test('a process that is killed in a PID namespace of its own is lost', options, async (t) => {
  const { watching, start } = await tracedPod(t)
  const { work } = programsFor('openmpi')
  const app = await start(...inNamespace(work, 'kill'))
  await app.ended
  t.equal(await watching.ended, 0)
  const states = rowsOf(watching, 'rank').map(({ state }) => state)
  t.equal(states[0], 'running', 'there are rows before the end')
  t.equal(states.at(-1), 'lost')
  t.ok(Number(lastOf(rowsOf(watching, 'rank'))[0]?.calls) > 0)
})

t.test('a file that names another process has no rows', options, async (t) => {
  const { results, watching, start } = await tracedPod(t, NATIVE)
  const { work } = programsFor('mpich')
  const app = await start(work, 'loop')
  await until(watching, /"section":"rank"/)
  const [result = ''] = readdirSync(results).filter((name) => /^mpi_/.test(name))
  const other = await start('sleep', '100')
  const [, id = ''] =
    /NSpid:.*\t(\d+)\n/.exec(readFileSync(`/proc/${other.pid}/status`, 'utf8')) ?? []
  copyFileSync(join(results, result), join(results, `mpi_${id}`))
  app.signal('SIGKILL')
  other.signal('SIGKILL')
  await until(watching, () => rowsOf(watching, 'rank').at(-1)?.state === 'lost')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const pids = new Set(rowsOf(watching, 'rank').map(({ pid }) => pid))
  t.strictSame(pids, new Set([Number(result.slice('mpi_'.length))]))
  t.match(noticesOf(watching).join('\n'), new RegExp(`the file mpi_${id} has no calls of MPI`))
})

t.test('the raw files in the log are those of the volume', options, async (t) => {
  const artifacts = { ...CONTAINER, RIDEALONG_OPTION_ARTIFACTS: 'true' }
  const { results, watching, start } = await tracedPod(t, artifacts)
  const { work } = programsFor('mpich')
  const app = await start(...mpirun('mpich', 2, work, 'late'))
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  t.strictSame(mismatchesIn(watching, 'mpi-trace'), [])
  t.strictSame(noticesOf(watching), [])
  const { files, problems, path, read } = await collectFiles(t, watching.log(), 'mpi-trace')
  t.strictSame([files, problems], [2, []])
  const names = readdirSync(results).filter((name) => name.startsWith('mpi_'))
  for (const name of names) t.ok(read(name).equals(readFileSync(join(results, name))), name)
  const traces = readTraces(join(path('x'), '..'))
  t.match(traces, [
    { rank: 0, size: 2, calls: 602 },
    { rank: 1, size: 2, calls: 602 },
  ])
})

t.test('a program without MPI has no rows, and a notice says why', options, async (t) => {
  const { watching, start } = await tracedPod(t)
  const app = await start('sleep', '1')
  await app.ended
  t.equal(await watching.ended, 0)
  t.strictSame(rowsOf(watching, 'rank'), [])
  t.match(noticesOf(watching).join('\n'), /no process has recorded calls of MPI/)
})

t.test('files that are not of the recorder have a notice and no rows', options, async (t) => {
  const { results, watching, start } = await tracedPod(t)
  writeFileSync(join(results, 'mpi_4000000'), 'x'.repeat(500_000))
  writeFileSync(join(results, 'mpi_4000001'), '')
  const { work } = programsFor('mpich')
  const app = await start(work, 'exit')
  await app.ended
  t.equal(await watching.ended, 0)
  t.match(rowsOf(watching, 'rank'), [{ state: 'exited' }])
  const notices = noticesOf(watching).join('\n')
  t.match(notices, /file mpi_4000000 has no calls of MPI/)
  t.match(notices, /file mpi_4000001 has no calls of MPI/)
})

t.test('a file that is truncated while its process runs is written again', options, async (t) => {
  const { results, watching, start } = await tracedPod(t, NATIVE)
  const { work } = programsFor('mpich')
  const app = await start(work, 'loop')
  await until(watching, /"section":"call"/)
  const [name = ''] = readdirSync(results).filter((name) => name.startsWith('mpi_'))
  const calls = () => Number(rowsOf(watching, 'rank').at(-1)?.calls)
  const before = calls()
  truncateSync(join(results, name), 0)
  await until(watching, () => calls() > before)
  t.ok(statSync(join(results, name)).size > 0)
  app.signal('SIGKILL')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
})

t.test('files of ended processes are removed when there are many', options, async (t) => {
  const { results, watching, start } = await tracedPod(t, NATIVE)
  const { work } = programsFor('mpich')
  const app = await start('sh', '-c', `for i in $(seq 66); do "$0"; done; sleep 60`, work)
  await until(watching, () => finalizedCount(watching) >= 66)
  await until(watching, () => readdirSync(results).length < 64)
  app.signal('SIGKILL')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(summaryOf(watching.log())[0], { ranks: 66 })
})

t.test('files of ended processes are removed when they use too much', options, async (t) => {
  const limit = { ...NATIVE, RIDEALONG_TOOL_SIZE_LIMIT: String(1 << 20) }
  const { results, watching, start } = await tracedPod(t, limit)
  const { work } = programsFor('mpich')
  const app = await start('sh', '-c', '"$0"; "$0"; exec "$0" loop', work)
  await until(watching, () => finalizedCount(watching) >= 2)
  await until(watching, () => rowsOf(watching, 'rank').at(-1)?.state === 'running')
  const running = `mpi_${rowsOf(watching, 'rank').at(-1)?.pid}`
  const ranks = readdirSync(results).filter((name) => name.startsWith('mpi_'))
  t.equal(ranks.length, 3, 'files remain if there is room')
  writeFileSync(join(results, 'other'), Buffer.alloc(600_000))
  await until(watching, () => noticesOf(watching).some((notice) => /emptied/.test(notice)))
  t.strictSame(readdirSync(results).sort(), [running, 'other', 'target'])
  t.equal(statSync(join(results, 'other')).size, 0)
  t.ok(statSync(join(results, running)).size > 0, 'a process that runs keeps its file')
  app.signal('SIGKILL')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const why = 'because the results use more than half of the size limit of their volume'
  t.strictSame(
    noticesOf(watching).filter((notice) => /emptied/.test(notice)),
    [`files that are not of the recorder were emptied, ${why}: 1`],
  )
})

t.test('a notice says that the tool is mounted with noexec in the target', options, async (t) => {
  const [able, unable] = [t.testdir({ able: {}, unable: {} })].flatMap((folder) => [
    join(folder, 'able'),
    join(folder, 'unable'),
  ])
  const mounts = `${able} /nonexistent ${unable}`
  const { watching, start } = await tracedPod(t, { ...NATIVE, RIDEALONG_TOOL_MOUNTS: mounts })
  const { work } = programsFor('mpich')
  const mount = 'mount -t tmpfs none "$1" && mount -t tmpfs -o noexec none "$2" && exec "$0" loop'
  const app = await start(
    ...[onPath('unshare'), '--map-root-user', '--mount', '--propagation', 'private'],
    ...['sh', '-c', mount, work, `${able}`, `${unable}`],
  )
  await until(watching, () => noticesOf(watching).some((notice) => /noexec/.test(notice)))
  app.signal('SIGKILL')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.strictSame(
    noticesOf(watching).filter((notice) => /noexec/.test(notice)),
    [
      'the application cannot load the tool, because its image is mounted with noexec at' +
        ` ${unable}; with the chart's value tools.imageVolumes=false, an init container installs` +
        ' the tool',
    ],
  )
})

const OTHER = { user: 1234, group: 1234, drops: true }
const NOTHING_OPEN = 'its calls have rows only when they have returned'

t.test('a notice says why the open calls of another user cannot be read', options, async (t) => {
  const as = { observer: OTHER, target: { user: 5678, group: 5678, drops: true } }
  const { watching, start } = await tracedPod(t, CONTAINER, as)
  const { work } = programsFor('mpich')
  const app = await start(work, 'steady')
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  const why = 'it has another user or group than the observer'
  const how = 'an observer with the user and the group of the process can read them'
  t.match(noticesOf(watching), [
    new RegExp(
      `^the open calls of process \\d+ \\(work\\) cannot be read: ${why}; ${NOTHING_OPEN}; ${how}$`,
    ),
  ])
  t.strictSame(rowsOf(watching, 'open'), [])
  t.match(lastOf(rowsOf(watching, 'rank')), [{ state: 'finalized', calls: 1002, program: 'work' }])
})

t.test(
  'a notice says why the open calls of a protected process cannot be read',
  options,
  async (t) => {
    const { watching, start } = await tracedPod(t, CONTAINER, { observer: OTHER, target: OTHER })
    const { chroot } = programsFor('mpich')
    const app = await start(chroot, 'protect')
    t.equal(await app.ended, 0)
    t.equal(await watching.ended, 0)
    const notices = noticesOf(watching).join('\n')
    // The observer may have opened them before the process has protected itself.
    const why = 'it has protected itself \\(PR_SET_DUMPABLE\\).*'
    const notice = new RegExp(
      `process \\d+ \\(chroot\\) cannot be read: ${why}; ${NOTHING_OPEN}$`,
      'm',
    )
    t.ok(rowsOf(watching, 'open').length > 0 || notice.test(notices), notices)
    t.match(notices, /ended without MPI_Finalize/)
    t.match(lastOf(rowsOf(watching, 'rank')), [{ state: 'lost', program: 'chroot' }])
    t.ok(Number(lastOf(rowsOf(watching, 'rank'))[0]?.calls) > 100)
  },
)

t.test(
  'the calls of a program that closes all files have rows, or a notice',
  options,
  async (t) => {
    for (const mode of ['range', 'over']) {
      const { watching, start } = await tracedPod(t)
      const { chroot } = programsFor('openmpi')
      const app = await start(chroot, mode, '/dev/null')
      t.equal(await app.ended, 0)
      t.equal(await watching.ended, 0)
      const notices = noticesOf(watching).join('\n')
      const notice = /cannot be read: it has closed its open files/
      t.ok(rowsOf(watching, 'open').length > 0 || notice.test(notices), `${mode}: ${notices}`)
      t.ok(Number(lastOf(rowsOf(watching, 'rank'))[0]?.calls) > 100, mode)
    }
  },
)

/** Returns the number of processes that have called MPI_Finalize. */
function finalizedCount(watching: Running): number {
  const ended = rowsOf(watching, 'rank').filter(({ state }) => state === 'finalized')
  return new Set(ended.map(({ pid }) => pid)).size
}
