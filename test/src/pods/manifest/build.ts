import { readFileSync } from 'node:fs'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import { buildCatalog, type Catalog } from '../../../../src/core/catalog.ts'
import { asFields } from '../../../../src/core/kubernetes/json.ts'
import { readNamespace } from '../../../../src/core/namespaces/namespace.ts'
import type { Review } from '../../../../src/core/review.ts'
import { type PodReview, reviewPod } from '../../../../src/core/review-pod.ts'
import { type InjectedManifest, inject } from '../../../../src/pods/manifest/inject.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { undo } from '../../../../src/pods/manifest/undo.ts'
import { metricDocument } from '../../core/build.ts'
import { type InstalledTool, toolOf } from '../../core/tools/build.ts'

/** The files of the workloads whose pods were recorded. */
export const WORKLOADS = ['core.yaml', 'hard-cases.yaml', 'mpijob.yaml', 'operators.yaml'] as const

const BUILT_IN = await loadCatalog({})

/** A catalog with two tools, which both extend LD_PRELOAD. */
export const TOOLS: Catalog = buildCatalog(
  [
    metricDocument('perf-sysstat'),
    metricDocument('io-sysstat'),
    metricDocument('cpu-profile', { tool: preloaded('cpu-profile', 'CPUPROFILE') }),
    metricDocument('mpi-trace', { tool: preloaded('mpi-trace', 'TRACE_DIR') }),
  ],
  '3f2a91c0',
)

/** The same tools in one image, in namespaces that allow them. */
export const ONE_IMAGE: Offer = {
  catalog: buildCatalog(
    ['cpu-profile', 'mpi-trace'].map((name) => {
      const tool = preloaded(name, name === 'mpi-trace' ? 'TRACE_DIR' : 'CPUPROFILE')
      const [mounts, results] = [
        tool.mounts.map((mount) => ({ ...mount, subPath: `${name}-tool` })),
        { ...tool.results, subPath: `${name}-results` },
      ]
      const installer = { ...tool.installer, image: 'registry.example/tools:1' }
      return metricDocument(name, { tool: { ...tool, mounts, results, installer } })
    }),
    '5e11ab1e',
  ),
  allowsTools: true,
}

/** The same tools, mounted from their image, in namespaces that allow them. */
export const MOUNTED: Offer = {
  catalog: buildCatalog(
    ['cpu-profile', 'mpi-trace'].map((name) => {
      const variable = name === 'mpi-trace' ? 'TRACE_DIR' : 'CPUPROFILE'
      const { installer: _, imageVolume: __, ...tool } = preloaded(name, variable)
      const mounts = tool.mounts.map((mount) => ({ ...mount, subPath: `tool/${name}` }))
      const results = { ...tool.results, subPath: `${name}-results` }
      const imageVolume = { image: 'registry.example/tools:1' }
      return metricDocument(name, { tool: { ...tool, mounts, results, imageVolume } })
    }),
    '0a9b1ab1',
  ),
  allowsTools: true,
}

/** Returns a tool that extends LD_PRELOAD and sets a variable. */
function preloaded(name: string, variable: string): InstalledTool {
  return toolOf(name, [
    {
      name: 'LD_PRELOAD',
      value: `/opt/ridealong/${name}/loader.so`,
      separator: ':',
      forwardedBy: 'open-mpi',
    },
    { name: variable, value: `/var/opt/ridealong/${name}`, forwardedBy: 'open-mpi' },
  ])
}

/** Returns the text of a file in test/workloads. */
export function workload(name: string): string {
  return readFileSync(new URL(`../../../workloads/${name}`, import.meta.url), 'utf8')
}

/** Annotations that request perf-sysstat, for the parameter `given` of `injected`. */
export const PERF = { 'ridealong.dev/inject': 'perf-sysstat' }

/** The catalog, and whether all namespaces allow tools. */
interface Offer {
  readonly catalog: Catalog
  readonly allowsTools: boolean
}

/** The tools of TOOLS, in namespaces that allow them. */
export const ALLOWED: Offer = { catalog: TOOLS, allowsTools: true }

/**
 * Injects observers into the manifests of a text. Uses the Namespaces in the text, and the
 * annotations `given`, as from a command line.
 */
export function injected(
  text: string,
  given: Readonly<Record<string, string>> = {},
  { catalog, allowsTools }: Offer = { catalog: BUILT_IN, allowsTools: false },
): readonly InjectedManifest[] {
  const manifests = readManifests('a.yaml', text)
  const resources = manifests.flatMap(findResources)
  const answer = (review: Review): PodReview => {
    const found = resources.find(
      ({ kind, name }) => kind === 'Namespace' && name === review.namespace,
    )
    const { annotations, ...namespace } = readNamespace(review.namespace, asFields(found?.fields))
    const asking = new Map([...annotations, ...Object.entries(given)])
    const settings = { catalog, excludedNamespaces: new Set<string>() }
    const tools = allowsTools ? { allowsTools } : {}
    return reviewPod(review, {
      ...settings,
      namespace: { ...namespace, ...tools, annotations: asking },
    })
  }
  return manifests.map((manifest) => inject(manifest, answer, 'hpc'))
}

/** Joins the texts of documents into the text of one file. */
export function textOf(documents: readonly { readonly text: string }[]): string {
  return documents.map(({ text }) => text).join('')
}

/** Returns the text without the additions of inject. */
export function undone(text: string): string {
  return readManifests('a.yaml', text).map(undo).join('')
}
