import { asFields, asId, asText, type Fields, parseFields } from '../../core/kubernetes/json.ts'

/**
 * A line of a log about a raw file of a tool: a part of the file, or the reason why the log does
 * not contain the file.
 */
export type ArtifactLine = ArtifactPart | MissingArtifact

/** A part of a raw file, which is compressed with gzip. */
export interface ArtifactPart {
  readonly kind: 'part'
  /** The name of the file, which is safe as a name on any disk; see `isFileName`. */
  readonly file: string
  /** The number of the part, from 1. */
  readonly part: number
  /** The number of parts of the file. */
  readonly parts: number
  /** The bytes of the whole file, not compressed. */
  readonly bytes: number
  /** The CRC-32 of the whole file, not compressed, as in gzip (RFC 1952). */
  readonly crc32: number
  /** The part in base64. */
  readonly data: string
}

export interface MissingArtifact {
  readonly kind: 'missing'
  readonly file: string
  readonly reason: string
}

/** The maximum bytes of a raw file. Observers of Ridealong write no larger files. */
const MAX_ARTIFACT_BYTES = 256 * 2 ** 20

/** The most characters of a part in base64. Observers of Ridealong write 12,288. */
const MAX_DATA = 2 ** 20
/** The most characters in the name of a raw file. */
const MAX_NAME_LENGTH = 128
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
/** The names that Windows reserves for devices, with any extension (Naming Files, Win32). */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

const CHECKSUM = /^[0-9a-f]{8}$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/

/**
 * Reports whether a text is safe as the name of a file in any file system: it has only letters,
 * digits, `.`, `_` and `-`, begins with a letter or a digit, and is no name of a device.
 */
export function isFileName(text: string, longest = MAX_NAME_LENGTH): boolean {
  return text.length <= longest && NAME.test(text) && !text.endsWith('.') && !DEVICE.test(text)
}

/**
 * Returns the value of the key `artifact` if a line of a log is a JSON object with it. No cell of a
 * row is an object, so the line is not a row.
 */
export function artifactIn(line: string): Fields | undefined {
  if (!line.includes('"artifact"')) return undefined
  return asFields(parseFields(line)?.artifact)
}

/**
 * Reads the value of the key `artifact`. Returns a sentence about the first member that is wrong.
 * Anyone who can write to the folder of a tool, or to a log, can write any value.
 */
export function readArtifact(artifact: Fields): ArtifactLine | string {
  const file = asText(artifact.file) ?? ''
  if (!isFileName(file)) {
    const characters = `1 to ${MAX_NAME_LENGTH} letters, digits, ".", "_" and "-"`
    return `file must have ${characters}, and be no device`
  }
  const reason = asText(artifact.missing)
  return reason === undefined ? readPart(file, artifact) : { kind: 'missing', file, reason }
}

function readPart(file: string, artifact: Fields): ArtifactPart | string {
  const [part = 0, parts = 0, bytes = 0] = [artifact.part, artifact.parts, artifact.bytes].map(asId)
  const [checksum = '', data = ''] = [artifact.crc32, artifact.data].map(asText)
  if (part < 1 || parts < part) return 'part and parts must be integers, and part from 1 to parts'
  if (bytes < 1 || bytes > MAX_ARTIFACT_BYTES)
    return `bytes must be an integer from 1 to ${MAX_ARTIFACT_BYTES}`
  if (!CHECKSUM.test(checksum)) return 'crc32 must have eight hexadecimal digits'
  if (data.length > MAX_DATA || !BASE64.test(data))
    return `data must be base64 with at most ${MAX_DATA} characters`
  return { kind: 'part', file, part, parts, bytes, crc32: Number.parseInt(checksum, 16), data }
}
