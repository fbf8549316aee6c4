import { KEYS, PODS_OPTION } from '../../core/keys.ts'
import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import type { Annotated } from './annotate.ts'
import { valueAt } from './kinds/paths.ts'
import { describe } from './report.ts'
import { findResources, type ManifestResource } from './resources.ts'

/**
 * The kinds whose pods never have an index (readPodIndex), by group and kind: their controllers
 * create the pods themselves, without a label for a number, or create Deployments. Kinds whose
 * controllers create StatefulSets or LeaderWorkerSets in some configurations are not listed.
 */
const UNINDEXED: ReadonlySet<string> = new Set([
  '/ReplicationController',
  'apps/DaemonSet',
  'apps/Deployment',
  'apps/ReplicaSet',
  'flink.apache.org/FlinkBlueGreenDeployment',
  'flink.apache.org/FlinkDeployment',
  'kubernetes.dask.org/DaskCluster',
  'kubernetes.dask.org/DaskJob',
  'kubernetes.dask.org/DaskWorkerGroup',
  'serving.knative.dev/Configuration',
  'serving.knative.dev/Service',
  'spark.apache.org/SparkApplication',
  'sparkoperator.k8s.io/ScheduledSparkApplication',
  'sparkoperator.k8s.io/SparkApplication',
  'sparkoperator.k8s.io/SparkConnect',
  'tekton.dev/ClusterTask',
  'tekton.dev/Pipeline',
  'tekton.dev/PipelineRun',
  'tekton.dev/Task',
  'tekton.dev/TaskRun',
])

/** The paths of the specs of Jobs, whose pods have an index only if the Job is indexed. */
const JOB_SPECS: ReadonlyMap<string, readonly string[]> = new Map([
  ['batch/CronJob', ['spec', 'jobTemplate', 'spec']],
  ['batch/Job', ['spec']],
  ['keda.sh/ScaledJob', ['spec', 'jobTargetRef']],
])

/**
 * Returns a sentence for each annotated object whose pods have no index, if the annotations select
 * pods.
 *
 * @param annotations the added annotations
 */
export function listUnindexed(
  annotated: readonly Annotated[],
  annotations: Fields,
): readonly string[] {
  const selectsPods = (key: string) => key === KEYS.pods || key.endsWith(`/${PODS_OPTION}`)
  const keys = Object.keys(annotations).filter(selectsPods)
  if (keys.length === 0) return []
  return annotated
    .filter(({ places }) => places > 0)
    .flatMap(({ manifest }) => findResources(manifest))
    .flatMap((resource) => {
      const why = whyUnindexed(resource)
      if (why === undefined) return []
      const effect = `its pods have no index, so ${keys.join(' and ')} selects none of them`
      return [describe(resource, `${effect}: ${why}`)]
    })
}

function whyUnindexed({ group, kind, fields }: ManifestResource): string | undefined {
  const name = `${group}/${kind}`
  if (UNINDEXED.has(name)) return `a ${kind} does not number its pods`
  const path = JOB_SPECS.get(name)
  if (path === undefined) return undefined
  const job = fieldsOrNone(valueAt(fields, path))
  return job.completionMode === 'Indexed' ? undefined : 'the Job needs completionMode: Indexed'
}
