import type { QuantityChange, Side } from './change.ts'
import { MIN_RUNS } from './interval.ts'

/** How the runs of a side ended. */
export interface SideEnds {
  readonly runs: number
  /** The number of runs that did not finish. They have no time. */
  readonly unfinished: number
  /** The number of runs of which it is not known whether they finished. */
  readonly unknown: number
  /** Why the first one of them did not finish, or why that is not known; null if all finished. */
  readonly reason: string | null
}

/** What decides about a side: how its runs and those of the base ended, and their times. */
export interface SideFacts {
  /** The names of both sides. */
  readonly base: string
  readonly other: string
  /** How the runs of both sides ended. */
  readonly ends: { readonly base: SideEnds; readonly other: SideEnds }
  readonly time: QuantityChange
}

interface SideRule {
  readonly name: string
  /** When it applies. A is the base, and B the side that is compared with it. */
  readonly condition: string
  /** What the first line says. */
  readonly said: string
  /** The exit code of `--fail-above`. */
  readonly exitCode: 0 | 1 | 2
  /** @param limit the most by which B may be slower, as a part of the time of A */
  readonly applies: (facts: SideFacts, limit: number) => boolean
  /** Returns why `--fail-above` fails. */
  readonly explain: (facts: SideFacts, limit: number) => string
}

/**
 * What is said about a side, and the exit code of `--fail-above`. The first rule that applies
 * counts. A side of which a run did not finish is never faster, whatever its other runs took.
 */
export const SIDE_RULES = [
  {
    name: 'unfinished',
    condition: 'a run of B did not finish, even if it is one of many',
    said: 'B did not finish, or how many of its runs did not, and why',
    exitCode: 1,
    applies: ({ ends }) => ends.other.unfinished > 0,
    explain: ({ other, ends: { other: own } }) =>
      `${own.unfinished} of ${own.runs} runs of ${other} did not finish`,
  },
  {
    name: 'base-unfinished',
    condition: 'no run of A finished',
    said: 'A did not finish, and why: there is no time to compare with',
    exitCode: 2,
    applies: ({ ends: { base } }) => base.unfinished === base.runs,
    explain: ({ base }) => `no run of ${base} finished, so that there is no time to compare with`,
  },
  {
    name: 'end-unknown',
    condition: 'it is not known whether a run of A or B finished',
    said: 'the times, not which side is faster',
    exitCode: 2,
    applies: ({ ends: { base, other } }) => base.unknown + other.unknown > 0,
    explain: ({ base, other, ends }) =>
      `runs of which it is not known whether they finished: ${base} has ${ends.base.unknown}, ` +
      `${other} has ${ends.other.unknown}; collect the runs with ridealong collect`,
  },
  {
    name: 'too-few-runs',
    condition: `fewer than ${MIN_RUNS} runs of A or of B finished and have a known time`,
    said: 'the times, and that the difference may be noise',
    exitCode: 2,
    applies: ({ time }) => time.interval === null,
    explain: ({ base, other, time }) =>
      `runs that finished, with a known time: ${base} has ${time.base.runs}, ${other} has ` +
      `${time.other.runs}; each side needs at least ${MIN_RUNS}`,
  },
  {
    name: 'slower',
    condition: 'B is slower than A by more than the limit: the whole interval is above it',
    said: 'B is slower than A',
    exitCode: 1,
    applies: ({ time }, limit) => (time.interval?.lower ?? 0) > 1 + limit,
    explain: ({ base, other }, limit) =>
      `${other} is slower than ${base} by more than ${Number((100 * limit).toFixed(3))} %`,
  },
  {
    name: 'passed',
    condition: 'otherwise',
    said: 'B is slower or faster than A, or there is no difference',
    exitCode: 0,
    applies: () => true,
    explain: ({ base, other }) => `${other} is not slower than ${base}`,
  },
] as const satisfies readonly SideRule[]

/** Returns the first rule that applies. @param limit see `SideRule.applies` */
export function chooseRule(facts: SideFacts, limit = 0): (typeof SIDE_RULES)[number] {
  const [first] = SIDE_RULES.filter(({ applies }) => applies(facts, limit))
  if (first === undefined) throw new Error('the last rule always applies')
  return first
}

/** Counts how the runs of a side ended. */
export function countEnds({ runs }: Side): SideEnds {
  const ending = (state: string) => runs.filter(({ completion }) => completion.state === state)
  const [unfinished, unknown] = [ending('unfinished'), ending('unknown')]
  return {
    runs: runs.length,
    unfinished: unfinished.length,
    unknown: unknown.length,
    reason: [...unfinished, ...unknown][0]?.completion.reason ?? null,
  }
}

/** Returns the side without the runs that did not finish; with all of them if none finished. */
export function withFinished(side: Side): Side {
  const runs = side.runs.filter(({ completion }) => completion.state !== 'unfinished')
  return runs.length === 0 ? side : { ...side, runs }
}
