import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster } from '../machine/cluster.ts'

const CRDS = fileURLToPath(new URL('../crds', import.meta.url))

/**
 * The rule of the JobSet definition that Kubernetes 1.30 cannot compile, because `namespace` is a
 * reserved word in its CEL expressions. It therefore refuses the whole definition.
 */
const NAMESPACE_RULE =
  /^ *x-kubernetes-validations:\n *- message: .*\n *rule: self\.templates\.all\(t, .*\n *== 0\)\n/m

/**
 * Writes CustomResourceDefinitions of test/cluster/crds into the folder of a cluster. For
 * Kubernetes 1.30, the definition of JobSet lacks one rule about volumes, which no test uses.
 *
 * @param names the names of the files; by default, all files
 * @returns the words of kubectl that name the files
 */
export async function definitionsFor(
  { folder, version }: Cluster,
  names?: readonly string[],
): Promise<readonly string[]> {
  const copies = join(folder, 'crds')
  await mkdir(copies, { recursive: true })
  const written = (names ?? (await readdir(CRDS))).map(async (name) => {
    const text = await readFile(join(CRDS, name), 'utf8')
    const isOld = version.startsWith('v1.30.')
    await writeFile(join(copies, name), isOld ? text.replace(NAMESPACE_RULE, '') : text)
    return ['-f', join(copies, name)]
  })
  return (await Promise.all(written)).flat()
}
