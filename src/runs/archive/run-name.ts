import { createHash } from 'node:crypto'
import type { Run } from '../facts/run.ts'

/** The maximum length of the name of an object (RFC 1123 subdomain). */
const MAX_LENGTH = 253
const UID_DIGITS = 8

/**
 * Returns the name of the object Run: the name of the workload and the first digits of its UID. The
 * revisions of a StatefulSet or DaemonSet have the same UID, so digits of their revision follow.
 */
export function nameRun({ group, kind, name, uid, revision }: RunIdentity): string {
  const isUnique = revision === null || (group === 'apps' && kind === 'Deployment')
  const digits = uid.toLowerCase().replace(/[^a-z0-9]/g, '')
  const suffix = [digits.slice(0, UID_DIGITS), ...(isUnique ? [] : [digest(revision)])].join('-')
  const start = name.slice(0, MAX_LENGTH - suffix.length - 1).replace(/[-.]+$/, '')
  return `${start}-${suffix}`
}

export type RunIdentity = Pick<Run, 'group' | 'kind' | 'name' | 'uid' | 'revision'>

/** A label with a revision can have characters that the name of an object cannot have. */
function digest(revision: string): string {
  return createHash('sha256').update(revision).digest('hex').slice(0, UID_DIGITS)
}
