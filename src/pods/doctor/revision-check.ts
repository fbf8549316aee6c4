import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { DEFAULT_REVISION, nameRevision, readRevision } from '../../core/namespaces/revision.ts'
import { check, fault, type InstallationCheck } from './check.ts'
import type { Installation } from './installation.ts'

const NAME = 'revisions'
/** The maximum number of namespaces in a message. */
const NAMED = 5

/**
 * Checks that each revision has one release, and that a release has the revision of each namespace
 * with the label `ridealong.dev/revision`.
 */
export function revisionCheck({ configurations, namespaces }: Installation): InstallationCheck {
  if ('problem' in configurations) return check(NAME, 'unknown', configurations.problem)
  if ('problem' in namespaces) return check(NAME, 'unknown', namespaces.problem)
  const releases = Map.groupBy(configurations.value, readRevision)
  for (const [revision, found] of releases) if (found.length > 1) return twice(revision, found)
  const lost = namespaces.value.filter((namespace) => !releases.has(readRevision(namespace)))
  const chosen = lost.filter((namespace) => readRevision(namespace) !== undefined)
  if (chosen.length > 0) return unknownRevision(chosen)
  const listed = [...releases].map(
    ([revision, found]) => `${nameRevision(revision)} (${nameOf(found[0])})`,
  )
  return releases.has(undefined)
    ? check(NAME, 'ok', listed.join(', '))
    : check(NAME, 'look', `${listed.join(', ')}; ${NO_DEFAULT}`)
}

const NO_DEFAULT =
  'there is no default release, so pods get observers only in namespaces with the label' +
  ' ridealong.dev/revision'

function twice(revision: string | undefined, found: readonly Fields[]): InstallationCheck {
  const names = found.map(nameOf).join(' and ')
  const what =
    revision === undefined ? `the ${DEFAULT_REVISION} release` : `the revision ${revision}`
  const remedy = 'remove one of the two releases, or give it another value revision'
  return fault(NAME, `${names} are both ${what}, and both handle the same pods`, remedy)
}

function unknownRevision(namespaces: readonly Fields[]): InstallationCheck {
  const all = namespaces.map((namespace) => `${nameOf(namespace)} (${readRevision(namespace)})`)
  const more = all.length > NAMED ? [`${all.length - NAMED} more`] : []
  const names = [...all.slice(0, NAMED), ...more].join(', ')
  const remedy =
    'correct or remove the label ridealong.dev/revision of these namespaces, or install the' +
    ' release (docs/upgrade.md)'
  return fault(NAME, `no release has the revision of these namespaces: ${names}`, remedy)
}

function nameOf(object: Fields | undefined): string {
  return asText(fieldsOrNone(object?.metadata).name) ?? ''
}
