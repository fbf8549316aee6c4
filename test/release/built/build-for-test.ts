import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { buildCommand } from '../../../build/command.ts'
import { plainEnvironment } from '../../cli/host.ts'
import { ownFolder } from '../../tiers/own-folder.ts'

/** The built command, in a folder that contains nothing else. */
export interface Built {
  readonly folder: string
  /** The first file of the command. */
  readonly program: string
  /** Runs the command with these arguments, and with these variables beside those of the test. */
  run(words: readonly string[], variables?: NodeJS.ProcessEnv): SpawnSyncReturns<string>
  /** Runs the command with these arguments while the test answers its requests. */
  start(words: readonly string[], variables?: NodeJS.ProcessEnv): Promise<Ended>
}

/** The end of the command. */
export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Builds the command into a folder without node_modules above it. */
export async function buildForTest(t: Test): Promise<Built> {
  const folder = ownFolder(t)
  const dist = join(folder, 'dist')
  await buildCommand(dist)
  const program = join(dist, 'ridealong.cjs')
  const kept = { ...plainEnvironment(), XDG_CACHE_HOME: join(folder, 'cache') }
  const run = (words: readonly string[], variables: NodeJS.ProcessEnv = {}) =>
    spawnSync(process.execPath, [program, ...words], {
      encoding: 'utf8',
      env: { ...kept, ...variables },
    })
  const start = async (words: readonly string[], variables: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, [program, ...words], { env: { ...kept, ...variables } })
    child.stdin.end()
    const ended = once(child, 'close')
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [status] = await ended
    return { status, stdout, stderr }
  }
  return { folder: dist, program, run, start }
}
