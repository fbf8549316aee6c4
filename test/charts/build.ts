/**
 * Builds or installs the programs that the tests of the chart and of the workflows run. The first
 * build takes minutes.
 */
import { tools } from '../cluster/machine/tools.ts'
import { installCheckov } from './checkov.ts'
import { MODULES } from './programs.ts'

const say = (line: string) => {
  process.stderr.write(`${line}\n`)
}
for (const module of [...MODULES, 'actionlint', 'prometheus'] as const) await tools(module, say)
await installCheckov(say)
