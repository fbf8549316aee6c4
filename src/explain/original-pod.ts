import { STATUS_KEY } from '../core/keys.ts'
import {
  asFields,
  asObjects,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../core/kubernetes/json.ts'
import { injectedBefore, readStatus } from '../core/status.ts'

/**
 * Removes from a pod the additions of Ridealong that affect a decision. The status annotation can
 * be copied or forged, so a container that it names is removed only if the container also has the
 * environment variable RIDEALONG_CATALOG, which every observer gets.
 */
export function asItCame(pod: Fields): Fields {
  const metadata = fieldsOrNone(pod.metadata)
  const { [STATUS_KEY]: _, ...annotations } = fieldsOrNone(metadata.annotations)
  const names = injectedBefore(asFields(metadata.annotations))
  const before = readStatus(asFields(metadata.annotations))?.shareProcessNamespace
  const spec = fieldsOrNone(pod.spec)
  const without = (containers: unknown) =>
    listOrNone(containers).filter((one) => !isObserver(fieldsOrNone(one), names))
  return {
    ...pod,
    metadata: { ...metadata, annotations },
    spec: {
      ...spec,
      containers: without(spec.containers),
      initContainers: without(spec.initContainers),
      shareProcessNamespace: names.length > 0 ? before === 'true' : spec.shareProcessNamespace,
    },
  }
}

function isObserver({ name, env }: Fields, names: readonly string[]): boolean {
  return names.some((one) => one === name) && isToldCatalog(env)
}

function isToldCatalog(env: unknown): boolean {
  return asObjects(env).some(({ name }) => name === 'RIDEALONG_CATALOG')
}
