import { readFileSync } from 'node:fs'
import t from 'tap'
import { readLog } from '../../../../../src/runs/log/read.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'
import { documentOf } from '../../report/document-of.ts'
import { type Recorded, recordedLogs, runOf, type TracedProcess } from './mpi-rows.ts'

/** Returns the findings of recorded runs of LAMMPS, whose pods have the names of their logs. */
function findRecorded(...kinds: readonly Recorded[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const name of kinds.flatMap(recordedLogs)) {
    const text = readFileSync(new URL(`../../../../logs/mpi/${name}`, import.meta.url), 'utf8')
    const pod = name.replace(/^mpi-trace-(.*)\.log$/, '$1')
    const place = { source: name, pod, pod_index: pod }
    for (const entry of readLog(text, place, BUILT_IN_ROWS)) addEntry(run, entry)
  }
  return documentOf(run, '')
}

const RULES = ['waiting-in-collectives', 'waiting-in-point-to-point', 'much-time-in-mpi']

type Found = ReturnType<typeof documentOf>

/** Returns the findings as `rule: pod < MPI rank waited for in call`. */
const inShort = ({ findings }: Found) =>
  findings.flatMap(({ rule, pods }) =>
    pods.map(({ podIndex, waitedFor: { mpiRank, call } = { mpiRank: '-', call: '-' } }) => {
      return `${rule}: ${podIndex} < ${mpiRank} in ${call}`
    }),
  )

/** Returns why the rules of MPI were not checked, with the pods. */
const unchecked = ({ notChecked }: Found) =>
  notChecked
    .filter(({ rule }) => RULES.includes(rule))
    .map(({ rule, ...own }) => ({ rule, ...own }))

t.test('LAMMPS with twice the atoms in one rank: the other waits in MPI_Wait', async (t) => {
  const found = findRecorded('imbalanced')
  t.strictSame(inShort(found), ['waiting-in-point-to-point: imbalanced-0 < 1 in MPI_Wait'])
  const [finding] = found.findings
  t.match(finding, { pods: [{ waitedFor: { podIndex: 'imbalanced-1', mpiRank: 1 } }] })
  // LAMMPS itself printed: Comm 0.33 s in one rank and 4.06 s in the other, in a loop of 7.58 s.
  const lost = finding?.secondsLost ?? 0
  t.ok(lost > 3.5 && lost < 4.1, `${lost} s lost`)
  t.strictSame(unchecked(found), [])
})

t.test('the same with equal numbers of atoms has no finding', async (t) => {
  const found = findRecorded('balanced')
  t.strictSame(inShort(found), [])
  t.strictSame(unchecked(found), [])
})

t.test(
  'LAMMPS that only talks in MPI_Allreduce: all wait for the rank with most atoms',
  async (t) => {
    const found = findRecorded('collective')
    t.strictSame(inShort(found), [
      'waiting-in-collectives: collective-0 < 2 in MPI_Allreduce',
      'waiting-in-collectives: collective-1 < 2 in MPI_Allreduce',
    ])
    const [finding] = found.findings
    t.match(finding?.pods, [
      {
        things: [
          'MPI rank 1 for MPI rank 2 of collective-1, mostly in MPI_Allreduce',
          'MPI rank 0 for MPI rank 2 of collective-1, mostly in MPI_Allreduce',
        ],
      },
      { things: ['MPI rank 3 for MPI rank 2 of the same pod, mostly in MPI_Allreduce'] },
    ])
    // MPI_Allreduce took 9.86 s in rank 1 and 1.04 s in rank 2.
    const lost = finding?.secondsLost ?? 0
    t.ok(Math.abs(lost - (9.86 - 1.04)) < 0.1, `${lost} s lost`)
    t.strictSame(unchecked(found), [])
  },
)

t.test('equal ranks that share processors all wait, and none of them is named', async (t) => {
  const found = findRecorded('even')
  t.strictSame(inShort(found), [
    'much-time-in-mpi: even-0 < - in -',
    'much-time-in-mpi: even-1 < - in -',
  ])
  t.match(found.findings[0]?.sentence, /spent 46 % .* at least 43\.9 %: .* in MPI_Allreduce\./)
})

t.test('several jobs in one collection are told apart', async (t) => {
  const found = findRecorded('balanced', 'imbalanced', 'collective', 'even')
  const own = ['imbalanced', 'collective', 'even'] as const
  t.strictSame(inShort(found).sort(), own.flatMap((kind) => inShort(findRecorded(kind))).sort())
  t.strictSame(unchecked(found), [])
})

t.test('a rank without a log: nothing is found, and the reason says so', async (t) => {
  const run = newRun(BUILT_IN_ROWS)
  const [, name = ''] = recordedLogs('imbalanced')
  const text = readFileSync(new URL(`../../../../logs/mpi/${name}`, import.meta.url), 'utf8')
  for (const entry of readLog(text, { source: name, pod_index: '1' }, BUILT_IN_ROWS))
    addEntry(run, entry)
  const found = documentOf(run, '')
  t.strictSame(inShort(found), [])
  const reason = /^mpi-trace has rows of only 1 of the 2 processes of the MPI job 473825281$/
  t.match(
    unchecked(found),
    RULES.map((rule) => ({ rule, reason, pods: null })),
  )
})

const findOf = (...processes: readonly TracedProcess[]) => documentOf(runOf(processes), '')

/** A process that waits in point-to-point calls for another one. */
const waiting = (rank: number, peer: number, seconds: number, changes: object = {}) => ({
  ...{ rank, size: 3, seconds: seconds + 5, ...changes },
  calls: [['MPI_Recv', 'world', String(peer), seconds]] as const,
})

t.test('the rank that others wait for must have more to do than most', async (t) => {
  const found = findOf(waiting(0, 2, 50), waiting(1, 2, 40), waiting(2, 0, 0))
  t.strictSame(inShort(found), [
    'waiting-in-point-to-point: 0 < 2 in MPI_Recv',
    'waiting-in-point-to-point: 1 < 2 in MPI_Recv',
  ])
  // Ranks 1 and 2 have equally much to do. Rank 0 has less to do than both.
  t.strictSame(inShort(findOf(waiting(0, 2, 50), waiting(1, 2, 0), waiting(2, 0, 0))), [])
})

t.test('processes that cannot be joined are not compared', async (t) => {
  const all = [waiting(0, 1, 50), waiting(1, 2, 0), waiting(2, 1, 40)]
  t.equal(inShort(findOf(...all)).length, 2)
  t.strictSame(inShort(findOf(...all.filter(({ rank }) => rank !== 1))), [], 'one is missing')
  const others = all.map((one) => ({ ...one, pid: 200 }))
  const found = findOf(...all, ...others)
  t.strictSame(inShort(found), [], 'two jobs with the same identifier')
  const reason = 'several processes have the rank 0 of the MPI job 77'
  t.match(
    unchecked(found),
    RULES.map((rule) => ({ rule, reason, pods: null })),
  )
})

t.test('all members of a communicator must wait for long', async (t) => {
  const found = (seconds: number) => {
    const process = (rank: number, own: number): TracedProcess => ({
      ...{ rank, size: 3, seconds: own },
      communicators: { world: { size: 3, seconds: [own] } },
    })
    return inShort(findOf(process(0, 26), process(1, seconds), process(2, 1)))
  }
  const rank0 = 'waiting-in-collectives: 0 < 2 in collective calls'
  t.strictSame(found(12), [], 'the mean of 25 and 11 is below 20')
  t.strictSame(found(17), [rank0, 'waiting-in-collectives: 1 < 2 in collective calls'])
})

t.test('only the difference of the times in MPI counts as waiting', async (t) => {
  // Rank 0 spent 80 s with rank 2, which was in MPI for 40 s at least: for another reason.
  const busy = { seconds: 40 }
  const [finding] = findOf(waiting(0, 2, 80), waiting(1, 2, 80), waiting(2, 0, 0, busy)).findings
  t.equal(finding?.secondsLost, 85 - 40)
})

t.test('times of calls with several or unknown peers name no rank', async (t) => {
  const process = (rank: number, seconds: number) => ({
    ...{ rank, size: 2, seconds },
    calls: [
      ['MPI_Waitall', 'world', 'none', seconds / 2],
      ['MPI_Wait', 'other', 'other', seconds / 2],
    ] as const,
  })
  t.strictSame(inShort(findOf(process(0, 60), process(1, 1))), [])
})

t.test('rooted collectives are no point-to-point calls', async (t) => {
  const calls = [['MPI_Bcast', 'world', '1', 60]] as const
  t.strictSame(inShort(findOf({ rank: 0, size: 2, calls }, { rank: 1, size: 2 })), [])
})

t.test('a rank that was killed is checked until then, and listed', async (t) => {
  const lost = waiting(2, 0, 0, { state: 'lost' })
  const found = findOf(waiting(0, 2, 50), waiting(1, 2, 40), lost)
  t.equal(inShort(found).length, 2)
  const reason = 'a process ended without MPI_Finalize, so that its last calls are missing'
  const listed = unchecked(found).filter(({ pods }) => pods?.join() === '2')
  t.match(
    listed,
    RULES.map((rule) => ({ rule, reason })),
  )
})

t.test('collective calls are not checked while the processes run', async (t) => {
  const found = findOf(
    { rank: 0, size: 2, state: 'running', calls: [['MPI_Allreduce', 'world', 'none', 60]] },
    { rank: 1, size: 2, state: 'running', calls: [['MPI_Allreduce', 'world', 'none', 1]] },
  )
  t.strictSame(inShort(found), [])
  t.match(unchecked(found), [
    {
      rule: 'waiting-in-collectives',
      reason: 'the collective calls of a process are only known when it has ended',
      pods: null,
    },
  ])
})

t.test('a log without some of its rows is named', async (t) => {
  const calls = [['MPI_Recv', 'world', '1', 9]] as const
  const found = findOf({ rank: 0, size: 2, seconds: 60, calls }, { rank: 1, size: 2 })
  t.strictSame(inShort(found), [])
  t.match(unchecked(found), [
    { reason: 'the log has no rows about the communicators of a process', pods: null },
    { reason: 'the log does not contain all calls of a process', pods: ['0'] },
  ])
})

t.test('the times of several threads are not compared', async (t) => {
  const found = findOf(waiting(0, 2, 150), waiting(1, 2, 40), waiting(2, 0, 0))
  t.strictSame(inShort(found), [])
  const why = 'several threads were in MPI at once, so that the time in MPI cannot be compared'
  const rules = unchecked(found).flatMap(({ rule, reason }) => (reason === why ? rule : []))
  t.strictSame(rules, ['waiting-in-point-to-point', 'much-time-in-mpi'])
})

t.test('a process whose MPI library is not known is listed', async (t) => {
  const found = findOf({ rank: null, pod: '7', size: 0, library: 'OtherMPI' })
  t.match(unchecked(found)[0], { reason: 'the MPI library of a process is not known', pods: null })
})

t.test('time that is explained by a wait is no further finding', async (t) => {
  const world = (seconds: number) => ({ world: { size: 2, seconds: [seconds] } })
  const process = (rank: number, inMpi: number, seconds: number): TracedProcess => ({
    ...{ rank, size: 2, seconds: inMpi, communicators: world(seconds) },
    calls: [['MPI_Barrier', 'world', 'none', seconds]],
  })
  const found = findOf(process(0, 70, 65), process(1, 21, 5))
  t.strictSame(inShort(found), [
    'waiting-in-collectives: 0 < 1 in MPI_Barrier',
    'much-time-in-mpi: 1 < - in -',
  ])
  t.match(found.explained, [
    { rule: 'much-time-in-mpi', pods: ['0'], by: 'waiting-in-collectives' },
  ])
})

t.test('a wait of less than a second is no finding', async (t) => {
  const found = (elapsed: number) => {
    const part = (rank: number, share: number) =>
      waiting(rank, 2, share * elapsed, { elapsed, seconds: share * elapsed })
    return inShort(findOf(part(0, 0.8), part(1, 0.8), part(2, 0))).length
  }
  t.strictSame([found(1), found(2)], [0, 2])
})
