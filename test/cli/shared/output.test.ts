import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

// All output except progress bars and the frames of `top` must be written by
// cli/shared/output.ts, which escapes control characters. This test finds code in other modules
// that writes to the terminal.

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * The modules that may name an output stream: to write to that of the process, to listen for its
 * errors, to know its width, to recognize its path, such as /dev/stdout, or to read that of a
 * program in a container.
 */
const MAY_NAME = [
  'cli/archive/archive.ts',
  'cli/collect/collect.ts',
  'cli/main.ts',
  'cli/serve/serve.ts',
  'cli/shared/host.ts',
  'cli/shared/output.ts',
  'cli/shared/progress.ts',
  'cli/stacks/stacks.ts',
  'cli/start/start.ts',
  'cli/top/screen.ts',
  'src/cluster/exec.ts',
  'src/lib/whole-file.ts',
]
/**
 * The modules that may write to an output stream. A progress bar has only Ridealong's own text, as
 * has the message about a Node that is too old, and the text of a frame is printable.
 */
const MAY_WRITE = [
  'cli/shared/output.ts',
  'cli/shared/progress.ts',
  'cli/start/start.ts',
  'cli/top/screen.ts',
]

const sources = ['cli', 'src', 'webhook', 'certs'].flatMap((folder) => {
  return readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)
})
const naming = (pattern: RegExp) => {
  return sources.filter((path) => pattern.test(readFileSync(`${ROOT}/${path}`, 'utf8'))).sort()
}

t.test(
  'only the modules of the output, the progress, the start and the screen write to it',
  async (t) => {
    t.ok(sources.length > 200)
    t.strictSame(naming(/\b(stdout|stderr)\b/), MAY_NAME)
    t.strictSame(naming(/\b(stdout|stderr)\.write\b/), MAY_WRITE)
    t.strictSame(naming(/\bconsole\.(debug|error|info|log|warn)\b|\bwriteSync\b/), [])
  },
)
