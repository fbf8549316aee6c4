import { setTimeout as sleep } from 'node:timers/promises'
import type { Defer } from '../ending.ts'
import { sampleUsage, type UsageSample } from '../usage.ts'
import { startArchive } from './archive-process.ts'
import { createBystanders, updateBystanders } from './bystanders.ts'
import type { Plane, Say } from './measure.ts'

/** The time for which an archive is measured without and with the pods. */
const BEFORE_SECONDS = 60
const AFTER_SECONDS = 120
/** The time until an archive is at rest after pods were created. */
const REST_SECONDS = 30

/** Each pod changes its status about once in this time. */
export const CHANGE_SECONDS = 1000

/** The usage of an archive: the median resident memory in MiB, and the part of a processor. */
export interface Use {
  readonly rss: number
  readonly cpu: number
}

/** The cost of pods without observers. */
export interface BystanderCost {
  readonly pods: number
  readonly updatesPerSecond: number
  readonly before: Use
  readonly after: Use
  /** The seconds of processor time to start an archive and list all pods, without and with them. */
  readonly startBefore: number
  readonly startAfter: number
  /** The highest resident memory of the archive that listed the pods, in MiB. */
  readonly peakAfter: number
}

/** The Runs are not deleted. */
const MAX_RUNS = 100_000

/** Measures one archive before and after the pods exist, and another that starts with them. */
export async function measureBystanders(
  { cluster, api }: Plane,
  pods: number,
  say: Say,
  defer: Defer,
): Promise<BystanderCost> {
  const archive = await startArchive(cluster, MAX_RUNS)
  defer(archive.stop)
  const { pid } = archive.daemon
  const startBefore = cpuOf(pid)
  await sleep(REST_SECONDS * 1000)
  say('measuring an archive without other pods')
  const before = await measureUse(pid, () => sleep(BEFORE_SECONDS * 1000))
  await createBystanders(api, pods, say)
  await sleep(REST_SECONDS * 1000)
  say('measuring the archive with other pods')
  let updatesPerSecond = 0
  const rate = { perSecond: pods / CHANGE_SECONDS, seconds: AFTER_SECONDS }
  const after = await measureUse(pid, async () => {
    updatesPerSecond = await updateBystanders(api, pods, rate)
  })
  await archive.stop()
  say('starting another archive')
  const next = await startArchive(cluster, MAX_RUNS)
  defer(next.stop)
  const startAfter = cpuOf(next.daemon.pid)
  const peakAfter = next.peak()
  return { pods, updatesPerSecond, before, after, startBefore, startAfter, peakAfter }
}

function cpuOf(pid: number): number {
  const sampling = sampleUsage([pid])
  sampling.stop()
  return sampling.samples[0]?.usages[0]?.cpu ?? Number.NaN
}

/** Measures a process while something happens. */
async function measureUse(pid: number, work: () => Promise<unknown>): Promise<Use> {
  const sampling = sampleUsage([pid])
  try {
    await work()
  } finally {
    sampling.stop()
  }
  const { samples } = sampling
  const rss = samples.map(({ usages }) => usages[0]?.rss ?? 0).toSorted((a, b) => a - b)
  return { rss: rss[Math.floor(rss.length / 2)] ?? Number.NaN, cpu: usedShare(samples, 0) }
}

/** Returns the part of a processor that a program has used. */
export function usedShare(samples: readonly UsageSample[], place: number): number {
  const [first, last] = [samples[0], samples.at(-1)]
  const used = (last?.usages[place]?.cpu ?? 0) - (first?.usages[place]?.cpu ?? 0)
  return used / ((last?.at ?? 0) - (first?.at ?? 0))
}
