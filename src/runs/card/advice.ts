import { maximum } from '../../lib/statistics.ts'
import type { ComputeAmounts, ContainerFacts } from '../facts/container-facts.ts'
import type { RunPod } from '../facts/pod-facts.ts'
import { isOver, type Run } from '../facts/run.ts'
import { findInSummaries, findingText, isThrottled } from './card-findings.ts'
import { listPodUses, type PodUse } from './pod-use.ts'
import { throttledPart } from './role-card.ts'

/** The part of the greatest use by which the requests exceed it. */
export const ADVICE_MARGIN = 0.15

/** Requests and limits for the pods of one role. */
export interface RoleAdvice {
  readonly role: string
  readonly basis: AdviceBasis
  /** Why there is no advice, as whole sentences; empty if there is. */
  readonly refusals: readonly string[]
  readonly containers: readonly ContainerAdvice[]
}

/** What advice is made from. */
export interface AdviceBasis {
  readonly runs: number
  readonly pods: number
  /** The percentile of the pods on which the advice is based. */
  readonly percentile: 100
  readonly margin: typeof ADVICE_MARGIN
}

/** The use of a container, and what to request for it; the advice is null if it is refused. */
export interface ContainerAdvice {
  readonly name: string
  /** The greatest use of one pod: processors on average over its time, and the peak in bytes. */
  readonly seen: ComputeAmounts
  /** The names of the pods with this use. */
  readonly seenIn: { readonly cpu: string | null; readonly memory: string | null }
  /** The present requests and limits. */
  readonly now: { readonly requests: ComputeAmounts; readonly limits: ComputeAmounts }
  readonly requests: ComputeAmounts
  /** A CPU limit only if the present one is below the request. */
  readonly limits: ComputeAmounts
}

/**
 * Advises requests and limits for each role of runs of one workload, from the greatest use of a
 * pod. Advice is refused where the need may be greater than the use: if the run has not ended, a
 * summary is missing or cut, or a pod was throttled, was killed or failed.
 *
 * The CPU request is the average over the time of a pod, as the card shows it. A CPU limit is only
 * raised: how much a container needs in a short time is not known. The memory limit is the request,
 * so that the node has the memory that the container may use.
 */
export function adviseRuns(runs: readonly Run[]): readonly RoleAdvice[] {
  const all = runs.flatMap((run) => listPodUses(run.pods).map((use) => ({ run, use })))
  const byRole = Map.groupBy(all, ({ use }) => use.role)
  return [...byRole].map(([role, members]) => {
    const own = members.map(({ use }) => use)
    const refusals = listRefusals(runs, own)
    const measured = own.flatMap(listUses)
    const byName = Map.groupBy(measured, ({ name }) => name)
    return {
      role,
      basis: {
        runs: new Set(members.map(({ run }) => run)).size,
        pods: own.reduce((sum, { pods }) => sum + pods.length, 0),
        percentile: 100,
        margin: ADVICE_MARGIN,
      },
      refusals,
      containers: [...byName].map(([name, uses]) => advise(name, uses, refusals.length > 0)),
    }
  })
}

/**
 * Combines the advice from several runs, each of which was made on its own: the greatest use that
 * one of them saw, the present requests of the last one, and all refusals.
 */
export function combineAdvice(single: readonly RoleAdvice[]): readonly RoleAdvice[] {
  return [...Map.groupBy(single, ({ role }) => role)].map(([role, own]) => {
    const refusals = own.flatMap((one) => one.refusals)
    const containers = own.flatMap((one) => one.containers)
    const sum = (name: 'runs' | 'pods') => own.reduce((all, { basis }) => all + basis[name], 0)
    return {
      role,
      basis: { runs: sum('runs'), pods: sum('pods'), percentile: 100, margin: ADVICE_MARGIN },
      refusals,
      containers: [...Map.groupBy(containers, ({ name }) => name)].map(([name, seen]) => {
        return advise(name, seen.flatMap(asMeasured), refusals.length > 0)
      }),
    }
  })
}

/** Returns the use of the pods with the greatest use, with the present requests. */
function asMeasured({ name, seen, seenIn, now }: ContainerAdvice): readonly Measured[] {
  return [
    { name, pod: seenIn.cpu ?? '', used: { cpu: seen.cpu, memory: null }, ...now },
    { name, pod: seenIn.memory ?? '', used: { cpu: null, memory: seen.memory }, ...now },
  ]
}

function listRefusals(runs: readonly Run[], uses: readonly PodUse[]): readonly string[] {
  const running = runs.filter(({ phase }) => !isOver(phase))
  const deleted = runs.filter(({ phase }) => phase === 'Deleted')
  const missing = uses.flatMap(({ pods }) => pods.flatMap((pod) => pod.missing))
  const failures = findInSummaries(uses).filter(({ severity }) => severity === 'failure')
  const throttled = uses.filter((use) => isThrottled(throttledPart(use)))
  const unknown = uses.flatMap(({ pods }) => pods).filter((pod) => !isMeasured(pod))
  return [
    ...running.map(({ word, name }) => `${word}/${name} has not ended`),
    ...deleted.map(({ word, name }) => `${word}/${name} was deleted before it ended`),
    ...missing,
    ...(missing.length > 0 ? [] : unknown.map(({ name }) => `the use of ${name} is not known`)),
    ...failures.map((finding) => `${findingText(finding)}; it may need more than it used`),
    ...findInSummaries(throttled)
      .filter(({ name }) => name === 'throttled')
      .map((finding) => `${findingText(finding)}; it needs more than it used`),
  ]
}

/** Reports whether the use of a pod's observed containers is known. */
function isMeasured({ containers }: RunPod): boolean {
  const observed = containers.filter(({ use }) => use !== null)
  const isKnown = ({ use, lifetime }: ContainerFacts) => {
    const values = [use?.cpu ?? null, use?.memoryPeak ?? null, use?.seconds ?? lifetime]
    return !values.includes(null)
  }
  return observed.length > 0 && observed.every(isKnown)
}

/** The use of a container in one pod. */
interface Measured {
  readonly name: string
  readonly pod: string
  readonly used: ComputeAmounts
  readonly requests: ComputeAmounts
  readonly limits: ComputeAmounts
}

function listUses({ pods }: PodUse): readonly Measured[] {
  return pods.flatMap(({ name: pod, containers }) => {
    return containers.flatMap(({ name, use, lifetime, requests, limits }) => {
      if (use === null) return []
      const seconds = use.seconds ?? lifetime ?? 0
      const cpu = use.cpu === null || seconds <= 0 ? null : use.cpu / seconds
      return { name, pod, used: { cpu, memory: use.memoryPeak }, requests, limits }
    })
  })
}

const NOTHING: ComputeAmounts = { cpu: null, memory: null }

function advise(name: string, uses: readonly Measured[], isRefused: boolean): ContainerAdvice {
  const cpu = findMost(uses, 'cpu')
  const memory = findMost(uses, 'memory')
  const seen = { cpu: cpu.value, memory: memory.value }
  const { requests: nowRequested, limits: nowLimited } = uses.at(-1) ?? {
    requests: NOTHING,
    limits: NOTHING,
  }
  const requests = isRefused ? NOTHING : addMargin(seen)
  return {
    name,
    seen,
    seenIn: { cpu: cpu.pod, memory: memory.pod },
    now: { requests: nowRequested, limits: nowLimited },
    requests,
    limits: { cpu: raisedLimit(nowLimited.cpu, requests.cpu), memory: requests.memory },
  }
}

/** Returns the request if the limit is below it. */
function raisedLimit(limit: number | null, request: number | null): number | null {
  return limit !== null && request !== null && limit < request ? request : null
}

function findMost(uses: readonly Measured[], resource: keyof ComputeAmounts) {
  const most = maximum(uses.map(({ used }) => used[resource]))
  const found = uses.find(({ used }) => used[resource] === most)
  return { value: most, pod: most === null ? null : (found?.pod ?? null) }
}

const MEBIBYTE = 1024 ** 2
/** The steps of processors, and the least memory: what a small process of a container needs. */
const CPU_STEPS = 100
const MIN_MEMORY = 4 * MEBIBYTE

/** Adds the margin, and rounds up to hundredths of a processor and to MiB. */
function addMargin({ cpu, memory }: ComputeAmounts): ComputeAmounts {
  const [more, most] = [1 + ADVICE_MARGIN, Math.max(memory ?? 0, MIN_MEMORY)]
  return {
    cpu: cpu === null ? null : Math.max(Math.ceil(cpu * more * CPU_STEPS), 1) / CPU_STEPS,
    memory: memory === null ? null : Math.ceil((most * more) / MEBIBYTE) * MEBIBYTE,
  }
}
