import { MOVED_FROM_LABEL, REVISION_LABEL } from '../keys.ts'
import { asText, type Fields, fieldsOrNone } from '../kubernetes/json.ts'

/**
 * The value of the label `ridealong.dev/moved-from` for the default release. The chart refuses a
 * revision of this name.
 */
export const DEFAULT_REVISION = 'default'

/**
 * Reads the revision of an object from its label `ridealong.dev/revision`. On a Namespace, the
 * label names the release that handles the pods of the namespace. On a
 * MutatingWebhookConfiguration, it names the revision of the release.
 *
 * @returns undefined without the label, which stands for the default release
 */
export function readRevision(object: unknown): string | undefined {
  return asText(labelsOf(object)[REVISION_LABEL])
}

/** Reads the label `ridealong.dev/moved-from` of a Namespace; undefined if there is none. */
export function readMovedFrom(object: unknown): string | undefined {
  return asText(labelsOf(object)[MOVED_FROM_LABEL])
}

/**
 * Returns the former revision of a Namespace that moves, from its label `ridealong.dev/moved-from`.
 *
 * @returns undefined if there is no such label, or if it names the current revision
 */
export function findMoveOrigin(object: unknown): string | undefined {
  const from = readMovedFrom(object)
  return from === nameRevision(readRevision(object)) ? undefined : from
}

/** Names a revision in the label `ridealong.dev/moved-from`, or in a message. */
export function nameRevision(revision: string | undefined): string {
  return revision ?? DEFAULT_REVISION
}

/**
 * Returns the value that an update of a Namespace must give to the label `ridealong.dev/moved-from`
 * because it changes the revision.
 *
 * @returns undefined if the update does not change the revision
 */
export function findFormerRevision(oldObject: unknown, object: unknown): string | undefined {
  const before = readRevision(oldObject)
  return before === readRevision(object) ? undefined : nameRevision(before)
}

/**
 * Reports whether a release may remove the label `ridealong.dev/moved-from` of a Namespace: the
 * release of the namespace, and the release that the label names.
 */
export function endsMove(object: unknown, revision: string | undefined): boolean {
  const from = readMovedFrom(object)
  if (from === undefined) return false
  return readRevision(object) === revision || from === nameRevision(revision)
}

function labelsOf(object: unknown): Fields {
  return fieldsOrNone(fieldsOrNone(fieldsOrNone(object).metadata).labels)
}
