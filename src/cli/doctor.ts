import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node'
import { loadCatalog } from '../catalog/load.ts'
import { fieldsOrNone } from '../core/json.ts'
import { ARMED_LABEL, KEYS } from '../core/keys.ts'
import { sentenceOf } from '../sentence.ts'
import { readKubeConfig, refusalOf } from './kubeconfig.ts'

export interface DoctorOptions {
  readonly kubeconfig?: string | undefined
  readonly statusUrl?: string | undefined
}

/** What was looked at, and what is wrong with it, if anything is. */
export interface Finding {
  readonly name: string
  readonly problem: string | undefined
}

const PATIENCE_MS = 10_000

/**
 * `ridealong doctor`: whether the apiserver gets an answer from the webhook, and, given the address
 * of its status, what the webhook says of itself. Nothing is created.
 *
 * @throws UsageError when there are no credentials
 */
export async function doctor(options: DoctorOptions): Promise<readonly Finding[]> {
  const config = readKubeConfig(options.kubeconfig)
  const asking = { name: 'the apiserver gets an answer', problem: await askApiserver(config) }
  return options.statusUrl === undefined
    ? [asking]
    : [...(await askServer(options.statusUrl)), asking]
}

/** The findings as lines, and what to do about each. */
export function linesOf(findings: readonly Finding[]): string {
  return findings
    .map(({ name, problem }) =>
      problem === undefined ? `ok      ${name}\n` : `not ok  ${name}: ${problem}\n`,
    )
    .join('')
}

/**
 * Under failurePolicy Ignore nothing fails when the apiserver cannot reach the webhook, so only the
 * answer tells: a dry run of a namespace that asks for a metric comes back with the label of one that is
 * armed.
 */
async function askApiserver(config: KubeConfig): Promise<string | undefined> {
  const catalog = await loadCatalog({})
  const [metric = ''] = catalog.metrics.keys()
  const metadata = { generateName: 'ridealong-doctor-', annotations: { [KEYS.inject]: metric } }
  try {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata }
    const answer = await config.makeApiClient(CoreV1Api).createNamespace({ body, dryRun: 'All' })
    if (answer.metadata?.labels?.[ARMED_LABEL] === 'true') return undefined
    return 'it went on without one: it has no route to the Service, does not trust the certificate (caBundle), or is not configured to ask'
  } catch (error) {
    return refusalOf(error)
  }
}

/**
 * @param address an URL, or what a kubelet writes into the environment of pods for a port of a Service:
 * tcp://10.96.7.1:8080 (kubernetes pkg/kubelet/envvars/envvars.go)
 */
async function askServer(address: string): Promise<readonly Finding[]> {
  const url = address.replace(/^tcp:/, 'http:')
  try {
    const response = await fetch(new URL('/readyz', url), {
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const checks = Object.entries(fieldsOrNone(fieldsOrNone(await response.json()).checks))
    return checks.map(([name, state]) => ({
      name: `the webhook's ${name}`,
      problem: state === 'ok' ? undefined : String(state),
    }))
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    return [{ name: 'the webhook answers', problem: sentenceOf(cause) }]
  }
}
