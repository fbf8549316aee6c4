import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { folderOf } from '../cluster/machine/tools.ts'

const WORKFLOWS = fileURLToPath(new URL('../../.github/workflows', import.meta.url))
const ACTIONLINT = join(await folderOf('actionlint'), 'actionlint')

/**
 * Runs only actionlint's own rules on a workflow, because shellcheck and pyflakes may not be
 * installed.
 */
function lint(text: string) {
  const words = ['-no-color', '-shellcheck=', '-pyflakes=', '-']
  const { status, stdout, error } = spawnSync(ACTIONLINT, words, { input: text, encoding: 'utf8' })
  return { code: status, out: error?.message ?? stdout }
}

const names = readdirSync(WORKFLOWS)
const read = (name: string) => readFileSync(join(WORKFLOWS, name), 'utf8')

for (const name of names) {
  t.test(`actionlint finds no error in ${name}`, (t) => {
    const { code, out } = lint(read(name))
    t.equal(code, 0, out)
    t.end()
  })
}

/** Texts of the release workflow, each with a wrong replacement and actionlint's message. */
const BROKEN: readonly (readonly [string, string, RegExp])[] = [
  ['needs: images', 'needs: pictures', /job "chart" needs job "pictures" which does not exist/],
  ['packages: write', 'packages: push', /"push" is invalid as permission of scope "packages"/],
  ['steps.build.outputs.digest', 'steps.built.outputs.digest', /property "built" is not defined/],
  ['runs-on: ubuntu-24.04', 'runs-on: ubuntu-1.0', /label "ubuntu-1.0" is unknown/],
]

for (const [right, wrong, sentence] of BROKEN) {
  t.test(`actionlint finds the error "${wrong}"`, (t) => {
    const text = read('release.yml').replace(right, wrong)
    t.not(text, read('release.yml'))
    const { code, out } = lint(text)
    t.equal(code, 1)
    t.match(out, sentence)
    t.end()
  })
}
