import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHECKOV, CHECKOV_CONFIG } from './checkov.ts'
import { render, run, skip } from './programs.ts'

/** The time limit in milliseconds. On a busy machine, the scanner takes half a minute to start. */
const PATIENCE_MS = 300_000

const DIGEST = `sha256:${'0'.repeat(64)}`

const isMissing = !existsSync(CHECKOV) && process.env.CI !== 'true'

t.test(
  'the scanner of manifests finds no problem, except those with a documented reason',
  { skip: isMissing ? 'checkov is not installed: run `npm run test:chart`' : skip },
  (t) => {
    t.setTimeout(PATIENCE_MS)
    const manifests = render([`image.digest=${DIGEST}`, `observer.image.digest=${DIGEST}`])
    const folder = t.testdir({ 'ridealong.yaml': manifests })
    // The scanner gets a file, because it skips folders whose names begin with a dot.
    const file = join(folder, 'ridealong.yaml')
    const scan = () => run(CHECKOV, ['--config-file', CHECKOV_CONFIG, '--file', file])
    const { code, out, err } = scan()
    t.equal(code, 0, out + err)
    t.testdir({
      'ridealong.yaml': manifests.replace('allowPrivilegeEscalation: false', 'privileged: true'),
    })
    t.equal(scan().code, 1, 'the scanner finds a privileged container')
    t.end()
  },
)
