import { ARMS, answerChecks, INJECTS } from './answer-checks.ts'
import { catalogChecks } from './catalog-checks.ts'
import type { InstallationCheck } from './check.ts'
import { configurationChecks } from './configuration-checks.ts'
import type { Installation } from './installation.ts'
import { namespaceCheck } from './namespace-checks.ts'
import { serverChecks } from './server-checks.ts'

/** Examines an installation, from the certificate to a pod that asks. The same facts give the same checks. */
export function examine(installation: Installation): readonly InstallationCheck[] {
  const { webhook, release } = installation
  return [
    ...configurationChecks(webhook),
    ...(release === undefined ? [] : serverChecks(release, webhook)),
    ...(release === undefined ? [] : catalogChecks(release)),
    namespaceCheck(installation),
    ...answerChecks(installation),
  ]
}

/** What an examination comes to. */
export type InstallationOutcome = 'sound' | 'faulty' | 'unknown'

/** Faulty where a check does not hold; unknown where none does so, and no dry run could be made. */
export function overallOutcome(checks: readonly InstallationCheck[]): InstallationOutcome {
  if (checks.some(({ verdict }) => verdict === 'no')) return 'faulty'
  const decisive = checks.filter(({ name }) => name === ARMS || name === INJECTS)
  return decisive.every(({ verdict }) => verdict === 'unknown') ? 'unknown' : 'sound'
}
