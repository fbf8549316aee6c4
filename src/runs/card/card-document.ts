import { timeOrNull } from '../../lib/rfc3339.ts'
import { rounded } from '../../lib/round.ts'
import { attemptsDocument } from '../attempts/attempts-document.ts'
import { type Factor, listFactors } from '../efficiency/factor.ts'
import type { ComputeAmounts } from '../facts/container-facts.ts'
import { timeDocument } from '../time/time-document.ts'
import type { RoleAdvice } from './advice.ts'
import { findingText } from './card-findings.ts'
import type { RoleCard } from './role-card.ts'
import type { RunCard } from './run-card.ts'

/** Returns the card of a run for programs. A number that is not known is null. */
export function cardDocument(card: RunCard) {
  const { run, started, seconds, cores, memory, efficiency, roles, findings, missing } = card
  const { namespace, word, apiVersion, kind, name, uid, revision, phase, podCounts } = run
  return {
    apiVersion: 'ridealong.dev/v1alpha1',
    kind: 'RunCard',
    namespace,
    run: `${word}/${name}`,
    workload: { apiVersion, kind, name, uid, revision },
    phase,
    started: timeOrNull(started),
    seconds: rounded(seconds),
    pods: podCounts,
    podsSeen: card.podsSeen,
    time: card.time === null ? null : timeDocument(card.time),
    attempts: attemptsDocument(card.attempts),
    cores: { ...cores, used: rounded(cores.used) },
    memoryBytes: memory,
    efficiency: efficiencyDocument(efficiency),
    roles: roles.map(roleDocument),
    findings: findings.map((finding) => {
      const { name: rule, severity, podIndex, others } = finding
      return { rule, severity, podIndex, otherPods: others, sentence: findingText(finding) }
    }),
    advice: card.advice.map(adviceDocument),
    missing,
    page: card.page,
  }
}

function efficiencyDocument(root: Factor) {
  return listFactors(root).map(({ name, value, missing }) => ({
    name,
    value: rounded(value),
    missing,
  }))
}

function roleDocument(card: RoleCard) {
  const { role, pods, known, cores, memory, cpu, throttled, throttledPeriods } = card
  return {
    role: role === '' ? null : role,
    pods,
    knownPods: known,
    cores: { ...cores, used: rounded(cores.used) },
    memoryBytes: memory,
    cpuSeconds: rounded(cpu),
    throttledSeconds: rounded(throttled),
    throttledPeriods: rounded(throttledPeriods),
    waitedForProcessorSeconds: rounded(card.runDelay),
    waitedForStorageSeconds: rounded(card.storage),
  }
}

/** Returns advice about one role for programs. */
export function adviceDocument({ role, basis, refusals, containers }: RoleAdvice) {
  return {
    role: role === '' ? null : role,
    basis,
    refusals,
    containers: containers.map(({ name, seen, seenIn, now, requests, limits }) => ({
      name,
      seen: amountsDocument(seen),
      seenIn,
      now,
      requests: amountsDocument(requests),
      limits: amountsDocument(limits),
    })),
  }
}

function amountsDocument({ cpu, memory }: ComputeAmounts) {
  return { cpu: rounded(cpu), memory }
}
