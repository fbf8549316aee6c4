import { type ClusterName, hasCluster } from '../../src/cluster/access.ts'
import { type Explanation, explain as explainOne } from '../../src/pods/explain/explain.ts'
import { EXIT, type ExitCode, UsageError } from '../shared/errors.ts'
import { manifestError, readInput } from '../shared/input.ts'
import { addSchemas } from '../shared/kind-schemas.ts'
import { exitCodeFor } from '../shared/manifest-output.ts'
import { openReader } from '../shared/reader.ts'
import type { Session } from '../shared/session.ts'
import { type About, type Common, type FactOptions, factsFrom } from './explain-facts.ts'
import { aboutFiles, namespacesIn } from './explain-files.ts'
import { aboutLive } from './explain-live.ts'

/** The explanations of pods, and the exit code. */
export interface Explained {
  readonly explanations: readonly Explanation[]
  readonly exitCode: ExitCode
}

export interface ExplainOptions extends FactOptions, ClusterName {
  readonly filename?: readonly string[]
  readonly namespace?: string | undefined
  readonly offline?: boolean
  readonly strict?: boolean
  readonly crds?: readonly string[]
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
): Promise<Explained> {
  const { filename, namespace } = options
  if (what !== undefined && filename === undefined) {
    const reader = await openReader(options, session.environment)
    const common = await factsFrom(options, reader)
    const place = namespace ?? reader.namespace
    const abouts = await aboutLive(reader, what, place, await common.catalogsIn(place))
    return explainAll(abouts, common, session, EXIT.ok)
  }
  if (what !== undefined || filename === undefined) {
    throw new UsageError('name either KIND/NAME, such as job/lammps, or -f FILE')
  }
  return await explainFiles(filename, options, session)
}

async function explainFiles(
  filename: readonly string[],
  options: ExplainOptions,
  session: Session,
): Promise<Explained> {
  const { namespace } = options
  const { environment, stdin } = session
  try {
    const manifests = await readInput(filename, stdin)
    const reader = isOffline(options, environment)
      ? undefined
      : await openReader(options, environment)
    const offline = reader === undefined
    const described = await addSchemas(manifests, { ...options, offline }, session)
    const read = aboutFiles(described.manifests, namespace ?? reader?.namespace ?? 'default')
    const common = await factsFrom(options, reader, namespacesIn(manifests))
    for (const note of [...described.notes, ...read.notes]) session.say(note)
    const exitCode = exitCodeFor(read.missed, read.isAnyLeft, options.strict)
    return await explainAll(read.abouts, common, session, exitCode)
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

/** @param exitCode the exit code if all pods get observers */
async function explainAll(
  abouts: readonly About[],
  { factsOf, origins }: Common,
  { say }: Session,
  exitCode: ExitCode,
): Promise<Explained> {
  const explanations = await Promise.all(
    abouts.map(async (about) => explainOne(await factsOf(about))),
  )
  for (const origin of origins) say(origin)
  const areInjected = explanations.every(({ outcome }) => outcome === 'injected')
  return { explanations, exitCode: areInjected ? exitCode : EXIT.no }
}
