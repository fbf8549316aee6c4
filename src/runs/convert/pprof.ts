import { gzip } from '../../lib/gzip.ts'
import {
  type Bytes,
  messageField,
  numberField,
  numbersField,
  textField,
} from '../../lib/protobuf.ts'
import type { ProfileKind } from '../profiles/profile-run.ts'
import { functionsOf, type StacksOfPod } from './stacks-of-pods.ts'

/** The numbers of the fields of google/pprof's proto/profile.proto. */
const PROFILE = {
  sampleType: 1,
  sample: 2,
  location: 4,
  function: 5,
  stringTable: 6,
  comment: 13,
  defaultSampleType: 14,
} as const
const VALUE_TYPE = { type: 1, unit: 2 } as const
const SAMPLE = { locationId: 1, value: 2, label: 3 } as const
const LABEL = { key: 1, str: 2 } as const
const LOCATION = { id: 1, line: 4 } as const
const LINE = { functionId: 1 } as const
const FUNCTION = { id: 1, name: 2 } as const

/** Numbers texts in the order in which they are first asked for. */
interface Numbering {
  readonly texts: readonly string[]
  readonly numberOf: (text: string) => number
}

/**
 * Yields a compressed profile of pprof. Its samples are the stacks of each pod and program, with
 * the time in nanoseconds and the labels `pod_index` and `program`. Processor time, and running and
 * waiting of Python, are different types of value, which pprof does not add. A location is a
 * function, because the rows have no addresses.
 *
 * @param program the name and the version of the program that writes the profile, for its comment
 */
export function* pprofParts(
  stacks: readonly StacksOfPod[],
  program: string,
): Generator<Uint8Array> {
  yield gzip(profileFields(stacks, program))
}

/** The type of value of a time. */
const VALUE_TYPES: Readonly<Record<ProfileKind, string>> = {
  processor: 'cpu',
  running: 'running',
  waiting: 'waiting',
  'others-waiting': 'waiting',
  all: 'wall',
  'helpers-running': 'running',
  'helpers-waiting': 'waiting',
}

/** Yields the fields of the profile. The first text of the string table has to be empty. */
function* profileFields(stacks: readonly StacksOfPod[], program: string): Generator<Bytes> {
  const strings = newNumbering([''])
  const functions = newNumbering([])
  const used = new Set(stacks.map(({ kind }) => VALUE_TYPES[kind]))
  const types = [...new Set(Object.values(VALUE_TYPES))].filter((type) => used.has(type))
  for (const type of types)
    yield messageField(PROFILE.sampleType, [
      numberField(VALUE_TYPE.type, strings.numberOf(type)),
      numberField(VALUE_TYPE.unit, strings.numberOf('nanoseconds')),
    ])
  yield numberField(PROFILE.defaultSampleType, strings.numberOf(types[0] ?? ''))
  yield numbersField(PROFILE.comment, [strings.numberOf(program)])
  for (const own of stacks) yield* sampleFields(own, types, strings, functions)
  for (const [index, name] of functions.texts.entries())
    yield* functionFields(index + 1, strings.numberOf(name))
  for (const text of strings.texts) yield textField(PROFILE.stringTable, text)
}

function* sampleFields(
  { pod, program, kind, tree, seconds }: StacksOfPod,
  types: readonly string[],
  strings: Numbering,
  functions: Numbering,
): Generator<Bytes> {
  const labels = Object.entries({ pod_index: pod, program }).map(([key, value]) =>
    messageField(SAMPLE.label, [
      numberField(LABEL.key, strings.numberOf(key)),
      numberField(LABEL.str, strings.numberOf(value)),
    ]),
  )
  const ids = tree.names.map((name) => functions.numberOf(name) + 1)
  for (const [frame, time] of seconds) {
    // The innermost function is the first one.
    const locations = functionsOf(tree, frame).map((number) => ids[number] ?? 0)
    yield messageField(PROFILE.sample, [
      numbersField(SAMPLE.locationId, locations.reverse()),
      // A sample has a value of each type.
      numbersField(
        SAMPLE.value,
        types.map((type) => (type === VALUE_TYPES[kind] ? Math.round(time * 1e9) : 0)),
      ),
      ...labels,
    ])
  }
}

/** Yields a function, and the location that stands for it. Ids begin with 1. */
function* functionFields(id: number, name: number): Generator<Bytes> {
  yield messageField(PROFILE.function, [
    numberField(FUNCTION.id, id),
    numberField(FUNCTION.name, name),
  ])
  yield messageField(PROFILE.location, [
    numberField(LOCATION.id, id),
    messageField(LOCATION.line, [numberField(LINE.functionId, id)]),
  ])
}

function newNumbering(first: readonly string[]): Numbering {
  const texts = [...first]
  const numbers = new Map(texts.map((text, index) => [text, index]))
  const numberOf = (text: string) => {
    const known = numbers.get(text)
    if (known !== undefined) return known
    numbers.set(text, texts.length)
    return texts.push(text) - 1
  }
  return { texts, numberOf }
}
