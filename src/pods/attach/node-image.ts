import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../core/kubernetes/json.ts'

/** The objects that show whether a node has, or can pull, an image. */
export interface NodeObjects {
  /** The Node; undefined if it cannot be read. */
  readonly node: Fields | undefined
  /** The pods on the node that can be read. */
  readonly pods: readonly Fields[]
}

/** The reasons of a container that waits because its image cannot be pulled (kubelet/images). */
const FAILURES: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
])

/**
 * Returns the reason why a node cannot have an image, as far as other objects show it. An ephemeral
 * container whose image cannot be pulled stays in its pod, so this is checked first.
 *
 * A failed pull in another pod counts only if that pod has the same pull secrets, and if neither
 * the Node nor another pod shows that the node has the image. A Node lists only its 50 largest
 * images (kubernetes v1.36 pkg/kubelet/nodestatus, setters.go), so its list proves no absence.
 *
 * @param pod the pod to observe
 */
export function nodeImageProblem(
  image: string,
  pod: Fields,
  { node, pods }: NodeObjects,
): string | undefined {
  const images = asObjects(fieldsOrNone(node?.status).images).flatMap(({ names }) => {
    return listOrNone(names)
  })
  if (images.includes(completeName(image))) return undefined
  const uses = pods.flatMap((one) => usesOf(one, image))
  if (uses.some(({ isRunning }) => isRunning)) return undefined
  const secrets = pullSecrets(pod)
  const failed = uses.find((use) => use.failure !== undefined && use.secrets === secrets)
  if (failed === undefined) return undefined
  const place = asText(fieldsOrNone(pod.spec).nodeName) ?? ''
  return `node ${place} cannot pull ${image}: in pod ${failed.pod}, ${failed.failure}`
}

/** Returns the complete name of an image, as a Node lists it: with a registry and a tag. */
function completeName(image: string): string {
  const [first = '', ...rest] = image.split('/')
  const hasRegistry = rest.length > 0 && /[.:]|^localhost$/.test(first)
  const path = rest.length > 0 ? image : `library/${image}`
  const name = hasRegistry ? image : `docker.io/${path}`
  return /[:@][^/]*$/.test(name) ? name : `${name}:latest`
}

/** A container of another pod with the image. */
interface Use {
  readonly pod: string
  readonly secrets: string
  readonly isRunning: boolean
  readonly failure: string | undefined
}

function usesOf(pod: Fields, image: string): readonly Use[] {
  const spec = fieldsOrNone(pod.spec)
  const status = fieldsOrNone(pod.status)
  const { namespace, name } = fieldsOrNone(pod.metadata)
  const lists = ['containers', 'initContainers', 'ephemeralContainers'] as const
  const own = lists.flatMap((list) => asObjects(spec[list])).filter((one) => one.image === image)
  const names = new Set(own.map((container) => container.name))
  const statuses = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses']
  return statuses
    .flatMap((list) => asObjects(status[list]))
    .filter((container) => names.has(container.name))
    .map(({ state }) => {
      const { running, terminated, waiting } = fieldsOrNone(state)
      const { reason, message } = fieldsOrNone(waiting)
      const isFailure = FAILURES.has(asText(reason) ?? '')
      const failure = [reason, message].filter((text) => typeof text === 'string').join(': ')
      return {
        pod: `${String(namespace)}/${String(name)}`,
        secrets: pullSecrets(pod),
        isRunning: running !== undefined || terminated !== undefined,
        failure: isFailure ? failure : undefined,
      }
    })
}

function pullSecrets({ spec }: Fields): string {
  const secrets = asObjects(fieldsOrNone(spec).imagePullSecrets)
  return JSON.stringify(secrets.map(({ name }) => name).sort())
}
