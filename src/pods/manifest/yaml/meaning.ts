import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  visit,
} from 'yaml'
import { keyText, readScalar } from './scalar.ts'

/** A part of a document that kubectl refuses, although its syntax is valid. */
export class MeaningError extends Error {
  override readonly name = 'MeaningError'
  readonly offset: number

  constructor(message: string, { range }: Pick<Node, 'range'>) {
    super(message)
    this.offset = range?.[0] ?? 0
  }
}

/**
 * Returns the value of a document as kubectl reads it. Of duplicate keys, the last one counts. A
 * merge key (`<<`) replaces the keys before it, and the keys after it replace its keys (decode.go
 * of go.yaml.in/yaml/v2 v2.4.3).
 *
 * @param document a document of the failsafe schema
 * @throws MeaningError for values that JSON does not have, and for aliases that kubectl refuses
 */
export function readMeaning(document: Document): unknown {
  const reader = new MeaningReader(findTargets(document))
  const value = reader.read(document.contents)
  if (reader.hasNonNumbers) mustBeJson(value)
  return value
}

/** A number that JSON does not have. kubectl refuses it only if no later key replaces it. */
class NonNumber {
  readonly node: Scalar

  constructor(node: Scalar) {
    this.node = node
  }
}

function mustBeJson(value: unknown): void {
  if (value instanceof NonNumber)
    throw new MeaningError(`${value.node.value} is not a number that JSON has`, value.node)
  if (typeof value !== 'object' || value === null) return
  for (const part of Object.values(value)) mustBeJson(part)
}

/** Returns the node that each alias refers to: the last node before it with its anchor. */
function findTargets(document: Document): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node>()
  visit(document, {
    Alias: (_, alias) => {
      const target = anchors.get(alias.source)
      if (target !== undefined) targets.set(alias, target)
    },
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node)
    },
  })
  return targets
}

class MeaningReader {
  readonly #targets: ReadonlyMap<Alias, Node>
  readonly #open = new Set<Alias>()
  /** Whether a value that was read is a {@link NonNumber}. */
  hasNonNumbers = false
  #decoded = 0
  #aliased = 0

  constructor(targets: ReadonlyMap<Alias, Node>) {
    this.#targets = targets
  }

  read(node: unknown): unknown {
    if (isAlias(node)) return this.#readAlias(node, (target) => this.read(target))
    if (isMap(node)) return this.#readMap(node.items)
    this.#count(node)
    if (isSeq(node)) return node.items.map((item) => this.read(item))
    if (!isScalar(node)) return null
    const value = readScalar(node)
    if (value === undefined)
      throw new MeaningError(`"${node.value}" does not have the type of its tag`, node)
    if (typeof value !== 'number' || Number.isFinite(value)) return value
    this.hasNonNumbers = true
    return new NonNumber(node)
  }

  /** Counts a value, and limits the number of values that come from aliases, as go-yaml does. */
  #count(node: unknown): void {
    this.#decoded += 1
    if (this.#open.size > 0) this.#aliased += 1
    const isFew = this.#aliased <= 100 || this.#decoded <= 1000
    if (isFew || this.#aliased / this.#decoded <= allowedAliasRatio(this.#decoded)) return
    throw new MeaningError('the document contains excessive aliasing', node as Node)
  }

  #readAlias<T>(alias: Alias, read: (target: Node) => T): T {
    const target = this.#targets.get(alias)
    if (target === undefined) throw new MeaningError(`unresolved alias ${alias.source}`, alias)
    if (this.#open.has(alias))
      throw new MeaningError(`the anchor ${alias.source} contains itself`, alias)
    this.#open.add(alias)
    const value = read(target)
    this.#open.delete(alias)
    return value
  }

  #readMap(items: readonly { readonly key: unknown; readonly value: unknown }[]): object {
    this.#count(undefined)
    const fields: [string, unknown][] = []
    for (const { key, value } of items) {
      if (isMergeKey(key)) fields.push(...this.#readMerged(value))
      else fields.push([this.#readKey(key), this.read(value)])
    }
    return Object.fromEntries(fields)
  }

  #readKey(key: unknown): string {
    this.#count(key)
    const scalar = isAlias(key) ? this.#targets.get(key) : key
    const text = isScalar(scalar) ? keyText(scalar) : undefined
    if (text !== undefined) return text
    throw new MeaningError('a key must be a string, a number or a boolean', (key ?? {}) as Node)
  }

  /** Returns the entries of the merged maps, with those of the first map last. */
  #readMerged(value: unknown): readonly (readonly [string, unknown])[] & [string, unknown][] {
    if (isSeq(value)) return value.items.toReversed().flatMap((item) => this.#readSource(item))
    return this.#readSource(value)
  }

  #readSource(value: unknown): [string, unknown][] {
    if (isMap(value)) return Object.entries(this.#readMap(value.items))
    if (isAlias(value)) {
      return this.#readAlias(value, (target) => {
        if (isMap(target)) return Object.entries(this.#readMap(target.items))
        throw new MeaningError(NOT_A_MAP, value)
      })
    }
    throw new MeaningError(NOT_A_MAP, (value ?? {}) as Node)
  }
}

const NOT_A_MAP = 'the value of the merge key << must be a map or a list of maps'

/** Reports whether a key merges maps: `<<` without quotes. */
export function isMergeKey(key: unknown): boolean {
  if (!isScalar(key) || key.value !== '<<') return false
  return key.tag === undefined ? key.type === 'PLAIN' : /^(!|.*:merge)$/.test(key.tag)
}

/**
 * Returns the part of the values that may come from aliases: 99 % of 400,000 values or fewer, 10 %
 * of 4,000,000 or more (decode.go, allowedAliasRatio).
 */
function allowedAliasRatio(decoded: number): number {
  const [low, high] = [400_000, 4_000_000]
  const excess = Math.min(Math.max(decoded - low, 0), high - low)
  return 0.99 - (0.89 * excess) / (high - low)
}
