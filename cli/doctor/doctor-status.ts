import { fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { errorMessage } from '../../src/lib/error-message.ts'
import { check, fault, type InstallationCheck } from '../../src/pods/doctor/check.ts'

const PATIENCE_MS = 10_000

/**
 * Requests the readiness checks of a webhook from the path /readyz, and returns one check for each,
 * or a single fault if the webhook does not answer.
 *
 * @param address a URL, or the value that a kubelet writes into the environment of pods for a port
 * of a Service, such as tcp://10.96.7.1:8080 (kubernetes pkg/kubelet/envvars/envvars.go)
 */
export async function askServer(address: string): Promise<readonly InstallationCheck[]> {
  const url = address.replace(/^tcp:/, 'http:')
  try {
    const response = await fetch(new URL('/readyz', url), {
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const checks = Object.entries(fieldsOrNone(fieldsOrNone(await response.json()).checks))
    return checks.map(([name, state]) => {
      const title = `the webhook's ${name}`
      const remedy = 'see the log of the webhook'
      return state === 'ok' ? check(title, 'ok', 'ok') : fault(title, String(state), remedy)
    })
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    const remedy =
      'check that a replica is ready and that no NetworkPolicy blocks connections from here'
    return [fault('the webhook answers', errorMessage(cause), remedy)]
  }
}
