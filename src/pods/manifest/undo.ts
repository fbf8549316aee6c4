import { DEFAULT_CONTAINER_KEY, STATUS_KEY } from '../../core/keys.ts'
import { type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { isAddedVolume } from '../../core/tools/added-volumes.ts'
import { readTemplateStatus, rememberedIn } from './before.ts'
import { type Edit, editedDocument } from './edit.ts'
import type { Manifest } from './read.ts'
import { type Removal, remove, restore } from './remove.ts'
import { findResources } from './resources.ts'
import { findTemplates, type Template } from './templates.ts'
import { addedEntries, isAdded, isToolMount, isToolTarget } from './tool-targets.ts'
import { collectionAt, itemAt, itemEnd } from './yaml/nodes.ts'

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

const LISTS = ['initContainers', 'containers'] as const

function undoTemplate(template: Template): readonly Edit[] {
  const status = readTemplateStatus(template.fields)
  if (status === undefined) return []
  const { resource, path, fields } = template
  const removals = [
    annotations(fields, status),
    ...LISTS.map((key) => containers(fields, status, key)),
    ...LISTS.flatMap((key) => targetFields(fields, status, key)),
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

/** Returns the containers to remove. */
function containers(fields: Fields, status: Fields, key: string): Removal {
  const steps = listOrNone(fieldsOrNone(fields.spec)[key]).flatMap((container, index) => {
    return isAdded(fieldsOrNone(container), status) ? [index] : []
  })
  return { path: ['spec', key], steps }
}

/** Returns the variables and mounts to remove from the targets of tools. */
function targetFields(fields: Fields, status: Fields, key: string): readonly Removal[] {
  return listOrNone(fieldsOrNone(fields.spec)[key]).flatMap((one, index) => {
    const container = fieldsOrNone(one)
    if (!isToolTarget(container, status)) return []
    const mounts = listOrNone(container.volumeMounts).flatMap((mount, place) => {
      return isToolMount(fieldsOrNone(mount)) ? [place] : []
    })
    const path = ['spec', key, index]
    return [
      { path: [...path, 'env'], steps: addedEntries(container, status) },
      { path: [...path, 'volumeMounts'], steps: mounts },
    ]
  })
}

function volumes(fields: Fields): Removal {
  const steps = listOrNone(fieldsOrNone(fields.spec).volumes).flatMap((volume, index) => {
    return isAddedVolume(fieldsOrNone(volume).name) ? [index] : []
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
