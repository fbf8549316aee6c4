import type { InstallationCheck } from '../../doctor/check.ts'
import { examine, overallOutcome } from '../../doctor/examine.ts'
import { EXIT } from '../shared/errors.ts'
import { openReader } from '../shared/reader.ts'
import { readInstallation } from './doctor-facts.ts'
import { askServer } from './doctor-status.ts'

export interface DoctorOptions {
  readonly kubeconfig?: string | undefined
  readonly statusUrl?: string | undefined
  readonly webhookConfiguration?: string | undefined
  /** A file with the server's certificate, for callers that may not read its Secret. */
  readonly certificate?: string | undefined
  /** The namespace of the dry run of a pod. */
  readonly namespace?: string | undefined
}

/**
 * Runs `ridealong doctor`: checks an installation, from the certificate to a pod that requests a
 * metric, as far as the caller's permissions allow. If the address of a webhook's status is given,
 * the webhook's own checks come first. Nothing is created.
 *
 * @throws UsageError if there are no credentials or the cluster does not answer
 */
export async function doctor(options: DoctorOptions): Promise<readonly InstallationCheck[]> {
  const { kubeconfig, statusUrl } = options
  const reader = await openReader(kubeconfig)
  const { namespace = reader.namespace } = options
  // Every caller may read this path, so a cluster that does not answer is reported only once.
  await reader.get('/version')
  const own = statusUrl === undefined ? [] : await askServer(statusUrl)
  const installation = await readInstallation(reader, { ...options, namespace })
  return [...own, ...examine(installation)]
}

/**
 * Returns 0 if pods that request metrics get observers, 1 if something is wrong, and 2 if this
 * could not be determined.
 */
export function exitCode(checks: readonly InstallationCheck[]): number {
  const codes = { sound: EXIT.ok, faulty: EXIT.no, unknown: EXIT.trouble }
  return codes[overallOutcome(checks)]
}
