import ts from 'typescript'
import type { Problem, SourceFile } from '../problem.ts'

/**
 * The modules that may name every metric: the catalog, and the parser of logs in the formats of the
 * Metrics Operator, which name none.
 */
const NAMING = /^src\/(catalog\/|runs\/log\/descriptions\.ts$)/

/** The folder of the metrics. Its modules may import other metrics. */
const METRICS = 'src/runs/metrics/'

/**
 * Finds the names of metrics in modules outside of the metric's own folder, and imports from this
 * folder by modules outside of the folder of all metrics. These loop over the list of metrics.
 *
 * @param metrics the names of the metrics of the built-in catalog
 */
export function findMetricNames(
  { path, text }: SourceFile,
  metrics: readonly string[],
): readonly Problem[] {
  if (NAMING.test(path)) return []
  const others = metrics.filter((name) => !path.startsWith(`${METRICS}${name}/`))
  const namedIn = (literal: ts.StringLiteral) =>
    others.find((name) => literal.text === name || isImportOf(literal, name, path))
  if (!others.some((name) => text.includes(name))) return []
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  return literalsIn(source).flatMap((literal) => {
    const name = namedIn(literal)
    if (name === undefined) return []
    const { line } = source.getLineAndCharacterOfPosition(literal.getStart(source))
    const remedy = `loop over METRICS, or move this to ${METRICS}${name}`
    return [{ path, line: line + 1, message: `'${name}' is a metric; ${remedy}` }]
  })
}

/** Reports whether a module outside of the folder of all metrics imports from that of a metric. */
function isImportOf({ text }: ts.StringLiteral, name: string, path: string): boolean {
  return !path.startsWith(METRICS) && text.startsWith('.') && text.includes(`/metrics/${name}/`)
}

function literalsIn(node: ts.Node): readonly ts.StringLiteral[] {
  if (ts.isStringLiteral(node)) return [node]
  const found: ts.StringLiteral[] = []
  node.forEachChild((child) => {
    found.push(...literalsIn(child))
  })
  return found
}
