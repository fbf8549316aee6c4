import { ARMS, answerChecks, INJECTS } from './answer-checks.ts'
import { catalogChecks } from './catalog-checks.ts'
import { certificateModeCheck } from './certificate-mode.ts'
import type { InstallationCheck } from './check.ts'
import { configurationChecks } from './configuration-checks.ts'
import { imageVolumeChecks } from './image-volume-checks.ts'
import { type Installation, servedOption } from './installation.ts'
import { namespaceCheck } from './namespace-checks.ts'
import { revisionCheck } from './revision-check.ts'
import { serverChecks } from './server-checks.ts'

/**
 * Examines an installation, from the certificate to a pod that requests a metric. The same facts
 * always give the same checks.
 */
export function examine(installation: Installation): readonly InstallationCheck[] {
  const { webhook, release } = installation
  return [
    ...configurationChecks(webhook, servedOption(release, '--certificate-duration')),
    ...certificateModeCheck(installation),
    ...(release === undefined ? [] : serverChecks(release, webhook)),
    ...(release === undefined ? [] : catalogChecks(release)),
    ...imageVolumeChecks(installation),
    revisionCheck(installation),
    namespaceCheck(installation),
    ...answerChecks(installation),
  ]
}

/** The overall outcome of an examination. */
export type InstallationOutcome = 'sound' | 'faulty' | 'unknown'

/**
 * Returns `faulty` if a check failed, `unknown` if no check failed but neither dry run could be
 * made, and `sound` otherwise.
 */
export function overallOutcome(checks: readonly InstallationCheck[]): InstallationOutcome {
  if (checks.some(({ verdict }) => verdict === 'no')) return 'faulty'
  const decisive = checks.filter(({ name }) => name === ARMS || name === INJECTS)
  return decisive.every(({ verdict }) => verdict === 'unknown') ? 'unknown' : 'sound'
}
