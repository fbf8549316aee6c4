import { rounded } from '../../../lib/round.ts'
import { median } from '../../../lib/statistics.ts'
import { type SplitTimes, splitTimes } from '../../efficiency/mpi-factors.ts'
import { podShares } from '../../efficiency/processor-factors.ts'
import type { Efficiency, ProcessEfficiency } from '../../efficiency/run-efficiency.ts'
import { sharesOf } from '../../efficiency/running-shares.ts'
import { longestStalled, podDelay, stalledAtOnce } from '../../findings/devices/pod-storage.ts'
import type { ProcessorWaits } from '../../jobs/recorded-job.ts'
import { type ActivityData, type Means, type Percent, STATES, type State } from './activity-data.ts'
import { groupLines, meansOf } from './line-groups.ts'
import type { MpiSteps, PodSteps, ProcessSteps } from './pod-steps.ts'
import { type Amounts, addAmounts, amountsOf, type Buckets, type RateStep } from './steps.ts'

/** The most buckets of a line. */
const MAX_BUCKETS = 120
/** The steps from which the usual interval is computed. */
const MAX_STEPS = 5000

/**
 * Builds the activity of the pods over time: of the processes of an MPI job if the efficiency is
 * about one, otherwise of all pods. Many of them are grouped; see `groupLines`.
 *
 * @param duration the length of the run in seconds
 * @param named the pods that findings name, the worst first
 */
export function activityData(
  all: ReadonlyMap<string, PodSteps>,
  { basis, processes, pods: measured }: Pick<Efficiency, 'basis' | 'processes' | 'pods'>,
  {
    pods,
    named,
    duration,
  }: {
    readonly pods: readonly string[]
    readonly named: readonly string[]
    readonly duration: number
  },
): ActivityData {
  const buckets = chooseBuckets(all, duration)
  const byName = new Map(measured.map((one) => [one.pod, one]))
  const actors =
    basis === 'mpi'
      ? processes.map((process) => ({
          pod: process.pod,
          label: `${process.mpiRank}`,
          percents: processPercents(all.get(process.pod), process.pid, buckets),
          means: processMeans(process),
          seconds: process.elapsed,
        }))
      : pods.flatMap((pod) => {
          const steps = all.get(pod)
          if (steps === undefined) return []
          const { shares = null, elapsed = 0 } = byName.get(pod) ?? {}
          const means = meansIn(shares === null ? undefined : { ...shares, mpi: 0 })
          const percents = podPercents(steps, buckets)
          return { pod, label: pod, percents, means, seconds: elapsed }
        })
  const known = actors.filter(({ percents }) => percents.some((own) => own.some(isKnown)))
  const word = basis === 'mpi' ? 'MPI rank' : 'pod'
  const lines = groupLines(known, named, word)
  return { basis, buckets, means: meansOf(actors), lines }
}

function isKnown(percent: Percent): boolean {
  return percent !== null
}

function chooseBuckets(all: ReadonlyMap<string, PodSteps>, duration: number): Buckets {
  const widths = firstWidths(all)
  const interval = Math.max(median(widths) ?? duration, 0.001)
  const count = Math.min(Math.max(Math.round(duration / interval), 1), MAX_BUCKETS)
  return { count, width: Math.max(duration, 0.001) / count }
}

/** Returns the seconds of the first steps, without reading the others, which may be many. */
function firstWidths(all: ReadonlyMap<string, PodSteps>): readonly number[] {
  const widths: number[] = []
  for (const { from, to } of allSteps(all)) {
    if (widths.length >= MAX_STEPS) break
    widths.push(to - from)
  }
  return widths
}

function* allSteps(all: ReadonlyMap<string, PodSteps>): Generator<RateStep> {
  for (const { processes, mpi } of all.values()) {
    for (const { ran } of processes) yield* ran()
    for (const { inMpi } of mpi) yield* inMpi()
  }
}

/** Returns the percents of a pod: the parts of the time of its mean thread. */
function podPercents({ processes, stalls, delays }: PodSteps, buckets: Buckets) {
  const ran = addAmounts(
    processes.map((one) => one.ran),
    buckets,
  )
  const waited = addAmounts(
    processes.map((one) => one.waited),
    buckets,
  )
  const { stored, atOnce } = storedAmounts({ stalls, delays }, buckets, total(ran.covered))
  return byState(buckets, (at) => {
    const elapsed = ran.covered[at] ?? 0
    const seconds = amountAt(stored, at)
    const shares = podShares({
      elapsed,
      ran: ran.sums[at] ?? 0,
      waited: amountAt(waited, at),
      storage: seconds === null ? null : { seconds, atOnce },
    })
    if (!isCovered(elapsed, buckets) || shares === null) return undefined
    return { ...shares, mpi: 0 }
  })
}

/**
 * Returns for how long a pod waited for storage, as `storageTime` does for the whole run, and how
 * many of its processes waited at once in the whole run; null if all did.
 *
 * @param elapsed the seconds for which the pod was observed
 */
function storedAmounts(
  { stalls, delays }: Pick<PodSteps, 'stalls' | 'delays'>,
  buckets: Buckets,
  elapsed: number,
): { readonly stored: Amounts; readonly atOnce: number | null } {
  const containers = stalls.map((read) => amountsOf(read(), buckets))
  const longest = longestStalled(containers, ({ sums }) => total(sums))
  if (longest !== undefined) return { stored: longest, atOnce: stalledAtOnce(stalls.length) }
  const processes = delays.map(({ waited }) => {
    const { sums, covered } = amountsOf(waited(), buckets)
    return { seconds: total(sums), life: total(covered) }
  })
  const sum = total(processes.map(({ seconds }) => seconds))
  const part = sum > 0 ? podDelay(processes, elapsed) / sum : 1
  const added = addAmounts(
    delays.map(({ waited }) => waited),
    buckets,
  )
  const stored = { ...added, sums: added.sums.map((one) => one * part) }
  return { stored, atOnce: 1 / part }
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/** Returns the sum of a bucket; null if nothing was read in it. */
function amountAt({ sums, covered }: ReturnType<typeof amountsOf>, at: number): number | null {
  return (covered[at] ?? 0) > 0 ? (sums[at] ?? 0) : null
}

/** The part of a bucket that must be covered. */
const MIN_COVERED = 0.2

function isCovered(seconds: number, { width }: Buckets): boolean {
  return seconds >= MIN_COVERED * width
}

/**
 * Returns the percents of a process of MPI, whose time outside of MPI is divided as in the
 * efficiency. A process that waits for a processor in MPI is shown as waiting. If its waiting was
 * counted at no time, it is not known; if it was counted only at other times, it is 0, so that the
 * states are all of the time.
 */
function processPercents(steps: PodSteps | undefined, pid: number | null, buckets: Buckets) {
  const own = steps?.processes.find((one) => one.pid === pid)
  const calls = steps?.mpi.find((one) => one.pid === pid)
  const inMpi = amountsOf(calls?.inMpi() ?? [], buckets)
  const running = runningShares(own, buckets)
  const waits = waitShares(calls, buckets)
  const asleep = shareIn(amountsOf(calls?.asleepOutside() ?? [], buckets))
  const stored = storageShare(steps, pid, buckets)
  const isCounted = Array.from({ length: buckets.count }).some((_, at) => {
    return waits(at) !== null || running(at) !== null
  })
  return byState(buckets, (at) => {
    const covered = inMpi.covered[at] ?? 0
    if (!isCovered(covered, buckets)) return undefined
    const part = (inMpi.sums[at] ?? 0) / covered
    const shares = running(at)
    const split = splitTimes({
      elapsed: 1,
      inMpi: part,
      waits: waits(at),
      shares,
      asleep: asleep(at),
      storage: stored(at),
      cpu: shares === null ? null : shares.ran * shares.threads,
    })
    return processStates(split, part, isCounted)
  })
}

/**
 * Returns the percents of a process over its whole time, as the efficiency has them. They are not
 * known if threads were in MPI at the same time: their times together may be longer than the run.
 */
function processMeans({ split, elapsed, inMpi, shares, waits }: ProcessEfficiency) {
  if (elapsed <= 0 || inMpi > elapsed) return meansIn(undefined)
  const states = processStates(split, inMpi, shares !== null || waits !== null)
  const parts = Object.entries(states).map(([state, seconds]) => {
    return [state, seconds === null ? null : seconds / elapsed]
  })
  return meansIn(Object.fromEntries(parts))
}

function meansIn(shares: Readonly<Record<State, number | null>> | undefined): Means {
  return STATES.map((state) => {
    const share = shares?.[state] ?? null
    return share === null ? null : rounded(100 * share)
  })
}

/** @param isCounted whether the waiting of the process was counted at any time */
function processStates(split: SplitTimes, inMpi: number, isCounted: boolean) {
  const delayedInMpi = Math.min(split.delayedInMpi, inMpi)
  return {
    computing: split.computing,
    mpi: inMpi - delayedInMpi,
    waiting: isCounted ? split.delayed + delayedInMpi : null,
    storage: split.storage,
    idle: split.idle ?? 0,
  }
}

/**
 * Returns the part of a bucket in which a process waited for storage, as `storageShares` does for
 * the whole run: its block I/O delay, or the part in which all processes of a container waited.
 */
function storageShare(steps: PodSteps | undefined, pid: number | null, buckets: Buckets) {
  const own = steps?.delays.filter((one) => one.pid !== null && one.pid === pid) ?? []
  const read = own.length > 0 ? own.map(({ waited }) => waited) : (steps?.stalls ?? [])
  const amounts = read.map((waited) => amountsOf(waited(), buckets))
  const longest = longestStalled(amounts, ({ sums }) => total(sums))
  return longest === undefined ? () => null : shareIn(longest)
}

/** Returns the part of a bucket; null if nothing was read in it. */
function shareIn({ sums, covered }: Amounts) {
  return (at: number): number | null => {
    const seconds = covered[at] ?? 0
    return seconds > 0 ? (sums[at] ?? 0) / seconds : null
  }
}

/** Returns the parts of a bucket in which a process of MPI waited for a processor. */
function waitShares(calls: MpiSteps | undefined, buckets: Buckets) {
  const outside = shareIn(amountsOf(calls?.waitedOutside() ?? [], buckets))
  const inMpi = shareIn(amountsOf(calls?.waitedInMpi() ?? [], buckets))
  return (at: number): ProcessorWaits | null => {
    const share = outside(at)
    return share === null ? null : { outside: share, inMpi: inMpi(at) ?? 0 }
  }
}

function runningShares(own: ProcessSteps | undefined, buckets: Buckets) {
  const ran = amountsOf(own?.ran() ?? [], buckets)
  const waited = amountsOf(own?.waited() ?? [], buckets)
  return (at: number) => {
    const covered = ran.covered[at] ?? 0
    const delay = amountAt(waited, at)
    return delay === null || covered <= 0 ? null : sharesOf(ran.sums[at] ?? 0, delay, covered)
  }
}

/** Returns the percents of each state, from its shares in each bucket; undefined if unknown. */
function byState(
  { count }: Buckets,
  sharesAt: (bucket: number) => Readonly<Record<State, number | null>> | undefined,
): readonly (readonly Percent[])[] {
  const all = Array.from({ length: count }, (_, bucket) => sharesAt(bucket))
  return STATES.map((state) => {
    return all.map((shares) => {
      const share = shares?.[state] ?? null
      return share === null ? null : Math.round(100 * share)
    })
  })
}
