import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import jsonpatch, { type Operation } from 'fast-json-patch'
import t from 'tap'
import { readRecording } from '../../cli/shared/recording.ts'
import { buildReviewer } from '../../cli/shared/settings.ts'
import { runCases } from '../../cli/test/test.ts'
import type { Review } from '../../src/core/review.ts'
import type { PodReview } from '../../src/core/review-pod.ts'
import {
  installersAdded,
  isGuaranteed,
  type Json,
  mapOf,
  mapsOf,
  restrictedProblems,
  withoutObservers,
} from '../properties/arbitrary.ts'
import {
  CASE_NAMES,
  CASE_NAMESPACES,
  CASES,
  CATALOG_FOLDERS,
  catalogFolder,
  GROUPS,
  type Group,
  groupOf,
  reviewFile,
} from './read.ts'

/** The expected answer to a recording, written before the code that computes the answer. */
interface Row {
  readonly metrics?: readonly string[]
  /** The mode of the observers; native by default. */
  readonly mode?: 'container'
  readonly reason?: string
  /** The user that the observers run as. */
  readonly user?: number
  readonly isStillGuaranteed?: true
  readonly hasNoResources?: true
  readonly passesRestricted?: true
  /** The init containers before the observers. */
  readonly after?: readonly string[]
  /** The pod's original value of shareProcessNamespace. */
  readonly shared?: 'absent' | 'false' | 'true'
  /** Whether mpirun in the pod forwards the variables of a tool to the ranks in other pods. */
  readonly forwards?: true
  /** The init containers that install tools. */
  readonly installers?: readonly string[]
  /** The folders of tools that the target mounts from an image. */
  readonly mounted?: readonly string[]
  /** Some environment variables of each observer. */
  readonly told?: Readonly<Record<string, string>>
}

const BOTH = ['perf-sysstat', 'io-sysstat']
const PERF = ['perf-sysstat']
const IO = ['io-sysstat']
const LMP = { RIDEALONG_TARGET_COMMAND: 'lmp' }

const ANSWERS: Readonly<Record<string, Row>> = {
  'flux-minicluster-rank0': { metrics: BOTH, shared: 'false', told: LMP },
  'flux-minicluster-rank1': { metrics: BOTH, shared: 'false', told: LMP },
  'flux-minicluster-namespace-annotated': { metrics: PERF, shared: 'false' },
  'flux-minicluster-already-shared': { metrics: PERF, shared: 'true' },
  'flux-minicluster-host-pid': { reason: 'host-pid' },
  'jobset-leader': { metrics: PERF, told: { RIDEALONG_OPTION_RATE: '2' } },
  'jobset-worker': { metrics: IO },
  'mpijob-launcher': { metrics: PERF, user: 1000, isStillGuaranteed: true },
  'mpijob-worker': { metrics: PERF, user: 1000, isStillGuaranteed: true },
  'mpijob-launcher-with-tool': {
    metrics: ['mpi-trace'],
    user: 1000,
    forwards: true,
    installers: ['mpi-trace-install'],
  },
  'mpijob-worker-with-tool': {
    metrics: ['mpi-trace'],
    user: 1000,
    installers: ['mpi-trace-install'],
  },
  'pod-two-tools-installed': {
    metrics: ['mpi-trace', 'cpu-profile'],
    user: 1000,
    installers: ['mpi-trace-install'],
  },
  'pod-two-tools-mounted': {
    metrics: ['mpi-trace', 'cpu-profile'],
    user: 1000,
    mounted: ['tool/mpi-trace', 'tool/cpu-profile'],
  },
  'metricset-launcher': { metrics: IO, shared: 'false' },
  'metricset-worker': { metrics: IO, shared: 'false' },
  'lolcow-namespace-annotated': { metrics: PERF },
  'job-indexed': { metrics: BOTH },
  cronjob: { metrics: IO },
  'deployment-namespace-annotated': { metrics: PERF, user: 1001, isStillGuaranteed: true },
  'statefulset-with-native-sidecar': {
    metrics: PERF,
    after: ['seed', 'proxy'],
    told: { RIDEALONG_TARGET_CONTAINER: 'db' },
  },
  'daemonset-host-pid': { reason: 'host-pid' },
  'pod-not-asked': { reason: 'not-asked' },
  'pod-opted-out': { reason: 'opted-out' },
  'pod-windows': { reason: 'windows' },
  'pod-restricted-namespace': { metrics: PERF, user: 1000, passesRestricted: true },
  'pod-level-resources': { metrics: PERF, hasNoResources: true, isStillGuaranteed: true },
  'pod-guaranteed': { metrics: PERF, isStillGuaranteed: true },
  'pod-unknown-metric': { reason: 'unknown-metric' },
  'pod-invalid-option': { reason: 'invalid-option' },
  'pod-unknown-target-container': { reason: 'unknown-target-container' },
  'pod-name-taken': { reason: 'name-taken' },
  'pod-share-false': { metrics: PERF, shared: 'false' },
  'pod-two-users': { metrics: PERF, user: 3000, told: { RIDEALONG_TARGET_CONTAINER: 'worker' } },
  'pod-dry-run': { metrics: PERF },
  'pod-inject-true': { metrics: PERF },
  'pod-inject-enabled': { metrics: PERF },
  'pod-inject-list': { metrics: BOTH },
  'pod-inject-disabled': { reason: 'opted-out' },
  'pod-inject-mixed': { reason: 'invalid-option' },
  'pod-restart-rules': {
    metrics: PERF,
    mode: 'container',
    told: { RIDEALONG_RESTART_POLICY: 'OnFailure' },
  },
  'pod-container-never': {
    metrics: PERF,
    mode: 'container',
    told: { RIDEALONG_RESTART_POLICY: 'Never' },
  },
  'pod-target-sidecar': { reason: 'invalid-option' },
  'pod-update': { reason: 'not-create' },
  'pod-delete': { reason: 'not-create' },
  'pod-ephemeral-containers': { reason: 'not-create' },
}

const NOT_PATCHED = ['not-asked', 'opted-out', 'not-create']

/** A recording, the answer to it, and the patched pod. */
interface Case {
  readonly name: string
  readonly row: Row
  readonly review: Review
  readonly answer: PodReview
  readonly operations: readonly Operation[]
  readonly pod: Json
  readonly patched: Json
}

/** The built-in metrics of these cases as they were once, so that answers change only with code. */
const settingsOf = (group: Group) => ({
  catalog: catalogFolder(group),
  builtInMetrics: false,
  namespaces: CASE_NAMESPACES,
})
const reviewers = new Map(
  await Promise.all(
    GROUPS.map(async (group) => [group, await buildReviewer(settingsOf(group))] as const),
  ),
)

/** Returns the answer to the review of a case. */
function answer(name: string, review: Review): PodReview {
  const reviewer = reviewers.get(groupOf(name))
  if (reviewer === undefined) throw new Error(`no catalog for ${name}`)
  return reviewer(review)
}

const cases = await Promise.all(Object.entries(ANSWERS).map(([name, row]) => readCase(name, row)))
const injected = cases.filter(({ row }) => row.metrics !== undefined)

async function readCase(name: string, row: Row): Promise<Case> {
  const review = await readRecording(reviewFile(name))
  const pod = mapOf(review.object)
  const answered = answer(name, review)
  const { patch } = answered.response.response
  const operations = patch === undefined ? [] : JSON.parse(`${Buffer.from(patch, 'base64')}`)
  const { newDocument } = jsonpatch.applyPatch(structuredClone(pod), operations, true)
  return { name, row, review, answer: answered, operations, pod, patched: newDocument }
}

/** Returns the observers that a patch appends: in mode `container`, to the ordinary containers. */
function observersOf({ pod, patched }: Case): readonly Json[] {
  const installers = installersAdded(pod, patched).length
  const present = mapsOf(mapOf(pod.spec).initContainers).length + installers
  return [
    ...mapsOf(mapOf(patched.spec).initContainers).slice(present),
    ...mapsOf(mapOf(patched.spec).containers).slice(mapsOf(mapOf(pod.spec).containers).length),
  ]
}

function statusOf({ patched }: Case): Json | undefined {
  const status = mapOf(mapOf(patched.metadata).annotations)['ridealong.dev/status']
  return typeof status === 'string' ? mapOf(JSON.parse(status)) : undefined
}

/** Returns the expected resources of observers: none if the pod has pod-level resources. */
function resourcesIn({ hasNoResources, isStillGuaranteed }: Row): Json | undefined {
  const limits = { cpu: '100m', memory: '32Mi' }
  if (hasNoResources) return undefined
  return { limits, requests: isStillGuaranteed ? limits : { cpu: '0', memory: '0' } }
}

t.test('every recording has an expected answer, and vice versa', async (t) => {
  t.strictSame(CASE_NAMES, Object.keys(ANSWERS).sort())
})

t.test('every folder of test/cases is a group of cases or a catalog', async (t) => {
  const entries = readdirSync(CASES, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  t.strictSame(folders.sort(), [...CATALOG_FOLDERS, ...GROUPS].sort())
})

t.test('every recording gets the expected outcome, reason and metrics', async (t) => {
  for (const recorded of cases) {
    const { name, row, answer } = recorded
    const { decision, response, fault } = answer
    const reason = 'reason' in decision ? decision.reason : undefined
    t.equal(decision.outcome, row.metrics ? 'injected' : 'left', `${name}: outcome`)
    t.equal(reason, row.reason, `${name}: reason`)
    const names = observersOf(recorded).map(({ name }) => name)
    t.strictSame(names, row.metrics ?? [], `${name}: metrics`)
    t.equal(response.response.allowed, true, `${name}: the request is allowed`)
    t.equal(fault, undefined, `${name}: no internal error`)
  }
})

t.test('only pods that request observers get a patch, with a status annotation', async (t) => {
  for (const recorded of cases) {
    const { name, row, operations } = recorded
    const isSilent = NOT_PATCHED.includes(row.reason ?? '')
    const status = statusOf(recorded)
    t.equal(operations.length === 0, isSilent, `${name}: no patch`)
    t.equal(status?.outcome, isSilent ? undefined : ((row.metrics && 'injected') ?? 'left'), name)
    t.equal(status?.reason, isSilent ? undefined : row.reason, `${name}: reason`)
    t.strictSame(status?.metrics, row.metrics, `${name}: metrics`)
  }
})

t.test('the status annotation has the original shareProcessNamespace of a pod', async (t) => {
  for (const recorded of injected) {
    const { name, row, patched } = recorded
    t.equal(statusOf(recorded)?.shareProcessNamespace, row.shared ?? 'absent', name)
    t.equal(mapOf(patched.spec).shareProcessNamespace, true, name)
  }
})

t.test('observers run as the user of their target', async (t) => {
  for (const recorded of injected.filter(({ row }) => row.user !== undefined)) {
    for (const { securityContext } of observersOf(recorded)) {
      t.equal(mapOf(securityContext).runAsUser, recorded.row.user, recorded.name)
      t.equal(mapOf(securityContext).runAsNonRoot, true, recorded.name)
    }
  }
})

t.test('Guaranteed pods stay Guaranteed, and no other pod becomes Guaranteed', async (t) => {
  for (const { name, row, pod, patched } of injected) {
    const isSaid = row.isStillGuaranteed === true
    const outcome = isSaid ? 'is Guaranteed' : 'is not Guaranteed'
    t.equal(isGuaranteed(pod), isSaid, `${name} ${outcome} without observers`)
    t.equal(isGuaranteed(patched), isSaid, `${name} ${outcome} with observers`)
  }
})

t.test('observers have limits, and requests above 0 only if the pod is Guaranteed', async (t) => {
  for (const recorded of injected) {
    const right = resourcesIn(recorded.row)
    for (const { resources } of observersOf(recorded)) t.strictSame(resources, right, recorded.name)
  }
})

t.test(
  'a pod in a restricted namespace passes Pod Security restricted with observers',
  async (t) => {
    const restricted = injected.filter(({ row }) => row.passesRestricted)
    t.equal(restricted.length, 1)
    for (const { name, patched } of restricted) t.strictSame(restrictedProblems(patched), [], name)
  },
)

t.test('observers follow the existing init containers', async (t) => {
  for (const { name, row, pod, patched } of injected) {
    const before = mapsOf(mapOf(pod.spec).initContainers).map(({ name }) => name)
    const installers = installersAdded(pod, patched).length
    const all = mapsOf(mapOf(patched.spec).initContainers).map(({ name }) => name)
    const after = all.slice(installers)
    const sidecars = row.mode === 'container' ? [] : (row.metrics ?? [])
    t.strictSame(after, [...(row.after ?? before), ...sidecars], name)
  }
})

t.test('a pod has the installers or the image volumes of its tools', async (t) => {
  for (const { name, row, pod, patched } of injected) {
    const installers = installersAdded(pod, patched).map(({ name }) => name)
    t.strictSame(installers, row.installers ?? [], `${name}: installers`)
    const images = mapsOf(mapOf(patched.spec).volumes).filter(({ image }) => image !== undefined)
    t.equal(images.length, row.mounted ? 1 : 0, `${name}: image volumes`)
    const mounts = mapsOf(mapOf(patched.spec).containers).flatMap(({ volumeMounts }) => {
      return mapsOf(volumeMounts).filter((mount) => mount.name === images[0]?.name)
    })
    const folders = mounts.map(({ subPath }) => subPath)
    t.strictSame(folders, images.length > 0 ? row.mounted : [], `${name}: mounts`)
  }
})

t.test('only a launcher forwards the variables of a tool', async (t) => {
  for (const { name, row, patched } of injected) {
    const forwards = JSON.stringify(patched).includes('OMPI_MCA_orte_launch_agent')
    t.equal(forwards, row.forwards === true, name)
  }
})

t.test('the environment of observers has the variables of the expected answer', async (t) => {
  for (const recorded of injected.filter(({ row }) => row.told !== undefined)) {
    for (const { env } of observersOf(recorded)) {
      const told = Object.fromEntries(mapsOf(env).map(({ name, value }) => [name, value]))
      t.match(told, recorded.row.told, recorded.name)
    }
  }
})

t.test('every answer is the same as the golden file', async (t) => {
  const groups = GROUPS.map((group) => runCases(join(CASES, group), settingsOf(group)))
  const results = (await Promise.all(groups)).flat()
  t.strictSame(results.map(({ name }) => name).sort(), CASE_NAMES)
  for (const { name, outcome, trouble } of results)
    t.equal(outcome, 'same', trouble?.join('\n') ?? name)
})

t.test('a patch has only add operations, and keeps all other fields of the pod', async (t) => {
  for (const { name, operations, pod, patched } of cases) {
    t.strictSame(new Set(operations.map(({ op }) => op)), new Set(operations.length ? ['add'] : []))
    const rest = operations.length === 0 ? patched : withoutObservers(patched, pod, [])
    t.strictSame(rest, pod, name)
    t.strictSame(mapOf(patched.metadata).labels, mapOf(pod.metadata).labels, `${name}: labels`)
  }
})

t.test('a second review gives no patch, and injected pods get `already-injected`', async (t) => {
  for (const { name, row, review, patched } of cases) {
    const object = review.object === null ? null : patched
    const { decision, response } = answer(name, { ...review, object })
    t.equal('reason' in decision && decision.reason, row.reason ?? 'already-injected', name)
    t.equal(decision.outcome, 'left', name)
    t.equal(response.response.patch, undefined, name)
  }
})
