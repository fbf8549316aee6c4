import { factorLines } from '../../efficiency/factor-lines.ts'
import { type Efficiency, runEfficiency, withoutProgress } from '../../efficiency/run-efficiency.ts'
import { verdict as describeRun, type RunFacts } from '../../efficiency/verdict.ts'
import { type RunCompletion, readCompletion } from '../../ends/run-completion.ts'
import { groupByPod, type RunEvidence } from '../../evidence/run-evidence.ts'
import { applyRules, listUnchecked, type RunFinding } from '../../findings/evaluate.ts'
import { findLookedAt, type LookedAt } from '../../findings/looked-at.ts'
import type { RuleName } from '../../findings/rules.ts'
import { readProgramEnds } from '../../metrics/program-ends.ts'
import type { AssessedRun } from '../../report/assess.ts'
import { distinct } from '../../report/groups.ts'
import { missingPods } from '../../report/observed-pods.ts'
import { findNoProgress, type NoProgress } from '../no-progress.ts'
import { type LivePod, podLabels, podName } from '../pods.ts'
import { joinLogs } from './join-logs.ts'
import { createPace } from './pace.ts'
import { type ShownFindings, startShownFindings } from './shown-findings.ts'

/** How a run goes. */
export interface Assessment {
  /** How the run went so far, in a few sentences; undefined if there are too few rows. */
  readonly verdict: string | undefined
  /** How efficient the run was so far; undefined if there are too few rows. */
  readonly efficiency: Efficiency | undefined
  /** What was looked at; undefined if there are too few rows. */
  readonly looked: LookedAt | undefined
  /** The names of the findings of each pod, as NAMESPACE/POD, the worst first. */
  readonly findings: ReadonlyMap<string, readonly RuleName[]>
  /** The processes that make no progress. */
  readonly stuck: readonly NoProgress[]
}

/** Returns the sentences about processes without progress that the verdict does not contain. */
export function alarmsIn({
  verdict = '',
  stuck,
}: Pick<Assessment, 'verdict' | 'stuck'>): readonly string[] {
  return stuck.flatMap(({ sentence }) => (verdict.includes(sentence) ? [] : sentence))
}

/** Returns the efficiency so far as lines for people. */
export function factorsIn({ efficiency, looked }: Assessment): readonly string[] {
  return efficiency === undefined ? [] : factorLines(efficiency.root, looked?.gaps ?? [])
}

/** Assesses a run again and again while it goes on. */
export interface Assessor {
  /**
   * Returns how the run goes. Looks at new rows only now and then, so that a large run costs at
   * most a tenth of a processor.
   *
   * @param now the current time, in milliseconds since 1970
   */
  readonly assess: (pods: readonly LivePod[], now: number) => Assessment
}

/** Returns what the report says about a recorded run, for its end. */
export function assessmentOf({
  run,
  podOf,
  found: { findings },
  efficiency,
  looked,
  verdict,
}: AssessedRun): Assessment {
  const names = new Map([...run.sources].map(([log, { place }]) => [podOf(log), podName(place)]))
  const byPod = new Map<string, RuleName[]>()
  const podsOf = ({ pods }: RunFinding) => pods.flatMap(({ pod }) => names.get(pod) ?? [])
  for (const finding of findings) for (const pod of podsOf(finding)) addTo(byPod, pod, finding.rule)
  const stuck = findings.filter(({ rule }) => rule === STUCK)
  return {
    verdict,
    efficiency,
    looked,
    findings: byPod,
    stuck: stuck.map((finding) => ({
      sentence: finding.sentence,
      pods: new Set(podsOf(finding)),
    })),
  }
}

/** The shortest run about which something is said. */
const MIN_SECONDS = 1

interface State {
  readonly shown: ShownFindings
  run: RunSoFar
  /** The sums of the versions of the windows and of the logs that were last looked at. */
  windows: number
  logs: number
}

interface RunSoFar {
  /** What the rows so far say; undefined if there are too few. */
  readonly facts: (RunFacts & { readonly efficiency: Efficiency }) | undefined
  /** The failures of each pod, which stay. */
  readonly failures: ReadonlyMap<string, readonly RuleName[]>
}

/** Says how a run went so far. @param isStuck whether processes make no progress now */
function describe({ facts }: RunSoFar, isStuck: boolean) {
  if (facts === undefined) return { verdict: undefined, efficiency: undefined, looked: undefined }
  const efficiency = isStuck ? withoutProgress(facts.efficiency) : facts.efficiency
  const verdict = describeRun({ ...facts, efficiency, isStuck })
  return { verdict, efficiency, looked: facts.looked }
}

/** @param clock returns the time in milliseconds, to limit the cost; undefined for no limit */
export function startAssessor(clock?: () => number): Assessor {
  const state: State = {
    shown: startShownFindings(),
    run: { facts: undefined, failures: new Map() },
    windows: -1,
    logs: -1,
  }
  const [windowPace, runPace] = [createPace(clock), createPace(clock)]
  return {
    assess: (pods, now) => {
      const stuck = findNoProgress(pods, now)
      // A large run gets no two long turns in one frame.
      const isLong = windowPace(() => lookAtWindows(state, pods))
      if (!isLong) runPace(() => lookAtRun(state, pods))
      const findings = joined(state.shown, state.run.failures, stuck)
      return { ...describe(state.run, stuck.length > 0), findings, stuck }
    },
  }
}

/** Looks at the windows if one of them has changed. */
function lookAtWindows(state: State, pods: readonly LivePod[]): boolean {
  const evidences = pods.flatMap(({ observers }) =>
    observers.flatMap(({ evidence }) => evidence ?? []),
  )
  const version = evidences.reduce((sum, evidence) => sum + evidence.version(), 0)
  if (version === state.windows) return false
  state.windows = version
  state.shown.look(pods)
  return true
}

/** Looks at all rows so far if there are new ones. */
function lookAtRun(state: State, pods: readonly LivePod[]): boolean {
  const logs = pods.flatMap(({ observers }) => observers)
  const version = logs.reduce((sum, { log }) => sum + log.version(), 0)
  if (version === state.logs) return false
  state.logs = version
  state.run = assessSoFar(pods)
  return true
}

/** Assesses all rows that were read. */
function assessSoFar(pods: readonly LivePod[]): RunSoFar {
  const labels = podLabels(pods)
  const run = groupByPod(
    joinLogs(pods, ({ evidence }) => evidence?.whole()),
    labels.podOf,
  )
  const { found, ...applied } = applyRules(run)
  // The newest rows say whether processes make progress now.
  const efficiency = runEfficiency(run, false)
  const findings = applied.findings.filter(isRecorded)
  const failures = failuresIn(findings, labels.nameOf)
  const length = lengthOf(pods, run, efficiency)
  if (length.duration < MIN_SECONDS) return { facts: undefined, failures }
  const completion = length.span === 'whole' ? readCompletionOf(run, findings) : null
  const metrics = distinct(pods.flatMap(({ observers }) => observers.map(({ metric }) => metric)))
  const looked = lookedAt(pods, run, metrics, found, completion)
  const facts = { ...length, pods: pods.length, efficiency, findings, metrics, looked, completion }
  return { facts, failures }
}

/** Returns the failures of each pod. */
function failuresIn(findings: readonly RunFinding[], nameOf: (pod: string) => string) {
  const failures = new Map<string, RuleName[]>()
  for (const { rule, severity, pods } of findings) {
    if (severity !== 'failure') continue
    for (const { pod } of pods) addTo(failures, nameOf(pod), rule)
  }
  return failures
}

/** Returns whether a run came to its end, as far as its rows say it. */
function readCompletionOf(run: RunEvidence, findings: readonly RunFinding[]): RunCompletion {
  return readCompletion({ pods: [], programs: readProgramEnds(run), logs: new Map(), findings })
}

/** @param completion how the run ended; null while it goes on, when pods and ends may still come */
function lookedAt(
  pods: readonly LivePod[],
  run: RunEvidence,
  metrics: readonly string[],
  found: Parameters<typeof listUnchecked>[2],
  completion: RunCompletion | null,
): LookedAt {
  const known = run.pods.map(({ pod }) => pod)
  const unchecked = listUnchecked(run, known, found)
  if (completion === null) return findLookedAt(run, known, metrics, unchecked, false)
  const isOpen = completion.state !== 'finished'
  const { seen, gaps } = findLookedAt(run, known, metrics, unchecked, isOpen)
  const missing = missingPods(pods.map(({ pod_index }) => pod_index))
  return { seen, gaps: [...missing, ...gaps] }
}

/** Whether processes make progress now, the alarms say with the newest rows. */
function isRecorded({ rule }: RunFinding): boolean {
  return rule !== STUCK
}

/**
 * Returns how long the run took, or which part of it the rows cover. The rows of mpi-trace are sums
 * since MPI_Init, also if the beginning of the logs was not read.
 */
function lengthOf(pods: readonly LivePod[], run: RunEvidence, { basis, elapsed }: Efficiency) {
  const observers = pods.flatMap(({ observers: own }) => own)
  const isOver = observers.every(({ isOver, log }) => isOver || log.hasEnded())
  const isWhole = observers.every(({ log }) => log.hasStart())
  if (isWhole) return { duration: timeSeen(run), span: isOver ? 'whole' : 'so far' } as const
  if (basis === 'mpi') return { duration: elapsed, span: 'so far' } as const
  return { duration: timeSeen(run), span: 'last' } as const
}

/** Returns the seconds from the first row of any pod to the last one. */
function timeSeen({ pods }: RunEvidence): number {
  const starts = pods.flatMap(({ began }) => began ?? [])
  const first = starts.reduce((least, began) => Math.min(least, began), Number.POSITIVE_INFINITY)
  const ends = pods.map(({ began, elapsed }) => elapsed + (began === null ? 0 : began - first))
  return ends.reduce((most, end) => Math.max(most, end), 0)
}

/** Returns the findings of each pod: failures, and those of the window, the worst first. */
function joined(
  shown: ShownFindings,
  failures: RunSoFar['failures'],
  stuck: readonly NoProgress[],
): ReadonlyMap<string, readonly RuleName[]> {
  const stopped = stuck.flatMap(({ pods }) => [...pods].map((pod) => [pod, [STUCK]] as const))
  const all = new Map<string, RuleName[]>()
  for (const [pod, rules] of [...failures, ...stopped, ...shown.byPod()])
    for (const rule of rules) addTo(all, pod, rule)
  return all
}

const STUCK: RuleName = 'no-progress'

function addTo(lists: Map<string, RuleName[]>, pod: string, rule: RuleName): void {
  const own = lists.get(pod) ?? []
  lists.set(pod, own)
  if (!own.includes(rule)) own.push(rule)
}
