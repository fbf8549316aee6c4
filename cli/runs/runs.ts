import { loadCatalog } from '../../src/catalog/load.ts'
import type { ClusterName } from '../../src/cluster/access.ts'
import { ApiError, describeFailure } from '../../src/cluster/api-error.ts'
import { printableJson } from '../../src/core/text/printable.ts'
import { formatList } from '../../src/lib/format-list.ts'
import type { Output } from '../../src/lib/output-format.ts'
import { cleanYaml } from '../../src/pods/manifest/print.ts'
import { cardDocument } from '../../src/runs/card/card-document.ts'
import { CARD_WIDTH, formatCard } from '../../src/runs/card/card-text.ts'
import { readPodFacts } from '../../src/runs/card/pod-facts.ts'
import { groupRuns } from '../../src/runs/card/run.ts'
import { makeRunCard, type RunCard } from '../../src/runs/card/run-card.ts'
import { buildRunTable, type RunOrder, sortCards } from '../../src/runs/card/run-table.ts'
import { listRunPods } from '../../src/runs/collect/run-pods.ts'
import { EXIT, type ExitCode, UsageError, usageError } from '../shared/errors.ts'
import { openCluster } from '../shared/open-cluster.ts'
import type { Session } from '../shared/session.ts'
import { formatText } from '../shared/table.ts'
import { formatAdvice } from './advice.ts'
import { joinCards, listArchivedCards } from './archived-cards.ts'
import { nameMatcher } from './run-names.ts'

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
    return formatAdvice(chosen, options.output)
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
