import { spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { ownFolder } from '../tiers/own-folder.ts'

// kubectl searches PATH for a program named kubectl-ridealong. npm creates a link with this name.

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
const MANIFEST = new URL('../../package.json', import.meta.url)

const folder = ownFolder(t)
symlinkSync(MAIN, join(folder, 'kubectl-ridealong'))
const { FORCE_COLOR: _, ...others } = process.env
const env = { ...others, PATH: `${folder}:${dirname(process.execPath)}:${process.env.PATH}` }

const plugin = (...words: readonly string[]) =>
  spawnSync('kubectl-ridealong', words, { env, encoding: 'utf8' })

t.test('the kubectl plugin and its completion are the same program as ridealong', async (t) => {
  const { bin } = JSON.parse(readFileSync(MANIFEST, 'utf8'))
  t.equal(bin['kubectl-ridealong'], bin.ridealong)
  t.equal(bin['kubectl_complete-ridealong'], bin.ridealong)
})

t.test('kubectl can call the program to complete words', async (t) => {
  symlinkSync(MAIN, join(folder, 'kubectl_complete-ridealong'))
  const complete = (...words: readonly string[]) =>
    spawnSync('kubectl_complete-ridealong', words, { env, encoding: 'utf8' }).stdout
  t.match(complete('coll'), /^collect\tcollect .*\n:4\n$/)
  t.equal(complete('metrics', 'io'), 'io-sysstat\n:4\n')
  t.equal(complete('report', 'lam'), ':0\n')
})

t.test('the help shows the name under which the program was called', async (t) => {
  const { status, stdout } = plugin('--help')
  t.equal(status, 0)
  t.match(stdout, /^Usage: kubectl ridealong \[options\] \[command\]\n/)
  const { stdout: ofVerb } = plugin('attach', '--help')
  t.match(ofVerb, /^Usage: kubectl ridealong attach /)
  t.match(ofVerb, /\nExamples:\n( {2}\$ kubectl ridealong attach .*\n)+$/)
})

t.test('errors begin with the name ridealong, also in the plugin', async (t) => {
  const { status, stdout, stderr } = plugin('explain')
  t.equal(status, 2)
  t.equal(stdout, '')
  t.equal(stderr, 'ridealong: name either KIND/NAME, such as job/lammps, or -f FILE\n')
})
