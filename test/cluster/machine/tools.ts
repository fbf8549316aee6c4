import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GO_FLAGS } from './go-program.ts'

/** The folder of programs that were built once, outside of git. */
export const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ridealong')

const MODULES = fileURLToPath(new URL('../go', import.meta.url))

/** A folder of test/cluster/go: a Go module that pins programs with `tool` directives. */
export type Module =
  | 'kubernetes-1.36'
  | 'kubernetes-1.30'
  | 'containerd-2'
  | 'coredns'
  | 'etcd'
  | 'kwok'
  | 'helm-4'
  | 'helm-3'
  | 'helm-unittest'
  | 'kubeconform'
  | 'actionlint'
  | 'prometheus'
  | 'training-operator'
  | 'cert-manager'

/**
 * Build tags of modules. Prometheus without its service discoveries, whose client libraries take
 * most of the time to compile, still has all other parts.
 */
const TAGS: Partial<Readonly<Record<Module, string>>> = { prometheus: 'remove_all_sd' }

/**
 * Returns the version of Kubernetes that a module pins, for example v1.36.3. Only its go.mod
 * contains the version.
 */
export async function kubernetesVersion(module: Module): Promise<string> {
  const pins = await readFile(join(MODULES, module, 'go.mod'), 'utf8')
  const version = /^(?:require|\t)\s*k8s\.io\/kubernetes (v\S+)/m.exec(pins)?.[1]
  if (version === undefined) throw new Error(`${module}/go.mod requires no k8s.io/kubernetes`)
  return version
}

/**
 * Builds the programs of a module if they are missing.
 *
 * @returns the folder of the programs
 */
export async function tools(module: Module, say: (line: string) => void): Promise<string> {
  const source = join(MODULES, module)
  const folder = await folderOf(module)
  if (existsSync(folder)) return folder
  say(`building ${module}, once; this takes minutes`)
  const unfinished = `${folder}.${process.pid}`
  await mkdir(unfinished, { recursive: true })
  try {
    await install(source, unfinished, await flags(module), TAGS[module] ?? '')
    await rename(unfinished, folder)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return folder
}

/**
 * Returns the folder of a module's programs. Its name contains a hash of the module's files and
 * build tags.
 */
export async function folderOf(module: Module): Promise<string> {
  return join(CACHE, `${module}-${await fingerprint(join(MODULES, module), TAGS[module] ?? '')}`)
}

/** Returns the folder with the source of the Go module `path`, which a module requires. */
export async function moduleFolder(module: Module, path: string): Promise<string> {
  const words = ['list', '-m', '-f', '{{.Dir}}', path]
  return (await run('go', words, { cwd: join(MODULES, module) })).trim()
}

async function fingerprint(source: string, tags: string): Promise<string> {
  const hash = createHash('sha256').update(tags)
  for (const name of (await readdir(source)).sort()) {
    hash.update(name).update(await readFile(join(source, name)))
  }
  return hash.digest('hex').slice(0, 12)
}

/**
 * Returns the linker flags for a module. Without the flags `-X`, Kubernetes does not report its
 * version (hack/lib/version.sh).
 */
async function flags(module: Module): Promise<string> {
  if (!module.startsWith('kubernetes')) return '-s -w'
  const version = await kubernetesVersion(module)
  const [major, minor] = version.slice(1).split('.')
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor }
  const settings = Object.entries(values).map(([name, value]) => {
    return `-X k8s.io/component-base/version.${name}=${value}`
  })
  return ['-s -w', ...settings].join(' ')
}

/**
 * Builds all programs of a module. At most two compilers or linkers run at the same time, because
 * more would need more memory than a small machine has. A build that fails is tried once more: the
 * module proxy may not have answered, and Go keeps all that it has fetched and compiled.
 */
async function install(
  source: string,
  folder: string,
  ldflags: string,
  tags: string,
): Promise<void> {
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' }
  const words = ['install', ...GO_FLAGS, '-p=2', '-tags', tags, '-ldflags', ldflags, 'tool']
  const build = () => run('go', words, { cwd: source, env })
  await build().catch(build)
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** The standard input of the program. */
  readonly input?: string
}

/**
 * Runs a program to its end.
 *
 * @returns its standard output
 * @throws an error with the command and the end of its standard error
 */
export async function run(
  program: string,
  words: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { input, ...others } = options
  const child = spawn(program, words, { ...others, stdio: ['pipe', 'pipe', 'pipe'] })
  const output: string[] = []
  const errors: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text) => output.push(text))
  child.stderr.setEncoding('utf8').on('data', (text) => errors.push(text))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject).once('close', resolve)
  })
  if (code === 0) return output.join('')
  const end = (errors.join('') || output.join('')).trimEnd().split('\n').slice(-20).join('\n')
  throw new Error(`${program} ${words.slice(0, 4).join(' ')} ended with ${code}: ${end}`)
}
