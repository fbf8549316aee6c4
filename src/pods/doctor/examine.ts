import { asId, asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { DEFAULT_REVISION, nameRevision, readRevision } from '../../core/namespaces/revision.ts'
import { nameFirst } from '../../core/text/name-first.ts'
import type { WebhookFacts } from '../explain/facts.ts'
import { calledBy, isRelease, POD_WEBHOOK, webhookIn } from '../explain/webhook.ts'
import { ARMS, answerChecks, INJECTS } from './answer-checks.ts'
import { catalogChecks } from './catalog-checks.ts'
import { certificateModeCheck } from './certificate-mode.ts'
import { check, fault, type InstallationCheck, judged, RESTORE } from './check.ts'
import { configurationChecks, describeCallee } from './configuration-checks.ts'
import { imageVolumeChecks } from './image-volume-checks.ts'
import { type Installation, type Release, servedOption } from './installation.ts'
import { namespaceCheck } from './namespace-checks.ts'
import { orderCheck } from './order-check.ts'

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
    ...orderCheck(installation),
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

const NAME = 'revisions'
/** The maximum number of namespaces in a message. */
const MAX_NAMED = 5

/**
 * Checks that each revision has one release, and that a release has the revision of each namespace
 * with the label `ridealong.dev/revision`.
 */
function revisionCheck({ configurations, namespaces }: Installation): InstallationCheck {
  if ('problem' in configurations) return check(NAME, 'unknown', configurations.problem)
  if ('problem' in namespaces) return check(NAME, 'unknown', namespaces.problem)
  const releases = Map.groupBy(configurations.value.filter(isRelease), readRevision)
  for (const [revision, found] of releases) if (found.length > 1) return twice(revision, found)
  const lost = namespaces.value.filter((namespace) => !releases.has(readRevision(namespace)))
  const chosen = lost.filter((namespace) => readRevision(namespace) !== undefined)
  if (chosen.length > 0) return unknownRevision(chosen)
  const listed = [...releases].map(
    ([revision, found]) => `${nameRevision(revision)} (${nameOf(found[0])})`,
  )
  return releases.has(undefined)
    ? check(NAME, 'ok', listed.join(', '))
    : check(NAME, 'look', `${listed.join(', ')}; ${NO_DEFAULT}`)
}

const NO_DEFAULT =
  'there is no default release, so pods get observers only in namespaces with the label' +
  ' ridealong.dev/revision'

function twice(revision: string | undefined, found: readonly Fields[]): InstallationCheck {
  const names = found.map(nameOf).join(' and ')
  const what =
    revision === undefined ? `the ${DEFAULT_REVISION} release` : `the revision ${revision}`
  const remedy = 'remove one of the two releases, or give it another value revision'
  return fault(NAME, `${names} are both ${what}, and both handle the same pods`, remedy)
}

function unknownRevision(namespaces: readonly Fields[]): InstallationCheck {
  const all = namespaces.map((namespace) => `${nameOf(namespace)} (${readRevision(namespace)})`)
  const names = nameFirst(all, MAX_NAMED)
  const remedy =
    'correct or remove the label ridealong.dev/revision of these namespaces, or install the' +
    ' release (docs/administer/upgrade.md)'
  return fault(NAME, `no release has the revision of these namespaces: ${names}`, remedy)
}

function nameOf(object: Fields | undefined): string {
  return asText(fieldsOrNone(object?.metadata).name) ?? ''
}

/**
 * Checks whether a server can answer: the Service, its ready endpoints, and the replicas of the
 * Deployment.
 */
function serverChecks(
  { service, deployment }: Release,
  { configuration, ready }: WebhookFacts,
): readonly InstallationCheck[] {
  const found = 'value' in configuration ? configuration.value : undefined
  const called = describeCallee(calledBy(webhookIn(found ?? {}, POD_WEBHOOK) ?? {}))
  return [
    judged('Service', service, (found) =>
      found === undefined
        ? fault('Service', `${called}, which the webhooks call, does not exist`, RESTORE)
        : judged('Service', ready, (count) => endpointCheck(called, count ?? 0)),
    ),
    judged('Deployment', deployment, (found) =>
      found === undefined
        ? fault('Deployment', `no Deployment has the name of ${called}`, RESTORE)
        : replicaCheck(found),
    ),
  ]
}

function endpointCheck(called: string, count: number): InstallationCheck {
  if (count > 0) return check('Service', 'ok', `ready endpoints: ${count}`)
  const remedy =
    "find out why no replica is ready, and check that the Service's selector is the chart's"
  return fault('Service', `${called} has no ready endpoint`, remedy)
}

/**
 * Checks the replicas of a Deployment. A status older than the template does not describe the
 * current template (apps/v1 DeploymentStatus, observedGeneration).
 */
function replicaCheck({ metadata, spec, status }: Fields): InstallationCheck {
  const { namespace, generation } = fieldsOrNone(metadata)
  const { readyReplicas, updatedReplicas, observedGeneration } = fieldsOrNone(status)
  const wanted = asId(fieldsOrNone(spec).replicas) ?? 1
  const ready = asId(readyReplicas) ?? 0
  const isOld = (asId(observedGeneration) ?? 0) < (asId(generation) ?? 0)
  const updated = isOld ? 0 : (asId(updatedReplicas) ?? 0)
  const sentence = `${ready} of ${wanted} replicas are ready, ${updated} run the current template`
  const remedy =
    `list the pods with kubectl -n ${asText(namespace)} get pods. The path /readyz on port` +
    ' 8080 of a pod returns the reason why the pod is not ready. A pod in ContainerCreating waits' +
    ' for the Secret of the certificate'
  return ready < wanted || updated < wanted
    ? fault('Deployment', sentence, remedy)
    : check('Deployment', 'ok', `${ready} of ${wanted} replicas are ready`)
}
