import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

/** A package of npm of which modules are in a bundle. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  /** The licence, as an expression of SPDX. */
  readonly license: string
  /** The files with the texts of the licence and of notices, by name. */
  readonly texts: ReadonlyMap<string, string>
}

const TEXTS = /^(licen[cs]e|copying|notice|third.?party)/i

/** Returns the packages of which code is in the outputs, sorted by name and version. */
export function packagesIn(
  root: string,
  metafiles: readonly Metafile[],
): readonly BundledPackage[] {
  const modules = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs)),
  )
  const folders = new Set(modules.flatMap((path) => folderOfPackage(path) ?? []))
  const packages = [...folders].map((folder) => readPackage(join(root, folder)))
  const byKey = new Map(packages.map((each) => [`${each.name} ${each.version}`, each]))
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each)
}

/** Returns the folder of the package to which a module belongs; undefined for our own modules. */
function folderOfPackage(path: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]
}

function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const files = readdirSync(folder).filter((file) => TEXTS.test(file))
  const texts = files
    .sort()
    .map((file) => [file, readFileSync(join(folder, file), 'utf8')] as const)
  return { name, version, license, texts: new Map(texts) }
}

/**
 * Returns a list of the packages in the format CycloneDX. Scanners need it: they know packages by
 * their folders, and a bundle has none.
 */
export function formatBillOfMaterials(
  { name, version, license }: Pick<BundledPackage, 'name' | 'version' | 'license'>,
  packages: readonly BundledPackage[],
): string {
  const program = { type: 'application', ...componentOf({ name, version, license }) }
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: program },
    components: packages.map((each) => ({ type: 'library', ...componentOf(each) })),
    dependencies: [{ ref: program['bom-ref'], dependsOn: packages.map((each) => addressOf(each)) }],
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

function componentOf({
  name,
  version,
  license,
}: Pick<BundledPackage, 'name' | 'version' | 'license'>) {
  const [, group, short = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? []
  const purl = addressOf({ name, version })
  const isExpression = license.includes(' ')
  return {
    'bom-ref': purl,
    ...(group === undefined ? {} : { group }),
    name: short,
    version,
    purl,
    licenses: [isExpression ? { expression: license } : { license: { id: license } }],
  }
}

/** Returns the address of a package (github.com/package-url, type npm). */
function addressOf({ name, version }: Pick<BundledPackage, 'name' | 'version'>): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** Returns the texts of all licences and notices, one package after the other. */
export function formatLicences(packages: readonly BundledPackage[]): string {
  return packages
    .map(({ name, version, license, texts }) => {
      const title = `${name} ${version} (${license})`
      const all = [...texts.values()].map((text) => text.trim())
      const body = all.length > 0 ? all : ['The package contains no text of its licence.']
      return [`${'='.repeat(80)}\n${title}\n${'='.repeat(80)}`, ...body].join('\n\n')
    })
    .join('\n\n')
    .concat('\n')
}
