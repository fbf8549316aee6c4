import ts from 'typescript'
import type { Problem, SourceFile } from '../problem.ts'

/**
 * The modules that may name every metric: the catalog, and the parser of logs in the formats of the
 * Metrics Operator, which name none.
 */
const NAMING = /^src\/(catalog\/|runs\/log\/descriptions\.ts$)/

/**
 * Finds the names of metrics in modules outside of the metric's own folder. They import the metric,
 * or loop over the list of metrics.
 *
 * @param metrics the names of the metrics of the built-in catalog
 */
export function findMetricNames(
  { path, text }: SourceFile,
  metrics: readonly string[],
): readonly Problem[] {
  const others = metrics.filter((name) => !path.startsWith(`src/runs/metrics/${name}/`))
  if (NAMING.test(path) || !others.some((name) => text.includes(`'${name}'`))) return []
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  return literalsIn(source)
    .filter((literal) => others.includes(literal.text))
    .map((literal) => {
      const { line } = source.getLineAndCharacterOfPosition(literal.getStart(source))
      const remedy = `import it from src/runs/metrics/${literal.text}, or loop over METRICS`
      return { path, line: line + 1, message: `'${literal.text}' is a metric; ${remedy}` }
    })
}

function literalsIn(node: ts.Node): readonly ts.StringLiteral[] {
  if (ts.isStringLiteral(node)) return [node]
  const found: ts.StringLiteral[] = []
  node.forEachChild((child) => {
    found.push(...literalsIn(child))
  })
  return found
}
