import { groupByPod } from '../../evidence/run-evidence.ts'
import { applyRules } from '../../findings/evaluate.ts'
import type { RuleName } from '../../findings/rules.ts'
import type { Severity } from '../../rules/rule.ts'
import { type LivePod, podLabels } from '../pods.ts'
import { joinLogs } from './join-logs.ts'
import { HALF_SECONDS, type LogWindow } from './log-evidence.ts'

/** The findings that are shown, which come and go with the windows of the pods. */
export interface ShownFindings {
  /** Applies the rules to the windows of all pods. */
  readonly look: (pods: readonly LivePod[]) => void
  /** The names of the findings of each pod, as NAMESPACE/POD, the worst first. */
  readonly byPod: () => ReadonlyMap<string, readonly RuleName[]>
}

/** A finding about a pod. */
interface ShownFinding {
  readonly severity: Severity
  readonly lost: number | null
  /** The end of the last window that had it, in milliseconds since 1970. */
  readonly to: number
}

type PodFindings = ReadonlyMap<RuleName, ShownFinding>

/** The time of the window of a pod, in milliseconds since 1970. */
type Span = Pick<LogWindow, 'from' | 'to'>

/** A pod whose last rows are older than this, compared with other pods, is left out. */
const OLD_MS = 4 * HALF_SECONDS * 1000

/** Starts without findings. */
export function startShownFindings(): ShownFindings {
  let shown: ReadonlyMap<string, PodFindings> = new Map()
  return {
    look: (pods) => {
      shown = lookAgain(shown, pods)
    },
    byPod: () => new Map([...shown].map(([pod, own]) => [pod, worstFirst(own)])),
  }
}

/**
 * A finding comes when the window of a pod has it. It goes when the window of the pod has nothing
 * in common with the last window that had it, so that it was missing for a whole window.
 */
function lookAgain(
  shown: ReadonlyMap<string, PodFindings>,
  pods: readonly LivePod[],
): ReadonlyMap<string, PodFindings> {
  const labels = podLabels(pods)
  const { spans, findings } = findInWindows(pods, labels)
  return new Map(
    [...spans].map(([pod, { from, to }]) => {
      const kept = [...(shown.get(pod) ?? [])].filter(([, finding]) => finding.to > from)
      const found = (findings.get(pod) ?? []).map((finding) => {
        return [finding.rule, { ...finding, to }] as const
      })
      return [pod, new Map([...kept, ...found])]
    }),
  )
}

/** Returns the windows of the pods that have rows now, and the findings in them. */
function findInWindows(pods: readonly LivePod[], labels: ReturnType<typeof podLabels>) {
  const windows = new Map(
    pods.flatMap(({ observers }) =>
      observers.map(({ evidence }) => [evidence, evidence?.window()] as const),
    ),
  )
  const newest = [...windows.values()].reduce((most, one) => Math.max(most, one?.to ?? 0), 0)
  const windowOf = ({ evidence }: LivePod['observers'][number]) => {
    const window = windows.get(evidence)
    return window !== undefined && newest - window.to <= OLD_MS ? window : undefined
  }
  const spans = new Map<string, Span>()
  for (const { namespace, pod, observers } of pods)
    for (const window of observers.flatMap((one) => windowOf(one) ?? [])) {
      const name = `${namespace}/${pod}`
      spans.set(name, joinSpans(spans.get(name), window))
    }
  const evidence = joinLogs(pods, (observer) => windowOf(observer)?.evidence)
  const findings = new Map<string, (Omit<ShownFinding, 'to'> & { rule: RuleName })[]>()
  for (const { rule, severity, pods: own } of applyRules(groupByPod(evidence, labels.podOf))
    .findings)
    for (const { pod, lost } of own) {
      const name = labels.nameOf(pod)
      findings.set(name, [...(findings.get(name) ?? []), { rule, severity, lost }])
    }
  return { spans, findings }
}

/** Returns the time of the last window of a pod, of whose logs each has windows of its own. */
function joinSpans(one: Span | undefined, { from, to }: Span): Span {
  if (one === undefined) return { from, to }
  return { from: Math.max(one.from, from), to: Math.max(one.to, to) }
}

const SEVERITIES: readonly Severity[] = ['failure', 'slowdown', 'risk']

function worstFirst(findings: PodFindings): readonly RuleName[] {
  const order = ({ severity }: ShownFinding) => SEVERITIES.indexOf(severity)
  return [...findings]
    .sort(([, a], [, b]) => order(a) - order(b) || (b.lost ?? -1) - (a.lost ?? -1))
    .map(([rule]) => rule)
}
