/**
 * Generates ordinary and hostile reviews, and answers them:
 * `npm run fuzz -- --runs 1000000 --seed 1`. Prints the seed, the progress, and the number of
 * answers with each outcome or reason. The exit code is 0 if every answer obeys the rules of
 * attack.ts, and 2 for an invalid option. If an answer breaks a rule, the exit code is 1, and the
 * program prints the review, which fast-check has made as small as it can.
 */
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { RULES } from '../bench/adversarial.ts'
import { attacks } from './arbitrary.ts'
import { type Survived, survive } from './attack.ts'

/** The number of reviews that are generated from one seed. Then the next seed is used. */
const CHUNK = 10_000

const print = (line: string) => process.stdout.write(`${line}\n`)

function readOptions(): { readonly runs: number; readonly seed: number } {
  const { values } = parseArgs({ options: { runs: { type: 'string' }, seed: { type: 'string' } } })
  const { runs = '10000', seed = `${Date.now() % 2 ** 31}` } = values
  for (const number of [runs, seed]) {
    if (!/^\d{1,9}$/.test(number)) throw new Error(`"${number}" is not a whole number below 10^9`)
  }
  return { runs: Number(runs), seed: Number(seed) }
}

const NO_RULES = { limitRanges: [], resourceQuotas: [] }

/** Answers reviews. Every second review is in a namespace with a LimitRange and quotas. */
function fuzz(runs: number, seed: number): void {
  const words = new Map<string, number>()
  const worst = { bytes: 0, ms: 0 }
  const count = ({ word, bytes, answerMs, parseMs }: Survived) => {
    words.set(word, (words.get(word) ?? 0) + 1)
    worst.bytes = Math.max(worst.bytes, bytes)
    worst.ms = Math.max(worst.ms, answerMs - 3 * parseMs)
  }
  for (let done = 0; done < runs; done += CHUNK) {
    const numRuns = Math.min(CHUNK, runs - done)
    let place = 0
    const property = fc.property(attacks, (call) => {
      place += 1
      count(survive(call, place % 2 === 0 ? RULES : NO_RULES))
    })
    fc.assert(property, { numRuns, seed: seed + done / CHUNK })
    const slowest = `${worst.ms.toFixed(0)} ms plus three times the time of JSON.parse`
    const largest = `largest answer ${worst.bytes} bytes`
    print(`${done + numRuns} of ${runs} reviews; ${largest}, slowest answer ${slowest}`)
  }
  print(JSON.stringify(Object.fromEntries([...words].sort(([, a], [, b]) => b - a))))
}

try {
  const { runs, seed } = readOptions()
  print(`seed ${seed}`)
  try {
    fuzz(runs, seed)
  } catch (error) {
    print(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 2
}
