import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDER = join(ROOT, '.github/krew')
const { version, bin, files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** The fields of a manifest that krew reads (kubernetes-sigs/krew, pkg/index/types.go). */
interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly version: string
    readonly homepage: string
    readonly shortDescription: string
    readonly platforms: readonly Platform[]
  }
}

interface Platform {
  readonly uri: string
  readonly sha256: string
  readonly bin: string
  readonly files: readonly { readonly from: string; readonly to: string }[]
  readonly selector: {
    readonly matchExpressions: readonly { readonly key: string; readonly values: string[] }[]
  }
}

/** Returns the rules of krew that a manifest breaks (internal/index/validation/validate.go). */
function problemsOf({ apiVersion, kind, metadata, spec }: Manifest): readonly string[] {
  const rules: readonly (readonly [string, boolean])[] = [
    ['apiVersion', apiVersion === 'krew.googlecontainertools.github.com/v1alpha2'],
    ['kind', kind === 'Plugin'],
    ['name', /^[\w-]+$/.test(metadata.name)],
    ['version', /^v\d+\.\d+\.\d+(-[\w.-]+)?$/.test(spec.version)],
    ['shortDescription', /^[^\r\n]+$/.test(spec.shortDescription)],
    // The guide of krew-index: at most about 50 characters, and no full stop.
    ['shortDescription', spec.shortDescription.length <= 50 && !/\.$/.test(spec.shortDescription)],
    ['homepage', /^https:\/\/github\.com\/[\w.-]+\/[\w.-]+$/.test(spec.homepage)],
    ['platforms', spec.platforms.length > 0],
  ]
  const broken = rules.flatMap(([rule, isKept]) => (isKept ? [] : [rule]))
  return [...broken, ...spec.platforms.flatMap(platformProblems)]
}

function platformProblems({ uri, sha256, bin, files, selector }: Platform): readonly string[] {
  const expressions = selector.matchExpressions
  const rules: readonly (readonly [string, boolean])[] = [
    ['uri', /^https:\/\/[^@\s]+\.(tar\.gz|zip)$/.test(uri)],
    ['sha256', /^[a-f0-9]{64}$/.test(sha256)],
    ['bin', bin !== ''],
    ['files', files.length > 0 && files.every(({ from, to }) => from !== '' && to !== '')],
    ['selector', expressions.length > 0],
    ['selector', expressions.every(({ key }) => key === 'os' || key === 'arch')],
  ]
  return rules.flatMap(([rule, isKept]) => (isKept ? [] : [rule]))
}

const archive = join(t.testdir(), 'archive.tar.gz')
writeFileSync(archive, 'an archive')
const filled = execFileSync('sh', [join(FOLDER, 'fill.sh'), version, 'owner/name', archive], {
  encoding: 'utf8',
})
const manifest: Manifest = parse(filled)

t.test('the filled manifest conforms to the rules of krew', async (t) => {
  t.strictSame(problemsOf(manifest), [])
  t.notMatch(filled, /@[A-Z0-9]+@/, 'no value is left out')
  t.equal(manifest.metadata.name, 'ridealong')
  t.equal(manifest.spec.version, `v${version}`)
  const [platform] = manifest.spec.platforms
  t.equal(platform?.sha256, createHash('sha256').update('an archive').digest('hex'))
  const file = `kubectl-ridealong-${version}.tar.gz`
  t.equal(platform?.uri, `https://github.com/owner/name/releases/download/v${version}/${file}`)
})

t.test('the manifest without the values of a release breaks the rules of krew', async (t) => {
  const template: Manifest = parse(readFileSync(join(FOLDER, 'ridealong.yaml'), 'utf8'))
  t.strictSame(problemsOf(template), ['version', 'homepage', 'uri', 'sha256'])
})

t.test('each platform installs the program of the npm package', async (t) => {
  for (const platform of manifest.spec.platforms) {
    t.equal(platform.bin, bin['kubectl-ridealong'])
    const installed = platform.files.map(({ from }) => from)
    t.strictSame(installed, [...files, 'LICENSE'])
    const { pathname } = new URL(platform.uri)
    t.match(readFileSync(join(FOLDER, 'pack.sh'), 'utf8'), installed.join(' '), pathname)
  }
  t.ok(existsSync(join(ROOT, 'LICENSE')))
})

t.test('the release publishes the archive and the manifest', async (t) => {
  const { jobs } = parse(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8'))
  const steps: readonly { run?: string }[] = jobs.package.steps
  const commands = steps.flatMap(({ run }) => run ?? []).join('\n')
  t.match(commands, '.github/krew/pack.sh')
  t.match(commands, '.github/krew/fill.sh')
  t.match(commands, 'assets/kubectl-ridealong-$version.tar.gz')
})
