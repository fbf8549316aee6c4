import type { Sample } from '../log/columns.ts'
import type { CurrentStacks } from '../waiting/current-stacks.ts'
import type { StandIn } from './stand-in.ts'

/** What the evidence of a run needs to know of a metric. */
export interface EvidenceMetric {
  readonly name: string
  /** Keeps the facts from its rows that are not values over time; missing if there are none. */
  readonly store?: MetricStore
  /** The sections of other metrics whose columns its own sections have. */
  readonly standsFor?: readonly StandIn[]
}

/**
 * Keeps the facts from the rows of a metric that are not values of columns over time, such as the
 * calls of each process.
 */
export interface MetricStore<Store = unknown, Sums = unknown> {
  readonly metric: string
  create(): Store
  /** Adds a row of the metric. */
  add(store: Store, section: string, sample: Sample): void
  /** Returns the facts from some of the logs. */
  keepLogs(store: Store, isKept: (source: string) => boolean): Store
  /** Joins the facts from several logs. */
  join(stores: readonly Store[]): Store
  /** Notes that a row is left out, because its log describes too many things. */
  leaveOut?(store: Store, sample: Sample): void
  /** Returns the current stacks of Python. */
  stacks?(store: Store): CurrentStacks
  /** Whether the rows of a section are single calls or files, which are no lines over time. */
  isDetail?(section: string): boolean
  /** A section of which the last rows are kept, and the key column with their numbers. */
  readonly numbered?: { readonly section: string; readonly key: string }
  /** Whether the store has more processes than observers write. */
  isFull?(store: Store): boolean
  /**
   * Returns the store of a log that grows without the processes that have ended, if it has many.
   *
   * @param seconds the last timepoint, in seconds since the first one
   */
  forgetEnded?(store: Store, seconds: number): Store
  /** For a metric whose rows are sums since the start of a process. */
  readonly sums?: StoredSums<Store, Sums>
}

/** How `top` tells what processes have done since a time. */
interface StoredSums<Store, Sums> {
  /** Returns the sums now. Later rows do not change the result. */
  now(store: Store): Sums
  /** Returns what was added to the sums since then. */
  since(store: Store, then: Sums): Store
}

/** The stores of a run by the names of their metrics. */
export type Stores = ReadonlyMap<string, Stored>

/** A store, and the metric that it belongs to. */
export interface Stored {
  readonly of: MetricStore
  readonly store: unknown
}

export function newStores(metrics: readonly EvidenceMetric[]): Map<string, Stored> {
  const all = metrics.flatMap(({ store }) => store ?? [])
  return new Map(all.map((of) => [of.metric, { of, store: of.create() }]))
}

/** Adds a row to the store of its metric, if that has one. */
export function addToStore(stores: Stores, section: string, sample: Sample): void {
  const stored = stores.get(sample.metric ?? '')
  stored?.of.add(stored.store, section, sample)
}

/** Removes the rows of a log from the store of its metric. Returns them in a store. */
export function takeLogFromStores(
  stores: Map<string, Stored>,
  { metric, source }: Pick<Sample, 'metric' | 'source'>,
): Map<string, Stored> {
  const stored = stores.get(metric ?? '')
  if (stored === undefined) return new Map()
  const { of, store } = stored
  const isOfLog = (log: string) => log === (source ?? '')
  stores.set(of.metric, { of, store: of.keepLogs(store, (log) => !isOfLog(log)) })
  return new Map([[of.metric, { of, store: of.keepLogs(store, isOfLog) }]])
}

/** Returns the store of a metric. If there is none, it is empty. */
export function storeOf<Store>(stores: Stores, of: MetricStore<Store>): Store {
  const stored = stores.get(of.metric)
  // The name of a metric decides the type of its store.
  return stored === undefined ? of.create() : (stored.store as Store)
}

/** Returns the stores after a change. @param change returns the changed store */
export function changeStores(
  stores: Stores,
  change: (of: MetricStore, store: unknown) => unknown,
): Map<string, Stored> {
  return new Map(
    [...stores].map(([name, { of, store }]) => [name, { of, store: change(of, store) }]),
  )
}

/** Joins the stores of several logs. */
export function joinStores(all: readonly Stores[]): Stores {
  const byMetric = Map.groupBy(
    all.flatMap((stores) => [...stores.values()]),
    ({ of }) => of,
  )
  return new Map(
    [...byMetric].map(([of, own]) => {
      return [of.metric, { of, store: of.join(own.map(({ store }) => store)) }]
    }),
  )
}

/** Returns the values that come from some of the logs. */
export function ofLogs<Value extends { readonly source: string }>(
  values: ReadonlyMap<string, Value>,
  isKept: (source: string) => boolean,
): Map<string, Value> {
  return new Map([...values].filter(([, { source }]) => isKept(source)))
}
