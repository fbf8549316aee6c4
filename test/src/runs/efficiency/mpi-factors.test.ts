import fc from 'fast-check'
import t from 'tap'
import {
  type Factor,
  type FactorName,
  listFactors,
  NEVER_IN_STORAGE,
  valueIn,
  WITHOUT_STORAGE,
} from '../../../../src/runs/efficiency/factor.ts'
import {
  mpiFactors,
  type ProcessTimes,
  splitTimes,
} from '../../../../src/runs/efficiency/mpi-factors.ts'
import { type Program, simulate } from './simulated.ts'

const NAMES = ['efficiency', 'load-balance', 'communication', 'platform'] as const

const factorsOf = (times: readonly ProcessTimes[]) => {
  const root = mpiFactors(times, null)
  return NAMES.map((name) => valueIn(root, name) ?? Number.NaN)
}

/** Returns the factors that a program was given: those of a run with a processor for each rank. */
function givenFactors({ computing, sleeping, steps }: Program, elapsed: number) {
  const most = Math.max(...computing)
  const mean = computing.reduce((sum, one) => sum + one, 0) / computing.length
  const undelayed = (steps * (most + sleeping)) / 1000
  const platform = undelayed / elapsed
  const communication = most / (most + sleeping)
  return [(mean / most) * communication * platform, mean / most, communication, platform]
}

const within = (found: readonly number[], given: readonly number[], distance: number) =>
  found.every((value, index) => Math.abs(value - (given[index] ?? Number.NaN)) <= distance)

const shown = (values: readonly number[]) => values.map((value) => value.toFixed(2)).join(' ')

const BALANCES = [
  [50, 50],
  [50, 100],
  [80, 80, 80, 80],
  [20, 40, 60, 80],
]

/** What is not known of a process. */
const UNKNOWN = {
  fastInMpi: null,
  waits: null,
  shares: null,
  asleep: null,
  cpu: null,
  storage: null,
}

/** What logs have whose mpi-trace does not count the time of waiting for a processor. */
const withoutWaits = (times: readonly ProcessTimes[]) =>
  times.map((one) => ({ ...one, waits: null, fastInMpi: null }))

/**
 * Programs of which some ranks poll for long while others sleep, so that a thread waits more often
 * outside of MPI than in it; docs/findings/efficiency.md names their error without these waits.
 */
const isMixed = ({ isPolling, sleeping, computing }: Program) =>
  isPolling && sleeping >= 50 && new Set(computing).size > 1

for (const isPolling of [true, false])
  for (const sleeping of [0, 10, 50])
    for (const computing of BALANCES) {
      const program = { computing, sleeping, isPolling, steps: 40 }
      const name = `${computing} ms, sleeping ${sleeping} ms, ${isPolling ? 'polling' : 'sleeping'}`
      t.test(`the factors are those of the program: ${name}`, async (t) => {
        for (const processors of [computing.length, 2, 1]) {
          const times = simulate(program, processors)
          const given = givenFactors(program, times[0]?.elapsed ?? 0)
          const found = factorsOf(times)
          const message = `${processors} processors: ${shown(found)}, given ${shown(given)}`
          t.ok(within(found, given, 0.05), message)
          const guessed = factorsOf(withoutWaits(times))
          const text = `without waits: ${shown(guessed)}`
          t.ok(within(guessed, given, isMixed(program) ? 0.09 : 0.05), text)
        }
      })
    }

t.test('fewer processors change the platform only', async (t) => {
  const programs = [
    { computing: [40, 50], sleeping: 20, isPolling: true, steps: 40 },
    { computing: [40, 50], sleeping: 20, isPolling: false, steps: 40 },
    { computing: [1, 1], sleeping: 0, isPolling: true, steps: 400 },
    { computing: [2, 2], sleeping: 1, isPolling: true, steps: 400 },
  ]
  for (const program of programs) {
    const [two, one] = [2, 1].map((processors) => factorsOf(simulate(program, processors)))
    const [, balanceOfTwo, communicationOfTwo, platformOfTwo = 0] = two ?? []
    const [, balanceOfOne, communicationOfOne, platformOfOne = 1] = one ?? []
    const others = [balanceOfTwo, communicationOfTwo].map(Number)
    t.ok(within([balanceOfOne, communicationOfOne].map(Number), others, 0.05))
    t.ok(platformOfTwo - platformOfOne > 0.3)
  }
})

t.test('a rank without a processor of its own is the platform, not the balance', async (t) => {
  const none = { ...UNKNOWN, elapsed: 10 }
  const alone = { ...none, inMpi: 5.5, pod: '1', shares: { ran: 1, waited: 0, threads: 1 } }
  const delayed = { ...none, inMpi: 0.5, pod: '0', shares: { ran: 0.5, waited: 0.5, threads: 1 } }
  const [efficiency = 0, balance = 0, communication = 0, platform = 0] = factorsOf([delayed, alone])
  t.ok(within([efficiency, balance], [0.4625, 0.97], 0.02))
  t.ok(within([communication, platform], [0.95, 0.5], 0.05))
})

t.test(
  'without the time of fast calls, a rank that polls for others is communication',
  async (t) => {
    const program = { computing: [1, 1, 1, 1], sleeping: 0, isPolling: true, steps: 400 }
    const times = withoutWaits(simulate(program, 1))
    const platform = listFactors(mpiFactors(times, null)).find(({ name }) => name === 'platform')
    const given = givenFactors(program, times[0]?.elapsed ?? 0)[3] ?? 0
    t.ok((platform?.value ?? 0) > given + 0.05, 'the spinning is not known as the platform')
    t.ok((platform?.least ?? 1) <= given + 0.05, 'the least value allows it')
    t.ok((platform?.value ?? 1) < 0.26, 'the ranks could always run, and ran a quarter of the time')
  },
)

t.test(
  'if several threads run, the waits of those that call MPI divide those of all',
  async (t) => {
    const shares = { ran: 0.5, waited: 0.4, threads: 4 }
    const process = { ...UNKNOWN, elapsed: 10, inMpi: 2, shares }
    const { computing, delayed, delayedInMpi } = splitTimes({
      ...process,
      waits: { outside: 3, inMpi: 1 },
    })
    t.ok(within([computing, delayed, delayedInMpi], [5, 3, 1], 1e-9))
    const none = splitTimes({ ...process, waits: { outside: 0, inMpi: 0 } })
    t.strictSame(none, splitTimes({ ...process, waits: null }), 'only other threads waited')
  },
)

t.test('time asleep outside of MPI is idle or storage, and not computing', async (t) => {
  const waits = { outside: 1, inMpi: 0 }
  const process = { ...UNKNOWN, pod: '0', elapsed: 10, inMpi: 2, fastInMpi: 2, waits }
  const split = (known: Partial<ProcessTimes>) => splitTimes({ ...process, ...known })
  t.match(split({}), { computing: 7, storage: null, idle: null })
  t.match(split({ asleep: 5 }), { computing: 2, storage: null, idle: 5 })
  t.match(split({ asleep: 5, storage: 3 }), { computing: 2, storage: 3, idle: 2 })
  t.match(split({ asleep: 5, storage: 9 }), { computing: 2, storage: 5, idle: 0 })
  t.match(split({ cpu: 4 }), { computing: 4, idle: 3 }, 'of 7 s, at most 4 s computed')
  t.match(split({ asleep: 5, cpu: 8 }), { computing: 6, idle: 1 }, 'another thread computed 6 s')
  const shares = { ran: 0.5, waited: 0, threads: 2 }
  t.match(split({ asleep: 5, shares }), { idle: 0 }, 'several threads computed')
  const root = mpiFactors([{ ...process, asleep: 5, storage: 3 }], null)
  t.strictSame(
    ['efficiency', 'storage', 'activity'].map((name) => valueIn(root, name as FactorName)),
    [0.2, 4 / 7, 0.5],
  )
})

t.test('the states of processes that slept can exclude storage', async (t) => {
  const waits = { outside: 0, inMpi: 0 }
  const process = { ...UNKNOWN, pod: '0', elapsed: 10, inMpi: 2, waits, asleep: 5 }
  const reasonOf = (
    ...all: readonly (readonly [asleep: number, storage: number] | undefined)[]
  ) => {
    const processes = all.map((counts) => {
      const [asleep = 0, storage = 0] = counts ?? []
      return { ...process, states: counts && { asleep, storage } }
    })
    return listFactors(mpiFactors(processes, null)).find(({ name }) => name === 'storage')?.missing
  }
  t.equal(reasonOf([5, 0], [5, 0]), NEVER_IN_STORAGE)
  t.equal(reasonOf([5, 0], [4, 0]), WITHOUT_STORAGE, 'too few samples')
  t.equal(reasonOf([50, 0], [50, 1]), WITHOUT_STORAGE, 'one process waited for storage')
  t.equal(reasonOf([50, 0], undefined), WITHOUT_STORAGE, 'the states of one are not known')
})

t.test('slow calls are the platform for as long as another rank had no processor', async (t) => {
  const rank = (waited: number) => ({
    ...{ ...UNKNOWN, pod: '0', elapsed: 10, inMpi: 5, fastInMpi: 0 },
    waits: { outside: waited, inMpi: 0 },
  })
  const communicationOf = (waits: readonly number[]) => factorsOf(waits.map(rank))[2]?.toFixed(2)
  t.equal(communicationOf([0, 0]), '0.50')
  t.equal(communicationOf([1, 0]), '0.56', 'one rank waited in MPI for the other for a second')
  t.equal(communicationOf([1, 1]), '0.50')
  t.equal(communicationOf([4, 4]), '0.50')
})

const balances = (root: ReturnType<typeof mpiFactors>) =>
  (['load-balance', 'balance-between-pods', 'balance-within-pods'] as const).map((name) =>
    valueIn(root, name)?.toFixed(3),
  )

t.test('the balance is that between pods and that within them', async (t) => {
  const rank = (pod: string, useful: number) => ({
    ...{ ...UNKNOWN, pod, elapsed: 10, inMpi: 10 - useful },
  })
  const between = [rank('0', 8), rank('0', 8), rank('1', 4), rank('1', 4)]
  t.strictSame(balances(mpiFactors(between, 'x')), ['0.750', '0.750', '1.000'])
  const inside = [rank('0', 8), rank('0', 4), rank('1', 8), rank('1', 4)]
  t.strictSame(balances(mpiFactors(inside, 'x')), ['0.750', '1.000', '0.750'])
})

t.test('without the time of waiting, communication and platform are one factor', async (t) => {
  const times = [{ ...UNKNOWN, pod: '0', elapsed: 10, inMpi: 2 }]
  const [, both] = mpiFactors(times, 'nobody counted it').parts
  t.match(both, { name: 'communication-and-platform', value: 0.8 })
  t.match(both?.parts, [
    { name: 'communication', value: null, missing: 'nobody counted it' },
    { name: 'platform', value: null, missing: 'nobody counted it' },
  ])
})

const time = fc.double({ min: 0, max: 1, noNaN: true })
const anyProcess = fc
  .tuple(fc.nat(3), fc.double({ min: 0.01, max: 1e5, noNaN: true }), time, time, time, fc.nat(2))
  .map(([pod, elapsed, inMpi, runnable, part, kind]) => ({
    ...{ pod: String(pod), elapsed, inMpi: elapsed * inMpi * 0.99 },
    // Part of the time outside of MPI remains, without which there is no efficiency.
    waits:
      kind > 0
        ? { outside: 0.9 * elapsed * (1 - inMpi * 0.99) * part, inMpi: elapsed * (1 - part) }
        : null,
    fastInMpi: kind > 0 ? elapsed * inMpi * part : null,
    asleep: kind > 0 ? elapsed * (1 - inMpi * 0.99) * 0.05 * part : null,
    cpu: kind === 1 ? elapsed * runnable : null,
    storage: kind > 0 ? elapsed * 0.02 : null,
    shares: {
      ...{ ran: runnable * (0.01 + 0.99 * part), waited: runnable * 0.99 * (1 - part) },
      threads: kind > 1 ? 3 : 1,
    },
  }))

/** Reports whether the value is possible, and the product of its parts, if it has any. */
function isProduct({ value, parts, least, missing }: Factor): boolean {
  if (missing !== null) return value === null
  if (value === null || value <= 0 || value > 1) return false
  const known = parts.flatMap((part) => part.value ?? [])
  const product = known.reduce((all, part) => all * part, 1)
  const isEqual = known.length === 0 || Math.abs(product - value) <= 1e-9
  return isEqual && (least ?? 0) <= value + 1e-9
}

t.test('without time outside of MPI that was not waiting, there is no efficiency', async (t) => {
  const waits = { outside: 8, inMpi: 0 }
  const waiting = { ...UNKNOWN, pod: '0', elapsed: 10, inMpi: 2, fastInMpi: 2, waits }
  t.match(mpiFactors([waiting], null), { value: null, missing: 'no process ran outside of MPI' })
})

t.test('of any times, the factors are in (0, 1], and their product is the efficiency', async () => {
  fc.assert(
    fc.property(fc.array(anyProcess, { minLength: 1, maxLength: 9 }), (times) => {
      return listFactors(mpiFactors(times, null)).every(isProduct)
    }),
  )
})

t.test('the order of the ranks does not matter', async () => {
  fc.assert(
    fc.property(fc.array(anyProcess, { minLength: 1, maxLength: 9 }), (times) => {
      return within(factorsOf(times), factorsOf([...times].reverse()), 1e-9)
    }),
  )
})
