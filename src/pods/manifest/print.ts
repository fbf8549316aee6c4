import { Document, visit } from 'yaml'
import { asFields, type Fields } from '../../core/kubernetes/json.ts'
import { printableBlock, printableJson, printableYamlText } from '../../core/text/printable.ts'
import { valueAt } from './kinds/paths.ts'
import { type Manifest, readManifests } from './read.ts'
import { findResources, type ManifestResource } from './resources.ts'

/** The output format of documents. If undefined, documents keep the format of their input. */
export type ManifestFormat = 'yaml' | 'json'

/** A document with its current text. */
export interface Printed {
  readonly manifest: Manifest
  readonly text: string
}

/**
 * Prints documents, in their original order.
 *
 * @param form `json`: prints one object, or a List of several objects. `yaml`: converts JSON
 * documents to YAML, and leaves YAML documents unchanged. Undefined: leaves all documents
 * unchanged, byte for byte.
 */
export function printed(documents: readonly Printed[], form: ManifestFormat | undefined): string {
  if (form === 'json') return printJson(documents.flatMap(readValues))
  return documents.reduce((text, document, index) => {
    const isNext = documents[index - 1]?.manifest.end === document.manifest.start
    const isSameFile = documents[index - 1]?.manifest.text === document.manifest.text
    const one = form === 'yaml' && isJson(document.manifest) ? printYaml(document) : document.text
    return isNext && isSameFile ? text + one : text + gap(text, document) + one
  }, '')
}

function isJson({ node, text }: Manifest): boolean {
  return text[node.contents?.range[0] ?? 0] === '{'
}

/** Returns the separator between documents that were not adjacent in the input. */
function gap(before: string, { manifest }: Printed): string {
  if (before === '') return ''
  const end = before.endsWith('\n') ? '' : '\n'
  return manifest.node.directives.docStart === true ? end : `${end}---\n`
}

function printYaml(document: Printed): string {
  return readValues(document).map(cleanYaml).join('---\n')
}

/** Formats a value as a YAML document without anchors, in which every character is printable. */
export function cleanYaml(value: unknown): string {
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false })
  visit(document, {
    Scalar: (_, scalar) => {
      const { value } = scalar
      if (typeof value === 'string' && printableBlock(value) !== value) scalar.type = 'QUOTE_DOUBLE'
    },
  })
  return printableYamlText(document.toString(STYLE))
}

const STYLE = {
  lineWidth: 0,
  indentSeq: false,
  // Keeps a string in double quotes on one line.
  doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY,
} as const

function readValues({ manifest, text }: Printed): readonly unknown[] {
  const [now] = readManifests(manifest.file, text)
  return now?.value == null ? [] : [now.value]
}

function printJson(values: readonly unknown[]): string {
  const [only] = values
  const value = values.length === 1 ? only : { apiVersion: 'v1', kind: 'List', items: values }
  return `${printableJson(value, 2)}\n`
}

/**
 * Returns the documents of the given kinds. For a list, returns its items of those kinds as
 * separate documents, unless the kind of the list itself is given.
 *
 * @param kinds in lower case
 */
export function included(
  documents: readonly Printed[],
  kinds: ReadonlySet<string>,
): readonly Printed[] {
  return documents.flatMap((document) => {
    const { manifest } = document
    const resources = findResources(manifest)
    const chosen = resources.filter(({ kind }) => kinds.has(kind.toLowerCase()))
    const isRoot = chosen.some(({ path, isWrapped }) => path.length === 0 || isWrapped)
    const isList = kinds.has(String(asFields(manifest.value)?.kind).toLowerCase())
    if (isRoot || isList) return [document]
    return chosen.flatMap((resource) => printItem(document, resource))
  })
}

function printItem({ manifest, text }: Printed, { path }: ManifestResource): readonly Printed[] {
  const [whole] = readManifests(manifest.file, text)
  const value = valueAt(whole?.value, path) as Fields
  const own = `---\n${cleanYaml(value)}`
  return readManifests(manifest.file, own).map((item) => ({ manifest: item, text: own }))
}
