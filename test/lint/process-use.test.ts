import t from 'tap'
import { findProcessUse } from './process-use.ts'

const WRONG = [
  'process.stdout.write(text)',
  'const { KUBECONFIG } = process.env',
  'const { stderr, stdin } = process',
  'process.exitCode = 1',
  "import { env } from 'node:process'",
]

for (const line of WRONG) {
  t.test(`\`${line}\` is a problem in a module, but not in a program`, async (t) => {
    const text = `\n${line}\n`
    t.match(findProcessUse({ path: 'cli/top/top.ts', text }), [
      { path: 'cli/top/top.ts', line: 2, message: / instead of / },
    ])
    t.strictSame(findProcessUse({ path: 'cli/main.ts', text }), [])
  })
}

t.test('a process of a run, and facts about the own process, are no problem', async (t) => {
  const text = 'const { rank } = process\nprocess.environment\nprocess.pid\nprocess.kill(0)\n'
  t.strictSame(findProcessUse({ path: 'src/runs/metrics/mpi-trace/mpi-run.ts', text }), [])
})
