import { DEFAULT_CONTAINER_KEY, STATUS_KEY } from '../core/keys.ts'
import { asFields, asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { readTemplateStatus, rememberedIn } from './before.ts'
import { type Edit, editedDocument } from './edit.ts'
import { collectionAt, itemAt, itemEnd } from './nodes.ts'
import type { Manifest } from './read.ts'
import { type Removal, remove, restore } from './remove.ts'
import { findResources } from './resources.ts'
import { findTemplates, type Template } from './templates.ts'

/**
 * Removes observers and all related fields from the pod templates of a document. For the output of
 * `inject`, the result is the original input, byte for byte.
 *
 * @returns the text of this document
 */
export function undo(manifest: Manifest): string {
  const edits = findResources(manifest).flatMap(findTemplates).flatMap(undoTemplate)
  return editedDocument(manifest, edits)
}

function undoTemplate(template: Template): readonly Edit[] {
  const status = readTemplateStatus(template.fields)
  if (status === undefined) return []
  const { resource, path, fields } = template
  const removals = [
    annotations(fields, status),
    ...['initContainers', 'containers'].map((key) => containers(fields, status, key)),
    volumes(fields),
    { path: ['spec'], steps: sharesByUs(status, fields) ? ['shareProcessNamespace'] : [] },
  ].filter(({ steps }) => steps.length > 0)
  return [
    ...remove(resource.manifest, path, removals, rememberedIn(fields)),
    ...unshare(template, status),
  ]
}

/**
 * Returns the annotations to remove. Ridealong added the default-container annotation if the mode
 * in the status annotation is `container` and the default-container annotation comes after the
 * status annotation.
 */
function annotations(fields: Fields, status: Fields): Removal {
  const keys = Object.keys(fieldsOrNone(fieldsOrNone(fields.metadata).annotations))
  const isOurs =
    status.mode === 'container' && keys.indexOf(DEFAULT_CONTAINER_KEY) > keys.indexOf(STATUS_KEY)
  const steps = isOurs ? [STATUS_KEY, DEFAULT_CONTAINER_KEY] : [STATUS_KEY]
  return { path: ['metadata', 'annotations'], steps }
}

/**
 * Returns the containers to remove. The status annotation can be copied or forged, so a container
 * that it names is removed only if the container has the variable RIDEALONG_CATALOG, which every
 * observer has.
 */
function containers(fields: Fields, { metrics }: Fields, key: string): Removal {
  const names = new Set(listOrNone(metrics))
  const steps = listOrNone(fieldsOrNone(fields.spec)[key]).flatMap((container, index) => {
    const { name, env } = fieldsOrNone(container)
    const isObserver = listOrNone(env).some((one) => asFields(one)?.name === 'RIDEALONG_CATALOG')
    return isObserver && names.has(name) ? [index] : []
  })
  return { path: ['spec', key], steps }
}

function volumes(fields: Fields): Removal {
  const steps = listOrNone(fieldsOrNone(fields.spec).volumes).flatMap((volume, index) => {
    return asText(asFields(volume)?.name)?.startsWith('ridealong-no-token-') ? [index] : []
  })
  return { path: ['spec', 'volumes'], steps }
}

/** Reports whether `shareProcessNamespace` was missing before injection. */
function sharesByUs(status: Fields, fields: Fields): boolean {
  const { shareProcessNamespace: before } = rememberedIn(fields)
  return status.shareProcessNamespace === 'absent' && before === undefined
}

/** Returns the edit that restores the previous value of `shareProcessNamespace`. */
function unshare({ resource, path, fields }: Template, status: Fields): readonly Edit[] {
  const { manifest } = resource
  const spec = collectionAt(manifest, [...path, 'spec'])
  const item = spec && itemAt(manifest, spec, 'shareProcessNamespace')
  if (item === undefined) return []
  const { shareProcessNamespace: before } = rememberedIn(fields)
  if (before !== undefined) return [restore(manifest, item, before)]
  if (status.shareProcessNamespace !== 'false') return []
  const end = itemEnd(manifest, item)
  return [{ start: item.value?.range?.[0] ?? end, end, text: 'false', depth: 0 }]
}
