import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const CRATE = fileURLToPath(new URL('../../observer', import.meta.url))

/** The names of the program. */
export const NAMES = [
  ...(['vitals', 'perf-sysstat', 'io-sysstat', 'pressure', 'network'] as const),
  ...(['cpu-profile', 'mpi-trace', 'python-profile', 'torch-collectives', 'torch-trace'] as const),
  ...(['nccl-ras', 'gpu', 'gpu-nvidia'] as const),
  ...(['hold', 'install', 'push'] as const),
] as const

/** Reports whether this machine can build the program. */
function hasCargo(): boolean {
  return spawnSync('cargo', ['--version']).status === 0
}

let built: string | undefined

/**
 * Builds the program of the observers with the release profile, as for the image. The first build
 * takes a minute; further builds without changes take no time.
 *
 * @returns the path of the program, or undefined if cargo is not installed
 * @throws if the program does not compile
 */
export function buildObserver(): string | undefined {
  if (built === undefined && hasCargo()) built = compile()
  return built
}

function compile(): string {
  const options = { cwd: CRATE, encoding: 'utf8', maxBuffer: 1 << 26 } as const
  const words = ['build', '--release', '--locked', '--quiet', '--message-format=json']
  const messages = execFileSync('cargo', words, options).trim().split('\n')
  return messages.map((line) => JSON.parse(line).executable).findLast(Boolean)
}
