import t from 'tap'
import { findClimbingImports } from './climbing-imports.ts'

const imports = (...paths: readonly string[]) =>
  paths.map((path) => `import { value } from '${path}'\n`).join('')

t.test('folders that import in one direction have no circle', async (t) => {
  const modules = [
    { path: 'cli/main.ts', text: imports('../webhook/serve.ts', '../src/runs/log/parse.ts') },
    { path: 'webhook/serve.ts', text: imports('../src/core/decide.ts') },
    { path: 'src/runs/log/parse.ts', text: imports('../../core/decide.ts') },
  ]
  t.strictSame(findClimbingImports(modules), [])
})

const CIRCLES: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
  [
    'between top-level folders',
    {
      'cli/main.ts': imports('../webhook/serve.ts'),
      'webhook/serve.ts': imports('../cli/options.ts'),
    },
    'cli → webhook → cli',
  ],
  [
    'between the floors of src',
    {
      'src/runs/log/parse.ts': imports('../../pods/explain/facts.ts'),
      'src/pods/attach/show.ts': imports('../../runs/top/format.ts'),
    },
    'src/runs → src/pods → src/runs',
  ],
  [
    'by an import of a type, and a dynamic import',
    {
      'src/runs/findings/rules.ts': "import type { Page } from '../report/page.ts'\n",
      'src/runs/report/gather.ts': "const { rules } = await import('../findings/rules.ts')\n",
    },
    'src/runs/findings → src/runs/report → src/runs/findings',
  ],
  [
    'between modules of one folder, by an import of a type',
    {
      'src/core/catalog.ts': "import type { Export } from './export.ts'\n",
      'src/core/export.ts': imports('./plan.ts'),
      'src/core/plan.ts': imports('./catalog.ts'),
    },
    'src/core/catalog.ts → src/core/export.ts → src/core/plan.ts → src/core/catalog.ts',
  ],
]
for (const [title, modules, circle] of CIRCLES) {
  t.test(`a circle is found: ${title}`, async (t) => {
    const files = Object.entries(modules).map(([path, text]) => ({ path, text }))
    const [problem, ...others] = findClimbingImports(files)
    t.equal(problem?.message, `the imports form a circle: ${circle}; import in one direction only`)
    t.strictSame(others, [])
  })
}

t.test('folders below a floor may import each other, but modules may not', async (t) => {
  const modules = [
    { path: 'src/core/rules/rank.ts', text: imports('../request.ts') },
    { path: 'src/core/request.ts', text: imports('./rules/quota.ts') },
  ]
  t.strictSame(findClimbingImports(modules), [])
})
