import { type ClusterName, hasCluster } from '../../src/cluster/access.ts'
import { type Explanation, explain as explainOne } from '../../src/pods/explain/explain.ts'
import { EXIT, type ExitCode, UsageError } from '../shared/errors.ts'
import { manifestError, readInput } from '../shared/input.ts'
import { openReader } from '../shared/reader.ts'
import type { Session } from '../shared/session.ts'
import { type About, type Common, type FactOptions, factsFrom } from './explain-facts.ts'
import { aboutFiles, namespacesIn } from './explain-files.ts'
import { aboutLive } from './explain-live.ts'

export interface ExplainOptions extends FactOptions, ClusterName {
  readonly filename?: readonly string[]
  readonly namespace?: string | undefined
  readonly offline?: boolean
}

/**
 * Runs `ridealong explain KIND/NAME` or `ridealong explain -f FILE`: explains why pods have
 * observers or have none. Files are also explained with the facts of the configured cluster, if
 * there is one, unless `offline` or `namespaces` is set.
 *
 * @throws UsageError if the input cannot be read or creates no pods
 */
export async function explain(
  what: string | undefined,
  options: ExplainOptions,
  session: Session,
): Promise<readonly Explanation[]> {
  const { filename, namespace } = options
  const { environment, stdin } = session
  if (what !== undefined && filename === undefined) {
    const reader = await openReader(options, environment)
    const common = await factsFrom(options, reader)
    const place = namespace ?? reader.namespace
    const abouts = await aboutLive(reader, what, place, await common.catalogsIn(place))
    return explainAll(abouts, common, session)
  }
  if (what !== undefined || filename === undefined) {
    throw new UsageError('name either KIND/NAME, such as job/lammps, or -f FILE')
  }
  try {
    const manifests = await readInput(filename, stdin)
    const reader = isOffline(options, environment)
      ? undefined
      : await openReader(options, environment)
    const abouts = aboutFiles(manifests, namespace ?? reader?.namespace ?? 'default')
    const common = await factsFrom(options, reader, namespacesIn(manifests))
    return await explainAll(abouts, common, session)
  } catch (error) {
    return manifestError(error)
  }
}

/** Reports whether to explain without a cluster. The option `--namespaces` replaces a cluster. */
function isOffline(
  { offline, namespaces, ...cluster }: ExplainOptions,
  environment: NodeJS.ProcessEnv,
): boolean {
  if (offline === true || namespaces !== undefined) return true
  return !hasCluster({ ...cluster, environment, mayReadHome: true })
}

async function explainAll(
  abouts: readonly About[],
  { factsOf, origins }: Common,
  { say }: Session,
): Promise<readonly Explanation[]> {
  const explained = await Promise.all(abouts.map(async (about) => explainOne(await factsOf(about))))
  for (const origin of origins) say(origin)
  return explained
}

/** Returns 0 if all pods were injected, otherwise 1. */
export function exitCode(explanations: readonly Explanation[]): ExitCode {
  return explanations.every(({ outcome }) => outcome === 'injected') ? EXIT.ok : EXIT.no
}
