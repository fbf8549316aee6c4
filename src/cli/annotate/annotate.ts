import { loadCatalog } from '../../catalog/load.ts'
import { KEYS } from '../../core/keys.ts'
import { annotate as annotateOne } from '../../manifest/annotate.ts'
import { describe } from '../../manifest/report.ts'
import { listNamespacesWithoutTools } from '../../manifest/tool-namespaces.ts'
import { listUnranked } from '../../manifest/unranked-pods.ts'
import { type InjectOptions, resolveMetrics, show } from '../inject/inject.ts'
import { asked } from '../shared/asking.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import { manifestError, readInput } from '../shared/input.ts'
import type { ManifestOutput } from '../shared/manifest-output.ts'

export type AnnotateOptions = Pick<
  InjectOptions,
  'filename' | 'annotation' | 'include' | 'output' | 'catalog' | 'observerImage'
> & { readonly metric: readonly string[]; readonly ranks?: string }

/**
 * Runs `ridealong annotate -f FILE --metric M`: adds annotations to objects, in the field from
 * which the operator of each kind copies annotations to pods.
 *
 * @throws UsageError if a file, a document or the request is invalid, or nothing could be
 * annotated; the caller then prints nothing
 */
export async function annotate(options: AnnotateOptions): Promise<ManifestOutput> {
  const { catalog: folder, observerImage, include } = options
  const catalog = await loadCatalog({ folder, observerImage }).catch(usageError)
  const annotations = Object.fromEntries(asked(options.metric, readPairs(options), catalog))
  const namespaces = include?.some((kind) => kind.toLowerCase() === 'namespace') === true
  try {
    const manifests = await readInput(options.filename)
    const wanted = resolveMetrics(manifests, include)
    const annotated = wanted.map((manifest) => annotateOne(manifest, annotations, namespaces))
    const notes = annotated.flatMap(({ passedOver }) =>
      passedOver.map(({ resource, why }) => describe(resource, why)),
    )
    const isAny = annotated.some(({ places }) => places > 0)
    if (!isAny) throw new UsageError(...notes, NOTHING)
    const requested = [...catalog.metrics.values()].filter(({ name }) =>
      options.metric.includes(name),
    )
    const tools = requested.flatMap(({ name, tool }) => (tool === undefined ? [] : name))
    const closed = listNamespacesWithoutTools(manifests, annotated, tools)
    const unranked = listUnranked(annotated, annotations)
    return { output: show(annotated, options), notes: [...notes, ...closed, ...unranked] }
  } catch (error) {
    return manifestError(error)
  }
}

/** Returns the annotations of the command line, in addition to the metrics, as KEY=VALUE. */
function readPairs({ annotation = [], ranks }: AnnotateOptions): readonly string[] {
  return ranks === undefined ? annotation : [...annotation, `${KEYS.ranks}=${ranks}`]
}

const NOTHING = 'no document was annotated; Namespaces are annotated only with --include Namespace'
