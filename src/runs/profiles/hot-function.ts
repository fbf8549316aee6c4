import { durationText } from '../../lib/duration.ts'
import { rounded } from '../../lib/round.ts'
import { findFrames } from './frame-tree.ts'
import { OTHER, type ProfileKind, type ProgramProfile, stacksIn } from './profile-run.ts'

/** The part of the time from which a function is named. The number is Ridealong's. */
const MIN_PART = 0.4
/** The least seconds of a profile that names a function: 100 samples at the usual frequency. */
const MIN_SECONDS = 1

/** A function in which a large part of the time of a run was spent. */
export interface HotFunction {
  readonly name: string
  /** The program whose function it is. */
  readonly program: string
  /** Processor time, or of Python, the time in which threads ran or the main thread waited. */
  readonly kind: HotKind
  /** The seconds in the function itself, of all processes together. */
  readonly seconds: number
  /** The seconds of which these are a part: see `findHotFunction`. */
  readonly of: number
  /** The same for people. */
  readonly sentence: string
}

type HotKind = Extract<ProfileKind, 'waiting' | 'processor' | 'running'>

/**
 * Returns the function in which most of the time of a run was spent, if that is at least 40 %;
 * otherwise null. Of these, it is the one that is a part of the longest time:
 *
 * - the function of Python in which the main threads waited, of the time in which they waited or
 *   threads of Python ran
 * - the function that used processor time outside of MPI, of all processor time outside of MPI,
 *   because a process that waits in MPI may use a processor there
 * - the function of Python that ran, of the time in which threads of Python ran
 *
 * Of Python, only the program whose threads ran longest counts: others, such as launchers, wait
 * for it.
 *
 * @param profiles those of a run, with helpers apart
 */
export function findHotFunction(profiles: readonly ProgramProfile[]): HotFunction | null {
  const times = withMainPython(profiles.map(functionTimes))
  const found = KINDS.flatMap((kind) => findOfKind(kind, times) ?? [])
  return found.reduce<HotFunction | null>(
    (longest, one) => (one.of > (longest?.of ?? 0) ? one : longest),
    null,
  )
}

/** Leaves out the programs of Python other than the one whose threads ran longest. */
function withMainPython(times: readonly FunctionTimes[]): readonly FunctionTimes[] {
  const seconds = new Map<string, number>()
  for (const { profile, computing } of times) {
    if (!PARTS.waiting.includes(profile.kind)) continue
    const ran = profile.kind === 'running' ? computing : 0
    seconds.set(profile.executable, (seconds.get(profile.executable) ?? 0) + ran)
  }
  const [main] = [...seconds].sort(([, a], [, b]) => b - a)[0] ?? []
  return times.filter(({ profile }) => {
    return !PARTS.waiting.includes(profile.kind) || profile.executable === main
  })
}

function findOfKind(kind: HotKind, times: readonly FunctionTimes[]): HotFunction | null {
  const all = times.filter(({ profile }) => PARTS[kind].includes(profile.kind))
  const of = all.reduce((sum, { computing }) => sum + computing, 0)
  const [most] = all
    .filter(({ profile }) => profile.kind === kind)
    .flatMap(({ profile, hottest }) => (hottest === null ? [] : { profile, ...hottest }))
    .sort((a, b) => b.seconds - a.seconds)
  if (most === undefined || of < MIN_SECONDS || most.seconds < MIN_PART * of) return null
  const { name, seconds, profile } = most
  const amounts = { seconds: rounded(seconds), of: rounded(of) }
  const one = { name, program: profile.executable, kind, ...amounts }
  const isInMpi = all.some(({ inMpi }) => inMpi > 0)
  return { ...one, sentence: sentenceAbout(one, isInMpi) }
}

const KINDS: readonly HotKind[] = ['waiting', 'processor', 'running']
/** The kinds of profiles whose time is the whole, of which a function has a part. */
const PARTS: Readonly<Record<HotKind, readonly ProfileKind[]>> = {
  waiting: ['waiting', 'running'],
  processor: ['processor'],
  running: ['running'],
}

function sentenceAbout(
  { name, program, kind, seconds, of }: Omit<HotFunction, 'sentence'>,
  isInMpi: boolean,
): string {
  const percent = Math.round((100 * seconds) / of)
  const sum = `${durationText(seconds)} of ${durationText(of)}, all profiled processes together`
  switch (kind) {
    case 'waiting':
      return (
        `The main thread of ${program} waited in ${name} for ${percent} % of the time that ` +
        `python-profile recorded (${sum}).`
      )
    case 'processor': {
      const outside = isInMpi ? ' outside of MPI' : ''
      return (
        `The function ${name} of ${program} used ${percent} % of the processor time${outside} ` +
        `that cpu-profile recorded (${sum}).`
      )
    }
    case 'running':
      return (
        `Python ran in ${name} of ${program} for ${percent} % of the time in which its threads ` +
        `ran, as python-profile recorded it (${sum}).`
      )
  }
}

interface FunctionTimes {
  readonly profile: ProgramProfile
  /** The seconds outside of MPI. */
  readonly computing: number
  readonly inMpi: number
  /** The function with the most time of its own outside of MPI; null if none has a name. */
  readonly hottest: { readonly name: string; readonly seconds: number } | null
}

/** The names of the functions of MPI, and of its profiling interface. */
const MPI_FUNCTION = /^P?MPI_/
/** Functions without a name: of a library without symbols, and the rest of the stacks. */
const NAMELESS = /^\[.*\]$/

function functionTimes(profile: ProgramProfile): FunctionTimes {
  const { names, functions } = profile.tree
  const isInMpi = findFrames(profile.tree, MPI_FUNCTION)
  const times = new Map<number, number>()
  let [computing, inMpi] = [0, 0]
  for (const log of profile.logs.values())
    for (const [, frame, seconds] of stacksIn(log)) {
      if (isInMpi[frame] === true) {
        inMpi += seconds
        continue
      }
      computing += seconds
      const index = functions[frame] ?? -1
      times.set(index, (times.get(index) ?? 0) + seconds)
    }
  const named = [...times].flatMap(([index, seconds]) => {
    const name = names[index] ?? OTHER
    return name === OTHER || NAMELESS.test(name) ? [] : { name, seconds }
  })
  const hottest = named.reduce<FunctionTimes['hottest']>(
    (most, one) => (one.seconds > (most?.seconds ?? 0) ? one : most),
    null,
  )
  return { profile, computing, inMpi, hottest }
}
