import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WORKFLOWS = `${ROOT}.github/workflows`

const read = (path: string) => readFileSync(`${ROOT}${path}`, 'utf8')

/**
 * Returns the base images of a Dockerfile that are not pinned by digest. Stages of the Dockerfile
 * and `scratch`, which is not an image, need no pin.
 */
function unpinnedBases(dockerfile: string): readonly string[] {
  const froms = [...dockerfile.matchAll(/^FROM (?:--\S+ )*(\S+)(?: AS (\S+))?$/gim)]
  const stages = ['scratch', ...froms.flatMap(([, , name]) => name ?? [])]
  return froms
    .map(([, base = '']) => base)
    .filter((base) => !stages.includes(base) && !/@sha256:[0-9a-f]{64}$/.test(base))
}

t.test('base images are pinned by digest', async (t) => {
  const dockerfile = read('Dockerfile')
  t.match(dockerfile, /^FROM \S+@sha256:/m)
  t.strictSame(unpinnedBases(dockerfile), [])
  const floating = dockerfile.replace(/@sha256:[0-9a-f]{64}/, '')
  t.equal(unpinnedBases(floating).length, 1, 'an image with only a tag is found')
})

/**
 * Returns the actions of a workflow that are not pinned by a full commit with its version in a
 * comment.
 */
function unpinnedActions(workflow: string): readonly string[] {
  const uses = [...workflow.matchAll(/^\s*(?:- )?uses: (.*)$/gm)].map(([, text = '']) => text)
  return uses.filter((text) => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(text))
}

for (const file of readdirSync(WORKFLOWS)) {
  t.test(`${file} pins each action by one commit`, async (t) => {
    const workflow = read(`.github/workflows/${file}`)
    t.match(workflow, /uses: /)
    t.strictSame(unpinnedActions(workflow), [])
    const floating = workflow.replace(/@[0-9a-f]{40} # (v\d+)\S*/, '@$1')
    t.equal(unpinnedActions(floating).length, 1, 'an action with only a tag is found')
    const uses = new Set([...workflow.matchAll(/uses: (\S+@\S+)/g)].map(([, text]) => text))
    const names = [...uses].map((text) => text?.split('@')[0])
    t.equal(new Set(names).size, names.length, `each action has one commit: ${names.join(', ')}`)
  })
}

/**
 * Returns the inputs of a job's actions with the images that run in the job which are not pinned by
 * digest. Without such an input, an action runs the image of a tag.
 */
function unpinnedBuilders(workflow: string): readonly string[] {
  const { env, jobs } = parse(workflow)
  const inputsOf = (action: string): Readonly<Record<string, string>> => {
    const steps: readonly Step[] = jobs.images.steps
    return steps.find(({ uses }) => uses?.startsWith(`${action}@`))?.with ?? {}
  }
  const inputs = [
    inputsOf('docker/setup-qemu-action').image ?? 'setup-qemu-action: no image',
    inputsOf('docker/setup-buildx-action')['driver-opts'] ?? 'setup-buildx-action: no image',
    inputsOf('docker/build-push-action').sbom ?? 'build-push-action: no scanner',
  ]
  return inputs
    .map((input) => String(input).replace(/\$\{\{ env\.(\w+) \}\}/, (_, name) => env[name]))
    .filter((input) => !/^(\w+=)?docker\.io\/[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(input))
}

t.test('images that run in the job with rights to publish are pinned by digest', async (t) => {
  const workflow = read('.github/workflows/release.yml')
  t.strictSame(unpinnedBuilders(workflow), [])
  const rebuild = read('.github/workflows/rebuild.yml')
  for (const name of ['IMAGES', 'BINFMT', 'BUILDKIT', 'SCANNER'])
    t.equal(parse(rebuild).env[name], parse(workflow).env[name], `${name} of the weekly images`)
  t.strictSame(unpinnedBuilders(rebuild), [])
  const floating = workflow.replace(/(BUILDKIT: \S+)@sha256:[0-9a-f]{64}/, '$1')
  t.equal(unpinnedBuilders(floating).length, 1, 'an image with only a tag is found')
  const byDefault = workflow.replace(/sbom: generator=.*/, 'sbom: true')
  t.strictSame(unpinnedBuilders(byDefault), ['true'], 'the default image of an action is found')
})

t.test('Dependabot updates the base images, actions, packages and modules', async (t) => {
  const { updates } = parse(read('.github/dependabot.yml'))
  const folders = (ecosystem: string): readonly string[] =>
    updates
      .filter((update: Update) => update['package-ecosystem'] === ecosystem)
      .flatMap(({ directory, directories = [directory ?? ''] }: Update) => directories)
  t.strictSame(folders('docker'), ['/'])
  t.strictSame(folders('npm'), ['/'])
  t.strictSame(folders('github-actions'), ['/'])
  t.strictSame(folders('pip'), ['/test/charts'])
  t.strictSame(folders('cargo'), ['/observer', '/observer/fuzz'])
  const modules = readdirSync(`${ROOT}test`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('go.mod'))
    .map((path) => `/test/${path.slice(0, -'/go.mod'.length)}`)
  t.ok(modules.length > 5)
  for (const module of modules) {
    const parent = `${module.slice(0, module.lastIndexOf('/'))}/*`
    t.ok(
      folders('gomod').includes(module) || folders('gomod').includes(parent),
      `Dependabot updates ${module}`,
    )
  }
  for (const folder of updates.flatMap(({ directory }: Update) => directory ?? []))
    t.ok(existsSync(`${ROOT}${folder}`), `${folder} exists`)
})

interface Step {
  readonly uses?: string
  readonly with?: Readonly<Record<string, string>>
}

interface Update {
  readonly 'package-ecosystem': string
  readonly directory?: string
  readonly directories?: readonly string[]
}
