import t from 'tap'
import { groupFiles } from './groups.ts'
import { filesOfTier, findTier, TIER_NAMES } from './tiers.ts'

const EXAMPLES = [
  ['src/core/decide.test.ts', 'node'],
  ['src/runs/report/page.browser.test.ts', 'browser'],
  ['kubernetes/limits/limits.go.test.ts', 'go'],
  ['observers/hold.test.ts', 'linux'],
  ['observers/endurance.long.test.ts', 'long'],
  ['observers/large/crowds.test.ts', 'large'],
  ['charts/scan.test.ts', 'chart'],
  ['cluster/with-node/lammps.test.ts', undefined],
  ['tools/torch/installed/trace.test.ts', undefined],
] as const

for (const [path, tier] of EXAMPLES) {
  t.test(`${path} belongs to ${tier ?? 'no tier'}`, async (t) => {
    t.equal(findTier(path), tier)
  })
}

t.test('each tier has tests, and a process runs each test once', async (t) => {
  for (const tier of TIER_NAMES) {
    const files = filesOfTier(tier)
    t.not(files.length, 0, tier)
    const grouped = groupFiles(files).flatMap((group) => group.files)
    t.strictSame(grouped.toSorted(), files)
  }
})

t.test('files of folders that may share a process do, a limited number of them', async (t) => {
  const names = Array.from({ length: 20 }, (_, index) => `src/runs/${index}.test.ts`)
  const groups = groupFiles([...names, 'webhook/serve.test.ts', 'webhook/routes.test.ts'])
  t.strictSame(
    groups.map(({ name, files }) => [name, files.length]),
    [
      ['src/runs-1', 10],
      ['src/runs-2', 10],
      ['webhook/serve.test.ts', 1],
      ['webhook/routes.test.ts', 1],
    ],
  )
})
