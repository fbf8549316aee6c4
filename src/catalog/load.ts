import { createHash } from 'node:crypto'
import { buildCatalog, type Catalog, type MetricDocument } from '../core/catalog.ts'
import { readBuiltIn } from './built-in.ts'
import { defaultsProblem } from './defaults.ts'
import { type CatalogDocuments, CatalogError } from './parse.ts'

/** The sources of catalog documents. */
export interface CatalogSources {
  /**
   * A folder of YAML files with more metrics. A metric replaces the built-in metric of the same
   * name.
   */
  readonly folder?: string | undefined
  /**
   * The texts of all documents of a catalog that were already read, by path; an alternative to
   * `folder`. The built-in metrics are not added.
   */
  readonly files?: ReadonlyMap<string, string> | undefined
  /** Whether the built-in metrics are not added to `folder`. */
  readonly isWhole?: boolean | undefined
  /** The image of the built-in metrics' observers, if it is not the image in their documents. */
  readonly observerImage?: string | undefined
}

/**
 * Loads the built-in metrics, and the metrics of a folder or of files that were already read. A
 * document of kind Defaults there replaces the built-in default metrics.
 *
 * @throws CatalogError; one invalid document makes the whole catalog invalid
 */
export async function loadCatalog(sources: CatalogSources): Promise<Catalog> {
  const { folder, files, observerImage, isWhole = files !== undefined } = sources
  const builtIn = isWhole ? NONE : await readBuiltIn()
  const added = [
    folder === undefined ? NONE : await (await loadParser()).readCatalogFolder(folder),
    files === undefined ? NONE : (await loadParser()).parseCatalog(files),
  ]
  const documents = [
    ...builtIn.metrics.map((document) => withImage(document, observerImage)),
    ...added.flatMap(({ metrics }) => metrics),
  ]
  const defaults = readDefaults([builtIn, ...added], documents)
  const content = JSON.stringify([...documents, { defaults }])
  const revision = createHash('sha256').update(content).digest('hex').slice(0, 8)
  return buildCatalog(documents, revision, defaults)
}

/** Most commands need only the built-in metrics, and start faster without the parser. */
const loadParser = () => import('./parse.ts')

const NONE: CatalogDocuments = { metrics: [], defaults: undefined }

/**
 * Returns the default metrics of a catalog: those of the last folder that has such a document.
 *
 * @param metrics the documents of all metrics
 * @throws CatalogError if a default metric is not valid
 */
function readDefaults(
  folders: readonly CatalogDocuments[],
  metrics: readonly MetricDocument[],
): readonly string[] {
  const last = folders.findLast(({ defaults }) => defaults !== undefined)?.defaults
  const problem = last && defaultsProblem(last.document, metrics)
  if (problem !== undefined) throw new CatalogError(`${last?.path}: ${problem}`)
  return last?.document.spec.metrics ?? []
}

function withImage(document: MetricDocument, image: string | undefined): MetricDocument {
  if (image === undefined) return document
  const { spec } = document
  return { ...document, spec: { ...spec, container: { ...spec.container, image } } }
}
