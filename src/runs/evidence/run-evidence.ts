import type { EndedContainer, PodLimits } from '../log/entry.ts'
import { joinJobs, type MpiJob } from '../metrics/mpi-trace/mpi-job.ts'
import type { MpiRun } from '../metrics/mpi-trace/mpi-run.ts'
import { joinStarting, type StartingJob } from '../metrics/mpi-trace/stuck-start.ts'
import type { NcclRun } from '../metrics/nccl-ras/nccl-run.ts'
import { findStuckRanks, type StuckRanks } from '../metrics/nccl-ras/stuck-ranks.ts'
import {
  findStacks,
  joinStacks,
  type PythonProcess,
} from '../metrics/python-profile/current-stacks.ts'
import { joinTorch, type TorchCalls } from '../metrics/torch-collectives/late-calls.ts'
import type { TorchRun } from '../metrics/torch-collectives/torch-run.ts'
import { separateHelpers } from '../profiles/helper-processes.ts'
import { type RankedProfile, rankProfile } from '../profiles/ranked-profile.ts'
import type { ColumnReading } from './column-reading.ts'
import {
  type Evidence,
  type Need,
  type SectionColumns,
  sectionKey,
  type Thing,
} from './evidence.ts'
import { type SectionPlace, standInFor, withReplaced } from './stand-in.ts'

/** The evidence of a run by rank. In a report, a rank is a pod. */
export interface RunEvidence {
  readonly ranks: readonly RankEvidence[]
  /** The functions of each program that was profiled. */
  readonly profiles: readonly RankedProfile[]
  /** The MPI jobs whose calls were recorded. */
  readonly mpi: readonly MpiJob[]
  /** The processes that have not returned from MPI_Init, by MPI job. */
  readonly starting: readonly StartingJob[]
  /** The ranks of NCCL that are behind or do not answer, whether that counts or not. */
  readonly ncclRanks: readonly StuckRanks[]
  /** The members of process groups of PyTorch that made calls later than the others. */
  readonly torch: TorchCalls
  /** The processes whose stacks of Python are known. */
  readonly python: readonly PythonProcess[]
  /** The ranks with a process whose MPI library is not known, so that it belongs to no job. */
  readonly strangers: readonly string[]
}

export interface RankEvidence {
  readonly rank: string
  readonly node: string | null
  /** When the rank's first log began, in seconds since 1970; null if its date is not known. */
  readonly began: number | null
  /** The seconds of the run that the rows of the rank cover, in the longest of its logs. */
  readonly elapsed: number
  /** How the containers of the pod ended; null if that is not known. */
  readonly ended: readonly EndedContainer[] | null
  /** The limits of the whole pod; null if they are not known. */
  readonly podLimits: PodLimits | null
  /** The metrics of which the rank has rows, or rows with the same columns. */
  readonly metrics: ReadonlySet<string>
  /** Returns the section that has the rows of a section: itself, or one with the same columns. */
  readonly placeOf: (section: SectionPlace) => SectionPlace
  /** Returns the things of the rank that the rows of a section describe. */
  readonly things: <Column extends string>(
    section: SectionColumns<Column>,
  ) => readonly Thing<Column>[]
}

/** Returns the columns that have no value in any row of the rank, or counters with one sample. */
export function unreadColumns({ things, metrics }: RankEvidence, need: Need): readonly string[] {
  const { metric, columns, isTotal = false, canBeEmpty = false } = need
  const own = things(need)
  if (canBeEmpty && own.length === 0 && metrics.has(metric)) return []
  const isUsable = isTotal ? isRead : isMeasured
  return columns.filter((column) => !own.some(({ readings }) => isUsable(readings.get(column))))
}

/** Returns the columns that were read of some thing of the rank, but too seldom to be used. */
export function columnsReadOnce(rank: RankEvidence, need: Need): readonly string[] {
  const everRead = { ...need, isTotal: true }
  const never = unreadColumns(rank, everRead)
  return unreadColumns(rank, need).filter((column) => !never.includes(column))
}

/** The fewest rows of a thing whose missing values are told: it may just have ended. */
const MIN_ROWS = 2

/** Returns the things of which a needed column was never read, and these columns. */
export function partlyRead({ things }: RankEvidence, need: Need) {
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
  readonly sections: Map<string, Thing[]>
}

/** The part of an `Evidence` that is grouped by rank. */
export interface GroupedEvidence
  extends Pick<Evidence, 'ended' | 'podLimits' | 'profiles' | 'python'> {
  readonly nccl: NcclRun
  readonly torch: TorchRun
  readonly sections: Iterable<readonly [key: string, { readonly things: Things }]>
  readonly mpi: Pick<MpiRun, 'processes' | 'starting'>
}

/** A list of things, or a map of them. */
interface Things {
  readonly values: () => Iterable<Thing>
}

/** Groups the evidence by rank. @param rankOf returns the rank to which a log belongs */
export function groupByRank(
  {
    sections,
    ended: endings,
    podLimits: limits,
    profiles,
    python: stacks,
    mpi,
    nccl,
    torch,
  }: GroupedEvidence,
  rankOf: (source: string) => string,
): RunEvidence {
  const ranks = new Map<string, Growing>()
  for (const [key, { things }] of sections)
    for (const thing of things.values()) addThing(ranks, rankOf(thing.source), key, thing)
  const python = joinStacks(stacks, rankOf)
  const stackOf = findStacks(python)
  // The logs of a pod have the same status.
  for (const [source, ended] of endings) growingOf(ranks, rankOf(source)).ended = ended
  for (const [source, own] of limits) growingOf(ranks, rankOf(source)).podLimits = own
  return {
    ranks: [...ranks].map(([rank, { sections: own, ...facts }]) => ({
      rank,
      ...facts,
      metrics: withReplaced(new Set([...own.keys()].map((key) => key.split(' ')[0] ?? ''))),
      placeOf: (section) => placeIn(own, section),
      things: (section) => own.get(keyOf(placeIn(own, section))) ?? [],
    })),
    profiles: separateHelpers(profiles).map((profile) => rankProfile(profile, rankOf)),
    mpi: joinJobs(mpi, rankOf, stackOf),
    starting: joinStarting(mpi, rankOf),
    ncclRanks: findStuckRanks(nccl, rankOf, stackOf),
    torch: joinTorch(torch, rankOf),
    python,
    strangers: mpi.processes.flatMap(({ rank, source }) => (rank === null ? rankOf(source) : [])),
  }
}

const keyOf = ({ metric, section }: SectionPlace) => sectionKey(metric, section)

/** Returns a section if it has rows, or else the section that can stand in for it, if that has. */
function placeIn(sections: ReadonlyMap<string, unknown>, place: SectionPlace): SectionPlace {
  const other = standInFor(place)
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

function growingOf(ranks: Map<string, Growing>, rank: string): Growing {
  const known = ranks.get(rank)
  if (known !== undefined) return known
  const unknown = { node: null, began: null, ended: null, podLimits: null }
  const made = { ...unknown, elapsed: 0, sections: new Map() }
  ranks.set(rank, made)
  return made
}

function addThing(ranks: Map<string, Growing>, rank: string, key: string, thing: Thing): void {
  const own = growingOf(ranks, rank)
  own.node ??= thing.node
  const began = thing.startedAt === null ? null : thing.startedAt - thing.firstSeen
  if (began !== null) own.began = Math.min(own.began ?? began, began)
  own.elapsed = Math.max(own.elapsed, thing.to - Math.min(thing.from, 0))
  const things = own.sections.get(key) ?? []
  own.sections.set(key, things)
  if (!thing.isAmbiguous) things.push(thing)
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

/** Returns the name of a process or container for people: `lmp 100`, or `container app`. */
export function nameOf({ program, pid, container }: Thing): string {
  if (program === null) return container === null ? '' : `container ${container}`
  return pid === null ? program : `${program} ${pid}`
}
