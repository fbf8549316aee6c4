/** Generates manifests in many of the forms that YAML allows for the same object. */
import fc from 'fast-check'
import { type Json, mapOf } from './arbitrary.ts'
import { Dice } from './dice.ts'

/** A manifest, as an object and as a text that a person might write. */
export interface Written {
  readonly text: string
  readonly object: Json
}

// A manifest is built from small numbers, which are cheap to generate. If fast-check shrinks all
// numbers to 0, the manifest is one Job in plain blocks.
const THROWS = fc.array(fc.nat(0xffff), { minLength: 600, maxLength: 600, size: 'max' })

/** Manifests that request perf-sysstat, io-sysstat or both, or that request nothing. */
export const manifests = manifestsWith('perf-sysstat', 'io-sysstat,perf-sysstat', 'io-sysstat')

/** Manifests whose annotations request one of these lists of metrics, or that request nothing. */
export function manifestsWith(...requests: readonly string[]): fc.Arbitrary<Written> {
  return THROWS.map((throws) => writtenBy(new Dice(throws), requests))
}

function writtenBy(dice: Dice, requests: readonly string[]): Written {
  const object = JSON.parse(JSON.stringify(jobOf(dice, requests))) as Json
  if (dice.number(8) === 7)
    return { object, text: JSON.stringify(object, undefined, dice.pick(2, 0, '\t')) }
  const head = dice.pick('', '', '# a head\n', '---\n', '\ufeff---\n', '%YAML 1.1\n---\n')
  const body = new Writer(dice).block(object, 0).join('\n')
  const tail = dice.pick('\n', '\n', '', '\n\n# the end\n', '\n...\n', '\n---\n# nothing\n')
  // Without a line break at the end of the file, a block scalar would lose its last line break.
  const text = head + body + (endsWithBlockScalar(body) && tail === '' ? '\n' : tail)
  return { object, text: dice.number(5) === 4 ? text.replaceAll('\n', '\r\n') : text }
}

function endsWithBlockScalar(body: string): boolean {
  return /\|\n[^\n]+\n[^\n]+$/.test(body)
}

const STRANGE = [
  '# no comment',
  'a: b',
  'yes',
  '0',
  "it's",
  '"',
  'é\u{1f4a5}',
  'x\ny\n',
  '- a',
  '{',
  '',
]

function jobOf(dice: Dice, requests: readonly string[]): Json {
  const spec = shuffled(dice, [
    ['completionMode', dice.pick('Indexed', undefined)],
    [
      'template',
      shuffledMap(dice, { metadata: metadataOf(dice, requests), spec: podSpecOf(dice) }),
    ],
  ])
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'lammps' }, spec }
}

function metadataOf(dice: Dice, requests: readonly string[]): unknown {
  const asking = {
    [dice.pick('a/b~c', 'x')]: dice.pick('1', ...STRANGE),
    'ridealong.dev/inject': dice.pick(...requests),
    'ridealong.dev/mode': dice.pick('native', undefined, 'container'),
    'kubectl.kubernetes.io/default-container': dice.pick(undefined, undefined, 'main'),
  }
  const annotations = dice.pick(asking, asking, asking, undefined, null, {})
  return dice.pick(
    { labels: { app: 'x' }, annotations },
    { annotations },
    undefined,
    null,
    {},
    { annotations },
  )
}

function podSpecOf(dice: Dice): Json {
  return shuffledMap(dice, {
    restartPolicy: 'Never',
    shareProcessNamespace: dice.pick(undefined, false, true, null),
    volumes: dice.pick(
      undefined,
      null,
      [],
      [{ name: 'v', emptyDir: {} }],
      [{ name: 'w' }, { name: 'v' }],
    ),
    initContainers: dice.pick(undefined, null, [], [containerOf(dice, 'init')]),
    containers: [containerOf(dice, 'main'), ...dice.pick([], [containerOf(dice, 'log')])],
    nodeSelector: dice.pick(undefined, undefined, null, {}, { disk: 'ssd' }),
  })
}

function containerOf(dice: Dice, name: string): Json {
  return shuffledMap(dice, {
    name,
    image: 'busybox',
    args: dice.pick(undefined, [], ['-c', dice.pick(...STRANGE)]),
    restartPolicy: name === 'init' ? dice.pick('Always', undefined) : undefined,
    env: dice.pick(
      undefined,
      null,
      [],
      [{ name: 'A', value: dice.pick(...STRANGE) }],
      [{ name: 'LD_PRELOAD', value: dice.pick('/lib/own.so', ...STRANGE) }, { name: 'B' }],
    ),
    volumeMounts: dice.pick(undefined, null, [], [{ name: 'v', mountPath: '/data' }]),
    resources: dice.pick(undefined, {}, { limits: { cpu: 1, memory: '1Gi' } }),
  })
}

function shuffledMap(dice: Dice, fields: Json): Json {
  return shuffled(dice, Object.entries(fields))
}

function shuffled(dice: Dice, entries: readonly (readonly [string, unknown])[]): Json {
  const there = entries.filter(([, value]) => value !== undefined)
  const turn = dice.number(there.length)
  return Object.fromEntries([...there.slice(turn), ...there.slice(0, turn)])
}

/** Writes an object as YAML, with a random style for each part. */
class Writer {
  readonly #dice: Dice
  readonly #step: number
  readonly #dash: number

  constructor(dice: Dice) {
    this.#dice = dice
    this.#step = dice.pick(2, 2, 4, 3)
    this.#dash = dice.pick(0, 2)
  }

  /** Returns the lines of a non-empty map or list that begins at this column. */
  block(value: unknown, column: number): string[] {
    const indent = ' '.repeat(column)
    if (Array.isArray(value)) {
      return value.flatMap((item) => [...this.#remark(column), ...this.#item(item, column)])
    }
    return Object.entries(mapOf(value)).flatMap(([key, held]) => {
      const [first = '', ...rest] = this.#value(held, column)
      return [...this.#remark(column), `${indent}${this.#key(key)}:${first}`, ...rest]
    })
  }

  #item(item: unknown, column: number): string[] {
    const isBlock = Object.keys(mapOf(item)).length > 0 && this.#dice.number(3) < 2
    const dash = `${' '.repeat(column)}-`
    if (!isBlock) return [`${dash} ${this.#flow(item)}${this.#comment()}`]
    const lines = this.block(item, column + 2)
    const at = lines.findIndex((line) => !/^\s*(#|$)/.test(line))
    return [
      ...lines.slice(0, at),
      `${dash} ${(lines[at] ?? '').trimStart()}`,
      ...lines.slice(at + 1),
    ]
  }

  /** Returns the text after a colon, and the lines below it. */
  #value(value: unknown, column: number): string[] {
    const isEmpty = typeof value !== 'object' || value === null || Object.keys(value).length === 0
    if (isEmpty && typeof value === 'string' && /^[^\s]+\n[^\n]+\n$/.test(value)) {
      const lines = value.trimEnd().split('\n')
      return [' |', ...lines.map((line) => ' '.repeat(column + 2) + line)]
    }
    if (isEmpty || this.#dice.number(4) === 3)
      return [` ${this.#flow(value)}${this.#comment()}`.trimEnd()]
    const deeper = column + (Array.isArray(value) ? this.#dash : this.#step)
    return [this.#comment(), ...this.block(value, deeper)]
  }

  #flow(value: unknown): string {
    if (value === null) return this.#dice.pick('null', '~', 'null')
    if (Array.isArray(value))
      return this.#wrap(
        '[',
        value.map((item) => this.#flow(item)),
        ']',
      )
    if (typeof value !== 'object') return this.#scalar(value)
    const pairs = Object.entries(mapOf(value)).map(
      ([key, held]) => `${this.#key(key)}: ${this.#flow(held)}`,
    )
    return this.#wrap('{', pairs, '}')
  }

  #wrap(open: string, items: readonly string[], close: string): string {
    const pad = this.#dice.pick('', '', ' ')
    const comma = items.length > 0 ? this.#dice.pick('', '', ',') : ''
    return `${open}${pad}${items.join(', ')}${comma}${pad}${close}`
  }

  #scalar(value: unknown): string {
    if (value === false) return this.#dice.pick('false', 'no', 'False')
    if (value === true) return this.#dice.pick('true', 'on')
    const isPlain = /^[A-Za-z][A-Za-z0-9./~-]{3,}$/.test(String(value))
    return isPlain
      ? this.#dice.pick(String(value), `'${value}'`, JSON.stringify(value))
      : JSON.stringify(value)
  }

  #key(key: string): string {
    return this.#dice.number(6) === 5 || key.includes('~') ? JSON.stringify(key) : key
  }

  #comment(): string {
    return this.#dice.pick('', '', '', ' # why', '   #')
  }

  #remark(column: number): string[] {
    const choices = [[], [], [], [], [''], [`${' '.repeat(column)}# a remark`]] as const
    return [...this.#dice.pick(...choices)]
  }
}
