import {
  type Catalog,
  type Metric,
  type ObserverContainer,
  type OfferedOption,
  optionVariable,
} from '../core/catalog.ts'
import {
  asFields,
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../core/kubernetes/json.ts'
import { findContainer } from '../core/rules/observer-difference.ts'
import { injectedBefore, readStatus } from '../core/status.ts'
import { findTool, MOUNTS_VARIABLE, SIZE_VARIABLE } from '../core/tools/installed-tool.ts'
import { installerName, type Tool, type ToolImage } from '../core/tools/tool.ts'

/** The answer of an installation to a pod that requests one metric. */
export type MetricAnswer =
  | ObserverAnswer
  | { readonly kind: 'left'; readonly reason: string; readonly message: string }
  /** No webhook has answered, or the namespace is excluded. */
  | { readonly kind: 'silent' }

/** The observer that an installation has added. */
export interface ObserverAnswer {
  readonly kind: 'observer'
  readonly container: Fields
  /** The container that installs the tool of the metric; undefined if there is none. */
  readonly installer: Fields | undefined
  /** The volume that is the image of the metric's tool; undefined if there is none. */
  readonly imageVolume: Fields | undefined
  /** The mounts of this volume in the target. */
  readonly imageMounts: readonly Fields[]
  /** The revision of the installation's catalog. */
  readonly revision: string
}

/** Reads the answer from a pod that requests one metric, as a webhook has returned it. */
export function readMetricAnswer(pod: Fields, metric: string): MetricAnswer {
  const annotations = fieldsOrNone(fieldsOrNone(pod.metadata).annotations)
  const spec = fieldsOrNone(pod.spec)
  const status = readStatus(annotations)
  const container = findContainer(spec, metric)?.container
  if (container !== undefined && injectedBefore(annotations).includes(metric)) {
    const installer = findContainer(spec, installerName(metric))?.container
    const revision = asText(status?.catalog) ?? ''
    return { kind: 'observer', container, installer, ...findImageVolume(spec, container), revision }
  }
  const reason = asText(status?.reason)
  if (status?.outcome !== 'left' || reason === undefined) return { kind: 'silent' }
  return { kind: 'left', reason, message: asText(status.message) ?? '' }
}

/** Finds the volume that is the image of an observer's tool. */
function findImageVolume(
  spec: Fields,
  observer: Fields,
): Pick<ObserverAnswer, 'imageVolume' | 'imageMounts'> {
  const { imageVolume, target } = findTool(spec, observer) ?? {}
  const mounts = asObjects(target?.volumeMounts)
  return { imageVolume, imageMounts: mounts.filter(({ name }) => name === imageVolume?.name) }
}

/**
 * Reads the answers for the metrics of a pod that requests the default metrics, by metric. The key
 * is the requested word if the pod has no observers.
 */
export function readDefaultAnswers(pod: Fields, word: string): ReadonlyMap<string, MetricAnswer> {
  const names = injectedBefore(asFields(fieldsOrNone(pod.metadata).annotations))
  const asked = names.length > 0 ? names : [word]
  return new Map(asked.map((name) => [name, readMetricAnswer(pod, name)]))
}

/**
 * Returns a catalog with the observers that an installation has added. All other fields come from
 * `base`. The other metrics of `base` get the new image if they had the same image, because an
 * installation has one image for all built-in observers.
 *
 * @param base the built-in catalog
 * @param defaultMetrics the default metrics of the installation; undefined if they are not known
 */
export function withAnswers(
  base: Catalog,
  answers: ReadonlyMap<string, ObserverAnswer>,
  revision: string,
  defaultMetrics: readonly string[] = base.defaultMetrics,
): Catalog {
  const images = replacedImages(base, answers)
  const others = [...base.metrics].map(
    ([name, metric]) => [name, withImages(metric, images)] as const,
  )
  const answered = [...answers].map(([name, answer]) => {
    return [name, answeredMetric(name, base.metrics.get(name), answer)] as const
  })
  return { revision, metrics: new Map([...others, ...answered]), defaultMetrics }
}

function replacedImages(
  { metrics }: Catalog,
  answers: ReadonlyMap<string, ObserverAnswer>,
): ReadonlyMap<string, string> {
  return new Map(
    [...answers].flatMap(([name, { container }]) => {
      const before = metrics.get(name)?.container.image
      const image = asText(container.image)
      return before === undefined || image === undefined ? [] : [[before, image] as const]
    }),
  )
}

function withImages(metric: Metric, images: ReadonlyMap<string, string>): Metric {
  const { container } = metric
  const image = images.get(container.image) ?? container.image
  return { ...metric, container: { ...container, image } }
}

function answeredMetric(name: string, known: Metric | undefined, answer: ObserverAnswer): Metric {
  const { container } = answer
  const metric = known ?? unknownMetric(name, container)
  const words = (key: 'command' | 'args') => {
    const list = listOrNone(container[key]).filter((word) => typeof word === 'string')
    return list.length === 0 ? {} : { [key]: list }
  }
  const { command: _, args: __, ...kept } = metric.container
  const own: ObserverContainer = {
    ...kept,
    image: asText(container.image) ?? kept.image,
    ...words('command'),
    ...words('args'),
    env: ownVariables(container, metric.options),
  }
  const tool = metric.tool && answeredTool(metric.tool, answer)
  return { ...metric, tool, liveExport: undefined, container: own }
}

/** Returns a tool with the image of the answer, which is copied or mounted. */
function answeredTool(
  tool: Tool,
  { installer, imageVolume, imageMounts }: ObserverAnswer,
): Tool | undefined {
  const { installer: _, imageVolume: __, ...others } = tool
  const image = asText(installer?.image)
  if (image !== undefined && tool.installer !== undefined)
    return { ...others, installer: { ...tool.installer, image } }
  const { reference, pullPolicy } = fieldsOrNone(imageVolume?.image)
  const mounted = asText(reference)
  if (mounted === undefined) return tool
  const mounts = others.mounts.map(({ subPath, mountPath }) => {
    const found = imageMounts.find((mount) => mount.mountPath === mountPath)
    return { subPath: asText(found?.subPath) ?? subPath, mountPath }
  })
  const policy = pullPolicy as NonNullable<ToolImage['imagePullPolicy']>
  return { ...others, mounts, imageVolume: { image: mounted, imagePullPolicy: policy } }
}

const OPTION_VARIABLE = /^RIDEALONG_OPTION_([A-Z0-9_]+)$/

/**
 * Describes a metric of which only the observer is known. The valid values of its options are those
 * that the installation has accepted.
 */
function unknownMetric(name: string, container: Fields): Metric {
  const options = new Map(
    asObjects(container.env).flatMap(({ name: variable, value }) => {
      const [, word] = OPTION_VARIABLE.exec(asText(variable) ?? '') ?? []
      const text = asText(value)
      if (word === undefined || text === undefined) return []
      const option = word.toLowerCase().replaceAll('_', '-')
      return [[`${name}.ridealong.dev/${option}`, fixedOption(option, text)] as const]
    }),
  )
  return {
    name,
    description: '',
    privilege: 'restricted',
    options,
    podsKey: `${name}.ridealong.dev/pods`,
    defaults: [...options.values()].map(({ variable, default: value }) => {
      return { name: variable, value: String(value) }
    }),
    rows: undefined,
    liveExport: undefined,
    tool: undefined,
    includes: [],
    onlyMode: undefined,
    container: {
      image: asText(container.image) ?? '',
      resources: fieldsOrNone(container.resources) as ObserverContainer['resources'],
    },
  }
}

function fixedOption(option: string, value: string): OfferedOption {
  const variable = optionVariable(option)
  return { type: 'string', enum: [value], default: value, description: '', variable }
}

/** The variables that depend on the pod, with which the webhook replaces these (core/plan.ts). */
const POD_VARIABLES: ReadonlySet<string> = new Set([
  'RIDEALONG_CATALOG',
  'RIDEALONG_MODE',
  'RIDEALONG_RESTART_POLICY',
  'RIDEALONG_TARGET_CONTAINER',
  'RIDEALONG_OBSERVERS',
  'RIDEALONG_HOST_NETWORK',
  'RIDEALONG_TARGET_COMMAND',
  'RIDEALONG_OWNER',
  SIZE_VARIABLE,
  MOUNTS_VARIABLE,
])

/** Returns the variables that come from the metric's document and from the live export. */
function ownVariables(
  container: Fields,
  options: Metric['options'],
): readonly { readonly name: string; readonly value: string }[] {
  const chosen = new Set([...options.values()].map(({ variable }) => variable))
  return asObjects(container.env).flatMap(({ name, value }) => {
    const isOwn = typeof name === 'string' && !POD_VARIABLES.has(name) && !chosen.has(name)
    return isOwn && typeof value === 'string' ? [{ name, value }] : []
  })
}
