import { DOMParser, type Document, type Element, onErrorStopParsing } from '@xmldom/xmldom'

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
 * Reads the response of ListObjectsV2 (Amazon S3 API Reference).
 *
 * @throws an error if the text is not such a response
 */
export function readObjectPage(text: string): ObjectPage {
  const list = parseXml(text)?.documentElement
  if (list?.localName !== 'ListBucketResult')
    throw new Error('the response of the bucket is not a list of objects')
  const objects = Array.from(list.getElementsByTagName('Contents'), (object) => ({
    key: readElement(object, 'Key') ?? '',
    modified: Date.parse(readElement(object, 'LastModified') ?? ''),
  }))
  const folders = Array.from(
    list.getElementsByTagName('CommonPrefixes'),
    (folder) => readElement(folder, 'Prefix') ?? '',
  )
  if (readElement(list, 'IsTruncated') !== 'true') return { objects, folders, next: undefined }
  const next = readElement(list, 'NextContinuationToken')
  if (next === undefined) throw new Error('the list of objects is cut and does not say where')
  return { objects, folders, next }
}

/** Parses a response; undefined if it is not XML, or not whole. */
export function parseXml(text: string): Document | undefined {
  try {
    return new DOMParser({ onError: onErrorStopParsing }).parseFromString(text, 'text/xml')
  } catch {
    return undefined
  }
}

/** Returns the text of the first element of a name; undefined if there is none. */
export function readElement(
  within: Document | Element | undefined,
  name: string,
): string | undefined {
  return within?.getElementsByTagName(name).item(0)?.textContent ?? undefined
}
