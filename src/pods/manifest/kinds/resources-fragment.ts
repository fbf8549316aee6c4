import type { Fields } from '../../../core/kubernetes/json.ts'
import { capitalized } from '../../../lib/capitalized.ts'
import { findKind } from './table.ts'

/** Requests and limits for the containers of the pods of a role. */
export interface RoleResources {
  /** Empty if the workload has no roles. */
  readonly role: string
  readonly containers: readonly Fields[]
}

/** The object that a fragment is for. */
export interface FragmentTarget {
  readonly apiVersion: string
  readonly group: string
  readonly kind: string
  readonly name: string
}

/**
 * Builds the part of a manifest that sets the resources of a role's containers, in the fields from
 * which the kind's operator makes its pods.
 *
 * @returns undefined if the field for the role is not known
 */
export function buildResourcesFragment(
  { apiVersion, group, kind, name }: FragmentTarget,
  { role, containers }: RoleResources,
): Fields | undefined {
  const known = findKind(group, kind)
  const head = { apiVersion, kind, metadata: { name } }
  if (known?.containers !== undefined)
    return { ...head, ...nest(known.containers.split('.'), role, containers) }
  const template = choose(known?.templates ?? [], role)
  if (template === undefined) return undefined
  const path = [...template.split('.').filter((step) => step !== ''), 'spec', 'containers']
  return { ...head, ...nest(path, role, containers) }
}

/**
 * Chooses the template of a role: one with a step that begins with the role, such as
 * `leaderTemplate`, otherwise one that has a template for each role, otherwise the only one.
 */
function choose(templates: readonly string[], role: string): string | undefined {
  const [only, ...others] = templates
  if (others.length === 0) return only === undefined || isFor(only, role) ? only : undefined
  const named = templates.find((path) => {
    return role !== '' && path.split('.').some((step) => step.startsWith(role))
  })
  return named ?? templates.find((path) => path.includes('*') && isFor(path, role))
}

/** A template for each role needs the name of the role, and other templates have no roles. */
function isFor(path: string, role: string): boolean {
  return path.includes('*') === (role !== '')
}

/** Builds the maps and lists of a path, with `*` for the role. */
function nest([step, next, ...rest]: readonly string[], role: string, last: unknown): Fields {
  if (step === undefined) return {}
  if (next === undefined) return { [step]: last }
  if (next !== '*') return { [step]: nest([next, ...rest], role, last) }
  const inner = nest(rest, role, last)
  if (step.endsWith('ReplicaSpecs')) return { [step]: { [replicaKey(role)]: inner } }
  // The lists of Ray name their items with another key.
  const key = step === 'workerGroupSpecs' ? 'groupName' : 'name'
  return { [step]: [{ [key]: role, ...inner }] }
}

/**
 * Returns the key of a role in the replicas of Kubeflow, such as `Worker` of the label `worker`
 * (kubeflow/training-operator pkg/apis/kubeflow.org/v1/*_types.go). `PS` is an abbreviation.
 */
function replicaKey(role: string): string {
  return role === 'ps' ? 'PS' : capitalized(role)
}
