import { rfc3339 } from '../../lib/rfc3339.ts'
import type { InputLog } from './join-logs.ts'
import { type PodStart, readStarts } from './pod-starts.ts'

/**
 * The time without any row after which logs of unknown controllers are of another run, in
 * milliseconds. A Job replaces a pod that failed after at most ten minutes (kubernetes v1.36
 * pkg/controller/job/job_controller.go, MaxJobPodFailureBackOff).
 */
const MAX_GAP_MS = 15 * 60 * 1000

type Pair = readonly [first: PodStart, second: PodStart]

/** A sign that logs are of several runs. */
interface RunRule {
  readonly condition: string
  /** Why the two are not of one run. */
  readonly why: string
  /** @param starts the starts of pods, the first one first */
  readonly find: (starts: readonly PodStart[]) => Pair | undefined
}

/** The signs that logs are of several runs. The first one that is seen is named. */
export const RUN_RULES = [
  {
    condition: 'two pods are in different namespaces',
    why: 'a run has one namespace',
    find: (starts) =>
      pairWithFirst(
        starts.filter(({ namespace }) => namespace !== null),
        (first, { namespace }) => namespace !== first.namespace,
      ),
  },
  {
    condition: 'two pods belong to different Jobs, which are not Jobs of one JobSet',
    why: 'each Job is a run of its own',
    find: (starts) => pairWithFirst(starts.filter(isOfSingleJob), areOfDifferentJobs),
  },
  {
    condition:
      'two pods have the same controller and index, or the same name, and the first one ended ' +
      'before the second one began; not if a pod is known to have failed or to have been stopped ' +
      'by then, since the second one is another attempt',
    why:
      'the second one is not known to be another attempt of a run that failed; the output of ' +
      'collect would say how the pods ended',
    find: findSuccessor,
  },
  {
    condition:
      'there is no row for 15 minutes, and the pods before and after have no controller in common',
    why: 'there is no row for 15 minutes, and no controller that they have in common',
    find: findGap,
  },
] as const satisfies readonly RunRule[]

/**
 * Returns a sentence that names two runs, if the logs are of several; undefined if they can be of
 * one run.
 */
export function describeDifferentRuns(logs: readonly InputLog[]): string | undefined {
  const starts = readStarts(logs)
  for (const { find, why } of RUN_RULES) {
    const pair = find(starts)
    if (pair === undefined) continue
    const [first, second] = pair.map(describeStart)
    return `the logs are of several runs: ${first}, and ${second}; ${why}`
  }
  return undefined
}

/** Pairs the first start with the first of the others that differs from it. */
function pairWithFirst(
  starts: readonly PodStart[],
  differs: (first: PodStart, other: PodStart) => boolean,
): Pair | undefined {
  const [first] = starts
  const other = first && starts.find((one) => differs(first, one))
  return first === undefined || other === undefined ? undefined : [first, other]
}

const JOB = /^Job\//
/** The Jobs of a JobSet: JOBSET-NAME-NUMBER (jobset pkg/controllers, placement.GenJobName). */
const OF_JOBSET = /^Job\/([^-]+)-.*-\d{1,4}$/
/** The Jobs of a CronJob: NAME-MINUTES (kubernetes pkg/controller/cronjob, getJobName). */
const OF_CRONJOB = /^Job\/(.*)-\d{8}$/

/** Reports whether a pod belongs to a Job, whose pods have no roles, as those of a JobSet have. */
function isOfSingleJob({ owner, index }: PodStart): boolean {
  return owner !== undefined && JOB.test(owner) && (index === null || /^\d+$/.test(index))
}

function areOfDifferentJobs(first: PodStart, other: PodStart): boolean {
  const [a = '', b = ''] = [first.owner, other.owner]
  if (a === b || haveSameMatch(OF_JOBSET, a, b)) return false
  return haveSameMatch(OF_CRONJOB, a, b) || !areCollectedTogether(first, other)
}

function haveSameMatch(pattern: RegExp, a: string, b: string): boolean {
  const [one, other] = [pattern.exec(a)?.[1], pattern.exec(b)?.[1]]
  return one !== undefined && one === other
}

/** Reports whether one command `collect` has written the logs of both: it collects one workload. */
function areCollectedTogether(a: PodStart, b: PodStart): boolean {
  const filesOf = ({ logs }: PodStart) =>
    logs.flatMap(({ file, entry }) => (entry !== undefined && entry.ended !== null ? file : []))
  const files = filesOf(b)
  return filesOf(a).some((file) => files.includes(file))
}

function findSuccessor(starts: readonly PodStart[]): Pair | undefined {
  const known = starts.filter(({ pod, began }) => pod !== null && !Number.isNaN(began))
  // A Job without indexes names each pod anew. The pods of a Deployment may follow each other.
  const places = Map.groupBy(known, ({ namespace, owner, index, pod }) =>
    JSON.stringify([namespace, owner, index ?? (JOB.test(owner ?? '') ? null : pod)]),
  )
  const pairs = [...places.values()].flatMap(withLatestBefore)
  return pairs.find(([first, second]) => {
    return first.ended < second.began && !isAttempt(first, second, starts)
  })
}

/** Pairs each start but the first with that of the starts before which ended last. */
function withLatestBefore(starts: readonly PodStart[]): readonly Pair[] {
  let latest: PodStart | undefined
  return starts.flatMap((start) => {
    const pair = latest === undefined ? [] : [[latest, start] as const]
    if (latest === undefined || start.ended > latest.ended) latest = start
    return pair
  })
}

/** The controllers that name each pod anew, so that two pods never have the same name. */
const NAMES_ANEW = /^(Job|ReplicaSet|DaemonSet)\//

/** Reports whether the second start is known to be of the same run as the first one. */
function isAttempt(first: PodStart, second: PodStart, starts: readonly PodStart[]): boolean {
  const isSamePod = first.pod === second.pod && NAMES_ANEW.test(first.owner ?? '')
  if (isSamePod || areCollectedTogether(first, second)) return true
  // A JobSet creates all pods again if one has failed.
  return starts.some(({ state, began, ended }) => {
    const isEnded = began <= second.began && ended >= first.began && ended <= second.began
    return isEnded && (state === 'failed' || state === 'stopped')
  })
}

function findGap(starts: readonly PodStart[]): Pair | undefined {
  const known = starts.filter(({ began }) => !Number.isNaN(began))
  return withLatestBefore(known).find(([latest, next]) => {
    if (next.began - latest.ended <= MAX_GAP_MS || areCollectedTogether(latest, next)) return false
    const position = known.indexOf(next)
    return !haveCommonController(known.slice(0, position), known.slice(position))
  })
}

/** Reports whether pods of two times have a controller in common, or can be of one JobSet. */
function haveCommonController(before: readonly PodStart[], after: readonly PodStart[]): boolean {
  const owners = new Set(before.flatMap(({ owner }) => owner ?? []))
  const all = new Set(after.flatMap(({ owner }) => owner ?? []))
  if ([...all].some((owner) => owners.has(owner))) return true
  const [a = '', b = ''] = [[...owners][0], [...all][0]]
  return haveSameMatch(OF_JOBSET, a, b)
}

/** Names a start: its pod or log, its controller, its times and its first file. */
function describeStart({ logs, pod, owner, namespace, began, ended }: PodStart): string {
  const [first] = logs
  const name = pod === null ? `the log ${first?.name}` : `pod ${namespace ?? '?'}/${pod}`
  const of = owner === undefined ? '' : ` of ${owner}`
  const times = Number.isNaN(began) ? '' : ` (${rfc3339(began)} to ${rfc3339(ended)})`
  return `${name}${of}${times} in ${first?.file}`
}
