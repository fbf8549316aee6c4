import { gzipSync } from 'node:zlib'

/** Compresses bytes as a file of gzip. */
export function gzip(parts: Iterable<Iterable<number>>): Uint8Array {
  return gzipSync(Buffer.concat(Array.from(parts, (bytes) => Uint8Array.from(bytes))))
}
