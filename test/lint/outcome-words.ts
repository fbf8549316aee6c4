import type { Problem, SourceFile } from './problem.ts'

/** Code, documents and templates of the chart. */
const CHECKED = /\.(ts|js|md|ya?ml|tpl|txt|rs|json)$/

/**
 * Recordings, the locks of package managers, and the files that contain the words as examples: this
 * rule and its tests.
 */
const EXEMPT = [
  /^test\/(cases|logs|workloads|lint)\//,
  /^test\/cluster\/crds\//,
  /(^|\/)package-lock\.json$/,
]

/** Modules that decide about pods or show decisions. They may not use the words as names at all. */
const DECIDES = /^(src\/(core|namespaces|pods\/explain|runs\/collect)|webhook)\/.*\.ts$/

/** White space, line breaks of a comment included. */
const GAP = String.raw`[\s*/#]+`
const PODS = String.raw`pods?\b`
const OURS = '(?:Ridealong|webhook|guard|deny`?)'
const ARTICLE = `(?:(?:a|an|the|this|that|such|each|every|all|any|no|these|those)${GAP}){0,2}`

/** Values of programs: outcomes in JSON, names of types and of properties. */
const NAMES = [
  /\b(?:un)?deniable\b/gi,
  /\bRefusal\b/g,
  /\boutcome['"]?: ?['"](?:refused|skipped)\b/g,
  /\b(?:refused|skipped): (?:readonly string|\[\])/g,
]

/** Functions and variables of the modules that decide, and values of these modules. */
const NAMES_OF_DECISIONS = [/\b\w*[rR]efus\w*(?=\()/g, /(['"`])(?:refused|skipped)\1/g]

/** Sentences about pods that Ridealong, or a policy of its chart, leaves or denies. */
const SENTENCES = [
  `\\b${PODS}[\\w\\s*/#\`-]{0,60}?\\b(?:is|are|was|were|be|been|being)${GAP}(?:refused|skipped)\\b`,
  `\\bskip(?:s|ped|ping)?${GAP}(?:or${GAP}\\w+${GAP})?${ARTICLE}${PODS}`,
  `\\brefused${GAP}${PODS}`,
  `\\b${OURS}${GAP}(?:\\w+${GAP}){0,4}?refuse[sd]?${GAP}${ARTICLE}${PODS}`,
].map((pattern) => new RegExp(pattern, 'gi'))

const MESSAGE =
  'a pod is injected, left, restored or denied; use these words for its outcome instead of'

/**
 * Finds other words for the outcome of a pod than injected, left, restored and denied. The
 * apiserver and its policies may refuse a pod, and a file or a request may be refused.
 */
export function findOutcomeWords({ path, text }: SourceFile): readonly Problem[] {
  if (!CHECKED.test(path) || EXEMPT.some((pattern) => pattern.test(path))) return []
  const patterns = [...NAMES, ...SENTENCES, ...(DECIDES.test(path) ? NAMES_OF_DECISIONS : [])]
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
      path,
      line: text.slice(0, index).split('\n').length,
      message: `${MESSAGE} "${found.replace(/\s+/g, ' ')}"`,
    })),
  )
}
