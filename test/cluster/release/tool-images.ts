import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { IMAGES } from '../machine/images.ts'

const CATALOG = fileURLToPath(new URL('../../../src/catalog', import.meta.url))

/** Returns the flags of helm with which the chart offers built-in metrics that have a tool. */
export function withTools(...metrics: readonly ('cpu-profile' | 'mpi-trace')[]): readonly string[] {
  const [, registry, repository, tag] = /^([^/]+)\/(.*):(.*)$/.exec(IMAGES.tools) ?? []
  const fields = Object.entries({ registry, repository, tag }).flatMap(([field, value]) => {
    return ['--set', `tools.image.${field}=${value}`]
  })
  return ['--set', `tools.metrics={${metrics.join(',')}}`, ...fields]
}

/** Returns a folder with the built-in catalog, in which the tools have the image of the tests. */
export function catalogWithTools(t: Test): string {
  const folder = openFolder('ridealong-catalog-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeCatalogWithTools(folder)
  return folder
}

/** Writes the built-in catalog with the images of the tests into a folder. */
export function writeCatalogWithTools(folder: string): void {
  const images = (text: string) =>
    text
      .replace(/ghcr\.io\/ridealong\/tools:\S+/g, IMAGES.tools)
      .replace(/ghcr\.io\/ridealong\/observer:\S+/g, IMAGES.observer)
  for (const name of readdirSync(CATALOG).filter((name) => name.endsWith('.yaml')))
    writeFileSync(join(folder, name), images(readFileSync(join(CATALOG, name), 'utf8')))
}
