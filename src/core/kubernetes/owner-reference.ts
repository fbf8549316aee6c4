import { type Fields, fieldsOrNone, listOrNone } from './json.ts'

/** The controller of an object, as another object can refer to it (core/v1 ObjectReference). */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** RFC 1123 subdomains of at most 253 characters: names of the objects that make pods, and API groups. */
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** RFC 1035 labels; kinds may have capitals (apiextensions validation of CustomResourceDefinitionNames). */
const VERSION = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/
const KIND = /^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/

/** As the apiserver writes uids (apimachinery util/uuid: an RFC 4122 UUID in small letters). */
const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Reads the controller that an object names. The apiserver looks at little of a reference (apimachinery
 * api/validation/objectmeta.go, ValidateOwnerReferences): the fields must not be empty, one reference at
 * most may be a controller, and an Event cannot be an owner. So the fields are checked here against the
 * names and uids that objects in the apiserver can have.
 *
 * A valid reference may still be a lie, since the author of a pod writes it. Kubernetes itself takes it
 * for true: the controller of a Job counts every matching pod that names the Job as its controller, and
 * the garbage collector deletes pods whose owner does not exist.
 *
 * @returns undefined where there is no controller, more than one, or one that cannot exist
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

/** `v1`, or a group and a version with a slash between them. */
function isVersion(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 320) return false
  const parts = value.split('/')
  const isGroup = parts.length === 1 || matches(SUBDOMAIN, parts[0])
  return parts.length <= 2 && isGroup && matches(VERSION, parts.at(-1))
}

function matches(pattern: RegExp, value: unknown): value is string {
  return typeof value === 'string' && value.length <= 253 && pattern.test(value)
}
