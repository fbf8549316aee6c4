import { buildCatalog, type Catalog, type MetricDocument } from '../../../../src/core/catalog.ts'
import type { InstallerContainer, Tool, ToolVariable } from '../../../../src/core/tools/tool.ts'
import {
  type ContainerObject,
  type Json,
  metricDocument,
  type Place,
  podOf,
  type Ride,
  ride,
  type Texts,
} from '../build.ts'

/** Returns the document of a metric with a tool, whose paths contain the name of the metric. */
export function toolDocument(
  name: string,
  variables: readonly ToolVariable[],
  spec: Partial<MetricDocument['spec']> = {},
): MetricDocument {
  return metricDocument(name, { tool: toolOf(name, variables), ...spec })
}

/** A tool that an init container installs. */
export type InstalledTool = Tool & { readonly installer: InstallerContainer }

/** Returns a tool with an installer and folders of its own. */
export function toolOf(name: string, variables: readonly ToolVariable[]): InstalledTool {
  return {
    installer: {
      image: `registry.example/${name}:1`,
      command: ['install'],
      resources: { limits: { cpu: '200m', memory: '24Mi' } },
    },
    sizeLimit: '256Mi',
    mounts: [{ subPath: 'tool', mountPath: `/opt/ridealong/${name}` }],
    results: { subPath: 'results', mountPath: `/var/opt/ridealong/${name}` },
    variables,
  }
}

const level = {
  type: 'string',
  enum: ['low', 'all$'],
  default: 'low',
  description: 'the number of events',
} as const

/** A catalog with two tools that join LD_PRELOAD, and an observer without a tool. */
export const TOOLS: Catalog = buildCatalog(
  [
    metricDocument('perf-sysstat'),
    toolDocument(
      'cpu-profile',
      [
        { name: 'LD_PRELOAD', value: '/opt/ridealong/cpu-profile/loader.so', separator: ':' },
        { name: 'CPUPROFILE', value: '/var/opt/ridealong/cpu-profile/cpu' },
      ],
      {},
    ),
    toolDocument(
      'mpi-trace',
      [
        {
          name: 'LD_PRELOAD',
          value: '/opt/ridealong/mpi-trace/loader.so',
          separator: ':',
          forwardedBy: 'open-mpi',
        },
        { name: 'TRACE_PATTERN', value: 'a$(b)' },
        { name: 'TRACE_LEVEL', option: 'level', forwardedBy: 'open-mpi' },
      ],
      { options: { level } },
    ),
  ],
  '3f2a91c0',
)

/**
 * Returns a tool that extends LD_PRELOAD. The names of the folders of its volume contain the name
 * of the metric, so the volume can have other tools.
 */
export function sharedTool(name: string, image: string, sizeLimit: string): InstalledTool {
  const path = `/opt/ridealong/${name}`
  const variables = [{ name: 'LD_PRELOAD', value: `${path}/loader.so`, separator: ':' }] as const
  const tool = toolOf(name, variables)
  return {
    ...tool,
    installer: { ...tool.installer, image },
    sizeLimit,
    mounts: [{ subPath: `${name}-tool`, mountPath: path }],
    results: { subPath: `${name}-results`, mountPath: `/var/opt/ridealong/${name}` },
  }
}

/** A catalog with three tools, of which cpu-profile and mpi-trace are in one image. */
export const SHARED: Catalog = buildCatalog(
  [
    metricDocument('perf-sysstat'),
    metricDocument('cpu-profile', {
      tool: sharedTool('cpu-profile', 'registry.example/tools:1', '256Mi'),
    }),
    metricDocument('mpi-trace', {
      tool: sharedTool('mpi-trace', 'registry.example/tools:1', '64Mi'),
    }),
    metricDocument('gpu-trace', { tool: sharedTool('gpu-trace', 'registry.example/gpu:1', '1Gi') }),
  ],
  '3f2a91c0',
)

/** Returns a tool that is mounted from its image. */
export function mountedTool(name: string, image: string, sizeLimit: string): Tool {
  const { installer: _, imageVolume: __, ...tool } = sharedTool(name, image, sizeLimit)
  const mounts = [{ subPath: `tool/${name}`, mountPath: `/opt/ridealong/${name}` }]
  return { ...tool, imageVolume: { image }, mounts }
}

/** The catalog SHARED, with tools that are mounted from their images. */
export const MOUNTED: Catalog = buildCatalog(
  [
    metricDocument('perf-sysstat'),
    metricDocument('cpu-profile', {
      tool: mountedTool('cpu-profile', 'registry.example/tools:1', '256Mi'),
    }),
    metricDocument('mpi-trace', {
      tool: mountedTool('mpi-trace', 'registry.example/tools:1', '64Mi'),
    }),
    metricDocument('gpu-trace', {
      tool: mountedTool('gpu-trace', 'registry.example/gpu:1', '1Gi'),
    }),
  ],
  '3f2a91c0',
)

/** The label of a namespace that allows tools. */
export const ALLOWED = { 'ridealong.dev/tools': 'true' }

/** Reviews a pod that requests metrics of TOOLS, in a namespace that allows tools. */
export function rideWith(
  inject: string,
  spec: Json = {},
  more: Texts = {},
  place: Place = {},
): Ride {
  const pod = podOf({ 'ridealong.dev/inject': inject, ...more }, spec)
  return ride(pod, { catalog: TOOLS, labels: ALLOWED, ...place })
}

/** Returns a container of a patched pod. */
export function containerIn({ pod }: Ride, name: string): ContainerObject {
  const { initContainers = [], containers } = pod.spec
  const found = [...initContainers, ...containers].find((container) => container.name === name)
  if (found === undefined) throw new Error(`the pod has no container ${name}`)
  return found
}
