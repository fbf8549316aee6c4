import jsonpatch, { type Operation } from 'fast-json-patch'
import { asFields, type Fields, fieldsOrNone, listOrNone } from './kubernetes/json.ts'
import type { Pod } from './kubernetes/pod.ts'
import type { Plan } from './plan.ts'
import type { TargetAdditions } from './tools/additions.ts'

export type { Operation }

/**
 * Builds the RFC 6902 operations of a plan. All operations are `add`, in a fixed order, and create
 * missing maps and lists. The operations are not computed by comparing two pods, because a
 * comparison takes quadratic time for the lists of a pod and moves items that did not change.
 */
export function patch(pod: Pod, plan: Plan): Operation[] {
  const shares = plan.sharesProcessNamespace && pod.shareProcessNamespace !== 'true'
  return [
    ...annotate(pod, plan.annotations),
    ...(shares ? [add('/spec/shareProcessNamespace', true)] : []),
    ...append('/spec/volumes', pod.hasVolumes, plan.volumes),
    ...plan.stripped.map((place) => add(`/spec/initContainers/${place}/restartPolicy`, 'Always')),
    ...extendTarget(pod, plan.target),
    // The operations before this line name init containers by their index in the received pod.
    ...addInitContainers(pod, plan),
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

/** Returns the RFC 6901 pointer to a key, which may contain `/` and `~`. */
export function pointerTo(parent: string, key: string): string {
  return `${parent}/${jsonpatch.escapePathComponent(key)}`
}

function append(path: string, isPresent: boolean, added: readonly object[]): Operation[] {
  if (added.length === 0) return []
  return isPresent ? added.map((value) => add(`${path}/-`, value)) : [add(path, added)]
}

/** Adds the variables and the mounts of tools to the target. */
function extendTarget({ spec }: Pod, target: TargetAdditions | undefined): Operation[] {
  if (target === undefined) return []
  const { list, index, env, volumeMounts } = target
  const path = `/spec/${list}/${index}`
  const container = fieldsOrNone(listOrNone(spec[list])[index])
  return [
    ...append(`${path}/env`, Array.isArray(container.env), env),
    ...append(`${path}/volumeMounts`, Array.isArray(container.volumeMounts), volumeMounts),
  ]
}

/** Adds init containers before the first and after the last. */
function addInitContainers(pod: Pod, plan: Plan): Operation[] {
  const { firstInitContainers: first, initContainers: last } = plan
  if (!pod.hasInitContainers) return append('/spec/initContainers', false, [...first, ...last])
  const inserted = first.map((container, index) => add(`/spec/initContainers/${index}`, container))
  return [...inserted, ...append('/spec/initContainers', true, last)]
}

/** Returns a copy of an object with a patch applied, for display and for tests. */
export function applied<T>(object: T, operations: readonly Operation[]): T {
  return jsonpatch.applyPatch(structuredClone(object), structuredClone(operations), false, true)
    .newDocument
}

/**
 * Applies a patch to the received pod and throws unless the result matches the plan. The apiserver
 * refuses a pod whose patch does not apply, even with `failurePolicy: Ignore` (apiserver
 * pkg/admission/plugin/webhook/mutating/dispatcher.go). Every patch is therefore checked before it
 * is sent.
 *
 * Only the parts that a patch can change are copied, and annotations and volumes are replaced by
 * empty values. The cost of the check therefore does not depend on the number of annotations and
 * volumes.
 *
 * @param object the pod as received
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
  must(surrounds(spec.initContainers, received.initContainers, plan), 'initContainers')
  must(endsWith(spec.containers, received.containers, plan.containers), 'containers')
  must(endsWith(spec.volumes, [], plan.volumes), 'volumes')
  if (plan.target !== undefined) checkTarget(received, spec, plan.target, plan)
  for (const place of plan.stripped) {
    const shifted = place + plan.firstInitContainers.length
    const container = fieldsOrNone(listOrNone(spec.initContainers)[shifted])
    must(container.restartPolicy === 'Always', `initContainers[${place}].restartPolicy`)
  }
}

/** Returns a pod with only the parts that a patch can change. The caller may modify the result. */
function copyPatchedParts(object: unknown, { stripped, target }: Plan): Fields {
  const { metadata, spec } = fieldsOrNone(object)
  const { shareProcessNamespace, volumes, initContainers, containers } = fieldsOrNone(spec)
  return {
    metadata: { annotations: asFields(fieldsOrNone(metadata).annotations) && {} },
    spec: {
      shareProcessNamespace,
      volumes: Array.isArray(volumes) ? [] : undefined,
      initContainers: Array.isArray(initContainers)
        ? withTarget(copy(initContainers, stripped), 'initContainers', target)
        : undefined,
      containers: withTarget([...listOrNone(containers)], 'containers', target),
    },
  }
}

/**
 * Copies a list of containers and the containers at the edited indexes. The copy shares all further
 * containers with the original list.
 */
function copy(containers: readonly unknown[], edited: readonly number[]): unknown[] {
  const copied = [...containers]
  for (const place of edited) copied[place] = { ...asFields(containers[place]) }
  return copied
}

/** Copies the target in a copied list of containers, and the two lists that a patch adds to. */
function withTarget(
  containers: unknown[],
  list: TargetAdditions['list'],
  target: TargetAdditions | undefined,
): unknown[] {
  if (target?.list !== list) return containers
  const container = fieldsOrNone(containers[target.index])
  const copied: Record<string, unknown> = { ...container }
  for (const key of ['env', 'volumeMounts'])
    if (Array.isArray(container[key])) copied[key] = [...listOrNone(container[key])]
  return containers.with(target.index, copied)
}

function endsWith(after: unknown, before: unknown, added: readonly object[]): boolean {
  const list = listOrNone(after)
  const kept = listOrNone(before).length
  return list.length === kept + added.length && added.every((item, i) => list[kept + i] === item)
}

/** Reports whether the init containers are the received ones between the added ones. */
function surrounds(after: unknown, before: unknown, plan: Plan): boolean {
  const { firstInitContainers: first, initContainers: last } = plan
  const list = listOrNone(after)
  const isFirst = first.every((item, index) => list[index] === item)
  return isFirst && endsWith(list.slice(first.length), before, last)
}

function checkTarget(
  received: Fields,
  patched: Fields,
  { list, index, env, volumeMounts }: TargetAdditions,
  { firstInitContainers }: Plan,
): void {
  const shift = list === 'initContainers' ? firstInitContainers.length : 0
  const before = fieldsOrNone(listOrNone(received[list])[index])
  const after = fieldsOrNone(listOrNone(patched[list])[index + shift])
  must(after.name === before.name, 'target')
  must(endsWith(after.env, before.env, env), 'env of the target')
  must(endsWith(after.volumeMounts, before.volumeMounts, volumeMounts), 'mounts of the target')
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`the patch does not produce the planned ${what}`)
}
