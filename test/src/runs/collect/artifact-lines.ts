import { crc32, gzipSync } from 'node:zlib'

/** The value of the key `artifact` in a line of a part. */
export interface PartCells {
  readonly file: unknown
  readonly part: unknown
  readonly parts: unknown
  readonly bytes: unknown
  readonly crc32: unknown
  readonly data: unknown
}

/** Returns the parts of a raw file, with `size` compressed bytes each. */
export function partsOf(file: string, content: Uint8Array, size = 64): readonly PartCells[] {
  const compressed = gzipSync(content)
  const parts = Math.ceil(compressed.length / size)
  return Array.from({ length: parts }, (_, index) => ({
    file,
    part: index + 1,
    parts,
    bytes: content.length,
    crc32: crc32(content).toString(16).padStart(8, '0'),
    data: compressed.subarray(index * size, (index + 1) * size).toString('base64'),
  }))
}

/** Returns the line of a log with this value of the key `artifact`. */
export function artifactLine(artifact: object): string {
  return JSON.stringify({ time: '2026-01-01T12:00:00.000Z', artifact })
}
