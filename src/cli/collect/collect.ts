import { loadCatalog } from '../../catalog/load.ts'
import type { Apiserver } from '../../cluster/apiserver.ts'
import { listPods } from '../../cluster/pods.ts'
import {
  findObservers,
  NOT_COMPARED,
  type PodOfObservers,
  type RunningObserver,
} from '../../collect/observers.ts'
import { type Chosen, readSelector, readWorkload } from '../../collect/workload.ts'
import type { Fields } from '../../core/kubernetes/json.ts'
import { listColumns } from '../../log/columns.ts'
import { type Descriptions, descriptionsIn } from '../../log/descriptions.ts'
import type { LogFormat } from '../../log/transcribe.ts'
import { csvHeader } from '../../log/write.ts'
import { groupBy } from '../../report/group-by.ts'
import { comparisonWith } from '../shared/comparison.ts'
import { EXIT, UsageError, usageError } from '../shared/errors.ts'
import { openCluster } from '../shared/open-cluster.ts'
import { type Progress, startProgress } from '../shared/progress.ts'
import { readerOf } from '../shared/reader.ts'
import { describeFailure } from '../shared/refusal.ts'
import { type Destination, openDestination } from './destination.ts'
import { pause, startCrowd } from './follow.ts'
import { type Gathered, gather, inOrder, sourceName } from './gather.ts'

export interface CollectOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
  readonly selector?: string
  readonly output: LogFormat
  readonly to?: string
  readonly follow?: boolean
  readonly parallel: number
  readonly catalog?: string
  readonly observerImage?: string
}

/** Milliseconds between two requests for the list of pods. */
const LOOK_MS = 2000

/**
 * Runs `ridealong collect KIND/NAME`: collects the logs of all observers of a workload.
 *
 * @returns the exit code: EXIT.no if a log is missing; EXIT.trouble if all logs are missing and no
 * samples were read; otherwise EXIT.ok
 * @throws UsageError if the command line, the cluster or the destination has a problem
 */
export async function collect(
  workload: string | undefined,
  options: CollectOptions,
  say: (sentence: string) => void,
): Promise<number> {
  const chosen = choose(workload, options)
  const { apiserver, ...found } = await openCluster(options)
  const namespace = options.namespace ?? found.namespace
  const list = () => listPods(apiserver, namespace, chosen).catch(apiTrouble)
  const { catalog: folder, observerImage } = options
  const known = await loadCatalog({ folder, observerImage }).catch(usageError)
  const first = await list()
  const { catalog, catalogFor, problem } = await comparisonWith(
    known,
    options,
    readerOf(apiserver, namespace),
  )
  const descriptions = descriptionsIn(catalog)
  const names = new Set(catalog.metrics.keys())
  const read = (pods: readonly Fields[]) =>
    pods.map((pod) => findObservers(pod, names, catalogFor(pod)))
  const pods = read(first)
  const find: Find = async () => read(await list())
  mustHaveObservers(pods, chosen.words, namespace)
  const header = options.output === 'csv' ? csvHeader([...listColumns(descriptions).keys()]) : ''
  const destination = await openDestination(options.to, options.output, header)
  if (options.follow && options.output === 'logs' && !destination.isFolder)
    throw new UsageError(
      '--follow with --output logs needs a folder, so that logs do not mix: use --to DIR/',
    )
  const gathered = await gatherAll({ apiserver, pods, find, options, descriptions, destination })
  sayNotices(gathered, problem, say)
  return tell(gathered, options, say)
}

type Find = () => Promise<readonly PodOfObservers[]>

function choose(workload: string | undefined, { selector }: CollectOptions): Chosen {
  if ((workload === undefined) === (selector === undefined))
    throw new UsageError('name either KIND/NAME, such as job/lammps, or --selector LABELS')
  const chosen = workload === undefined ? readSelector(selector ?? '') : readWorkload(workload)
  if ('problem' in chosen) throw new UsageError(chosen.problem)
  return chosen
}

function apiTrouble(error: unknown): never {
  throw new UsageError(describeFailure(error))
}

function mustHaveObservers(
  pods: readonly PodOfObservers[],
  words: string,
  namespace: string,
): void {
  if (pods.length === 0)
    throw new UsageError(`there are no pods of ${words} in namespace ${namespace}`)
  if (pods.some(({ observers }) => observers.length > 0)) return
  const left = pods.find((pod) => pod.left !== null)
  const counted = `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}`
  const why =
    left === undefined ? '' : `; pod ${left.name} was left without observers: ${left.left}`
  throw new UsageError(`there are no observers in the ${counted} of ${words}${why}`)
}

interface Work {
  readonly apiserver: Apiserver
  readonly pods: readonly PodOfObservers[]
  readonly find: Find
  readonly options: CollectOptions
  readonly descriptions: Descriptions
  readonly destination: Destination
}

async function gatherAll(work: Work): Promise<readonly Gathered[]> {
  const { destination, options } = work
  const interrupted = new AbortController()
  const stop = () => interrupted.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const progress = startProgress()
  let isGood = false
  try {
    const gathering = options.follow ? followAll : gatherOnce
    const gathered = await gathering(work, progress, interrupted.signal)
    isGood = gathered.some(({ missing, samples }) => missing === undefined || samples > 0)
    return gathered
  } finally {
    progress.clear()
    await destination.close(isGood)
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

async function gatherOnce(
  { apiserver, pods, options, descriptions, destination }: Work,
  progress: Progress,
  signal: AbortSignal,
): Promise<readonly Gathered[]> {
  const observers = pods.flatMap((pod) => pod.observers)
  const gathering = { apiserver, form: options.output, descriptions, signal }
  const all: Gathered[] = []
  let samples = 0
  const results = inOrder(observers, options.parallel, (one) => gather(one, gathering))
  for await (const { text, ...gathered } of results) {
    await destination.write(logName(gathered.observer), text)
    all.push({ ...gathered, text: '' })
    samples += gathered.samples
    progress.show(all.length, observers.length, `${samples} samples`)
  }
  return all
}

async function followAll(
  { apiserver, pods, find, options, descriptions, destination }: Work,
  progress: Progress,
  signal: AbortSignal,
): Promise<readonly Gathered[]> {
  const write = (observer: RunningObserver, text: string) => {
    return destination.write(logName(observer), text)
  }
  const form = options.output
  const following = { apiserver, form, descriptions, signal, write, pauseMs: LOOK_MS }
  const crowd = startCrowd(following, ({ observer, text }) => write(observer, text))
  let now = pods
  while (!signal.aborted) {
    crowd.take(now.flatMap((pod) => pod.observers))
    const { done, all } = crowd.counts()
    progress.show(done, all, 'following')
    if (done === all && now.every((pod) => pod.isOver)) break
    await pause(LOOK_MS, signal)
    // If the list fails, for example while the apiserver restarts, the previous list is kept until
    // the next attempt. Each log reconnects separately.
    now = await find().catch(() => now)
  }
  return crowd.end()
}

/** Returns the name of a log's file without the extension. Kubernetes names contain no slash. */
function logName({ pod, container }: RunningObserver): string {
  return `${pod}.${container}`
}

/** Prints each notice once, with its first log and the number of other logs. */
function sayNotices(
  gathered: readonly Gathered[],
  problem: string | undefined,
  say: (sentence: string) => void,
): void {
  const told = gathered.flatMap(({ observer }) =>
    observer.notices.map((notice) => ({ notice, source: sourceName(observer) })),
  )
  for (const [notice, [first, ...others]] of groupBy(told, ({ notice }) => notice)) {
    const more = others.length === 0 ? '' : ` and ${others.length} others`
    const why = notice === NOT_COMPARED ? `, ${WHY_NOT}: ${problem}` : ''
    say(`${first?.source}${more}: ${notice}${why}`)
  }
}

const WHY_NOT = "because the cluster's catalog could not be read (to name another, use --catalog)"

function tell(
  gathered: readonly Gathered[],
  { output, to }: CollectOptions,
  say: (sentence: string) => void,
): number {
  const missing = gathered.filter((one) => one.missing !== undefined)
  for (const one of missing)
    say(`the log of ${sourceName(one.observer)} is missing or incomplete: ${one.missing}`)
  for (const { observer, cuts } of gathered)
    if (cuts.length > 0) say(`the log of ${sourceName(observer)} is cut: ${cuts.join('; ')}`)
  const samples = gathered.reduce((sum, one) => sum + one.samples, 0)
  const logs = gathered.length - missing.length
  const place = to ?? 'standard output'
  say(`${logs} of ${gathered.length} logs, ${samples} samples, as ${output} to ${place}`)
  if (missing.length === 0) return EXIT.ok
  return logs === 0 && samples === 0 ? EXIT.trouble : EXIT.no
}
