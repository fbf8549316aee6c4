import t from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { LIBRARIES, mpirun, mpiTests, programsFor, recording, run } from './programs.ts'
import { readTraces, sumOf } from './trace-file.ts'

const options = mpiTests()

for (const library of LIBRARIES) {
  t.test(`${library}: calls and times are those that the program measures`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const env = recording(programs, results)
    const { code, output } = await run(mpirun(library, 3, programs.work, 'calls'), env)
    t.equal(code, 0)
    const traces = readTraces(results)
    t.strictSame(
      traces.map(({ rank, size, state }) => [rank, size, state]),
      [
        [0, 3, 1],
        [1, 3, 1],
        [2, 3, 1],
      ],
    )
    const measured = parseMeasurements(output)
    t.ok(measured.length > 50)
    for (const { rank, name, calls, seconds } of measured) {
      const trace = traces[rank]
      if (trace === undefined) throw new Error(`rank ${rank} has no file`)
      t.equal(sumOf(trace, name, 'calls'), calls, `MPI_${name} of rank ${rank}`)
      t.ok(sumOf(trace, name, 'seconds') <= seconds, `the time of MPI_${name}`)
    }
    for (const trace of traces) {
      const difference = Math.abs(sum(trace.rows.map(({ seconds }) => seconds)) - trace.mpiSeconds)
      t.ok(difference < 1e-6, 'the rows add up to the time of the process')
    }
  })

  t.test(
    `${library}: peers are ranks in MPI_COMM_WORLD, and bytes are sent bytes`,
    options,
    async (t) => {
      const programs = programsFor(library)
      const results = openFolder('ridealong-mpi-results-')
      await run(mpirun(library, 3, programs.work, 'calls'), recording(programs, results))
      const [first, second, third] = readTraces(results)
      if (first === undefined || second === undefined || third === undefined)
        throw new Error('no files')
      // In the communicator `half`, rank 2 of MPI_COMM_WORLD is rank 0, and 0 is rank 2.
      const peers = (name: string, trace = first) =>
        trace.rows.filter((row) => row.name === name).map(({ peer }) => peer)
      t.strictSame(peers('Isend'), [2])
      t.strictSame(peers('Irecv'), [1])
      t.strictSame(peers('Sendrecv'), [1])
      t.strictSame(peers('Waitall'), [1], 'both requests have the same peer')
      t.strictSame(new Set(peers('Wait')), new Set([1, 2, -1]), 'a collective request has no peer')
      t.strictSame(new Set(peers('Send', third)), new Set([1]))
      t.strictSame(peers('Recv', second), [2], 'the status has the source')
      t.strictSame(peers('Bcast'), [2], 'the root')
      t.strictSame(peers('Reduce'), [1], 'the root')
      t.strictSame(peers('Ssend'), [-1], 'MPI_PROC_NULL')
      const bytes = (name: string) =>
        [first, second, third].map((it) => sumOf(it, name, 'bytes') / 20)
      t.strictSame(bytes('Send'), [16, 16, 16 + 28])
      t.strictSame(bytes('Allreduce'), [24, 24, 24])
      t.strictSame(bytes('Bcast'), [0, 0, 40], 'only the root sends')
      t.strictSame(bytes('Scatter'), [24, 0, 0], 'only the root sends, to each rank')
      t.strictSame(bytes('Allgather'), [8, 8, 8], 'the data of MPI_IN_PLACE')
      t.strictSame(bytes('Gatherv'), [0, 4, 4], 'MPI_IN_PLACE in the root')
      t.strictSame(bytes('Alltoallv'), [12, 12, 12])
      t.strictSame(bytes('Recv'), [0, 0, 0])
      for (const trace of [second, third]) {
        const names = (it = first) =>
          it.communicators.map(({ members, ordinal }) => [members, ordinal])
        t.strictSame(names(trace), names(), 'all members give the same names')
      }
    },
  )

  t.test(`${library}: the time asleep outside of calls is counted`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    // The last process sleeps for 1.5 s before each MPI_Barrier, in which the other one polls.
    const job = mpirun(library, 2, programs.stuck, 'uneven', '6')
    const { code } = await run(job, recording(programs, results))
    t.equal(code, 0)
    const [polling, sleeping] = readTraces(results)
    t.ok(polling !== undefined && polling.asleepSeconds < 0.1 * polling.seconds)
    t.ok(sleeping !== undefined && sleeping.asleepSeconds > 0.8 * sleeping.seconds)
    t.ok(sleeping !== undefined && sleeping.asleepSeconds <= sleeping.seconds - sleeping.mpiSeconds)
  })

  t.test(`${library}: blocks of all ranks are about the same calls`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    await run(mpirun(library, 3, programs.work, 'late'), recording(programs, results))
    const worlds = readTraces(results).map(({ communicators }) => communicators[0])
    t.equal(worlds.length, 3)
    const [first, , last] = worlds.map((world) => {
      t.equal(world?.collectives, 601)
      t.equal(world?.width, 4, '256 blocks for 601 calls')
      const blocks = world?.blocks ?? []
      t.ok(Math.abs(sum(blocks) - (world?.seconds ?? 0)) < 1e-6, 'the blocks add up')
      return [sum(blocks.slice(0, 75)), sum(blocks.slice(75, 150))] as const
    })
    if (first === undefined || last === undefined) throw new Error('no files')
    t.ok(last[0] < first[0], `the first rank waits in the first 300 calls: ${[first, last]}`)
    t.ok(first[1] < last[1], `the last rank waits in the other calls: ${[first, last]}`)
  })

  t.test(
    `${library}: a program that creates communicators in a loop needs two`,
    options,
    async (t) => {
      const programs = programsFor(library)
      const results = openFolder('ridealong-mpi-results-')
      await run(mpirun(library, 2, programs.work, 'many'), recording(programs, results))
      for (const { communicators } of readTraces(results)) {
        t.strictSame(
          communicators.map(({ collectives, ordinal }) => [collectives, ordinal]),
          [
            [1001, 0],
            [1000, 1],
          ],
        )
      }
    },
  )

  t.test(`${library}: a communicator without room is looked up only once`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const { code, output } = await run(
      mpirun(library, 2, programs.nested, 'full'),
      recording(programs, results),
    )
    t.equal(code, 0)
    for (const { communicators, rows } of readTraces(results)) {
      t.equal(communicators.length, 64)
      const calls = rows.filter(({ name }) => name === 'Allreduce')
      const others = calls.filter(({ communicator }) => communicator === 64)
      t.equal(sum(calls.map(({ calls }) => calls)), 100 * 5 + 61 * 7 + 39 * 3)
      t.equal(sum(others.map(({ calls }) => calls)), 39 * 5 + 39 * 3)
    }
    // One at the beginning, and one for each communicator except the last 39.
    const sizes = [...output.matchAll(/sizes (\d+)/g)].map(([, count]) => Number(count))
    t.equal(sizes.length, 2)
    for (const count of sizes) t.ok(count <= 1 + 2 + 1 + 100 + 61 + 1, `${count} lookups`)
  })

  t.test(
    `${library}: intercommunicators with other remote sizes have places of their own`,
    options,
    async (t) => {
      const programs = programsFor(library)
      const results = openFolder('ridealong-mpi-results-')
      const { code } = await run(
        mpirun(library, 3, programs.work, 'inter'),
        recording(programs, results),
      )
      t.equal(code, 0)
      const [first] = readTraces(results)
      const sends = first?.rows.filter(({ name }) => name === 'Send') ?? []
      t.strictSame(
        sends.map(({ communicator, peer }) => [communicator, peer]),
        [
          [3, 1],
          [5, 1],
          [4, 2],
        ],
        'the ranks of an intercommunicator do not overwrite those of another communicator',
      )
      t.equal(first?.communicators.length, 6)
    },
  )

  t.test(`${library}: calls of several threads are counted`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const { code } = await run(
      mpirun(library, 2, programs.work, 'threads'),
      recording(programs, results),
    )
    t.equal(code, 0)
    t.strictSame(
      readTraces(results).map((trace) => sumOf(trace, 'Sendrecv', 'calls')),
      [2000, 2000],
    )
  })

  t.test(`${library}: calls from Fortran are recorded`, options, async (t) => {
    const programs = programsFor(library)
    for (const program of programs.fortran) {
      const results = openFolder('ridealong-mpi-results-')
      const { code, errors } = await run(mpirun(library, 2, program), recording(programs, results))
      t.equal(code, 0, errors)
      const traces = readTraces(results)
      t.strictSame(
        traces.map(({ rank, state }) => [rank, state]),
        [
          [0, 1],
          [1, 1],
        ],
      )
      for (const trace of traces) {
        const calls = ['Allreduce', 'Irecv', 'Send', 'Wait', 'Comm_split', 'Finalize']
        t.strictSame(
          calls.map((name) => sumOf(trace, name, 'calls')),
          [10, 10, 10, 12, 1, 1],
          program,
        )
        const inPlace = ['Alltoallv', 'Ialltoallv', 'Allgather']
        t.strictSame(
          inPlace.map((name) => [sumOf(trace, name, 'calls'), sumOf(trace, name, 'bytes')]),
          [
            [2, 16],
            [2, 16],
            [1, 4],
          ],
          `MPI_IN_PLACE in ${program}`,
        )
        t.strictSame(
          [sumOf(trace, 'Allreduce', 'bytes'), sumOf(trace, 'Send', 'bytes')],
          [320, 320],
        )
        const peers = trace.rows.filter(({ name }) => name === 'Wait').map(({ peer }) => peer)
        t.strictSame(new Set(peers), new Set([1 - trace.rank, -1]), 'a collective has no peer')
      }
    }
  })

  t.test(
    `${library}: an MPI library that is loaded with RTLD_LOCAL is found`,
    options,
    async (t) => {
      const programs = programsFor(library)
      const results = openFolder('ridealong-mpi-results-')
      const { code } = await run(
        mpirun(library, 2, ...programs.late, 'calls'),
        recording(programs, results),
      )
      t.equal(code, 0)
      t.strictSame(
        readTraces(results).map((trace) => sumOf(trace, 'Allreduce', 'calls')),
        [20, 20],
      )
    },
  )

  t.test(
    `${library}: a library of the application that observes MPI is called`,
    options,
    async (t) => {
      const programs = programsFor(library)
      const results = openFolder('ridealong-mpi-results-')
      const { output } = await run(
        mpirun(library, 2, programs.nested, 'calls'),
        recording(programs, results),
      )
      t.strictSame(output.match(/nested \d+/g), ['nested 20', 'nested 20'])
      t.strictSame(
        readTraces(results).map((trace) => sumOf(trace, 'Barrier', 'calls')),
        [20, 20],
      )
      // Each call of this library sleeps for a millisecond.
      for (const trace of readTraces(results)) {
        const seconds = sumOf(trace, 'Barrier', 'seconds')
        t.ok(seconds >= 0.02, `rank ${trace.rank}: MPI_Barrier took ${seconds} seconds`)
      }
    },
  )
}

interface Measurement {
  readonly rank: number
  readonly name: string
  readonly calls: number
  readonly seconds: number
}

/** Parses the lines of `work calls`. */
function parseMeasurements(output: string): readonly Measurement[] {
  const lines = output.trim().split('\n')
  return lines.map((line) => {
    const [rank, name = '', calls, seconds] = line.split(' ')
    return { rank: Number(rank), name, calls: Number(calls), seconds: Number(seconds) }
  })
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
