import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const OBSERVER = fileURLToPath(new URL('../../observer', import.meta.url))

t.test('cargo refuses a lower crate that imports a higher one', async (t) => {
  const folder = t.testdir()
  for (const name of ['Cargo.toml', 'Cargo.lock', 'crates']) {
    cpSync(join(OBSERVER, name), join(folder, name), { recursive: true })
  }
  const words = ['metadata', '--offline', '--format-version=1']
  const options = { cwd: folder, encoding: 'utf8' } as const
  const { packages } = JSON.parse(execFileSync('cargo', [...words, '--no-deps'], options))
  t.strictSame(packages.map(({ name }: { name: string }) => name).toSorted(), [
    'encode',
    'linux',
    'otlp',
    'ridealong-observer',
    'target-command',
  ])
  const manifest = join(folder, 'crates/linux/Cargo.toml')
  const climbing = '[dependencies]\notlp.workspace = true\n'
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('[dependencies]\n', climbing))
  const { status, stderr } = spawnSync('cargo', words, options)
  t.not(status, 0)
  t.match(stderr, 'cyclic package dependency')
})
