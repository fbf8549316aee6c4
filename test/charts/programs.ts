import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { folderOf } from '../cluster/machine/tools.ts'

export const CHART = fileURLToPath(new URL('../../charts/ridealong', import.meta.url))

/**
 * The modules of the programs that the tests of the chart run. Both Helms and helm-unittest require
 * the same versions of their libraries, so that Go compiles these once.
 */
export const MODULES = ['helm-4', 'helm-3', 'helm-unittest', 'kubeconform'] as const
export type Program = (typeof MODULES)[number]

/** The path of each program. */
export const PROGRAMS: Readonly<Record<Program, string>> = Object.fromEntries(
  await Promise.all(
    MODULES.map(async (module) => [
      module,
      join(
        await folderOf(module),
        module.startsWith('helm-') && module !== 'helm-unittest' ? 'helm' : module,
      ),
    ]),
  ),
)

const isMissing = MODULES.some((module) => !existsSync(PROGRAMS[module]))

/**
 * The reason to skip the tests of the chart, or false. In CI, the tests always run, and fail if a
 * program is missing.
 */
export const skip =
  isMissing && process.env.CI !== 'true'
    ? 'Helm and the programs that check charts are not built: run `npm run test:chart` (needs Go)'
    : false

export interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs a program on the chart. Helm sees no repositories, plugins or clusters of the user. */
export function run(program: string, words: readonly string[], input = ''): Outcome {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, KUBECONFIG: '/dev/null', HELM_CONFIG_HOME: '/nonexistent' }
  const { status, stdout, stderr, error } = spawnSync(program, words, {
    input,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  return { code: status, out: stdout ?? '', err: error?.message ?? stderr }
}

/** Renders the chart with values, including hooks and tests. */
export function render(values: readonly string[], helm: Program = 'helm-4'): string {
  const { code, out, err } = run(PROGRAMS[helm], [
    'template',
    'ridealong',
    CHART,
    '--namespace=ridealong-system',
    '--kube-version=1.36.0',
    ...values.map((value) => `--set=${value}`),
  ])
  if (code !== 0) throw new Error(`helm template: ${err}`)
  return out
}
