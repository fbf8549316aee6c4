import type { ClusterName } from '../../src/cluster/access.ts'
import type { InstallationCheck } from '../../src/pods/doctor/check.ts'
import { examine, overallOutcome } from '../../src/pods/doctor/examine.ts'
import { EXIT, type ExitCode } from '../shared/errors.ts'
import { openReader } from '../shared/reader.ts'
import type { Session } from '../shared/session.ts'
import { readInstallation } from './doctor-facts.ts'
import { askServer } from './doctor-status.ts'

export interface DoctorOptions extends ClusterName {
  readonly statusUrl?: string | undefined
  readonly webhookConfiguration?: string | undefined
  readonly revision?: string | undefined
  /** A file with the server's certificate, for callers that may not read the Secret. */
  readonly certificate?: string | undefined
  /** The namespace for the dry run of a pod. */
  readonly namespace?: string | undefined
}

/**
 * Runs `ridealong doctor`: checks an installation, from the certificate to a pod that requests a
 * metric. Facts that cannot be read are reported as `unknown`. With `statusUrl`, the readiness
 * checks of the webhook come first. Nothing is created.
 *
 * @throws UsageError if there are no credentials or the cluster does not answer
 */
export async function doctor(
  options: DoctorOptions,
  { environment }: Session,
): Promise<readonly InstallationCheck[]> {
  const { statusUrl } = options
  const reader = await openReader(options, environment)
  const { namespace = reader.namespace } = options
  // By default, every caller may read this path. If the cluster does not answer, the error is
  // reported here, once, instead of once for each fact.
  await reader.get('/version')
  const own = statusUrl === undefined ? [] : await askServer(statusUrl)
  const installation = await readInstallation(reader, { ...options, namespace })
  return [...own, ...examine(installation)]
}

/**
 * Returns 1 if a check failed, 2 if no check failed but neither dry run could be made, and 0
 * otherwise.
 */
export function exitCode(checks: readonly InstallationCheck[]): ExitCode {
  const codes = { sound: EXIT.ok, faulty: EXIT.no, unknown: EXIT.trouble }
  return codes[overallOutcome(checks)]
}
