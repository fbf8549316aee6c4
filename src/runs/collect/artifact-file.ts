import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, createGunzip } from 'node:zlib'
import { errorMessage } from '../../lib/error-message.ts'
import { openWholeFile, streamInto, type WholeFile } from '../../lib/whole-file.ts'

/** The size and the checksum of a whole file. */
export interface Whole {
  readonly bytes: number
  /** The CRC-32 as in gzip (RFC 1952). */
  readonly crc32: number
}

/** A raw file that is being written. It has its name only when it is complete. */
export interface ArtifactFile {
  /** Adds compressed bytes. */
  readonly write: (compressed: Uint8Array) => Promise<void>
  /** Ends the file. Returns a sentence if it is not complete, and then there is no file. */
  readonly finish: () => Promise<string | undefined>
  /** Removes the part of the file that was written. */
  readonly discard: () => Promise<void>
}

/**
 * Opens a file that is written from its compressed bytes (gzip). The bytes are decompressed and
 * checked while they arrive, so neither the file nor more than its expected size is in memory or on
 * the disk. A file that exists is not overwritten.
 *
 * @param path the final path of the file, in `folder`
 * @param expected the size and the checksum of the decompressed file
 * @throws an error of the system if the file cannot be created
 */
export async function openArtifactFile(
  path: string,
  folder: string,
  expected: Whole,
): Promise<ArtifactFile> {
  // The names of raw files do not begin with a dot.
  const partial = join(folder, `.${basename(path)}.partial`)
  const file = await openWholeFile(path, partial)
  const output = streamInto(file.handle)
  const input = new PassThrough()
  const found = { bytes: 0, crc32: 0 }
  const done = pipeline(input, createGunzip(), meter(expected, found), output).then(
    () => undefined,
    (error: unknown) => errorMessage(error),
  )
  const discard = async () => {
    input.destroy()
    await done
    await file.discard()
  }
  return {
    discard,
    write: async (compressed) => {
      if (input.destroyed || input.write(compressed)) return
      await Promise.race([once(input, 'drain').catch(() => {}), done])
    },
    finish: async () => {
      if (!input.destroyed) input.end()
      const problem =
        (await done) ?? difference(expected, found) ?? (await place(file, path, expected))
      await file.discard()
      return problem
    },
  }
}

/** Returns a stage that measures the bytes that pass, and fails if there are too many. */
function meter(expected: Whole, found: { bytes: number; crc32: number }) {
  return async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      found.bytes += chunk.length
      if (found.bytes > expected.bytes)
        throw new Error(`it has more than the expected ${expected.bytes} bytes`)
      found.crc32 = crc32(chunk, found.crc32)
      yield chunk
    }
  }
}

function difference(expected: Whole, found: Whole): string | undefined {
  if (found.bytes !== expected.bytes)
    return `it has ${found.bytes} instead of ${expected.bytes} bytes`
  return found.crc32 === expected.crc32 ? undefined : 'its checksum does not match'
}

/** Gives a complete file its name, unless another file has it. */
async function place(file: WholeFile, path: string, whole: Whole): Promise<string | undefined> {
  const existing = await lstat(path).catch(() => undefined)
  if (existing === undefined) {
    return file.complete().then(() => undefined, errorMessage)
  }
  if (existing.isFile() && existing.size === whole.bytes) {
    const checksum = await checksumOf(path).catch(() => undefined)
    if (checksum === whole.crc32) return undefined
  }
  return `${path} exists with other content; remove it, or name another folder with --to`
}

async function checksumOf(path: string): Promise<number> {
  let checksum = 0
  for await (const chunk of createReadStream(path)) checksum = crc32(chunk, checksum)
  return checksum
}
