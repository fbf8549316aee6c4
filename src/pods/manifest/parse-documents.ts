import { isScalar, type Scalar, visit } from 'yaml'
import { at, ManifestError } from './manifest-error.ts'
import { type Manifest, readManifests } from './read.ts'

/**
 * Parses the documents of a YAML or JSON text. Empty documents are skipped. kubectl takes the last
 * of repeated keys in a manifest. In a document of our own, a repeated key is an error.
 *
 * @param path the name of the text in error messages
 * @throws ManifestError naming the path, the document and the line of the first error
 */
export function parseDocuments(path: string, text: string): readonly unknown[] {
  const manifests = readManifests(path, text)
  for (const manifest of manifests) rejectRepeatedKeys(manifest)
  return manifests.flatMap(({ value }) => (value === null ? [] : [value]))
}

function rejectRepeatedKeys({ file, document, node, lines }: Manifest): void {
  visit(node, {
    Map: (_, map) => {
      const keys = map.items.map(({ key }) => key).filter((key) => isScalar(key))
      const twin = keys.find((key, index) => keys.slice(0, index).some(isSame(key)))
      if (twin === undefined) return
      const { line } = lines.linePos(twin.range?.[0] ?? 0)
      throw new ManifestError(at({ file, document, line }, `the key ${twin.value} is there twice`))
    },
  })
}

const isSame = (key: Scalar) => (other: Scalar) => other.value === key.value
