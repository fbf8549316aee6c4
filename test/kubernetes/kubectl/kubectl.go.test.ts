import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { annotate } from '../../../src/pods/manifest/annotate.ts'
import { ManifestError } from '../../../src/pods/manifest/manifest-error.ts'
import { readManifests } from '../../../src/pods/manifest/read.ts'
import { buildGoProgram } from '../../cluster/machine/go-program.ts'
import { Dice } from '../../properties/dice.ts'
import { injected, PERF, textOf, undone } from '../../src/pods/manifest/build.ts'
import { buildVariant } from './variants.ts'

// Compares Ridealong with the parser of kubectl, for variants of the manifests of this repository.

const MODULE = fileURLToPath(new URL('.', import.meta.url))

/** The values of documents, or an error. */
type Read = { readonly values: readonly unknown[] } | { readonly error: string }

let program = ''

t.before(() => {
  program = join(t.testdir(), 'kubectl')
  buildGoProgram(MODULE, program)
})

/** Reads texts as kubectl does. */
function readByKubectl(texts: readonly string[]): readonly Read[] {
  const input = texts.map((text) => JSON.stringify(text)).join('\n')
  const ran = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 2 ** 31 })
  if (ran.status !== 0) throw new Error(`kubectl: ${ran.error?.message ?? ran.stderr}`)
  return ran.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Reads a text as Ridealong does. An error that is not a ManifestError is thrown. */
function readHere(text: string): Read {
  try {
    const values = readManifests('a.yaml', text).map(({ value }) => value)
    return { values: JSON.parse(JSON.stringify(values.filter((value) => value !== null))) }
  } catch (error) {
    if (error instanceof ManifestError) return { error: error.message }
    throw error
  }
}

/** The texts that Ridealong writes for a text. */
interface Changed {
  readonly annotated: string
  readonly injected: string
  readonly undone: string
}

/** @returns the message of the error if Ridealong refuses to change the text */
function change(text: string): Changed | string {
  try {
    const annotated = textOf(
      readManifests('a.yaml', text).map((manifest) => annotate(manifest, ADDED, false)),
    )
    const out = textOf(injected(text, PERF))
    return { annotated, injected: out, undone: undone(out) }
  } catch (error) {
    if (error instanceof ManifestError) return error.message
    throw error
  }
}

/** Reports whether a text contains all characters of another text in their order. */
function contains(text: string, part: string): boolean {
  let offset = 0
  for (const character of part) {
    offset = text.indexOf(character, offset) + 1
    if (offset === 0) return false
  }
  return true
}

/** An annotation that no manifest has, so that `annotate` replaces no value. */
const ADDED = { 'example.com/added': 'yes' }

const RUNS = 10_000

/** Texts of which kubectl ignores a part without a message. */
const PARTLY_IGNORED = [
  '{ a: 1 }\n{ a: 2 }\n...\n',
  '\t{ a: 1 }\n{ a: 2 }\n...\n',
  ' \n { a: 1 }\n{ a: 2 }\n...\n',
]

/** A text with the results of both readers. */
interface Variant {
  readonly text: string
  readonly ours: Read
  readonly theirs: Read
}

/** Returns why the answer to a variant is wrong; undefined if it is right. */
function findFault({ ours, theirs }: Omit<Variant, 'text'>): string | undefined {
  if ('error' in ours) {
    const isPlaced = /^a\.yaml: document \d+, line \d+: ./.test(ours.error)
    return isPlaced && 'error' in theirs ? undefined : ours.error
  }
  const isSame = 'error' in theirs || isDeepStrictEqual(ours, theirs)
  return isSame ? undefined : 'kubectl reads other values'
}

/** Returns why the changes of a variant are wrong; undefined if they are right. */
function findLoss(text: string, changed: Changed | string): string | undefined {
  // Only an anchor can carry a change to another place.
  if (typeof changed === 'string') return text.includes('&') ? undefined : changed
  if (changed.undone !== text) return 'undo does not restore the text'
  return contains(changed.annotated, text) ? undefined : 'annotate loses characters'
}

t.test('texts that kubectl ignores in part are not read', async (t) => {
  const ignored = PARTLY_IGNORED.map(() => ({ error: 'kubectl ignores a part of the text' }))
  t.same(readByKubectl(PARTLY_IGNORED), ignored)
  for (const text of PARTLY_IGNORED) t.match(readHere(text), { error: /^a\.yaml: document 1, / })
})

t.test(`${RUNS} variants are read as kubectl reads them, and restored`, async (t) => {
  const seed = Date.now() % 2 ** 31
  const throws = fc.array(fc.nat(0xffff), { minLength: 400, maxLength: 400, size: 'max' })
  const choices = fc.sample(throws, { numRuns: RUNS, seed })
  const texts = choices.map((numbers) => buildVariant(new Dice(numbers)))
  const reads = readByKubectl(texts)
  const variants = texts.map((text, index): Variant => {
    return { text, ours: readHere(text), theirs: reads[index] as Read }
  })
  const valid = variants.filter(({ ours }) => 'values' in ours)
  const changes = valid.map(({ text }) => change(text))
  const outputs = valid.flatMap(({ text, theirs }, index) => {
    const changed = changes[index]
    if (typeof changed !== 'object' || 'error' in theirs) return []
    return [changed.annotated, changed.injected].map((output) => ({ text, output }))
  })
  const outputReads = readByKubectl(outputs.map(({ output }) => output))
  const wrong = [
    ...variants.map((variant) => ({ text: variant.text, why: findFault(variant) })),
    ...valid.map(({ text }, index) => ({ text, why: findLoss(text, changes[index] ?? '') })),
    ...outputs.map(({ text, output }, index) => {
      const isSame = isDeepStrictEqual(readHere(output), outputReads[index])
      return { text, why: isSame ? undefined : 'kubectl reads the output differently' }
    }),
  ].filter(({ why }) => why !== undefined)
  t.equal(JSON.stringify(wrong[0]), undefined, `${wrong.length} wrong answers (seed ${seed})`)
  const changed = valid.filter(({ text }, index) => {
    const output = changes[index]
    return typeof output === 'object' && output.injected !== text
  })
  t.ok(changed.length > RUNS / 3, `${changed.length} variants were changed and restored`)
  const refused = variants.length - valid.length
  t.ok(refused > RUNS / 50, `${refused} variants were refused`)
})
