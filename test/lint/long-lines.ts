import type { Problem, SourceFile } from './problem.ts'

/** The widest line of code or prose, in columns; the same as `lineWidth` in biome.json. */
export const WIDTH = 100

/**
 * Files that programs wrote, or that others did: recordings, locks and definitions of operators.
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
/** A line that consists of a regular expression, where Biome puts a long one. */
const REGULAR_EXPRESSION = /^\s*(\w+: )?\/[^/*].*\/[a-z]*[,;]?$/

/**
 * Finds the lines of a file that are wider than 100 columns: every line of TypeScript, JavaScript
 * and CSS, comments in other languages and in templates of the chart, and prose in Markdown.
 * Excepted are URLs, regular expressions (JavaScript cannot break them), tables, blocks of code in
 * Markdown, and files that are recorded or generated.
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

/** Returns a function that tells, for one line after the other, whether the rule applies to it. */
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

/** Recognizes a comment of two words or more after `#`, and the comments of a chart's templates. */
function commentsIn(): (line: string) => boolean {
  let isComment = false
  return (line) => {
    if (/\{\{-? ?\/\*/.test(line)) isComment = true
    const isProse = isComment || /(^|\s)#+ \S+ \S/.test(line)
    if (line.includes('*/')) isComment = false
    return isProse
  }
}
