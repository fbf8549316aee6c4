import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import {
  findMissingPrograms,
  isRootOnLinux,
  OBSERVER_PROGRAMS,
} from '../observers/prerequisites.ts'

const REPOSITORY = join(import.meta.dirname, '../..')

/** The browser that tests of pages start. */
export const CHROMIUM = '/usr/bin/chromium'

/** Tests that need the same prerequisites. */
interface Tier {
  /** What the tests of the tier are about, and their prerequisites, for `--help`. */
  readonly help: string
  /** Folders below test/ whose files belong to the tier. */
  readonly folders: readonly string[]
  /** Returns the prerequisites that this machine does not have. */
  readonly findMissing: () => readonly string[]
}

/**
 * The tiers. A test belongs to the tier in its name (`page.browser.test.ts`), otherwise to the tier
 * of its folder, otherwise to `node`. The tests in OWN_COMMANDS belong to none.
 */
export const TIERS = {
  node: {
    help: 'all that needs Node alone',
    folders: [],
    findMissing: () => [],
  },
  go: {
    help: 'comparisons with the code of Kubernetes and pprof; needs Go',
    folders: ['kubernetes'],
    findMissing: () => findMissingPrograms(['go']),
  },
  browser: {
    help: `pages; needs Chromium (${CHROMIUM})`,
    folders: [],
    findMissing: () => (existsSync(CHROMIUM) ? [] : [CHROMIUM]),
  },
  linux: {
    help: 'observers, tools, mounts and shells; needs root on Linux, Rust, gcc and Python',
    folders: ['observers', 'tools', 'metrics'],
    findMissing: findMissingOfLinux,
  },
  chart: {
    help: 'the chart; needs Go and Python, and builds Helm and the programs that check charts',
    folders: ['charts'],
    findMissing: () => findMissingPrograms(['go', 'python3']),
  },
  long: {
    help: 'terminals, endurance, and archives that are killed; needs the same as linux',
    folders: [],
    findMissing: findMissingOfLinux,
  },
  large: {
    help: 'large nodes, and millions of samples; takes an hour, and needs the same as linux',
    folders: ['observers/large'],
    findMissing: findMissingOfLinux,
  },
} as const satisfies Record<string, Tier>

/** The name of a tier. */
export type TierName = keyof typeof TIERS

/** The names of all tiers, in the order in which they run. */
export const TIER_NAMES = Object.keys(TIERS) as TierName[]

const isTier = (name: string): name is TierName => Object.hasOwn(TIERS, name)

/** Folders below test/ whose tests need a cluster, or PyTorch, and have commands of their own. */
const OWN_COMMANDS = ['cluster/', 'tools/torch/installed/']

/** Returns the tier of a test file, by its path below test/, such as `src/core/decide.test.ts`. */
export function findTier(path: string): TierName | undefined {
  if (OWN_COMMANDS.some((folder) => path.startsWith(folder))) return
  const suffix = /\.(\w+)\.test\.ts$/.exec(path)?.[1] ?? ''
  if (isTier(suffix)) return suffix
  const folders = TIER_NAMES.flatMap((tier) =>
    TIERS[tier].folders.map((folder) => ({ tier, folder })),
  )
  const containing = folders.filter(({ folder }) => path.startsWith(`${folder}/`))
  return containing.toSorted((a, b) => b.folder.length - a.folder.length)[0]?.tier ?? 'node'
}

/** Returns the test files of a tier, as sorted paths below test/. */
export function filesOfTier(tier: TierName): readonly string[] {
  const paths = globSync('**/*.test.ts', { cwd: join(REPOSITORY, 'test') })
  return paths.filter((path) => findTier(path) === tier).toSorted()
}

function findMissingOfLinux(): readonly string[] {
  return [...(isRootOnLinux() ? [] : ['root on Linux']), ...findMissingPrograms(OBSERVER_PROGRAMS)]
}
