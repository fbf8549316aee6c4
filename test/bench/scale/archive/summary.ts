import { availableParallelism } from 'node:os'
import type { Measurement } from './measure.ts'
import { type BystanderCost, CHANGE_SECONDS, usedShare } from './measure-bystanders.ts'
import { type MeasuredRuns, PROGRAMS, type Wave } from './measure-runs.ts'

/** The bounds: what an archive may cost. */
const MAX_BEHIND_SECONDS = 60
const MAX_MIB = 300_000_000 / 1024 ** 2
const MAX_BYSTANDERS_MIB = 30_000_000 / 1024 ** 2
const MAX_BYSTANDERS_CPU = 0.05
/** The difference between the sizes of etcd after two waves that counts as none, as a part. */
const SAME_SIZE = 0.1

/** Renders a measurement as text, with a sentence for each bound that is exceeded. */
export function render({ runs, bystanders }: Measurement): string {
  const lines = [
    `One machine with ${availableParallelism()} processors runs everything.`,
    'etcd does not wait for the disk (--unsafe-no-fsync). kwok simulates the nodes.',
    '',
    ...runs.waves.flatMap((wave, index) => [`Wave ${index + 1}`, ...describeWave(wave), '']),
    ...describeRuns(runs),
    '',
    ...describeBystanders(bystanders),
  ]
  return lines.join('\n')
}

function describeWave(wave: Wave): readonly string[] {
  const { runs, pods, seconds, ends, usage, retentionSeconds, keptRuns, etcd } = wave
  const afterJob = ends.flatMap(({ job, run }) => {
    return job === undefined ? [] : [Math.max(run - job, 0)]
  })
  const behind = ends.map(({ run }) => run)
  return [
    `${runs} runs, ${pods} pods in ${seconds.toFixed(0)} s: ${(pods / seconds).toFixed(0)} pods/s`,
    `seconds from the end of the last pod to the final Run: ${describeQuantiles(behind)}`,
    `seconds from the deletion of the Job to the final Run: ${describeQuantiles(afterJob)}`,
    `processor time, % of a processor: ${describeCpu(wave)}`,
    `resident memory of the archive, MiB: ${describeQuantiles(
      usage.map(({ usages }) => usages[0]?.rss ?? 0),
    )}`,
    `${retentionSeconds.toFixed(0)} s until ${keptRuns} Runs were left`,
    `etcd after compaction: ${etcd.toFixed(1)} MiB`,
  ]
}

function describeCpu({ usage }: Wave): string {
  return PROGRAMS.map((name, place) => `${name} ${percent(usedShare(usage, place))}`).join(', ')
}

function describeRuns(measured: MeasuredRuns): readonly string[] {
  const { kept, mostRuns, mostPods, etcdBefore, peak, problems, changes } = measured
  const requests = [...changes].map(
    ([verb, { count, ms }]) => `${verb} ${count} in ${ms.toFixed(0)} ms each`,
  )
  const wrong = [`Runs that are not right: ${problems.length}`, ...problems.slice(0, 10)]
  return [
    `the most pods at the same time: ${mostPods}`,
    `the most Runs at the same time: ${mostRuns}, of which ${kept} are kept`,
    `etcd before the first run: ${etcdBefore.toFixed(1)} MiB`,
    `highest resident memory of the archive: ${peak.toFixed(0)} MiB`,
    `requests with which the archive changed Runs: ${requests.join(', ')}`,
    ...wrong,
  ]
}

function describeBystanders(cost: BystanderCost): readonly string[] {
  const { pods, updatesPerSecond, before, after, startBefore, startAfter, peakAfter } = cost
  const use = ({ rss, cpu }: BystanderCost['before']) =>
    `${rss.toFixed(1)} MiB (median), ${percent(cpu)} % of a processor`
  return [
    `${pods} pods without observers, of which each changes once in ${CHANGE_SECONDS} s`,
    `without them: ${use(before)}`,
    `with them, and ${updatesPerSecond.toFixed(0)} changes a second: ${use(after)}`,
    `processor time to start and list, without them: ${startBefore.toFixed(2)} s`,
    `processor time to start and list, with them: ${startAfter.toFixed(2)} s`,
    `highest memory of an archive that starts with them: ${peakAfter.toFixed(0)} MiB`,
  ]
}

/** Returns a sentence for each bound that is exceeded. */
export function findExceeded({ runs, bystanders }: Measurement): readonly string[] {
  const { waves, peak, kept, problems } = runs
  const behind = Math.max(...waves.flatMap(({ ends }) => ends.map(({ run }) => run)))
  const sizes = waves.map(({ etcd }) => etcd)
  const { before, after } = bystanders
  const checks: readonly (readonly [boolean, string])[] = [
    [problems.length > 0, 'Runs are not right'],
    [behind > MAX_BEHIND_SECONDS, `the archive was ${behind.toFixed(0)} s behind`],
    [peak > MAX_MIB, `the archive used ${peak.toFixed(0)} MiB`],
    [waves.some(({ keptRuns }) => keptRuns > kept), 'too many Runs were kept'],
    [Math.max(...sizes) > Math.min(...sizes) * (1 + SAME_SIZE), 'etcd has grown'],
    [after.rss - before.rss > MAX_BYSTANDERS_MIB, 'other pods cost too much memory'],
    [after.cpu - before.cpu > MAX_BYSTANDERS_CPU, 'other pods cost too much processor time'],
  ]
  return checks.flatMap(([isExceeded, sentence]) => (isExceeded ? [sentence] : []))
}

function describeQuantiles(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
  return `p50 ${at(0.5).toFixed(1)}, p99 ${at(0.99).toFixed(1)}, max ${at(1).toFixed(1)}`
}

function percent(share: number): string {
  return (share * 100).toFixed(1)
}
