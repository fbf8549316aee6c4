import { type Decision, leftIn } from '../../core/decision.ts'
import { type DecisionRule, REASONS, type Reason, RULES } from '../../core/reasons.ts'
import type { Request } from '../../core/request.ts'
import type { LeftMetric } from '../../core/rules/left-metric.ts'
import { listOverlaps } from '../../core/rules/overlapping-metrics.ts'
import type { UncheckedRules } from './facts.ts'
import { describeWithout, type Finding, find, stop } from './finding.ts'
import { selectionFinding } from './selection-findings.ts'

/** The reason that prevented observers, and its message. */
export interface Stopped {
  readonly reason: Reason
  readonly message: string
}

/** Returns the reason and the message of a decision, or undefined if it has none. */
export function stoppedBy(decision: Decision): Stopped | undefined {
  return 'reason' in decision ? decision : undefined
}

/** The facts that the findings of rules depend on. */
export interface RuleFacts {
  readonly request: Request
  readonly decision: Decision
  /** The rules that were not checked, because the cluster's objects are not known. */
  readonly unchecked: UncheckedRules
  /** Whether the pod has its observers in its manifest and the webhook adds none. */
  readonly isCarrying: boolean
  /** Whether the observers depend on the index of each pod of a template. */
  readonly dependsOnPod: boolean
}

/**
 * Returns a finding for every rule of the decision in order. Rules before the rule that stopped the
 * pod have passed, and later rules were not reached. After an internal error, the error is the only
 * finding.
 */
export function ruleFindings(stopped: Stopped | undefined, facts: RuleFacts): readonly Finding[] {
  const by = stopped && REASONS[stopped.reason].rule
  if (stopped !== undefined && by === null) return [defect(stopped)]
  const last = RULES.findIndex(({ name }) => name === by)
  return RULES.map((rule, index) => {
    if (stopped !== undefined && index === last)
      return stopFinding(rule.name, stopped, facts.isCarrying)
    const isReached = last < 0 || index < last
    return isReached ? passed(rule, facts) : find(rule.name, 'open', 'not checked')
  })
}

function passed(rule: DecisionRule, facts: RuleFacts): Finding {
  const { request, decision, unchecked } = facts
  const why = unchecked[rule.name]
  if (why !== undefined) return find(rule.name, 'unknown', why)
  if (rule.name === 'selection')
    return selectionFinding(rule.name, request, decision, facts.dependsOnPod)
  if (rule.name === 'request') return requestFinding(request)
  const left = leftBy(rule, leftIn(decision))
  if (left.length === 0) return find(rule.name, 'ok', rule.passed)
  return find(rule.name, 'look', left.join('; '))
}

/** Returns a sentence for each metric that a rule left. */
function leftBy({ name }: DecisionRule, left: readonly LeftMetric[]): readonly string[] {
  const own = left.filter(({ reason }) => REASONS[reason].rule === name)
  return own.map(describeWithout)
}

/**
 * Returns the finding about a valid request; `look` if one of its metrics is wrong, or if two of
 * them measure the same.
 */
function requestFinding(request: Request): Finding {
  if (request.kind !== 'asked') return find('request', 'ok', 'valid')
  const problems = [
    ...request.left.map(describeWithout),
    ...listOverlaps(request.metrics.map(({ metric }) => metric)),
  ]
  const sentence = [described(request), ...problems].join('; ')
  return find('request', problems.length > 0 ? 'look' : 'ok', sentence)
}

/**
 * Returns the finding of the rule that stopped the pod. The verdict is `look` if the pod has its
 * observers in its manifest, `ok` for the reason `already-injected`, and `no` otherwise.
 */
function stopFinding(name: string, { reason, message }: Stopped, isCarrying: boolean): Finding {
  if (isCarrying) return find(name, 'look', message)
  return reason === 'already-injected' ? find(name, 'ok', message) : stop(name, reason, message)
}

function defect({ reason, message }: Stopped): Finding {
  return stop('defects', reason, message || REASONS[reason].sentence)
}

/** Describes a request in words. */
function described(request: Extract<Request, { kind: 'asked' }>): string {
  const { metrics, mode, targetContainer, targetCommand, pods, onError } = request
  const asked = metrics.map(({ metric, options, pods: own }) => {
    const given = options.map(({ name, value }) => `${optionName(name)}=${value}`)
    const values = own === undefined ? given : [...given, `pods=${own.text}`]
    return values.length === 0 ? metric.name : `${metric.name} (${values.join(', ')})`
  })
  const target = targetContainer ?? 'chosen by default'
  const command = targetCommand === undefined ? [] : [`target command ${targetCommand}`]
  return [
    asked.join(', '),
    `mode ${mode}`,
    `target container ${target}`,
    ...command,
    ...(pods === undefined ? [] : [`pods ${pods.text}`]),
    `on error ${onError}`,
  ].join('; ')
}

function optionName(variable: string): string {
  return variable.replace('RIDEALONG_OPTION_', '').toLowerCase().replaceAll('_', '-')
}
