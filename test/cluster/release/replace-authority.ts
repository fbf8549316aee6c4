import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { run } from '../machine/tools.ts'
import type { Release } from './helm.ts'

const DOCUMENT = new URL('../../../docs/administer/threat-model.md', import.meta.url)

/**
 * Runs the commands of the threat model that replace a CA whose key has leaked, except `helm test`.
 */
export async function replaceAuthority({ cluster, name }: Release): Promise<void> {
  const [, section = ''] = readFileSync(DOCUMENT, 'utf8').split('## If the key of the CA leaks\n')
  const [, block = ''] = section.split('```console\n')
  const [commands = ''] = block.split('```')
  const path = `${dirname(`${cluster.programs}/kubectl`)}:${process.env.PATH}`
  const env = { ...process.env, PATH: path, KUBECONFIG: cluster.kubeconfig }
  for (const command of commands.split(/^\$ /m).filter((text) => text.startsWith('kubectl '))) {
    await run('sh', ['-c', renamed(command, name)], { env })
  }
}

/** Returns a command with the name and namespace of this release. */
function renamed(command: string, name: string): string {
  return command
    .replaceAll('ridealong-system', 'NAME')
    .replaceAll('ridealong', name)
    .replaceAll('NAME', name)
}
