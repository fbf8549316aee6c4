import type { RowSection, RowsDescription } from '../../../core/catalog.ts'
import { EFFICIENCY_READS } from '../../efficiency/run-efficiency.ts'
import {
  addToEvidence,
  type Evidence,
  newEvidence,
  newPart,
  sectionKey,
} from '../../evidence/evidence.ts'
import type { GroupedEvidence } from '../../evidence/run-evidence.ts'
import { changeStores, type Stores } from '../../evidence/stores.ts'
import { RULE_NEEDS } from '../../findings/rules.ts'
import type { RowCells, RowOrigin, Sample } from '../../log/columns.ts'
import type { LogEntry } from '../../log/entry.ts'
import { METRICS } from '../../metrics/index.ts'
import { isProfile } from '../../profiles/profile-run.ts'
import type { RowFacts, RowTaker } from '../live-log.ts'
import { forgetEnded, forgetEndedProcesses, hasRoom } from './forget-ended.ts'
import { joinParts } from './join-parts.ts'

/** The evidence of a log that grows: of all rows so far, and of the last ones. */
export interface LogEvidence extends RowTaker {
  /** Notes how the containers of the pod ended, and the limits of the pod. */
  readonly notePod: (pod: PodFacts) => void
  /** The evidence of all rows that were read. */
  readonly whole: () => GroupedEvidence
  /** The evidence of the window; undefined if there are too few rows. */
  readonly window: () => LogWindow | undefined
  /** A number that grows when the window changes. */
  readonly version: () => number
}

export type PodFacts = Pick<LogEntry, 'ended' | 'podLimits'>

/** The last rows of a log, of between one and two times `HALF_SECONDS`. */
export interface LogWindow {
  readonly evidence: GroupedEvidence
  /** The time of the window, in milliseconds since 1970. */
  readonly from: number
  readonly to: number
}

/**
 * The least seconds of each half of a window. A half ends with a timepoint, so with an interval of
 * more than 30 s, it has one timepoint.
 */
export const HALF_SECONDS = 30

/** The least seconds of the first window. */
const MIN_SECONDS = 10

/** The most characters of a row that counts. No observer writes longer rows for findings. */
const MAX_ROW_LENGTH = 8192

/** The columns that the rules and the efficiency read. */
const NEEDS = newEvidence([...RULE_NEEDS, ...EFFICIENCY_READS], METRICS)

/** The columns of the sections that are read, by metric and section. */
export const NEEDED_COLUMNS: ReadonlyMap<string, ReadonlySet<string>> = NEEDS.needed

/** A half of a window. */
interface Half {
  readonly rows: Evidence
  /** When it began, in seconds since the first timepoint of the log. */
  readonly began: number
  /** The sums in the stores when it began, by metric. */
  readonly sums: ReadonlyMap<string, unknown>
}

interface Rows {
  whole: Evidence
  /** The halves of the window that have ended, at most two, and then the open one. */
  halves: readonly Half[]
  firstAt: number | undefined
  lastAt: number
  timepoint: number
  /** The seconds between the last two timepoints; null if there is only one. */
  interval: number | null
}

interface State extends Rows {
  readonly place: RowOrigin
  readonly sections: ReadonlyMap<string, RowSection>
  readonly description: RowsDescription
  pod: PodFacts
  version: number
  /** The window of the last version for which it was requested, without the facts of the pod. */
  joined: { readonly version: number; readonly window: LogWindow | undefined } | undefined
}

/** Reports whether findings are made from the rows of a metric. Profiles are left to the report. */
export function isExamined(metric: string, { sections }: RowsDescription): boolean {
  return sections.some((section) => isRead(metric, section) && !isProfile(section))
}

function isRead(metric: string | null, { name }: RowSection): boolean {
  const hasSums = NEEDS.stores.get(metric ?? '')?.of.sums !== undefined
  return hasSums || NEEDED_COLUMNS.has(sectionKey(metric ?? '', name))
}

/** @param place identifies the log, which belongs to the pod of its source */
export function startLogEvidence(place: RowOrigin, description: RowsDescription): LogEvidence {
  const sections = description.sections.filter((one) => isRead(place.metric, one))
  const state: State = {
    ...noRows(),
    place,
    description,
    sections: new Map(sections.map((one) => [one.name, one])),
    pod: { ended: null, podLimits: null },
    version: 0,
    joined: undefined,
  }
  return {
    take: (...row) => takeRow(state, ...row),
    settle: () => settle(state),
    clear: () => {
      Object.assign(state, noRows())
      state.version += 1
    },
    whole: () => ({ ...state.whole, ...podOf(state) }),
    window: () => {
      // A large run looks at all windows whenever some of them have changed.
      if (state.joined?.version !== state.version)
        state.joined = { version: state.version, window: windowOf(state) }
      const { window } = state.joined
      return window && { ...window, evidence: { ...window.evidence, ...podOf(state) } }
    },
    version: () => state.version,
    notePod: ({ ended, podLimits }) => {
      state.pod = { ended, podLimits }
    },
  }
}

function noRows(): Rows {
  const { needed, series } = NEEDS
  const whole = { ...newEvidence([], METRICS), needed, series }
  return { whole, halves: [], firstAt: undefined, lastAt: 0, timepoint: -1, interval: null }
}

/**
 * Adds a row. The rows of a partial timepoint are left out: a process without a row there would
 * count as one that has started later.
 */
function takeRow(
  state: State,
  name: string,
  at: number,
  cells: RowCells,
  { isPartial, size, interval: covered }: RowFacts,
): void {
  const section = state.sections.get(name)
  if (section === undefined || isPartial || size > MAX_ROW_LENGTH || at < state.lastAt) return
  noteTime(state, at)
  const { whole, place, firstAt = at, timepoint } = state
  const interval = covered === undefined ? state.interval : covered
  const moment = { timepoint, time: new Date(at).toISOString(), seconds: (at - firstAt) / 1000 }
  const sample = {
    ...cells,
    kind: section.of,
    section: name,
    ...place,
    ...moment,
    interval,
  } as Sample
  if (!hasRoom(whole, section, sample)) return
  if (state.halves.length === 0) state.halves = [newHalf(state, moment.seconds)]
  const half = state.halves.at(-1)
  if (half !== undefined) addToEvidence(half.rows, sample, state.description)
  addToEvidence(whole, sample, state.description)
}

function noteTime(state: State, at: number): void {
  if (at === state.lastAt) return
  forgetEnded(state.whole, state.timepoint)
  if (state.firstAt !== undefined) state.interval = (at - state.lastAt) / 1000
  state.firstAt ??= at
  state.lastAt = at
  state.timepoint += 1
}

function newHalf({ whole }: State, began: number): Half {
  return { rows: newPart(whole), began, sums: sumsIn(whole) }
}

/** Begins the next half of the window if the open one is long enough. */
function settle(state: State): void {
  const open = state.halves.at(-1)
  if (open === undefined) return
  // The sums at the end of the first timepoint are those at the start of the first half.
  if (state.timepoint === 0) {
    state.halves = [{ ...open, sums: sumsIn(state.whole) }]
    return
  }
  const seconds = secondsOf(state)
  const isLong = seconds - open.began >= HALF_SECONDS
  // Until a half has ended, the window is the open one, and changes with each timepoint.
  if (isLong || state.halves.length === 1) state.version += 1
  if (!isLong) return
  state.whole = forgetEndedProcesses(state.whole, seconds)
  state.halves = [...state.halves.slice(-2), newHalf(state, seconds)]
}

function secondsOf({ firstAt = 0, lastAt }: Rows): number {
  return (lastAt - firstAt) / 1000
}

/** Returns the window without the facts of the pod, which are those of the last list of pods. */
function windowOf(state: State): LogWindow | undefined {
  const { halves, firstAt, whole } = state
  const ended = halves.slice(0, -1)
  const open = halves.at(-1)
  const [first] = halves
  if (first === undefined || open === undefined || firstAt === undefined) return undefined
  const isEarly = ended.length === 0
  const to = isEarly ? secondsOf(state) : open.began
  if (to - first.began < MIN_SECONDS) return undefined
  const parts = isEarly ? [open] : ended
  return {
    evidence: {
      sections: joinParts(
        parts.map(({ rows }) => rows),
        first.began,
      ),
      profiles: new Map(),
      standIns: whole.standIns,
      stores: storesSince(whole, first.sums),
      ended: new Map(),
      podLimits: new Map(),
      uses: new Map(),
    },
    from: firstAt + first.began * 1000,
    to: firstAt + to * 1000,
  }
}

function sumsIn({ stores }: Evidence): ReadonlyMap<string, unknown> {
  return new Map([...stores].map(([name, { of, store }]) => [name, of.sums?.now(store)]))
}

/** Returns what was added to the stores since then. Stores without sums are empty. */
function storesSince({ stores }: Evidence, then: ReadonlyMap<string, unknown>): Stores {
  return changeStores(stores, (of, store) =>
    of.sums === undefined ? of.create() : of.sums.since(store, then.get(of.metric)),
  )
}

function podOf({ pod: { ended, podLimits }, place }: State) {
  const source = place.source ?? ''
  return {
    ended: new Map(ended === null ? [] : [[source, ended]]),
    podLimits: new Map(podLimits === null ? [] : [[source, podLimits]]),
  }
}
