import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { run } from '../machine/tools.ts'
import type { Release } from './helm.ts'

const DOCUMENT = new URL('../../../docs/threat-model.md', import.meta.url)

/** Runs the commands with which the threat model replaces a CA whose key is lost, but for `helm test`. */
export async function replaceAuthority({ cluster, name }: Release): Promise<void> {
  const [, section = ''] = readFileSync(DOCUMENT, 'utf8').split('## Losing the key of the CA\n')
  const [, block = ''] = section.split('```console\n')
  const [commands = ''] = block.split('```')
  const path = `${dirname(`${cluster.programs}/kubectl`)}:${process.env.PATH}`
  const env = { ...process.env, PATH: path, KUBECONFIG: cluster.kubeconfig }
  for (const command of commands.split(/^\$ /m).filter((text) => text.startsWith('kubectl '))) {
    await run('sh', ['-c', renamed(command, name)], { env })
  }
}

/** A command for the release of that name, in the namespace of that name. */
function renamed(command: string, name: string): string {
  return command
    .replaceAll('ridealong-system', 'NAME')
    .replaceAll('ridealong', name)
    .replaceAll('NAME', name)
}
