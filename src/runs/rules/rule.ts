import type { Need, PlottedColumn, SectionColumns } from '../evidence/evidence.ts'
import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import type { EndedContainer } from '../log/entry.ts'

/**
 * How bad a finding is:
 * - `failure`: a process was killed, a container failed, or processes make no progress.
 * - `slowdown`: the run takes longer.
 * - `risk`: the rows do not show that anything was lost.
 */
export type Severity = 'failure' | 'slowdown' | 'risk'

/** What vitals looks at, in this order. */
export const AREAS = ['processors', 'memory', 'storage', 'network traffic'] as const

/** What a rule looks at. */
export type Area = (typeof AREAS)[number]

/** A number that a finding is based on. */
export interface Fact<Name extends string = string> {
  /** What the number is, such as "throttled periods". */
  readonly name: Name
  readonly value: number
  readonly unit: FactUnit
  /** Whether it is the end of the second in which something happened, and no more is known. */
  readonly isEndOfSecond?: boolean
}

/** The unit of a fact: `1/s` is a count per second, and `cores` is a number of processors. */
export type FactUnit = 'percent' | 's' | 'bytes' | 'count' | '1/s' | 'cores'

/** The names of the facts of a rule, with their units. */
export type FactUnits = Readonly<Record<string, FactUnit>>

/** Returns the facts with these values, in their order, without those that are not known (null). */
export function listFacts<const Units extends FactUnits>(
  units: Units,
  values: { readonly [Name in keyof NoInfer<Units>]?: number | null },
): readonly Fact<keyof Units & string>[] {
  return Object.entries<number | null | undefined>(values).flatMap(([name, value]) => {
    const unit = units[name]
    return unit === undefined || value === undefined || value === null ? [] : { name, value, unit }
  })
}

/** A process of MPI for which another one waited. */
export interface WaitedFor {
  readonly pod: string
  /** The rank in MPI_COMM_WORLD. */
  readonly mpiRank: number
  /** The function of MPI in which the other process waited for most of the time. */
  readonly call: string
}

/** A finding about one container, process or other thing of a pod, or about the whole pod. */
export interface PodFinding<FactName extends string = string> {
  /**
   * The containers, processes, programs or connections that the numbers are about; empty if they
   * are about the whole pod.
   */
  readonly things: readonly string[]
  /** Other containers, processes, programs or connections with lesser numbers. */
  readonly also?: readonly string[]
  /** The seconds of the run that the pod lost; null if this time is not known. */
  readonly lost: number | null
  /**
   * The seconds of the run that it is about, which another finding must account for to explain it.
   * Without this, they are the seconds lost.
   */
  readonly size?: number
  /** Why it happened, if the rule knows several causes. Each cause has a finding of its own. */
  readonly cause?: string
  /** The process for which the pod waited, if the rule knows it. */
  readonly waitedFor?: WaitedFor
  /** How the container ended, if the rule is about its end. */
  readonly ended?: EndedContainer
  /** Which process of the program ended before, in a sentence, if the rule is about an end. */
  readonly before?: string
  /** The processes that make no progress, if the rule is about them. */
  readonly stuck?: StuckGroup
  /** The numbers. The first one was compared with the threshold. */
  readonly facts: readonly Fact<FactName>[]
}

/** A pod for which the condition of a rule is true. */
export interface Affected<FactName extends string = string> extends PodFinding<FactName> {
  readonly pod: string
}

/** Processes that make no progress for one reason. */
export interface StuckGroup {
  /**
   * The pods of the processes that wait or are late. The time that is lost is null for a pod in
   * which no process waits.
   */
  readonly pods: readonly Affected[]
  /** Whether the rows say that the processes have ended. */
  readonly hasEnded?: boolean
  /** Describes them at the end of a log. Returns one sentence or more. */
  readonly describe: () => string
  /** Describes them while they wait. Returns one sentence or more. */
  readonly describeNow: () => string
  /** Returns them for programs, with rounded numbers. */
  readonly document: () => object
}

/** The number with which a rule compares the first fact, and where this number comes from. */
export interface Threshold {
  readonly value: number
  readonly unit: FactUnit
  /** The whole condition in words. */
  readonly condition: string
  readonly source: string
}

/** The rules whose findings a finding explains. These are then not made. */
export interface ExplainedRules<RuleName extends string = string> {
  readonly rules: readonly RuleName[]
  /** Whether a finding explains findings about the same pod, or about any pod of the run. */
  readonly of: 'same pod' | 'any pod'
  readonly because: string
}

/** A finding about what held a pod up explains why pods are idle. */
export const EXPLAINS_IDLE = {
  rules: ['mostly-idle'],
  of: 'any pod',
  because: 'a pod that is held up is idle, and so are the pods that wait for it',
} as const satisfies ExplainedRules

/** A rule: when a finding is made, and what it says. */
export interface FindingRule<
  Name extends string = string,
  Explained extends string = string,
  FactName extends string = string,
> {
  readonly name: Name
  /** The title of its findings. */
  readonly title: string
  readonly severity: Severity
  /** What it looks at; missing if this needs a metric of its own, or if it compares pods. */
  readonly area?: Area
  /**
   * The columns without which the rule is not checked for a pod. Each entry is an alternative, and
   * one alternative is enough: the rows of the pod must have a value in each of its columns.
   */
  readonly needs: readonly (readonly Need[])[]
  /** The names and units of its facts, of which a finding can lack some. */
  readonly facts: Readonly<Record<FactName, FactUnit>>
  /** The columns that the rule reads or plots, with those that it needs. */
  readonly reads: readonly SectionColumns[]
  /** Whether a pod of a finding was held up, so that its work cannot be compared. */
  readonly isHindrance?: boolean
  /**
   * The findings that a finding explains, because it names their cause. It must have lost at least
   * half of the time that the other one is about.
   */
  readonly explains?: readonly ExplainedRules<Explained>[]
  readonly threshold: Threshold
  /**
   * Whether the rule reads a metric that needs more than an annotation. If this metric was
   * collected for no pod, the rule is listed as not checked only for the pods whose processes have
   * mapped the library of the metric.
   */
  readonly isOptional?: boolean
  /** Whether something about a pod can be found although a column was not read. */
  readonly canFind?: (pod: PodEvidence) => boolean
  /**
   * Returns why the rule was not checked for a pod although the columns were read, by pod.
   *
   * @param found the findings of all rules
   */
  readonly uncheckedIn?: (run: RunEvidence, found: FoundPods) => ReadonlyMap<string, string>
  /**
   * Returns the pods for which the condition is true, with the numbers. Those without the columns
   * that the rule needs are then left out. `found` contains the findings of the rules that were
   * checked before.
   */
  readonly find: (run: RunEvidence, found: FoundPods) => readonly Affected<NoInfer<FactName>>[]
  /** Whether the rule compares pods; the plot of the finding then shows all pods. */
  readonly isRelative?: boolean
  /** Reports whether the numbers of a pod belong to its node, and not only to its pod. */
  readonly isOfNode?: (run: RunEvidence, pod: string) => boolean
  /** Whether `sentence` returns the whole text of a finding, about all of its pods. */
  readonly isWholeText?: boolean
  /**
   * Returns a sentence about the worst pod, without the name of the pod at its start.
   *
   * @param pods all pods of the finding, the worst first
   */
  sentence(worst: Affected<NoInfer<FactName>>, pods: readonly Affected<NoInfer<FactName>>[]): string
  readonly advice: string
  /** What to do instead if the cause is known, by the causes of the findings. */
  readonly adviceByCause?: Readonly<Record<string, string>>
  /** Columns that show the finding over time. The report plots the first one that was read. */
  readonly plots: readonly PlottedColumn[]
}

/** The pods of the findings that were made so far with the seconds that they lost, by rule. */
export type FoundPods = ReadonlyMap<FindingRule, ReadonlyMap<string, number | null>>

/** Declares a rule. The names in `find` and `sentence` must be those in `facts`. */
export function defineRule<
  const Name extends string,
  FactName extends string,
  const Explained extends string = never,
>(rule: FindingRule<Name, Explained, FactName>): FindingRule<Name, Explained> {
  return rule
}
