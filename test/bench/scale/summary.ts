import { availableParallelism, totalmem } from 'node:os'
import { countRequests, isPageOfPods, scansIn, shareOfScans } from './audit.ts'
import type { Figure } from './figures.ts'
import { SCAN_SECONDS } from './installation.ts'
import type { Measurement } from './measure.ts'
import { describeSize } from './size.ts'
import { renderUsage, type UsageSample } from './usage.ts'

/** The largest memory of a replica that is acceptable, in MiB: 200 MB. */
const MAX_MEMORY = 200_000_000 / 1024 ** 2
/** The largest share of the time in which the apiserver works on a scan, in percent. */
const MAX_SCANNING = 5

/** The difference by which the ratio of two times varies between runs of the same size. */
const RATIO_NOISE = 0.3

/** Returns the figures of a measurement. */
export function figuresOf(measured: Measurement): readonly Figure[] {
  return [
    ...creationFigures(measured),
    ...usageFigures(measured),
    ...requestFigures(measured),
    ...missedFigures(measured),
  ]
}

function creationFigures({ size, namespaces, pods, jobs, reviews }: Measurement): Figure[] {
  const each = { work: 1, isOurs: false }
  const rate = (count: number, seconds: number) => count / seconds
  const figures: Figure[] = []
  for (const kind of ['without', 'with'] as const) {
    const { times, seconds } = pods[kind]
    figures.push(
      { name: `pods/s, ${kind} observers`, value: rate(times.length, seconds), ...each },
      { name: `ms of a creation, median, ${kind} observers`, value: quantile(times, 0.5), ...each },
      { name: `ms of a creation, p95, ${kind} observers`, value: quantile(times, 0.95), ...each },
    )
  }
  const [ours, others] = [pods.with, pods.without]
  const perPod = (one: typeof ours) => one.seconds / one.times.length
  const perJob = jobs.with.seconds / jobs.without.seconds
  const p95 = quantile(ours.times, 0.95) / quantile(others.times, 0.95)
  const pods95 = { name: 'p95 with observers, divided by p95 without', value: p95 }
  const ratio = { work: 1, noise: RATIO_NOISE, isOurs: true }
  const time = { name: 'time with observers, divided by time without' }
  return [
    ...figures,
    ...(['without', 'with'] as const).map((kind) => ({
      ...{ name: `pods/s of a Job, ${kind} observers`, ...each },
      value: rate(size.jobPods, jobs[kind].seconds),
    })),
    { ...time, value: perPod(ours) / perPod(others), ...ratio },
    { ...pods95, ...ratio },
    { name: 'time of a Job with observers, divided by without', value: perJob, ...ratio },
    { name: 'ms of a review, average', value: reviews.ms, work: 1, noise: 0.1, isOurs: true },
    {
      ...{ name: 's to create the namespaces', value: namespaces.seconds },
      ...{ work: size.namespaces, isOurs: false },
    },
  ]
}

function usageFigures(measured: Measurement): Figure[] {
  const { usage, creation, size, pods, propagation, startSeconds } = measured
  const objects = size.pods + size.namespaces
  const replicas = [0, 1]
  const rss = usage.flatMap(({ usages }) => replicas.map((place) => usages[place]?.rss ?? 0))
  const cpu = replicas.map((place) => cpuOf(creation, place))
  const work = pods.with.times.length
  return [
    {
      ...{ name: 'MiB of a replica, highest (RSS)', value: Math.max(...rss) },
      ...{ work: objects, most: MAX_MEMORY, isOurs: true },
    },
    {
      ...{ name: 's of processor time of both replicas, creating the pods', work, isOurs: true },
      value: cpu.reduce((sum, seconds) => sum + seconds, 0),
    },
    {
      ...{ name: 's until one more replica is ready', value: startSeconds },
      ...{ work: size.namespaces, noise: 0.5, isOurs: true },
    },
    {
      ...{ name: 'ms until all replicas know a change, median' },
      ...{ value: quantile(propagation, 0.5), work: 1, noise: 20, isOurs: true },
    },
    {
      ...{ name: 'ms until all replicas know a change, longest' },
      ...{ value: quantile(propagation, 1), work: 1, noise: 200, isOurs: true },
    },
  ]
}

function cpuOf(samples: readonly UsageSample[], place: number): number {
  const at = (sample: UsageSample | undefined) => sample?.usages[place]?.cpu ?? 0
  return at(samples.at(-1)) - at(samples[0])
}

function requestFigures({ requests, size, podsAtEnd, seconds, lastScan }: Measurement): Figure[] {
  const scans = scansIn(requests)
  const others = requests.filter((request) => !isPageOfPods(request)).length
  const work = { work: podsAtEnd, isOurs: true }
  const duration = (lastScan.end - lastScan.begin) / 1000
  const share = { name: '% of the time in which the apiserver works on scans', work: podsAtEnd }
  return [
    { name: 's of a scan of all pods', value: duration, ...work },
    { name: 'apiserver calls of a scan', value: lastScan.pages, ...work },
    {
      ...{ ...share, value: shareOfScans(scans) * 100, isOurs: true },
      // The share may have any value below its limit.
      ...{ most: MAX_SCANNING, noise: MAX_SCANNING },
    },
    {
      ...{ name: 'other apiserver calls per minute', value: (others / seconds) * 60 },
      ...{ work: size.namespaces, isOurs: true },
    },
  ]
}

function missedFigures(measured: Measurement): Figure[] {
  const { pods, jobs, podsAtEnd, scannedMissed, failedOpen, namespaces, size } = measured
  const none = { most: 0, isOurs: true }
  const value = pods.with.unobserved + jobs.with.unobserved
  return [
    { name: 'missed pods', value, work: podsAtEnd, ...none },
    {
      name: 'missed pods that the last scan counted',
      value: scannedMissed,
      work: podsAtEnd,
      ...none,
    },
    { name: 'reviews without an answer', value: failedOpen, work: podsAtEnd, ...none },
    {
      name: 'namespaces without their label',
      value: namespaces.unarmed,
      work: size.asking,
      ...none,
    },
  ]
}

/** @returns NaN for no values */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

/** Describes the machine and the conditions of all measurements. */
export function describeConditions(): string {
  const memory = `${(totalmem() / 1024 ** 3).toFixed(0)} GiB of memory`
  return [
    `One machine with ${availableParallelism()} processors and ${memory} runs everything.`,
    'etcd does not wait for the disk (--unsafe-no-fsync). kwok simulates the nodes.',
    `Scans begin every ${SCAN_SECONDS / 2} to ${SCAN_SECONDS} s, or later because of their limit.`,
  ].join('\n')
}

/** Renders the usage over time, and the requests by kind. */
export function renderDetails({ size, usage, peaks, requests, seconds }: Measurement): string {
  const counts = countRequests(requests).map(([name, count]) => `${`${count}`.padStart(8)} ${name}`)
  const groups = peaks.map((peak) => (peak === undefined ? 'unknown' : `${peak.toFixed(0)} MiB`))
  return [
    describeSize(size),
    '',
    renderUsage(usage, ['replica 1', 'replica 2', 'apiserver']),
    `Highest memory of the replicas' cgroups, with a limit of 512 MiB: ${groups.join(', ')}`,
    '',
    `Requests of the replicas to the apiserver in ${seconds.toFixed(0)} s:`,
    ...counts,
  ].join('\n')
}
