import type { Catalog } from '../../core/catalog.ts'
import { ARMED_LABEL, STATUS_KEY } from '../../core/keys.ts'
import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readStatus } from '../../core/status.ts'
import { findRemedy } from '../explain/causes.ts'
import type { FactLookup } from '../explain/facts.ts'
import { cameOut, comparable } from '../explain/injection-outcome.ts'
import { unmetIn } from '../explain/selector.ts'
import { POD_WEBHOOK, webhookIn } from '../explain/webhook.ts'
import { check, fault, type InstallationCheck } from './check.ts'
import { type Installation, readCatalog, type TriedPod } from './installation.ts'

/**
 * The names of the two checks that make a dry run. If neither dry run could be made and no check
 * failed, it is unknown whether the installation works.
 */
export const ARMS = 'dry run: namespace'
export const INJECTS = 'dry run: pod'

const UNANSWERED = 'in a dry run, the webhook did not answer'
const REACH =
  'correct the failed checks above. If there are none, the apiserver cannot reach the Service:' +
  ' in the firewall, allow the apiserver to reach port 8443 of the nodes, and watch the metric' +
  ' apiserver_admission_webhook_fail_open_count of the apiserver'

/**
 * Checks the objects that dry runs returned. With failurePolicy Ignore, a request succeeds even if
 * the webhook does not answer. Only the returned object shows whether the webhook answered.
 */
export function answerChecks({
  triedNamespace,
  triedPod,
  release,
  webhook,
  namespaces,
}: Installation): readonly InstallationCheck[] {
  const catalog = readCatalog(release)
  return [
    tried(ARMS, triedNamespace, (namespace) => {
      const labels = fieldsOrNone(fieldsOrNone(namespace.metadata).labels)
      return labels[ARMED_LABEL] === 'true'
        ? check(ARMS, 'ok', 'in a dry run, the namespace was armed')
        : fault(ARMS, UNANSWERED, REACH)
    }),
    triedPodCheck(triedPod, { catalog, webhook, namespaces }),
  ]
}

type PodContext = Pick<Installation, 'webhook' | 'namespaces'> & {
  readonly catalog: Catalog | undefined
}

function triedPodCheck(
  triedPod: TriedPod,
  { catalog, webhook, namespaces }: PodContext,
): InstallationCheck {
  const { namespace, answer } = triedPod
  switch (answer.outcome) {
    case 'unknown':
      return failed(INJECTS, answer.problem)
    case 'denied': {
      const what = `in a dry run in namespace ${namespace}, the pod was denied only with observers`
      return fault(INJECTS, `${what}: ${answer.message}`, findRemedy('admission-policy'))
    }
    case 'admitted': {
      const unmet = unmetByNamespace(namespace, webhook, namespaces)
      return unmet === undefined || cameOut(answer.pod, undefined).outcome !== 'silent'
        ? podCheck(answer.pod, triedPod, catalog)
        : untriedPod(namespace, unmet)
    }
  }
}

function untriedPod(namespace: string, unmet: string): InstallationCheck {
  const excluded = `the configuration excludes namespace ${namespace} (it requires ${unmet})`
  return check(INJECTS, 'look', `not tried: ${excluded}; choose another namespace with --namespace`)
}

/**
 * Returns the first requirement in the pod webhook's namespaceSelector that a namespace does not
 * meet.
 *
 * @returns undefined if the namespace is selected, or if the webhook was not found or read
 */
function unmetByNamespace(
  name: string,
  { configuration }: Installation['webhook'],
  namespaces: Installation['namespaces'],
): string | undefined {
  const found = 'value' in configuration ? configuration.value : undefined
  const webhook = found && webhookIn(found, POD_WEBHOOK)
  const listed = 'value' in namespaces ? namespaces.value : []
  const metadata = listed.map((one) => fieldsOrNone(one.metadata)).find((one) => one.name === name)
  // The apiserver sets this label on every namespace.
  const labels = { ...fieldsOrNone(metadata?.labels), 'kubernetes.io/metadata.name': name }
  return unmetIn(webhook?.namespaceSelector, labels)?.text
}

/** Judges the result of a dry run. */
function tried(
  name: string,
  answer: FactLookup<Fields>,
  judge: (object: Fields) => InstallationCheck,
): InstallationCheck {
  return 'value' in answer ? judge(answer.value) : failed(name, answer.problem)
}

/**
 * Judges the error of a dry run. An error about a failed webhook call is a fault: a webhook with
 * failurePolicy Fail did not answer. Any other error is `unknown`, because such an error says
 * nothing about the webhook.
 */
function failed(name: string, problem: string): InstallationCheck {
  return /failed calling webhook/.test(problem)
    ? fault(name, problem, REACH)
    : check(name, 'unknown', problem)
}

function podCheck(
  pod: Fields,
  triedPod: TriedPod,
  catalog: Catalog | undefined,
): InstallationCheck {
  const out = cameOut(pod, catalog && comparable(catalog, true, pod))
  const what = `in a dry run in namespace ${triedPod.namespace}, the pod`
  switch (out.outcome) {
    case 'silent':
      return fault(INJECTS, UNANSWERED, REACH)
    case 'left': {
      const sentence = `${what} got no observers (${out.reason}): ${out.message}`
      return fault(INJECTS, sentence, findRemedy(out.reason))
    }
    case 'altered': {
      const sentence = `${what} was injected, then changed: ${out.problems.join('; ')}`
      return fault(INJECTS, sentence, findRemedy('altered'))
    }
    case 'unverified': {
      const differences = out.differences.join('; ')
      const sentence = `${what} got a container that is not the catalog's observer: ${differences}`
      return check(INJECTS, 'look', sentence)
    }
    case 'injected':
      return injectedCheck(pod, out.hasStatus, triedPod, catalog)
  }
}

function injectedCheck(
  pod: Fields,
  hasStatus: boolean,
  { namespace, metric }: TriedPod,
  catalog: Catalog | undefined,
): InstallationCheck {
  const what = `in a dry run in namespace ${namespace}, the pod`
  if (!hasStatus) {
    const sentence = `${what} got ${metric}, and then lost the annotation ${STATUS_KEY}`
    return fault(INJECTS, sentence, findRemedy('altered'))
  }
  const served = readStatus(fieldsOrNone(fieldsOrNone(pod.metadata).annotations))?.catalog
  if (catalog === undefined || served === catalog.revision) {
    return check(INJECTS, 'ok', `${what} got ${metric}`)
  }
  const later = 'servers load a new catalog within two minutes'
  const old = `${what} got ${metric} from catalog ${String(served)}, not ${catalog.revision}`
  return check(INJECTS, 'look', `${old}; ${later}`)
}
