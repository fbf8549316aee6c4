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
  /** A file with the server's certificate, for a caller that may not read its Secret. */
  readonly certificate?: string | undefined
  /** Where a pod that asks is tried. */
  readonly namespace?: string | undefined
}

/**
 * `ridealong doctor`: an installation from the certificate to a pod that asks, as far as whoever asks may
 * see; given the address of a webhook's status, what it says of itself. Nothing is created.
 *
 * @throws UsageError when there are no credentials, or the cluster does not answer
 */
export async function doctor(options: DoctorOptions): Promise<readonly InstallationCheck[]> {
  const { kubeconfig, statusUrl } = options
  const reader = await openReader(kubeconfig)
  const { namespace = reader.namespace } = options
  // Everybody may read this: who gets no answer is told once.
  await reader.get('/version')
  const own = statusUrl === undefined ? [] : await askServer(statusUrl)
  const installation = await readInstallation(reader, { ...options, namespace })
  return [...own, ...examine(installation)]
}

/** 0 where pods that ask get observers, 1 where something is wrong, 2 where neither could be found out. */
export function exitCode(checks: readonly InstallationCheck[]): number {
  const codes = { sound: EXIT.ok, faulty: EXIT.no, unknown: EXIT.trouble }
  return codes[overallOutcome(checks)]
}
