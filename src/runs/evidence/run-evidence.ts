import type { ContainerUse } from '../log/container-use.ts'
import type { EndedContainer, PodLimits } from '../log/entry.ts'
import { separateHelpers } from '../profiles/helper-processes.ts'
import { type ProfileByPod, profileByPod } from '../profiles/profile-by-pod.ts'
import { type CurrentStack, findStacks, joinStacks } from '../waiting/current-stacks.ts'
import type { ColumnReading } from './column-reading.ts'
import {
  type Evidence,
  type Need,
  type SectionColumns,
  sectionKey,
  type Thing,
} from './evidence.ts'
import { type SectionPlace, type StandIn, standInFor, withReplaced } from './stand-in.ts'
import type { Stores } from './stores.ts'

/** The evidence of a run by pod, under the names that reports show. */
export interface RunEvidence {
  readonly pods: readonly PodEvidence[]
  /** The functions of each program that was profiled. */
  readonly profiles: readonly ProfileByPod[]
  readonly stores: Stores
  /** Returns the pod to which a log belongs. */
  readonly podOf: (source: string) => string
  /** Returns what a view shows of the run. It is computed once. */
  readonly view: <Shown>(view: RunView<Shown>) => Shown
}

/** A function that returns what the stores have about a run, as rules read it. */
export type RunView<Shown> = (run: RunEvidence) => Shown

export interface PodEvidence {
  readonly pod: string
  readonly node: string | null
  /** When the pod's first log began, in seconds since 1970; null if its date is not known. */
  readonly began: number | null
  /** The seconds of the run that the rows of the pod cover, in the longest of its logs. */
  readonly elapsed: number
  /** How the containers of the pod ended; null if that is not known. */
  readonly ended: readonly EndedContainer[] | null
  /** The limits of the whole pod; null if they are not known. */
  readonly podLimits: PodLimits | null
  /** Returns the use of a container from its start to its end, if a summary has it. */
  readonly useOf: (container: Pick<Thing, 'source' | 'container'>) => ContainerUse | undefined
  /** The metrics of which the pod has rows, or rows with the same columns. */
  readonly metrics: ReadonlySet<string>
  /** Returns the section that has the rows of a section: itself, or one with the same columns. */
  readonly placeOf: (section: SectionPlace) => SectionPlace
  /** Returns the things of the pod that the rows of a section describe. */
  readonly things: <Column extends string>(
    section: SectionColumns<Column>,
  ) => readonly Thing<Column>[]
}

/** Returns the pods of a run by name. */
export function podsByName({ pods }: RunEvidence): ReadonlyMap<string, PodEvidence> {
  return new Map(pods.map((pod) => [pod.pod, pod]))
}

/** Returns the columns that have no value in any row of the pod, or counters with one sample. */
export function unreadColumns({ things, metrics }: PodEvidence, need: Need): readonly string[] {
  const { metric, columns, isTotal = false, canBeEmpty = false } = need
  const own = things(need)
  if (canBeEmpty && own.length === 0 && metrics.has(metric)) return []
  const isUsable = isTotal ? isRead : isMeasured
  return columns.filter((column) => !own.some(({ readings }) => isUsable(readings.get(column))))
}

/** Returns the columns that were read of some thing of the pod, but too seldom to be used. */
export function columnsReadOnce(pod: PodEvidence, need: Need): readonly string[] {
  const everRead = { ...need, isTotal: true }
  const never = unreadColumns(pod, everRead)
  return unreadColumns(pod, need).filter((column) => !never.includes(column))
}

/** The fewest rows of a thing whose missing values are told: it may just have ended. */
const MIN_ROWS = 2

/** Returns the things of which a needed column was never read, and these columns. */
export function partlyRead({ things }: PodEvidence, need: Need) {
  const { columns } = need
  const isUnread = ({ readings }: Thing, column: string) => !isRead(readings.get(column))
  const own = things(need).filter(({ rows }) => rows >= MIN_ROWS)
  const unread = own.filter((thing) => columns.some((column) => isUnread(thing, column)))
  return {
    things: unread,
    columns: columns.filter((column) => unread.some((thing) => isUnread(thing, column))),
  }
}

interface Growing {
  node: string | null
  began: number | null
  ended: readonly EndedContainer[] | null
  podLimits: PodLimits | null
  elapsed: number
  readonly sections: Map<string, { readonly metric: string; readonly things: Thing[] }>
}

/** The part of an `Evidence` that is grouped by pod. */
export interface GroupedEvidence
  extends Pick<Evidence, 'ended' | 'podLimits' | 'uses' | 'profiles' | 'standIns'> {
  readonly stores: Stores
  readonly sections: Iterable<readonly [key: string, GroupedSection]>
}

/** The things of a section of a metric. */
export interface GroupedSection {
  readonly metric: string
  readonly things: Things
}

/** A list of things, or a map of them. */
interface Things {
  readonly values: () => Iterable<Thing>
}

/** Groups the evidence by pod. @param podOf returns the pod to which a log belongs */
export function groupByPod(
  {
    sections,
    ended: endings,
    podLimits: limits,
    uses,
    profiles,
    standIns,
    stores,
  }: GroupedEvidence,
  podOf: (source: string) => string,
): RunEvidence {
  const pods = new Map<string, Growing>()
  for (const [key, section] of sections)
    for (const thing of section.things.values())
      addThing(growingOf(pods, podOf(thing.source)), key, section.metric, thing)
  // The logs of a pod have the same status.
  for (const [source, ended] of endings) growingOf(pods, podOf(source)).ended = ended
  for (const [source, own] of limits) growingOf(pods, podOf(source)).podLimits = own
  const views = new Map<RunView<unknown>, unknown>()
  const run: RunEvidence = {
    pods: [...pods].map(([pod, { sections: own, ...facts }]) => ({
      pod,
      ...facts,
      useOf: ({ source, container }) => uses.get(source)?.get(container ?? ''),
      metrics: withReplaced(standIns, new Set([...own.values()].map(({ metric }) => metric))),
      placeOf: (section) => placeIn(own, section, standIns),
      things: (section) => own.get(keyOf(placeIn(own, section, standIns)))?.things ?? [],
    })),
    profiles: separateHelpers(profiles).map((profile) => profileByPod(profile, podOf)),
    stores,
    podOf,
    view: <Shown>(view: RunView<Shown>) => {
      if (!views.has(view)) views.set(view, view(run))
      return views.get(view) as Shown
    },
  }
  return run
}

/** Returns a function that finds the current stack of a process of a pod that has not ended. */
export function stackFinder({
  stores,
  podOf,
}: RunEvidence): (pod: string, pid: number | null) => CurrentStack | undefined {
  const all = [...stores.values()].flatMap(({ of, store }) => [...(of.stacks?.(store) ?? [])])
  return findStacks(joinStacks(new Map(all), podOf))
}

const keyOf = ({ metric, section }: SectionPlace) => sectionKey(metric, section)

/** Returns a section if it has rows, or else the section that can stand in for it, if that has. */
function placeIn(
  sections: ReadonlyMap<string, unknown>,
  place: SectionPlace,
  standIns: readonly StandIn[],
): SectionPlace {
  const other = standInFor(standIns, place)
  if (sections.has(keyOf(place)) || other === undefined) return place
  return sections.has(keyOf(other)) ? other : place
}

function isRead(reading: ColumnReading | undefined): boolean {
  return reading !== undefined && (reading.last !== null || reading.text !== null)
}

/** Reports whether a column has a value, and a counter its growth. */
function isMeasured(reading: ColumnReading | undefined): boolean {
  return reading?.isCounter === true ? reading.growth !== null : isRead(reading)
}

function growingOf(pods: Map<string, Growing>, pod: string): Growing {
  const known = pods.get(pod)
  if (known !== undefined) return known
  const unknown = { node: null, began: null, ended: null, podLimits: null }
  const made = { ...unknown, elapsed: 0, sections: new Map() }
  pods.set(pod, made)
  return made
}

function addThing(own: Growing, key: string, metric: string, thing: Thing): void {
  own.node ??= thing.node
  const began = thing.startedAt === null ? null : thing.startedAt - thing.firstSeen
  if (began !== null) own.began = Math.min(own.began ?? began, began)
  own.elapsed = Math.max(own.elapsed, thing.to - Math.min(thing.from, 0))
  const section = own.sections.get(key) ?? { metric, things: [] }
  own.sections.set(key, section)
  if (!thing.isAmbiguous) section.things.push(thing)
}

/** The first timepoint of a log. */
export const START = { from: 0, to: 0 } as const

/**
 * Returns the seconds from the first row of some things to their last one; 0 if there are none. The
 * rows of a pod can end later: a metric may write results after the end of the program.
 */
export function secondsSeen(things: readonly Pick<Thing, 'from' | 'to'>[]): number {
  const from = things.reduce((least, one) => Math.min(least, one.from), Number.POSITIVE_INFINITY)
  return things.reduce((most, { to }) => Math.max(most, to - from), 0)
}

/** Returns the last value of a column; null if none was read. */
export function lastOf<Column extends string>(
  thing: Thing<Column>,
  column: NoInfer<Column>,
): number | null {
  return thing.readings.get(column)?.last ?? null
}

/** Returns by how much a counter grew; null if it was not read, or only once. */
export function growthOf<Column extends string>(
  thing: Thing<Column>,
  column: NoInfer<Column>,
): number | null {
  return thing.readings.get(column)?.growth ?? null
}

/** Returns the sum of the numbers that are not null; null if there are none. */
export function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
}

/** Returns the name of a process or container for people: `lmp (PID 100)`, or `container app`. */
export function nameOf({ program, pid, container }: Thing): string {
  if (program === null) return container === null ? '' : `container ${container}`
  return pid === null ? program : `${program} (PID ${pid})`
}
