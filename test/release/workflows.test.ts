import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { folderOf } from '../cluster/machine/tools.ts'

const WORKFLOWS = fileURLToPath(new URL('../../.github/workflows', import.meta.url))
const ACTIONLINT = join(await folderOf('actionlint'), 'actionlint')

/** In CI it must be built: the test fails if it is missing. */
const skip =
  existsSync(ACTIONLINT) || process.env.CI === 'true'
    ? false
    : 'actionlint is not built: `npm run chart:programs` does that, with Go'

/**
 * Runs actionlint on a workflow, with its own rules only: shellcheck and pyflakes may be missing.
 */
function lint(text: string) {
  const words = ['-no-color', '-shellcheck=', '-pyflakes=', '-']
  const { status, stdout, error } = spawnSync(ACTIONLINT, words, { input: text, encoding: 'utf8' })
  return { code: status, out: error?.message ?? stdout }
}

const names = readdirSync(WORKFLOWS)
const read = (name: string) => readFileSync(join(WORKFLOWS, name), 'utf8')

for (const name of names) {
  t.test(`actionlint finds nothing wrong in ${name}`, { skip }, (t) => {
    const { code, out } = lint(read(name))
    t.equal(code, 0, out)
    t.end()
  })
}

/** A release workflow with one error, and actionlint's message about it. */
const BROKEN: readonly (readonly [string, string, RegExp])[] = [
  ['needs: images', 'needs: pictures', /job "chart" needs job "pictures" which does not exist/],
  ['packages: write', 'packages: push', /"push" is invalid as permission of scope "packages"/],
  ['steps.build.outputs.digest', 'steps.built.outputs.digest', /property "built" is not defined/],
  ['runs-on: ubuntu-24.04', 'runs-on: ubuntu-1.0', /label "ubuntu-1.0" is unknown/],
]

for (const [right, wrong, sentence] of BROKEN) {
  t.test(`actionlint finds ${wrong}`, { skip }, (t) => {
    const text = read('release.yml').replace(right, wrong)
    t.not(text, read('release.yml'))
    const { code, out } = lint(text)
    t.equal(code, 1)
    t.match(out, sentence)
    t.end()
  })
}

t.test('a job of the release may write only where it has to', async (t) => {
  const { permissions, jobs } = parse(read('release.yml'))
  t.strictSame(permissions, {})
  const granted = Object.entries(jobs as Record<string, { permissions: object }>).map(
    ([name, job]) => [name, job.permissions],
  )
  t.strictSame(Object.fromEntries(granted), {
    check: { contents: 'read' },
    images: { contents: 'read', packages: 'write', 'id-token': 'write' },
    chart: { contents: 'read', packages: 'write', 'id-token': 'write' },
    package: { contents: 'read', 'id-token': 'write' },
    release: { contents: 'write', 'id-token': 'write' },
  })
})

t.test(
  'a command of a workflow takes no expression, which could be a command itself',
  async (t) => {
    for (const name of names) {
      const { jobs } = parse(read(name))
      const steps = Object.values(jobs as Record<string, { steps: { run?: string }[] }>).flatMap(
        (job) => job.steps,
      )
      const commands = steps.flatMap(({ run }) => run ?? [])
      t.ok(commands.length > 0)
      t.strictSame(
        commands.filter((run) => run.includes('$' + '{{')),
        [],
      )
    }
  },
)
