import { type Fields, fieldsOrNone, listOrNone } from './json.ts'

/** The controller of an object, in the form of a core/v1 ObjectReference. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/**
 * An RFC 1123 subdomain of at most 253 characters: the name of an object that creates pods, or an
 * API group.
 */
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/**
 * Both a version and a kind are RFC 1035 labels. A kind may also contain capitals (apiextensions
 * validation of CustomResourceDefinitionNames).
 */
const VERSION = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/
const KIND = /^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/

/** A UID as the apiserver writes it (apimachinery util/uuid: an RFC 4122 UUID in lowercase). */
const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Reads the controller in an object's owner references.
 *
 * The apiserver validates little of a reference (apimachinery api/validation/objectmeta.go,
 * ValidateOwnerReferences): no field may be empty, at most one reference may be a controller, and
 * an Event cannot be an owner. This function therefore also checks that the version, the kind, the
 * name and the UID are possible for an object in the apiserver.
 *
 * A valid reference may still be false, because the author of a pod writes it. Kubernetes itself
 * trusts the reference: the Job controller counts every matching pod that names the Job as its
 * controller, and the garbage collector deletes pods whose owner does not exist.
 *
 * @returns undefined if there is no controller, if there are several, or if the controller cannot
 * exist
 */
export function readController(ownerReferences: unknown): OwnerReference | undefined {
  const references = listOrNone(ownerReferences).map(fieldsOrNone)
  const [controller, ...others] = references.filter(({ controller }) => controller === true)
  return controller === undefined || others.length > 0 ? undefined : readReference(controller)
}

function readReference({ apiVersion, kind, name, uid }: Fields): OwnerReference | undefined {
  const isPossible =
    isVersion(apiVersion) && matches(KIND, kind) && matches(SUBDOMAIN, name) && matches(UID, uid)
  const isEvent = kind === 'Event' && apiVersion === 'v1'
  return isPossible && !isEvent ? { apiVersion, kind, name, uid } : undefined
}

/**
 * Reports whether a value is a version such as `v1`, or a group and a version such as `apps/v1`.
 */
function isVersion(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 320) return false
  const parts = value.split('/')
  const isGroup = parts.length === 1 || matches(SUBDOMAIN, parts[0])
  return parts.length <= 2 && isGroup && matches(VERSION, parts.at(-1))
}

function matches(pattern: RegExp, value: unknown): value is string {
  return typeof value === 'string' && value.length <= 253 && pattern.test(value)
}
