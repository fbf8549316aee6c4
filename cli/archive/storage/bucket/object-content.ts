import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** The content of an object: the path of a local file that does not change, or bytes. */
export type ObjectContent = string | Uint8Array

export interface MeasuredContent {
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
  /** Opens a stream from the start of the content. */
  open(): Readable
}

/**
 * Measures a content. A request says the size and the hash of its body first, so that the bucket
 * refuses a body that was cut or changed on its way.
 *
 * @throws an error of the system
 */
export async function measureContent(content: ObjectContent): Promise<MeasuredContent> {
  const open = () =>
    typeof content === 'string' ? createReadStream(content) : Readable.from([content])
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(open(), async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
    }
  })
  return { bytes, sha256: hash.digest('hex'), open }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.json': 'application/json',
  '.parquet': 'application/vnd.apache.parquet',
}

/** Returns the media type of an object, with which a browser shows the page of a run. */
export function contentType(key: string): string {
  return TYPES[extname(key)] ?? 'application/octet-stream'
}
