/** An object in a bucket. */
export interface ListedObject {
  readonly key: string
  /** When it was written, in milliseconds since 1970. */
  readonly modified: number
}

/** A part of a list of objects. */
export interface ObjectPage {
  readonly objects: readonly ListedObject[]
  /** The beginnings of other keys up to the delimiter of the request. */
  readonly folders: readonly string[]
  /** Where the next part begins; undefined if this is the last one. */
  readonly next: string | undefined
}

/**
 * Reads the response of ListObjectsV2 (Amazon S3 API Reference). It is flat, without attributes,
 * CDATA and comments, so expressions can find its elements.
 *
 * @throws an error if the text is not such a response
 */
export function readObjectPage(xml: string): ObjectPage {
  if (!/<\/ListBucketResult>\s*$/.test(xml))
    throw new Error('the response of the bucket is not a list of objects')
  const objects = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, text = '']) => ({
    key: readElement(text, 'Key') ?? '',
    modified: Date.parse(readElement(text, 'LastModified') ?? ''),
  }))
  const folders = [...xml.matchAll(/<CommonPrefixes>(.*?)<\/CommonPrefixes>/gs)].map(
    ([, text = '']) => readElement(text, 'Prefix') ?? '',
  )
  if (readElement(xml, 'IsTruncated') !== 'true') return { objects, folders, next: undefined }
  const next = readElement(xml, 'NextContinuationToken')
  if (next === undefined) throw new Error('the list of objects is cut and does not say where')
  return { objects, folders, next }
}

/** Returns the text of the first element of a name; undefined if there is none. */
export function readElement(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? []
  return text === undefined ? undefined : decodeText(text)
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

function decodeText(text: string): string {
  return text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));/gi, (entity, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? entity
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity
  })
}
