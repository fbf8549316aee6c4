/**
 * Fields of protocol buffers, as their bytes (protobuf.dev/programming-guides/encoding). Each
 * function encodes a field with a number from 1 to 15, which is all that pprof's profile.proto
 * needs.
 */
export type Bytes = readonly number[]

/** The wire types: a number of variable length, and a value with its length before it. */
const [VARINT, LENGTH_DELIMITED] = [0, 2]

/** Encodes a field with a whole number from 0 to 2^53 - 1. */
export function numberField(field: number, value: number): Bytes {
  return [tag(field, VARINT), ...varint(value)]
}

/** Encodes a repeated field with whole numbers, in the packed form. */
export function numbersField(field: number, values: readonly number[]): Bytes {
  return withLength(field, values.flatMap(varint))
}

/** Encodes a field with text. */
export function textField(field: number, text: string): Bytes {
  return withLength(field, [...Buffer.from(text)])
}

/** Encodes a field with a message, given the fields of the message. */
export function messageField(field: number, fields: readonly Bytes[]): Bytes {
  return withLength(field, fields.flat())
}

function tag(field: number, wireType: number): number {
  return field * 8 + wireType
}

function withLength(field: number, content: Bytes): Bytes {
  return [tag(field, LENGTH_DELIMITED), ...varint(content.length), ...content]
}

/** Encodes seven bits in each byte, the least significant ones first. */
function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}
