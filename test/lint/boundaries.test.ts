import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { ownFolder } from '../tiers/own-folder.ts'

// Tests the boundaries between folders that biome.json declares. Biome lints modules with one
// import each, in a temporary folder with the same configuration.

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const BIOME = join(REPOSITORY, 'node_modules/.bin/biome')

/** A module, the module that it imports, and whether the import crosses a boundary. */
const IMPORTS: readonly (readonly [string, string, boolean])[] = [
  ['src/core/a.ts', '../lib/split-lines.ts', true],
  ['src/core/b.ts', 'node:fs', true],
  ['src/core/c.ts', './kubernetes/pod.ts', false],
  ['src/core/rules/a.ts', '../../lib/split-lines.ts', true],
  ['src/core/rules/b.ts', '../request.ts', false],
  ['src/core/kubernetes/a.ts', '../request.ts', true],
  ['src/core/kubernetes/b.ts', '../text/quote.ts', false],
  ['src/cluster/a.ts', '../runs/collect/observers.ts', true],
  ['src/cluster/b.ts', '../../cli/main.ts', true],
  ['src/cluster/c.ts', '../lib/error-message.ts', false],
  ['src/runs/collect/a.ts', '../../cluster/pods.ts', false],
  ['src/runs/collect/b.ts', 'node:fs', false],
  ['src/runs/collect/c.ts', '../../../cli/main.ts', true],
  ['src/runs/collect/d.ts', '../../../webhook/server.ts', true],
  ['src/runs/log/a.ts', 'node:fs', true],
  ['src/runs/top/a.ts', '../../cluster/logs.ts', true],
  ['src/runs/top/b.ts', '../log/columns.ts', false],
  ['cli/record/a.ts', '../../webhook/server.ts', true],
  ['cli/record/b.ts', '../../src/pods/recording/redact.ts', false],
  ['cli/serve/a.ts', '../../webhook/serve.ts', false],
  ['src/pods/manifest/a.ts', '../../../cli/main.ts', true],
  ['src/pods/explain/a.ts', '../../../cli/main.ts', true],
  ['src/pods/explain/b.ts', '../../catalog/built-in.ts', true],
  ['src/pods/explain/c.ts', '../../catalog/parse.ts', true],
  ['src/pods/doctor/a.ts', '../../../webhook/server.ts', true],
  ['cli/archive/a.ts', '../../webhook/status-app.ts', false],
  ['webhook/a.ts', '../cli/main.ts', true],
  ['webhook/b.ts', '../src/core/review-pod.ts', false],
  ['certs/a.ts', '../src/lib/split-lines.ts', true],
  ['certs/b.ts', './make.ts', false],
]

const folder = ownFolder(t)
const configuration = JSON.parse(readFileSync(join(REPOSITORY, 'biome.json'), 'utf8'))
// The temporary folder is not a git repository.
const alone = { ...configuration, root: true, vcs: { enabled: false } }
writeFileSync(join(folder, 'biome.json'), JSON.stringify(alone))
for (const [path, imported] of IMPORTS) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), `import { value } from '${imported}'\n\nvalue()\n`)
}
const words = ['lint', '--only=style/noRestrictedImports', '--reporter=github', '.']
const { stdout } = spawnSync(BIOME, words, { cwd: folder, encoding: 'utf8' })

for (const [path, imported, isRejected] of IMPORTS) {
  t.test(`${path} ${isRejected ? 'must not' : 'may'} import ${imported}`, async (t) => {
    t.equal(stdout.includes(`,file=${join(folder, path)},`), isRejected)
  })
}
