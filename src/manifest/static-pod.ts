import { type Fields, fieldsOf, fieldsOrNone, listOrNone } from '../core/json.ts'
import { COMPLETION_INDEX_KEY } from '../core/keys.ts'
import type { Review } from '../core/review.ts'
import { UNKNOWN_SOURCE } from '../core/source.ts'
import { withDefaults } from './defaults.ts'
import { madeOf } from './makers.ts'
import type { Template } from './templates.ts'

/**
 * The review that the apiserver would send of the first pod of a template, as far as an answer depends on it.
 *
 * @param namespace where the pod will be
 */
export function reviewOf(template: Template, namespace: string): Review {
  const object = podOf(template)
  return {
    source: UNKNOWN_SOURCE,
    uid: uidBeside(fieldsOrNone(object.spec).volumes),
    operation: 'CREATE',
    subResource: '',
    namespace,
    name: template.resource.name,
    dryRun: false,
    object,
    oldObject: null,
  }
}

function podOf(template: Template): Fields {
  const { fields } = template
  const metadata = fieldsOrNone(fields.metadata)
  const { owner, restartPolicy, isIndexed, labels } = madeOf(template)
  const index = isIndexed ? { [COMPLETION_INDEX_KEY]: '0' } : {}
  const references = owner && { ownerReferences: [{ ...owner, controller: true }] }
  return {
    metadata: {
      ...metadata,
      annotations: annotationsOf(metadata.annotations, index),
      labels: { ...fieldsOf(metadata.labels), ...labels },
      ...references,
    },
    spec: withDefaults({ ...fieldsOrNone(fields.spec), restartPolicy }),
  }
}

/** What is no map stays what it is, so that it is seen to be none. */
function annotationsOf(written: unknown, added: Fields): unknown {
  const annotations = fieldsOf(written ?? {})
  return annotations === undefined ? written : { ...annotations, ...added }
}

/**
 * A uid whose volume no volume of the template is named as: a second round may add to what a first
 * one wrote, and two volumes of one name are refused.
 */
function uidBeside(volumes: unknown): string {
  const names = new Set(listOrNone(volumes).map((volume) => fieldsOf(volume)?.name))
  for (let round = 1; ; round += 1) {
    const uid = round === 1 ? 'static' : `static${round}`
    if (!names.has(`ridealong-no-token-${uid}`)) return uid
  }
}
