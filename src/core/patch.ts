import jsonpatch, { type Operation } from 'fast-json-patch'
import { asFields, type Fields, fieldsOrNone, listOrNone } from './kubernetes/json.ts'
import type { Pod } from './kubernetes/pod.ts'
import type { Plan } from './plan.ts'

export type { Operation }

/**
 * Builds the RFC 6902 operations of a plan: `add` alone, in a fixed order, missing parents made.
 * They are built, not found by comparing two pods: a difference grows with the square of a pod's
 * lists and moves what it did not touch.
 */
export function patch(pod: Pod, plan: Plan): Operation[] {
  const shares = plan.sharesProcessNamespace && pod.shareProcessNamespace !== 'true'
  return [
    ...annotate(pod, plan.annotations),
    ...(shares ? [add('/spec/shareProcessNamespace', true)] : []),
    ...append('/spec/volumes', pod.hasVolumes, plan.volumes),
    ...plan.stripped.map((place) => add(`/spec/initContainers/${place}/restartPolicy`, 'Always')),
    ...append('/spec/initContainers', pod.hasInitContainers, plan.initContainers),
    ...append('/spec/containers', true, plan.containers),
  ]
}

function add(path: string, value: unknown): Operation {
  return { op: 'add', path, value }
}

function annotate(pod: Pod, annotations: Fields): Operation[] {
  const added = Object.entries(annotations)
  if (added.length === 0) return []
  if (pod.annotations === undefined) return [add('/metadata/annotations', annotations)]
  return added.map(([key, value]) => {
    return add(pointerTo('/metadata/annotations', key), value)
  })
}

/** The RFC 6901 pointer to a key, which may hold `/` and `~`. */
export function pointerTo(parent: string, key: string): string {
  return `${parent}/${jsonpatch.escapePathComponent(key)}`
}

function append(path: string, isPresent: boolean, added: readonly Fields[]): Operation[] {
  if (added.length === 0) return []
  return isPresent ? added.map((value) => add(`${path}/-`, value)) : [add(path, added)]
}

/** The object with a patch applied, a new value: for people to read and for tests. */
export function applied<T>(object: T, operations: readonly Operation[]): T {
  return jsonpatch.applyPatch(structuredClone(object), structuredClone(operations), false, true)
    .newDocument
}

/**
 * Applies a patch to the pod that was received and throws unless the pod then holds what was
 * planned. The apiserver refuses a pod whose patch does not apply, even where a failing webhook is
 * to be ignored (apiserver pkg/admission/plugin/webhook/mutating/dispatcher.go), so none is sent
 * before this has been seen to hold.
 *
 * Only what a patch of ours can reach is copied, and of annotations and volumes nothing but that
 * they are there, so that the check costs the same however many a pod has.
 *
 * @param object the pod as it came
 */
export function check(object: unknown, operations: readonly Operation[], plan: Plan): void {
  const received = fieldsOrNone(fieldsOrNone(object).spec)
  const patched = jsonpatch.applyPatch(
    copyPatchedParts(object, plan),
    operations,
    false,
    true,
  ).newDocument
  const annotations = fieldsOrNone(fieldsOrNone(patched.metadata).annotations)
  const spec = fieldsOrNone(patched.spec)
  for (const [key, value] of Object.entries(plan.annotations)) must(annotations[key] === value, key)
  must(!plan.sharesProcessNamespace || spec.shareProcessNamespace === true, 'shareProcessNamespace')
  must(
    endsWith(spec.initContainers, received.initContainers, plan.initContainers),
    'initContainers',
  )
  must(endsWith(spec.containers, received.containers, plan.containers), 'containers')
  must(endsWith(spec.volumes, [], plan.volumes), 'volumes')
  for (const place of plan.stripped) {
    const container = fieldsOrNone(listOrNone(spec.initContainers)[place])
    must(container.restartPolicy === 'Always', `initContainers[${place}].restartPolicy`)
  }
}

/** A pod of only what a patch of ours can reach, which may be edited. */
function copyPatchedParts(object: unknown, { stripped }: Plan): Fields {
  const { metadata, spec } = fieldsOrNone(object)
  const { shareProcessNamespace, volumes, initContainers, containers } = fieldsOrNone(spec)
  return {
    metadata: { annotations: asFields(fieldsOrNone(metadata).annotations) && {} },
    spec: {
      shareProcessNamespace,
      volumes: Array.isArray(volumes) ? [] : undefined,
      initContainers: Array.isArray(initContainers) ? copy(initContainers, stripped) : undefined,
      containers: [...listOrNone(containers)],
    },
  }
}

/** A new list; the containers that will be edited are new too. */
function copy(containers: readonly unknown[], edited: readonly number[]): unknown[] {
  const copied = [...containers]
  for (const place of edited) copied[place] = { ...asFields(containers[place]) }
  return copied
}

function endsWith(after: unknown, before: unknown, added: readonly Fields[]): boolean {
  const list = listOrNone(after)
  const kept = listOrNone(before).length
  return list.length === kept + added.length && added.every((item, i) => list[kept + i] === item)
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`the patch does not make the planned ${what}`)
}
