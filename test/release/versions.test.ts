import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const { version } = JSON.parse(read('package.json'))
const chart = parse(read('charts/ridealong/Chart.yaml'))
const values = parse(read('charts/ridealong/values.yaml'))

const CATALOG_FOLDER = new URL('../../src/catalog/', import.meta.url)
/** The documents of the built-in metrics. */
const CATALOG = readdirSync(CATALOG_FOLDER)
  .filter((name) => name.endsWith('.yaml'))
  .map((file) => ({ file, ...parse(read(`src/catalog/${file}`)) }))
  .filter(({ kind }) => kind === 'Metric')

const INSTALLED: readonly string[] = [values.image, values.observer.image, values.tools.image].map(
  ({ registry, repository }) => `${registry}/${repository}`,
)
const IMAGES = INSTALLED.map((image) => `${image}:${version}`)

t.test('the package, the observer, their lock files and the chart have one version', async (t) => {
  const lock = JSON.parse(read('package-lock.json'))
  t.match(version, /^\d+\.\d+\.\d+$/)
  t.equal(lock.version, version)
  t.equal(lock.packages[''].version, version)
  t.equal(chart.appVersion, version)
  t.equal(chart.version, version)
  t.match(read('observer/Cargo.toml'), `\nversion = "${version}"\n`)
  const locked = `name = "ridealong-observer"\nversion = "${version}"\n`
  t.match(read('observer/Cargo.lock'), locked)
})

t.test('the chart lists the images that it can install', async (t) => {
  const listed: readonly { image: string }[] = parse(chart.annotations['artifacthub.io/images'])
  t.strictSame(
    listed.map(({ image }) => image),
    IMAGES,
  )
  const named = [...read('charts/ridealong/values.yaml').matchAll(/repository: ([\w/-]+)/g)]
  t.strictSame(
    named.map(([, repository]) => `ghcr.io/${repository}:${version}`),
    IMAGES,
    'values.yaml names the same images',
  )
})

t.test('the document about releases names each image', async (t) => {
  const document = read('.github/RELEASE.md')
  for (const image of IMAGES) {
    const [name = ''] = image.split(':')
    const [path = ''] = name.split('/').slice(-1)
    t.ok(document.includes(`\`${name}\``), `the location of ${path}`)
    t.match(
      document,
      new RegExp(`^\\$ for artifact in .*\\b${path}:`, 'm'),
      `how to verify ${path}`,
    )
  }
})

t.test('the built-in metrics and the documents name the images of this version', async (t) => {
  const { registry, repository } = values.observer.image
  t.ok(CATALOG.length >= 2, 'the catalog has at least two metrics')
  for (const { file, spec } of CATALOG) {
    t.equal(spec.container.image, `${registry}/${repository}:${version}`, `the image in ${file}`)
  }
  const { image } = values.tools
  const installers = CATALOG.flatMap(({ spec }) => spec.tool?.installer.image ?? [])
  const tools = `${image.registry}/${image.repository}:${version}`
  t.ok(installers.length >= 2, 'at least two metrics have a tool')
  t.strictSame(new Set(installers), new Set([tools]), 'the built-in tools are in one image')
  for (const document of ['README.md', 'docs/install.md']) {
    const tags = [...read(document).matchAll(/ridealong\/\$target:([\w.]+)/g)]
    t.ok(tags.length >= 2, `${document} has at least two tags`)
    for (const [, tag] of tags) t.equal(tag, version, `the tag in ${document}`)
  }
})

t.test('the release workflow pushes the images of the chart and of the tools', async (t) => {
  const { env, jobs } = parse(read('.github/workflows/release.yml'))
  const targets: readonly string[] = jobs.images.strategy.matrix.target
  const pushed = targets.map((target) => `${env.IMAGES}/${target}`)
  t.strictSame(
    pushed.map((image) => `${image}:${version}`),
    IMAGES,
  )
})
