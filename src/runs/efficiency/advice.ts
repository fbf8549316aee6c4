import type { RunFinding } from '../findings/evaluate.ts'
import { MIN_EFFICIENCY } from '../rules/time-lost.ts'
import { type Factor, type FactorName, listFactors } from './factor.ts'

/** Advice about factors, for runs in which no finding says what to do. */
const ADVICE: Partial<Record<FactorName, string>> = {
  'load-balance':
    'Divide the work more evenly: with the load balancing of the application, or with another ' +
    'decomposition.',
  'communication-and-platform':
    'Collect the metric vitals too: it shows whether the ranks waited for processors. Otherwise ' +
    'send fewer and larger messages, or use fewer ranks with a larger problem for each.',
  communication:
    'Send fewer and larger messages, or use fewer ranks with a larger problem for each.',
  platform:
    'Request as many processors as the processes use (resources.requests.cpu), and check their ' +
    'CPU limits (resources.limits.cpu).',
  storage: 'Read and write less often and in larger pieces, or use faster storage.',
  activity:
    'Look at the output of the application: it may wait for input or for another service, or ' +
    'have less work than processors. No rule found the reason.',
}

/**
 * Returns how to see where the processes of a job wait while it runs, although no metric showed it.
 *
 * @param owner KIND/NAME of the workload; null if it is not known
 */
export function stacksAdvice({
  owner,
  namespace,
}: {
  readonly owner: string | null
  readonly namespace: string | null
}): string {
  const workload = owner?.replace(/^[^/]*/, (kind) => kind.toLowerCase()) ?? 'KIND/NAME'
  const command = `ridealong stacks ${workload} -n ${namespace ?? 'NAMESPACE'}`
  return `If the job still runs, ${command} shows in which calls its processes sleep.`
}

/**
 * Returns what to do first about a run: the advice of the worst finding that cost time, or about
 * the least factor of the efficiency, or of the worst risk; null if nothing needs to be done.
 */
export function firstAdvice(findings: readonly RunFinding[], root: Factor): string | null {
  const costly = findings.find(({ severity }) => severity !== 'risk')
  return costly?.advice ?? factorAdvice(root) ?? findings[0]?.advice ?? null
}

function factorAdvice(root: Factor): string | null {
  const isLow = root.value !== null && root.value < MIN_EFFICIENCY
  const [least] = listFactors(root)
    .filter(({ name, value, parts }) => name in ADVICE && value !== null && !isKnown(parts))
    .sort((a, b) => (a.value ?? 1) - (b.value ?? 1))
  return isLow && least !== undefined ? (ADVICE[least.name] ?? null) : null
}

/** Reports whether a factor has known parts, which say more than the factor itself. */
function isKnown(parts: readonly Factor[]): boolean {
  return parts.some(({ name, value }) => name in ADVICE && value !== null)
}
