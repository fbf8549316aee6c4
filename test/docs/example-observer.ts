import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { Sample } from '../../src/runs/log/columns.ts'
import { descriptionsIn } from '../../src/runs/log/descriptions.ts'
import { isSample } from '../../src/runs/log/entry.ts'
import { readLog } from '../../src/runs/log/read.ts'
import { REPOSITORY, textOf } from './pages.ts'

/** The folder of the examples of tools. */
export const EXAMPLES = join(REPOSITORY, 'docs/examples/tools')

/** A catalog of the examples of tools. */
export const catalog = await loadCatalog({ folder: EXAMPLES })

/** A run of the script of an example's observer. */
interface ObserverRun {
  /** The files of the results, by name. */
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** Stand-ins for programs of the image: shell scripts by name. */
  readonly programs?: Readonly<Record<string, string>>
  /** The text in the log after which the script gets SIGTERM. */
  readonly until?: string
}

/** Runs the script of an example's observer, and returns its log. */
export async function observed(t: Test, name: string, run: ObserverRun): Promise<string> {
  const { files = {}, env, programs = {}, until = 'COLLECTION START\n' } = run
  const folder = t.testdir({ results: { ...files }, bin: {} })
  for (const [program, script] of Object.entries(programs))
    writeFileSync(join(folder, 'bin', program), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const { spec } = parse(textOf(`docs/examples/tools/${name}.yaml`))
  const [program = '', ...words] = spec.container.command
  const { PATH } = process.env
  const own = { PATH: `${join(folder, 'bin')}:${PATH}`, RESULTS: join(folder, 'results') }
  const child = spawn(program, [...words, ...spec.container.args], {
    env: { ...own, RIDEALONG_MODE: 'native', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let log = ''
  for await (const part of child.stdout.setEncoding('utf8')) {
    log += part
    if (log.includes(until)) child.kill('SIGTERM')
  }
  t.strictSame(await closed, [0, null])
  return log
}

/** Reads the rows of a log as the description of the metric says. */
export function rowsOf(t: Test, name: string, log: string): readonly Sample[] {
  const entries = readLog(log, { source: `${name}.log` }, descriptionsIn(catalog))
  t.match(
    entries.filter(({ kind }) => kind === 'log'),
    [{ cuts: [] }],
  )
  t.notOk(
    entries.some(({ kind }) => kind === 'unmatched'),
    'every row matches the description',
  )
  return entries.filter(isSample)
}
