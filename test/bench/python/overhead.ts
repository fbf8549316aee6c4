/**
 * Measures the cost of the sampler of python-profile at 100 samples per second, in each CPython of
 * the machine: `npm run bench:python`. Needs Linux and the right to use ptrace.
 */
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { run } from '../../tools/mpi/programs.ts'
import { pythons, sampling } from '../../tools/python/sampler.ts'

const PROGRAM = fileURLToPath(new URL('overhead.py', import.meta.url))
/** The time that 600 pairs take, and some more. */
const PATIENCE_MS = 900_000
/** The interval that the measurement should reach. */
const WIDTH = 0.02

const print = (line: string) => process.stdout.write(`${line}\n`)
const percent = (part: number) => `${(100 * part).toFixed(2)} %`

for (const { version, path } of pythons()) {
  const { code, output, errors } = await run([path, PROGRAM], sampling(), '', PATIENCE_MS)
  const [median = 0, low = 0, high = 0, pairs = 0, share = 0] = output.trim().split(' ').map(Number)
  if (code !== 0) {
    print(`CPython ${version}: failed with ${code}: ${errors.trim()}`)
    process.exitCode = 1
    continue
  }
  const isNarrow = high - low < WIDTH
  print(
    `CPython ${version}: the same work takes ${(1 + median).toFixed(4)} times the processor time ` +
      `(95 % interval ${(1 + low).toFixed(4)} to ${(1 + high).toFixed(4)}, ${pairs} pairs` +
      `${isNarrow ? '' : ', which are too few on this busy machine'}); the sampler uses ` +
      `${percent(share)} of a core`,
  )
}
print(`load of the machine: ${loadavg().map((load) => load.toFixed(1))}`)
