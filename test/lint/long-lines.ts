import type { Problem, SourceFile } from './problem.ts'

/**
 * The maximum width of a line of code or prose, in columns. It is the same as `lineWidth` in
 * biome.json.
 */
export const WIDTH = 100

/**
 * Files that are generated or come from other projects: recordings, examples and definitions of
 * operators.
 */
const NOT_OURS = [
  /^test\/cases\/.+\/(review|answer)\.json$/,
  /^test\/cases\/namespaces\.yaml$/,
  /^test\/cluster\/crds\//,
  /^docs\/examples\/.*(pod\.yaml|\.log|\.txt)$/,
]

const CODE = /\.(ts|js|css)$/
const COMMENTED_WITH_SLASHES = /\.(rs|c)$/
const COMMENTED = /(\.(sh|ya?ml|tpl|toml)|(^|\/)(run|Dockerfile|Containerfile|\.taprc|\.npmrc))$/
const PROSE = /\.md$/

const WEB_ADDRESS = /https?:\/\/\S+/g
/**
 * A line that consists of a regular expression. Biome moves a long regular expression to its own
 * line.
 */
const REGULAR_EXPRESSION = /^\s*(\w+: )?\/[^/*].*\/[a-z]*[,;]?$/

/**
 * Finds the lines of a file that are wider than 100 columns: every line of TypeScript, JavaScript
 * and CSS, comments in other languages and in templates of the chart, and prose in Markdown.
 * Exceptions are URLs, regular expressions (JavaScript cannot break them), tables and blocks of
 * code in Markdown, and files that are recorded or generated.
 */
export function findLongLines({ path, text }: SourceFile): readonly Problem[] {
  if (NOT_OURS.some((pattern) => pattern.test(path))) return []
  const isProse = proseIn(path)
  return text.split('\n').flatMap((line, index) => {
    const isChecked = isProse(line) && !REGULAR_EXPRESSION.test(line)
    const width = [...line.replaceAll(WEB_ADDRESS, '')].length
    if (!isChecked || width <= WIDTH) return []
    return [{ path, line: index + 1, message: tooWide(width) }]
  })
}

function tooWide(width: number): string {
  return `the line has ${width} columns; break it so that it has at most ${WIDTH}`
}

/**
 * Returns a function that tells whether the rule applies to a line. Call the function with all
 * lines of a file in their order.
 */
function proseIn(path: string): (line: string) => boolean {
  if (CODE.test(path)) return () => true
  if (PROSE.test(path)) return proseInMarkdown()
  if (COMMENTED_WITH_SLASHES.test(path)) return (line) => /^\s*\/\//.test(line)
  if (COMMENTED.test(path)) return commentsIn()
  return () => false
}

function proseInMarkdown(): (line: string) => boolean {
  let isCode = false
  return (line) => {
    if (!/^\s*(```|~~~)/.test(line)) return !isCode && !/^\s*\|/.test(line)
    isCode = !isCode
    return false
  }
}

/**
 * Recognizes comments with at least two words after `#`, and comments in templates of the chart.
 */
function commentsIn(): (line: string) => boolean {
  let isComment = false
  return (line) => {
    if (/\{\{-? ?\/\*/.test(line)) isComment = true
    const isProse = isComment || /(^|\s)#+ \S+ \S/.test(line)
    if (line.includes('*/')) isComment = false
    return isProse
  }
}
