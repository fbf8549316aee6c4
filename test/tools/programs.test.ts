import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openFolder } from '../observers/pod.ts'
import { onPath } from '../observers/prerequisites.ts'
import { profileTests, tool } from '../observers/profile/tool.ts'
import { buildRecorder, recording, run } from './mpi/programs.ts'
import { BUILDS, OPTIONAL, PACKAGES, ROWS, type Row } from './table.ts'

const options = profileTests()
const DOCUMENT = readFileSync(new URL('../../docs/metrics/tools.md', import.meta.url), 'utf8')
const folder = openFolder('ridealong-programs-')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const built = new Set<string>()

/** Returns the path of a program of BUILDS. The first call builds it. */
function pathOf(name: string): string {
  const path = join(folder, name)
  if (built.has(name)) return path
  const [command = '', ...words] = (BUILDS[name] ?? []).map((word) =>
    word === 'OUT' ? path : word,
  )
  execFileSync(command, words, { stdio: ['ignore', 'ignore', 'pipe'] })
  built.add(name)
  return path
}

/** Returns the reason to skip a row: a program that is not installed. */
function reasonToSkip({ words }: Row): false | string {
  if (options.skip !== false) return options.skip
  const needed = words.flatMap((word) => BUILDS[word.slice(1)] ?? [word])
  const missing = needed.filter((word) => word in PACKAGES && onPath(word) === word)
  const packages = missing.map((word) => PACKAGES[word] ?? '')
  const isDue = process.env.CI === 'true' && !packages.every((name) => OPTIONAL.includes(name))
  return packages.length === 0 || isDue ? false : `this row needs ${packages.join(' and ')}`
}

/** The variables of each tool, and of both, with these folders for the results. */
function variablesOf(results: string) {
  const recorder = join(folder, 'libridealong-mpi.so')
  if (!built.has(recorder)) buildRecorder(recorder)
  built.add(recorder)
  const recorded = recording({ recorder }, results)
  const loader = join(tool().source, 'loader.so')
  const profiled = {
    LD_PRELOAD: loader,
    CPUPROFILE: join(results, 'cpu'),
    CPUPROFILE_FREQUENCY: '500',
  }
  return {
    recorded,
    profiled,
    both: { ...recorded, ...profiled, LD_PRELOAD: `${loader}:${recorder}` },
  }
}

/** Runs a program without a tool and with each, at the same time, and compares the ends. */
async function compare(t: Test, row: Row): Promise<void> {
  const words = row.words.map((word) => (word.startsWith('@') ? pathOf(word.slice(1)) : word))
  const [forEach, forBoth] = [openFolder('ridealong-results-'), openFolder('ridealong-results-')]
  t.teardown(() => {
    for (const results of [forEach, forBoth]) rmSync(results, { recursive: true })
  })
  const { recorded, profiled } = variablesOf(forEach)
  const environments = [{}, recorded, profiled, variablesOf(forBoth).both]
  const ends = await Promise.all(environments.map((env) => run(words, env, row.input)))
  const [plain, withRecorder, withProfiler, withBoth] = ends
  t.equal(plain?.code, row.code, plain?.errors ?? '')
  const { exception } = row
  const checkOf = (isChanged: boolean) => (isChanged ? t.strictNotSame : t.strictSame)
  checkOf(exception?.tool === 'recorder')(withRecorder, plain, 'with the recorder')
  checkOf(exception?.tool === 'profiler')(withProfiler, plain, 'with the profiler')
  checkOf(exception !== undefined)(withBoth, plain, 'with both')
  t.ok(DOCUMENT.includes(exception?.line ?? ''), 'docs/metrics/tools.md has the exception')
  if (row.isSampled !== true) return
  for (const results of [forEach, forBoth]) {
    t.ok(
      readdirSync(results).some((name) => name.startsWith('cpu_')),
      'there is a profile',
    )
  }
}

for (const row of ROWS) {
  const skip = reasonToSkip(row)
  t.test(`${row.name}: as without the tools, or documented`, { skip }, (t) => compare(t, row))
}

t.test('there are programs of at least 25 kinds', async (t) => {
  t.ok(ROWS.length >= 25)
  t.equal(new Set(ROWS.map(({ name }) => name)).size, ROWS.length)
})
