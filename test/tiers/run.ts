/** `npm test` and `npm run test:*` run the tests of tiers.ts. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Argument, Command } from 'commander'
import { groupFiles } from './groups.ts'
import { filesOfTier, TIER_NAMES, TIERS, type TierName } from './tiers.ts'
import { today } from './today.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
const GROUPS = '.tap/groups'

const say = (line: string) => process.stderr.write(`${line}\n`)

const HELP = `
Tiers:
${TIER_NAMES.map((name) => `  ${name.padEnd(8)} ${TIERS[name].help}`).join('\n')}

A line names the prerequisites of a tier that are missing. The exit code is then 1; \`all\` runs the
other tiers instead, except with CI=true.

Examples:
  npm test
  npm run test:browser
  npm run test:all
  npm test -- --coverage
  npm run test:all -- --large-by-turns
`

interface Options {
  readonly bail: boolean
  readonly coverage: boolean
  readonly largeByTurns: boolean
}

new Command('test')
  .description('runs the tests of a tier')
  .addArgument(new Argument('[tier]').choices([...TIER_NAMES, 'all']).default('node'))
  .option('--bail', 'stop at the first test that fails', false)
  .option('--coverage', 'also print which code the tests do not cover', false)
  .option(
    '--large-by-turns',
    'of the tier large, run only one file, a different one each day',
    false,
  )
  .addHelpText('after', HELP)
  .action((tier: TierName | 'all', options: Options) => {
    const asked = tier === 'all' ? TIER_NAMES : [tier]
    const missing = asked.filter((name) => sayMissing(name))
    const isError = missing.length > 0 && (tier !== 'all' || process.env.CI === 'true')
    const files = asked
      .filter((name) => !missing.includes(name))
      .flatMap((name) => {
        const all = filesOfTier(name)
        return name === 'large' && options.largeByTurns
          ? [all[today() % all.length] as string]
          : all
      })
    process.exitCode = isError ? 1 : runFiles(files, options)
  })
  .parse()

/** Tells whether prerequisites of a tier are missing, and names them. */
function sayMissing(tier: TierName): boolean {
  const missing = TIERS[tier].findMissing()
  if (missing.length === 0) return false
  say(`tests of the tier ${tier} cannot run: this machine has no ${missing.join(', no ')}`)
  return true
}

function runFiles(paths: readonly string[], { bail, coverage }: Options): number {
  const options = [
    ...(bail ? ['--bail'] : []),
    ...(coverage ? ['--no-disable-coverage', '--allow-incomplete-coverage'] : []),
  ]
  const { status } = spawnSync(
    join(REPOSITORY, 'node_modules/.bin/tap'),
    [...options, ...writeGroups(paths)],
    {
      cwd: REPOSITORY,
      stdio: 'inherit',
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: join(REPOSITORY, 'node_modules/.cache/node'),
      },
    },
  )
  return status ?? 1
}

/** Writes a file for each group of tests that share a process, and returns the files to run. */
function writeGroups(paths: readonly string[]): readonly string[] {
  rmSync(join(REPOSITORY, GROUPS), { recursive: true, force: true })
  mkdirSync(join(REPOSITORY, GROUPS), { recursive: true })
  return groupFiles(paths).map(({ name, files }) => {
    if (files.length === 1) return `test/${files[0]}`
    const path = `${GROUPS}/${name.replaceAll('/', '-')}.test.mjs`
    writeFileSync(join(REPOSITORY, path), loadAll(files))
    return path
  })
}

/**
 * Returns a module that loads test files. Its first test ends when all files are loaded: tap would
 * otherwise end the process between two files, if the second takes long to load.
 */
function loadAll(files: readonly string[]): string {
  return [
    "import t from 'tap'",
    'const loading = Promise.withResolvers()',
    "t.test('the files of the group are loaded', () => loading.promise)",
    ...files.map((file) => `await import('../../test/${file}')`),
    'loading.resolve()\n',
  ].join('\n')
}
