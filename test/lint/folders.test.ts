import t from 'tap'
import { findCrowdedFolders, findStrayTests } from './folders.ts'

const files = (folder: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${folder}/file-${i}.ts`)

for (const [folder, most] of [
  ['src/lib', 25],
  ['test/cluster/machine', 25],
  ['src/core', 20],
  ['cli', 25],
] as const) {
  t.test(`${folder} has at most ${most} entries`, async (t) => {
    t.strictSame(findCrowdedFolders(files(folder, most)), [])
    t.strictSame(findCrowdedFolders(files(folder, most + 1)), [
      {
        path: folder,
        message: `the folder has ${most + 1} entries; group them so that it has at most ${most}`,
      },
    ])
  })
}

t.test('a subfolder counts as one entry, with any number of files', async (t) => {
  const paths = [...files('src/lib', 24), ...files('src/lib/text', 20)]
  t.strictSame(findCrowdedFolders(paths), [])
  const [problem, ...others] = findCrowdedFolders([...paths, ...files('src/lib/yaml', 2)])
  t.match(problem, { path: 'src/lib', message: /26 entries/ })
  t.strictSame(others, [])
})

t.test('a folder of numbered records can have any number of them', async (t) => {
  t.strictSame(findCrowdedFolders(files('docs/contributing/decisions', 40)), [])
})

const CODE = [
  'src/core/decide.ts',
  'src/runs/report/page/main.ts',
  'webhook/server.ts',
  'certs/make.ts',
]

t.test('a test with the path of a module or a folder is accepted', async (t) => {
  const own = ['src/core/decide', 'src/runs/report/page', 'src/runs/report/page/main']
  const tests = [...own, 'webhook/server', 'certs/make']
  const paths = tests.map((name) => `test/${name}.test.ts`)
  t.strictSame(findStrayTests([...CODE, ...paths]), [])
})

for (const name of ['src/core/decides', 'src/decide', 'webhook/decide', 'certs/serve']) {
  t.test(`a test of ${name}, which does not exist, is a problem`, async (t) => {
    t.strictSame(findStrayTests([...CODE, `test/${name}.test.ts`]), [
      {
        path: `test/${name}.test.ts`,
        message: `there is no ${name}.ts; name the test after its module`,
      },
    ])
  })
}

t.test('a test outside the mirrored folders may have any name', async (t) => {
  t.strictSame(findStrayTests([...CODE, 'test/properties/any.test.ts', 'test/any.test.ts']), [])
})
