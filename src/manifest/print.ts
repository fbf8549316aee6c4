import { Document, visit } from 'yaml'
import { asFields, type Fields } from '../core/kubernetes/json.ts'
import { printableBlock, printableJson, printableYamlText } from '../core/text/printable.ts'
import { type Manifest, readManifests } from './read.ts'
import { findResources, type ManifestResource } from './resources.ts'
import { valueAt } from './templates.ts'

/** How documents are printed; without one of these, as they came. */
export type ManifestFormat = 'yaml' | 'json'

/** A document with the text that it has now. */
export interface Printed {
  readonly manifest: Manifest
  readonly text: string
}

/**
 * Prints documents, in the order in which they came.
 *
 * @param form `json`: one object, or a List of several. `yaml`: what came as JSON is written anew, and YAML
 * stays as it is. Without: everything stays as it is, byte for byte
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

/** What must stand between documents that did not stand together. */
function gap(before: string, { manifest }: Printed): string {
  if (before === '') return ''
  const end = before.endsWith('\n') ? '' : '\n'
  return manifest.node.directives.docStart === true ? end : `${end}---\n`
}

function printYaml(document: Printed): string {
  return readValues(document).map(cleanYaml).join('---\n')
}

/** A value as YAML of its own: nothing that is shared is an anchor, and every character is printable. */
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
  // A string in double quotes stays on its line.
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
 * The documents of some kinds alone. Of a list, its items of those kinds, each a document of its own.
 *
 * @param kinds in small letters
 */
export function included(
  documents: readonly Printed[],
  kinds: ReadonlySet<string>,
): readonly Printed[] {
  return documents.flatMap((document) => {
    const { manifest } = document
    const resources = findResources(manifest)
    const chosen = resources.filter(({ kind }) => kinds.has(kind.toLowerCase()))
    const isRoot = chosen.some(({ path }) => path.length === 0)
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
