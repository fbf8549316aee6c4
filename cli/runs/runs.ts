import { loadCatalog } from '../../src/catalog/load.ts'
import type { ClusterName } from '../../src/cluster/access.ts'
import { ApiError, describeFailure } from '../../src/cluster/api-error.ts'
import { readServedKinds } from '../../src/cluster/discovery.ts'
import { listObjects } from '../../src/cluster/list.ts'
import { printableJson } from '../../src/core/text/printable.ts'
import { formatList } from '../../src/lib/format-list.ts'
import type { Output } from '../../src/lib/output-format.ts'
import { cleanYaml } from '../../src/pods/manifest/print.ts'
import { readRunCard } from '../../src/runs/archive/read-run.ts'
import { RUN_API_VERSION, RUNS_PLURAL } from '../../src/runs/archive/run-object.ts'
import { cardDocument } from '../../src/runs/card/card-document.ts'
import { CARD_WIDTH, formatCard } from '../../src/runs/card/card-text.ts'
import { makeRunCard, type RunCard } from '../../src/runs/card/run-card.ts'
import { buildRunTable, type RunOrder, sortCards } from '../../src/runs/card/run-table.ts'
import type { PodPlace } from '../../src/runs/collect/run-controllers.ts'
import { listRunPods } from '../../src/runs/collect/run-pods.ts'
import { findKnownKind } from '../../src/runs/collect/workload-kinds.ts'
import { readPodFacts } from '../../src/runs/facts/pod-facts.ts'
import { groupRuns, isOver, type Run, runKey } from '../../src/runs/facts/run.ts'
import { EXIT, type ExitCode, UsageError, usageError } from '../shared/errors.ts'
import { openCluster } from '../shared/open-cluster.ts'
import { pathOfRuns } from '../shared/path-of-runs.ts'
import type { Session } from '../shared/session.ts'
import { formatText } from '../shared/table.ts'
import { formatAdvice } from './advice.ts'

export type RunsFormat = 'text' | 'wide' | 'json' | 'yaml'

export interface RunsOptions extends ClusterName {
  readonly namespace?: string
  readonly allNamespaces?: boolean
  readonly selector?: string
  readonly advice?: boolean
  /** Milliseconds. */
  readonly since?: number
  readonly sort: RunOrder
  readonly output: RunsFormat
}

/** The result of the verb, and its exit code. */
export interface RunsResult {
  readonly output: Output
  readonly code: ExitCode
}

/**
 * Runs `ridealong runs [RUN...]`: lists the runs of a namespace, prints the cards of the named
 * runs, or advice from them.
 *
 * @returns the exit code: EXIT.no if there are no runs, or advice is refused
 * @throws UsageError if the command line or the cluster has a problem
 */
export async function runs(
  names: readonly string[],
  options: RunsOptions,
  { environment, say }: Session,
): Promise<RunsResult> {
  checkOptions(names, options)
  const isNamed = nameMatcher(names)
  const now = Date.now()
  const { cards, where, forbidden } = await readCards(options, now, environment)
  const least = now - (options.since ?? Number.POSITIVE_INFINITY)
  const chosen = sortCards(
    cards.filter(({ run, started }) => (started ?? now) >= least && isNamed(run)),
    options.sort,
  )
  sayForbidden(forbidden, where, say)
  if (chosen.length === 0) say(describeNone(names, options, where))
  else if (options.advice) {
    return formatAdvice(chosen, options.output === 'json')
  }
  return { output: format(chosen, names, options), code: chosen.length === 0 ? EXIT.no : EXIT.ok }
}

function checkOptions(names: readonly string[], options: RunsOptions): void {
  if (options.advice && names.length === 0)
    throw new UsageError('--advice needs the runs that it is based on, such as job/lammps')
  if (options.allNamespaces && options.namespace !== undefined)
    throw new UsageError('--namespace and --all-namespaces exclude each other')
}

async function readCards(options: RunsOptions, now: number, environment: NodeJS.ProcessEnv) {
  const { apiserver, namespace: current } = await openCluster(options, environment)
  const namespace = options.allNamespaces ? undefined : (options.namespace ?? current)
  const where = namespace === undefined ? 'all namespaces' : `namespace ${namespace}`
  const metrics = new Set((await loadCatalog({}).catch(usageError)).metrics.keys())
  const place = { apiserver, namespace }
  const { pods, controllers } = await listRunPods(place, options.selector, (pod) =>
    readPodFacts(pod, metrics),
  ).catch((error: unknown) => {
    throw new UsageError(describeListError(error, where))
  })
  const cards = groupRuns(pods, controllers).map((run) => makeRunCard(run, now))
  const archived = await listArchivedCards(place, now)
  const isSelective = options.selector !== undefined
  return {
    cards: joinCards(cards, archived?.cards ?? [], isSelective),
    where,
    forbidden: { controllers: controllers.forbidden, isArchiveForbidden: archived === undefined },
  }
}

function describeListError(error: unknown, where: string): string {
  return error instanceof ApiError && error.status === 403
    ? `you lack the right to list pods in ${where}: ${error.said}`
    : describeFailure(error)
}

interface Forbidden {
  /** The kinds of controllers that the user may not list. */
  readonly controllers: readonly string[]
  /** Whether the user may not list the objects Run. */
  readonly isArchiveForbidden: boolean
}

function sayForbidden(
  { controllers, isArchiveForbidden }: Forbidden,
  where: string,
  say: (sentence: string) => void,
): void {
  if (isArchiveForbidden)
    say(`you lack the right to list runs.ridealong.dev in ${where}: only runs with pods are listed`)
  if (controllers.length === 0) return
  say(
    `you lack the right to list ${formatList(controllers, 'and')} in ${where}: runs have the ` +
      'names of the controllers below these, and phases are those of the pods',
  )
}

function describeNone(names: readonly string[], options: RunsOptions, where: string): string {
  const since = options.since === undefined ? '' : ' that started in the time of --since'
  return names.length === 0
    ? `there are no observed pods${since} in ${where}`
    : `no run ${names.join(' or ')} has observed pods${since} in ${where}`
}

function format(
  cards: readonly RunCard[],
  names: readonly string[],
  { output, allNamespaces = false }: RunsOptions,
): Output {
  if (output === 'json') return { document: `${printableJson(cards.map(cardDocument), 2)}\n` }
  if (output === 'yaml')
    return { document: cards.map((card) => `---\n${cleanYaml(cardDocument(card))}`).join('') }
  if (cards.length === 0) return { lines: [] }
  if (names.length === 0) {
    const shape = { hasNamespaces: allNamespaces, isWide: output === 'wide' }
    return { text: [buildRunTable(cards, shape)] }
  }
  const blocks = cards.flatMap((card, index) => [...(index === 0 ? [] : ['']), ...formatCard(card)])
  return { lines: formatText(blocks, { width: CARD_WIDTH }) }
}

/** RFC 1123 subdomain, the format of the names of Kubernetes objects. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

type Named = Pick<Run, 'word' | 'group' | 'kind' | 'name'>

/**
 * Returns a function that reports whether a run has one of these names: KIND/NAME as kubectl writes
 * it, or NAME. Without names, all runs match.
 *
 * @throws UsageError if a name is invalid
 */
function nameMatcher(names: readonly string[]): (run: Named) => boolean {
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

/** The cards in the objects Run that an archive has written. */
interface ArchivedCards {
  readonly cards: readonly RunCard[]
}

/**
 * Lists the cards in objects Run; none if the cluster does not serve this kind.
 *
 * @returns undefined if the user lacks the right to list them
 * @throws another ApiError, or a network error
 */
async function listArchivedCards(
  { apiserver, namespace }: PodPlace,
  now: number,
): Promise<ArchivedCards | undefined> {
  const served = await readServedKinds(apiserver, RUN_API_VERSION)
  if (!served.some(({ plural }) => plural === RUNS_PLURAL)) return { cards: [] }
  try {
    const cards = await listObjects(apiserver, { path: pathOfRuns(namespace) }, async (page) => {
      return page.flatMap((object) => readRunCard(object, now) ?? [])
    })
    return { cards }
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined
    throw error
  }
}

/**
 * Joins the cards of pods with archived ones. The archive remembers deleted pods, so an ended run
 * has its archived card. While a run goes on, its pods are newer.
 *
 * @param isSelective whether only some pods were listed: then other runs are left out
 */
function joinCards(
  ofPods: readonly RunCard[],
  archived: readonly RunCard[],
  isSelective: boolean,
): readonly RunCard[] {
  const known = new Map(archived.map((card) => [runKey(card.run), card]))
  const joined = ofPods.map((card) => {
    const other = known.get(runKey(card.run))
    return other !== undefined && isOver(other.run.phase) ? other : card
  })
  const listed = new Set(ofPods.map(({ run }) => runKey(run)))
  const others = archived.filter(({ run }) => !isSelective && !listed.has(runKey(run)))
  return [...joined, ...others]
}
