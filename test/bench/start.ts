/**
 * Measures what it costs to start the built command: `npm run bench:start`. Each call is repeated
 * in turns with an empty module, and its processor time is printed as a multiple of that of the
 * empty module. The first call, which finds no compiled modules, is printed, too. The exit code is
 * 1 if a call needs more than its limit. Needs bash.
 *
 * RIDEALONG_BENCH_CALLS sets the number of calls.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CALLS = Number(process.env.RIDEALONG_BENCH_CALLS ?? 20)

const [PROGRAM, LAMMPS] = ['../../dist/ridealong.cjs', '../../docs/examples/lammps.yaml'].map(
  (path) => fileURLToPath(new URL(path, import.meta.url)),
) as [string, string]

/** Command lines, and the most that each may need, as a multiple of an empty module. */
const COMMANDS: readonly (readonly [number, readonly string[]])[] = [
  [8, ['--version']],
  [12, ['metrics']],
  [14, ['explain', '--offline', '-f', LAMMPS]],
  [20, ['collect', 'job/lammps']],
]

const folder = mkdtempSync(join(tmpdir(), 'ridealong-start-'))
const empty = join(folder, 'empty.mjs')
writeFileSync(empty, '')
const { KUBECONFIG: _, NODE_COMPILE_CACHE: __, ...others } = process.env
const env = { ...others, HOME: folder, XDG_CACHE_HOME: join(folder, 'cache') }

/** Runs Node until it ends. Returns its processor time in seconds, which bash measures. */
function time(words: readonly string[]): number {
  const script = 'TIMEFORMAT="%U %S"; time "$0" "$@" >/dev/null 2>&1'
  const { stderr } = spawnSync('bash', ['-c', script, process.execPath, ...words], {
    encoding: 'utf8',
    env: { ...env, LC_ALL: 'C' },
  })
  const [user = Number.NaN, system = Number.NaN] = stderr.trim().split(' ').map(Number)
  return user + system
}

const print = (line: string) => process.stdout.write(`${line}\n`)
const format = (seconds: number) => `${seconds.toFixed(3)} s`

print(`Processor time of ${CALLS} calls, in turns with ${CALLS} of an empty module:`)
for (const [limit, words] of COMMANDS) {
  rmSync(join(folder, 'cache'), { recursive: true, force: true })
  const first = time([PROGRAM, ...words])
  let [sum, sumOfEmpty] = [0, 0]
  for (let call = 0; call < CALLS; call += 1) {
    sumOfEmpty += time([empty])
    sum += time([PROGRAM, ...words])
  }
  const ratio = sum / sumOfEmpty
  const name = words.slice(0, 2).join(' ')
  const figures = [format(sum), `${ratio.toFixed(1)} times (at most ${limit})`]
  print(`${name.padEnd(20)}${figures.join(', ')}; the first ${format(first)}`)
  if (!(ratio <= limit)) process.exitCode = 1
}
rmSync(folder, { recursive: true })
