import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openFolder } from '../../observers/pod.ts'
import { observerTests, onPath } from '../../observers/prerequisites.ts'

const BUILD = fileURLToPath(new URL('../../../observer/torch/build.sh', import.meta.url))
const FOLDER = fileURLToPath(new URL('.', import.meta.url))

/** The options of a test that runs the observer. */
export const torchTests = observerTests

/** The options of a test that only runs programs with the tool; see `observerTests`. */
export function toolTests(): { readonly skip: false | string } {
  const missing = ['gcc', 'python3'].filter((name) => onPath(name) === name)
  const canRun = process.env.CI === 'true' || (process.platform === 'linux' && missing.length === 0)
  return { skip: canRun ? false : 'tests of tools need Linux, gcc and python3' }
}

let built: string | undefined

/** Builds the tool. Further calls return the same folder. */
export function torchTool(): string {
  if (built !== undefined) return built
  const folder = openFolder('ridealong-torch-')
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  built = join(folder, 'tool')
  execFileSync(BUILD, [process.arch === 'x64' ? 'amd64' : 'arm64', built])
  return built
}

/** The variables that load the tool. */
export const recording = (rate = 60) => ({
  LD_PRELOAD: join(torchTool(), 'libridealong-torch.so'),
  RIDEALONG_TORCH_FOLDER: torchTool(),
  RIDEALONG_TORCH_RATE: String(rate),
})

/** Returns the path of a program in Python of these tests. */
export const program = (name: string) => join(FOLDER, 'programs', name)

/** The folder of a module that stands in for PyTorch. */
export const STAND_IN = join(FOLDER, 'stand-in')
