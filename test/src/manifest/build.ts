import { readFileSync } from 'node:fs'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { asFields } from '../../../src/core/kubernetes/json.ts'
import { readNamespace } from '../../../src/core/namespaces/namespace.ts'
import type { Review } from '../../../src/core/review.ts'
import { type PodReview, reviewPod } from '../../../src/core/review-pod.ts'
import { type InjectedManifest, inject } from '../../../src/manifest/inject.ts'
import { readManifests } from '../../../src/manifest/read.ts'
import { findResources } from '../../../src/manifest/resources.ts'
import { undo } from '../../../src/manifest/undo.ts'

/** The files of the workloads whose pods were recorded. */
export const WORKLOADS = ['core.yaml', 'hard-cases.yaml', 'mpijob.yaml', 'operators.yaml'] as const

export const catalog = await loadCatalog({})

/** Returns the text of a file in test/workloads. */
export function workload(name: string): string {
  return readFileSync(new URL(`../../workloads/${name}`, import.meta.url), 'utf8')
}

/** Annotations that request perf-sysstat, for the parameter `given` of `injected`. */
export const PERF = { 'ridealong.dev/inject': 'perf-sysstat' }

/**
 * Injects observers into the manifests of a text. Uses the Namespaces in the text, and the
 * annotations `given`, as from a command line.
 */
export function injected(
  text: string,
  given: Readonly<Record<string, string>> = {},
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
    return reviewPod(review, { ...settings, namespace: { ...namespace, annotations: asking } })
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
