import { type Fields, fieldsOf, fieldsOrNone, listOrNone, objectsOf } from '../core/json.ts'
import { STATUS_KEY } from '../core/keys.ts'
import { injectedBefore, readStatus } from '../core/status.ts'

/**
 * A pod without what Ridealong has added to it, as far as a decision depends on that. A status can be copied or
 * made up: a container is taken out where it has what every observer is told.
 */
export function asItCame(pod: Fields): Fields {
  const metadata = fieldsOrNone(pod.metadata)
  const { [STATUS_KEY]: _, ...annotations } = fieldsOrNone(metadata.annotations)
  const names = injectedBefore(fieldsOf(metadata.annotations))
  const before = readStatus(fieldsOf(metadata.annotations))?.shareProcessNamespace
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
  return objectsOf(env).some(({ name }) => name === 'RIDEALONG_CATALOG')
}
