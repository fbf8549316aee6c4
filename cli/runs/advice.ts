import { printable, printableJson } from '../../src/core/text/printable.ts'
import { buildResourcesFragment } from '../../src/pods/manifest/kinds/resources-fragment.ts'
import { cleanYaml } from '../../src/pods/manifest/print.ts'
import { type ContainerAdvice, combineAdvice, type RoleAdvice } from '../../src/runs/card/advice.ts'
import { adviceDocument } from '../../src/runs/card/card-document.ts'
import { coresText, cpuQuantity, memoryQuantity } from '../../src/runs/card/card-numbers.ts'
import type { RunCard } from '../../src/runs/card/run-card.ts'
import type { ComputeAmounts } from '../../src/runs/facts/container-facts.ts'
import type { Run } from '../../src/runs/facts/run.ts'
import { bytesText } from '../../src/runs/rules/sentence.ts'
import { EXIT, type ExitCode } from '../shared/errors.ts'

/** Formatted advice; the exit code is EXIT.no if advice is refused. */
interface Advice {
  readonly output: { readonly document: string }
  readonly code: ExitCode
}

/**
 * Formats advice from runs: for each kind of workload and each role, the part of a manifest with
 * requests and limits, or in comments why there is none.
 *
 * @param cards of at least one run, the one that gives its name first
 */
export function formatAdvice(cards: readonly RunCard[], isJson: boolean): Advice {
  const kindOf = ({ run: { apiVersion, kind } }: RunCard) => `${apiVersion}/${kind}`
  const groups = [...Map.groupBy(cards, kindOf).values()]
  const advised = groups.map((group) => ({
    own: group.map(({ run }) => run),
    advice: combineAdvice(group.flatMap(({ advice }) => advice)),
  }))
  const all = advised.flatMap(({ advice }) => advice)
  const code = all.some(({ refusals }) => refusals.length > 0) ? EXIT.no : EXIT.ok
  if (isJson)
    return { output: { document: `${printableJson(all.map(adviceDocument), 2)}\n` }, code }
  const parts = advised.flatMap(({ own, advice }) => advice.map((role) => formatRole(own, role)))
  return { output: { document: parts.join('---\n') }, code }
}

function formatRole(runs: readonly Run[], advice: RoleAdvice): string {
  const { role, basis, refusals, containers } = advice
  const of = role === '' ? '' : `, role ${role}`
  const names = runs.map(({ word, name }) => `${word}/${name}`).join(', ')
  const margin = Math.round(basis.margin * 100)
  const head = [
    `${names}${of}: ${counted(basis.runs, 'run')}, ${counted(basis.pods, 'pod')}`,
    ...containers.flatMap((container) => describeSeen(container, refusals.length > 0)),
    ...refusals.map((refusal) => `no advice: ${refusal}`),
    ...(refusals.length > 0
      ? []
      : [`percentile ${basis.percentile} of the pods, and a margin of ${margin} %`]),
  ]
  const comments = head.map((line) => `# ${printable(line)}\n`).join('')
  if (refusals.length > 0) return comments
  return `${comments}${formatFragment(runs, advice)}`
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** Describes the use that was seen, which is a lower bound of the need if advice is refused. */
function describeSeen(
  { name, seen, seenIn, now }: ContainerAdvice,
  isRefused: boolean,
): readonly string[] {
  const word = isRefused ? 'needs at least' : 'used'
  const cpu =
    seen.cpu === null
      ? []
      : [`${coresText(seen.cpu)} processors (CPU time of its cgroup, pod ${seenIn.cpu})`]
  const memory =
    seen.memory === null
      ? []
      : [`${bytesText(seen.memory)} (memory peak of its cgroup, pod ${seenIn.memory})`]
  const { requests, limits } = now
  return [
    ...[...cpu, ...memory].map((text) => `container ${name} ${word} ${text}`),
    `container ${name} now: ${describeNow('requests', requests)}; ${describeNow('limits', limits)}`,
  ]
}

function describeNow(word: string, { cpu, memory }: ComputeAmounts): string {
  const parts = [
    ...(cpu === null ? [] : [`cpu ${cpuQuantity(cpu)}`]),
    ...(memory === null ? [] : [`memory ${memoryQuantity(memory)}`]),
  ]
  return `${word} ${parts.length === 0 ? 'none' : parts.join(', ')}`
}

function formatFragment(runs: readonly Run[], { role, containers }: RoleAdvice): string {
  const [target] = runs
  if (target === undefined) return ''
  const resources = containers.map(({ name, requests, limits }) => {
    return { name, resources: { requests: quantities(requests), limits: quantities(limits) } }
  })
  const fragment = buildResourcesFragment(target, { role, containers: resources })
  if (fragment !== undefined) return cleanYaml(fragment)
  const why = `the field for the resources of a ${target.kind} is not known; the containers are:`
  return `# ${why}\n${cleanYaml({ containers: resources })}`
}

function quantities({ cpu, memory }: ComputeAmounts): object {
  return {
    ...(cpu === null ? {} : { cpu: cpuQuantity(cpu) }),
    ...(memory === null ? {} : { memory: memoryQuantity(memory) }),
  }
}
