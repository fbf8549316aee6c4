import { KEYS, RANKS_OPTION } from '../../core/keys.ts'
import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import type { Annotated } from './annotate.ts'
import { describe } from './report.ts'
import { findResources, type ManifestResource } from './resources.ts'

/** The kinds whose controllers do not number their pods, by group and kind. */
const UNRANKED: ReadonlySet<string> = new Set([
  '/ReplicationController',
  'apps/DaemonSet',
  'apps/Deployment',
  'apps/ReplicaSet',
  'serving.knative.dev/Service',
])

/**
 * Returns a sentence for each annotated object whose pods have no rank, if the annotations select
 * ranks.
 *
 * @param annotations the added annotations
 */
export function listUnranked(
  annotated: readonly Annotated[],
  annotations: Fields,
): readonly string[] {
  const isOfRanks = (key: string) => key === KEYS.ranks || key.endsWith(`/${RANKS_OPTION}`)
  const keys = Object.keys(annotations).filter(isOfRanks)
  if (keys.length === 0) return []
  return annotated
    .filter(({ places }) => places > 0)
    .flatMap(({ manifest }) => findResources(manifest))
    .flatMap((resource) => {
      const why = whyUnranked(resource)
      if (why === undefined) return []
      const effect = `its pods have no rank, so ${keys.join(' and ')} selects none of them`
      return [describe(resource, `${effect}: ${why}`)]
    })
}

function whyUnranked({ group, kind, fields }: ManifestResource): string | undefined {
  if (UNRANKED.has(`${group}/${kind}`)) return `a ${kind} does not number its pods`
  if (group !== 'batch' || !['CronJob', 'Job'].includes(kind)) return undefined
  const spec = fieldsOrNone(fields.spec)
  const job = kind === 'Job' ? spec : fieldsOrNone(fieldsOrNone(spec.jobTemplate).spec)
  return job.completionMode === 'Indexed' ? undefined : 'the Job needs completionMode: Indexed'
}
