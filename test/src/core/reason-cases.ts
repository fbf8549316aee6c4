import type { Catalog, Metric } from '../../../src/core/catalog.ts'
import type { Reason } from '../../../src/core/reasons.ts'
import {
  CATALOG,
  type Json,
  limitRange,
  type Place,
  podOf,
  resourceQuota,
  type Texts,
} from './build.ts'
import { MOUNTED } from './tools/build.ts'

export const container = (name: string, more: Json = {}): Json => ({ name, image: 'app', ...more })
export const sidecar = (name: string, more: Json = {}): Json =>
  container(name, { restartPolicy: 'Always', ...more })

/** Returns a native sidecar with the image and command of perf-sysstat in the tests' catalog. */
export const observer = (more: Json = {}): Json =>
  sidecar('perf-sysstat', {
    image: 'registry.example/observer:1',
    command: ['perf-sysstat'],
    ...more,
  })

/** The annotations of a pod that has its observer. */
export const INJECTED = {
  'ridealong.dev/status': JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat'] }),
}
export const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }

/** An annotation beside which the annotation `status` would exceed the limit of Kubernetes. */
const FULL = { filler: 'x'.repeat(256 * 1024 - 100) }

const broken = {
  ...CATALOG.metrics.get('perf-sysstat'),
  get container(): never {
    throw new Error('a defect')
  },
} as unknown as Metric

/** A catalog that causes an internal error. */
const BROKEN: Catalog = { ...CATALOG, metrics: new Map([['perf-sysstat', broken]]) }

/** The changes to a pod that requests perf-sysstat, and the conditions of its review. */
export interface ReasonCase {
  readonly spec?: Json
  readonly annotations?: Texts
  readonly metadata?: Json
  readonly place?: Place
}

/** A request of a metric with a tool, in a namespace that allows tools. */
const PROFILE = {
  annotations: { 'ridealong.dev/inject': 'cpu-profile' },
  place: { labels: { 'ridealong.dev/tools': 'true' } },
}

/** For each reason, the changes that cause it. */
export const REASON_CASES: Readonly<Record<Reason, ReasonCase>> = {
  'not-asked': { annotations: { 'ridealong.dev/inject': '' } },
  'opted-out': { annotations: { 'ridealong.dev/inject': 'false' } },
  'not-create': { place: { review: { operation: 'UPDATE' } } },
  'already-injected': {
    spec: { shareProcessNamespace: true, initContainers: [observer()] },
    annotations: INJECTED,
  },
  'observer-differs': {
    spec: { shareProcessNamespace: true, initContainers: [observer({ image: 'other:1' })] },
    annotations: INJECTED,
  },
  'mirror-pod': { annotations: { 'kubernetes.io/config.mirror': 'c0ffee' } },
  'excluded-namespace': { place: { excluded: ['hpc'] } },
  'invalid-pod': { spec: { containers: [] } },
  'host-pid': { spec: { hostPID: true } },
  windows: { spec: { os: { name: 'windows' } } },
  'operator-conflict': { metadata: { labels: { 'workflows.argoproj.io/workflow': 'w' } } },
  'unknown-metric': { annotations: { 'ridealong.dev/inject': 'perf-hwcounters' } },
  'invalid-option': { annotations: { 'perf-sysstat.ridealong.dev/rate': '0' } },
  'pod-not-selected': {
    annotations: { 'ridealong.dev/pods': '0-3' },
    metadata: { labels: { 'batch.kubernetes.io/job-completion-index': '4' } },
  },
  'pod-index-unknown': { annotations: { 'ridealong.dev/pods': '0-3' } },
  'unknown-target-container': { annotations: { 'ridealong.dev/target-container': 'lammps' } },
  'name-taken': { spec: { containers: [container('app'), container('perf-sysstat')] } },
  'pod-security': { place: { labels: RESTRICTED } },
  'limit-range': { place: { rules: { limitRanges: [limitRange({ max: { cpu: '50m' } })] } } },
  quota: { place: { rules: { resourceQuotas: [resourceQuota({ 'limits.cpu': '50m' })] } } },
  privilege: { annotations: { 'ridealong.dev/inject': 'trace-stat' } },
  'tools-not-allowed': { annotations: { 'ridealong.dev/inject': 'cpu-profile' } },
  'variable-taken': {
    ...PROFILE,
    spec: { containers: [{ ...container('app'), env: [{ name: 'CPUPROFILE', value: 'x' }] }] },
  },
  'path-taken': {
    ...PROFILE,
    spec: { containers: [{ ...container('app'), volumeMounts: [{ mountPath: '/ridealong' }] }] },
  },
  'no-image-volumes': {
    annotations: { 'ridealong.dev/inject': 'mpi-trace' },
    place: { labels: { 'ridealong.dev/tools': 'true' }, catalog: MOUNTED, apiserverVersion: 34 },
  },
  'observer-unavailable': { place: { heldImages: [] } },
  'too-large': { annotations: FULL },
  'internal-error': { place: { catalog: BROKEN } },
}

/** Returns the pod of a case, with more annotations. */
export function podInCase({ spec, annotations, metadata }: ReasonCase, more: Texts = {}): Json {
  return podOf({ 'ridealong.dev/inject': 'perf-sysstat', ...annotations, ...more }, spec, metadata)
}
