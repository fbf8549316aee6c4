import type { Run } from '../../src/runs/card/run.ts'
import { findKnownKind } from '../../src/runs/collect/workload-kinds.ts'
import { UsageError } from '../shared/errors.ts'

/** RFC 1123 subdomain, the format of the names of Kubernetes objects. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

type Named = Pick<Run, 'word' | 'group' | 'kind' | 'name'>

/**
 * Returns a function that reports whether a run has one of these names: KIND/NAME as kubectl writes
 * it, or NAME. Without names, all runs match.
 *
 * @throws UsageError if a name is invalid
 */
export function nameMatcher(names: readonly string[]): (run: Named) => boolean {
  const matchers = names.map(matcherOf)
  return (run) => matchers.length === 0 || matchers.some((isNamed) => isNamed(run))
}

function matcherOf(written: string): (run: Named) => boolean {
  const [, kind, name = ''] = /^(?:([^/]+)\/)?([^/]+)$/.exec(written) ?? []
  if (!NAME.test(name))
    throw new UsageError(`"${written}" is not KIND/NAME or NAME, such as job/lammps`)
  if (kind === undefined) return (run) => run.name === name
  const [word = '', ...parts] = kind.toLowerCase().split('.')
  const known = findKnownKind(word, parts.join('.'))
  const isKind = (run: Named) => {
    const own = run.kind.toLowerCase()
    if (known !== undefined) return known.group === run.group && known.kind === run.kind
    return [own, `${own}s`, run.word].includes(word) && parts.join('.') === run.group
  }
  return (run) => run.name === name && isKind(run)
}
