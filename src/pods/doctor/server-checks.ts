import { asId, asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import type { WebhookFacts } from '../explain/facts.ts'
import { calledBy, POD_WEBHOOK, webhookIn } from '../explain/webhook.ts'
import { check, fault, type InstallationCheck, judged, RESTORE } from './check.ts'
import { describeCallee } from './configuration-checks.ts'
import type { Release } from './installation.ts'

/**
 * Checks whether a server can answer: the Service, its ready endpoints, and the replicas of the
 * Deployment.
 */
export function serverChecks(
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
