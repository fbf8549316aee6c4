/** Generates variants of manifests, as people and programs write them. */
import { stringify } from 'yaml'
import { readManifests } from '../../../src/pods/manifest/read.ts'
import { CASE_NAMES, recorded } from '../../cases/read.ts'
import { type Json, mapOf } from '../../properties/arbitrary.ts'
import type { Dice } from '../../properties/dice.ts'
import { WORKLOADS, workload } from '../../src/pods/manifest/build.ts'

const FILES: readonly string[] = WORKLOADS.map(workload)

/** The documents with a kind in test/workloads. */
const DOCUMENTS: readonly string[] = FILES.flatMap((text) =>
  readManifests('a.yaml', text)
    .filter(({ value }) => mapOf(value).kind !== undefined)
    .map(({ start, end }) => text.slice(start, end)),
)

/** The pods of the recorded reviews. */
const PODS: readonly Json[] = CASE_NAMES.flatMap((name) => {
  const review = JSON.parse(recorded(name))
  return review.request.object === null ? [] : [withoutDefaults(mapOf(review.request.object))]
})

/** Returns a pod without long fields that the apiserver sets. */
function withoutDefaults({ metadata, spec }: Json): Json {
  const { managedFields: _, ...kept } = mapOf(metadata)
  const { tolerations: __, volumes: ___, ...own } = mapOf(spec)
  return { apiVersion: 'v1', kind: 'Pod', metadata: kept, spec: own }
}

/** Returns a variant of a manifest of this repository: about one in five is not valid YAML. */
export function buildVariant(dice: Dice): string {
  const file = dice.seldom(50, ...FILES)
  const text = file ?? (dice.number(3) > 0 ? dice.pick(...DOCUMENTS) : writePod(dice))
  const changes = [dice.pick(...CHANGES), dice.pick(...CHANGES), dice.pick(...ENDS)]
  const changed = changes.reduce((before, change) => change(before, dice), text)
  return dice.seldom(4, true) ? changeBreaks(changed, dice) : changed
}

/** Writes a pod as JSON or YAML. Its last container ends the text with a script. */
function writePod(dice: Dice): string {
  const { metadata, spec, ...pod } = mapOf(dice.pick(...PODS))
  const { containers, ...rest } = mapOf(spec)
  const [first, ...others] = containers as readonly Json[]
  const scripted = { ...first, args: ['-c', dice.pick(...SCRIPTS)] }
  const object = { ...pod, metadata, spec: { ...rest, containers: [...others, scripted] } }
  const isList = dice.seldom(6, true) === true
  const value = isList ? { apiVersion: 'v1', kind: 'List', items: [object, object] } : object
  if (dice.seldom(5, true)) {
    const json = JSON.stringify(value, undefined, dice.pick(2, 0, '\t'))
    return dice.pick(json, json, `${json}${dice.pick('\n', '')}${json}\n`)
  }
  const style = {
    version: '1.1',
    indent: dice.pick(2, 4, 3, 7),
    indentSeq: dice.pick(true, false),
    lineWidth: dice.pick(0, 80, 20),
    aliasDuplicateObjects: dice.pick(false, true),
    blockQuote: dice.pick(true, 'literal', 'folded', false),
    collectionStyle: dice.pick('any', 'any', 'any', 'flow'),
    defaultStringType: dice.pick('PLAIN', 'PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE'),
  } as const
  const text = stringify(value, undefined, style)
  return text.replaceAll(/(^|: |- )([|>])[-+]?\n/gm, (_, before: string, kind: string) => {
    return `${before}${kind}${dice.pick('', '-', '+', ' # a script')}\n`
  })
}

const SCRIPTS = ['set -e\n./solve\n', 'a\n\n  b\n\n', 'one', 'x: y # z', ' in\nout', '"\n', 'é\n']

type Change = (text: string, dice: Dice) => string

const CHANGES: readonly Change[] = [
  (text) => text,
  repeatLines,
  repeatInBraces,
  quoteScalars,
  breakQuotes,
  breakQuotes,
  breakBraces,
  scaleIndents,
  moveLine,
  changeBlanks,
  addLines,
  replaceScalars,
]

/** Repeats a key or an item, with all lines below it. */
function repeatLines(text: string, dice: Dice): string {
  const lines = text.split('\n')
  const at = dice.number(lines.length)
  const indent = indentOf(lines[at])
  const length = lines.slice(at + 1).findIndex((line) => indentOf(line) <= indent) + 1
  const block = lines.slice(at, at + Math.max(length, 1))
  return lines.toSpliced(at, 0, ...block).join('\n')
}

function indentOf(line = ''): number {
  return /\S/.test(line) ? line.search(/\S/) : Number.POSITIVE_INFINITY
}

function repeatInBraces(text: string, dice: Dice): string {
  return text.replaceAll(/([{,] ?)([^{}[\],"':]+: ?[^{}[\],"':]+)(?=[,}])/g, (all, start, pair) => {
    return dice.number(4) === 0 ? `${start}${pair}, ${pair.replace(/:.*/, ': other')}` : all
  })
}

function quoteScalars(text: string, dice: Dice): string {
  return text.replaceAll(/: ([a-z][a-z ./-]*)$/gm, (all, scalar: string) => {
    return dice.number(3) > 0 ? all : dice.pick(`: '${scalar}'`, `: "${scalar} and more"`)
  })
}

const STARTS = ['', ' ', '    ', '\t', '            ', '\n', '\n\n  '] as const

/** Breaks quoted scalars over lines of any indentation. */
function breakQuotes(text: string, dice: Dice): string {
  return text.replaceAll(/(["'])([^"'\n\\]*)\1/g, (all, quote: string, inside: string) => {
    if (dice.number(3) > 0) return all
    const broken = inside.replaceAll(' ', () => dice.pick(' ', `\n${dice.pick(...STARTS)}`))
    const end = dice.pick('', `\n${dice.pick(...STARTS)}`, quote === '"' ? '\\\n' : '')
    return `${quote}${dice.pick('', `\n${dice.pick(...STARTS)}`)}${broken}${end}${quote}`
  })
}

/** Breaks flow collections over lines of any indentation. */
function breakBraces(text: string, dice: Dice): string {
  return text.replaceAll(/([[{,]) ?(?=[^\n]*[\]}]$)|(?=[\]}]+$)/gm, (all, found) => {
    const start = found ?? ''
    const comment = dice.pick('', '', ' # why')
    return dice.number(3) > 0 ? all : `${start}${comment}\n${dice.pick(...STARTS)}`
  })
}

function scaleIndents(text: string, dice: Dice): string {
  const factor = dice.pick(0.5, 2, 3)
  return text.replaceAll(/^ +/gm, (blanks) => ' '.repeat(blanks.length * factor))
}

/** Changes the indentation of one line. */
function moveLine(text: string, dice: Dice): string {
  const lines = text.split('\n')
  const at = dice.number(lines.length)
  const line = lines[at] ?? ''
  return lines.with(at, dice.pick(line.replace(/^ /, ''), ` ${line}`, `\t${line}`)).join('\n')
}

/** Changes the blanks and comments at the ends of lines and after colons. */
function changeBlanks(text: string, dice: Dice): string {
  const change = (all: string, ...others: readonly string[]) =>
    dice.number(8) === 0 ? dice.pick(...others) : all
  return text
    .replaceAll(/: (?=\S)/g, (all) => change(all, ':\t', ':  ', ': \t '))
    .replaceAll(/\n/g, (all) => change(all, ' \n', '\t\n', ' # why\n', '\t# why\n'))
}

function addLines(text: string, dice: Dice): string {
  return text.replaceAll('\n', () => {
    if (dice.number(12) > 0) return '\n'
    return `\n${dice.pick('', ' ', '\t', '# a remark', '        # a remark', '\t# a remark')}\n`
  })
}

/** Replaces scalars by scalars that YAML libraries read differently. */
function replaceScalars(text: string, dice: Dice): string {
  return text.replaceAll(/(: )(?:\S+)$/gm, (all, colon: string) => {
    return dice.number(10) > 0 ? all : `${colon}${dice.pick(...SCALARS)}`
  })
}

const SCALARS = [
  ...['yes', 'off', 'y', 'N', '0644', '0o17', '0x1F', '1_000', '08', '1e3', '.5', '+5', '-0', '1.'],
  ...['2024-01-01', '1:30', '12345678901234567890', '0b101', '~', '', '.inf', '! 5', '!!str 5'],
  ...['!!int "7"', '!!float 3', '!!binary aGk=', '!x {a: b}', '!!map {a: b}', '*none', '&x 5'],
  ...['"\\u00e9\\x41"', "'it''s\n\n x'", '"a\\\n b"', '{a, b: c}', '[a: b, ]', '{"a":b}', '{a:b}'],
  ...[
    '[,]',
    '{a,,b}',
    '"a"b',
    '@x',
    '%x',
    '-x',
    '?x',
    'a #b',
    'a#b',
    '|',
    '>-',
    '[a\n]',
    '{1.10: a}',
  ],
] as const

const ENDS: readonly Change[] = [
  (text) => text.replace(/\n$/, ''),
  (text) => text.replace(/\n$/, ''),
  (text) => text.trimEnd(),
  (text) => `${text.trimEnd()}\n...\n`,
  (text) => `${text.trimEnd()}\n...`,
  (text) => `${text.trimEnd()}\n# the end`,
  (text) => `${text}\n\n`,
  (text) => `${text.trimEnd()}\n  `,
  (text) => `${text.trimEnd()}\n---\n# nothing`,
  (text) => `\ufeff# a head\n---\n${text}`,
  (text) => `--- # a head\n${text}`,
  (text) => text,
]

function changeBreaks(text: string, dice: Dice): string {
  const isMixed = dice.seldom(3, true) === true
  return text.replaceAll('\n', () => (isMixed ? dice.pick('\n', '\r\n', '\r\n') : '\r\n'))
}
