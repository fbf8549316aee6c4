import { tools } from '../cluster/tools.ts'
import { installCheckov } from './checkov.ts'
import { MODULES } from './programs.ts'

/** Builds what the tests of the chart run, once; it takes minutes. */
const say = (line: string) => {
  process.stderr.write(`${line}\n`)
}
for (const module of MODULES) await tools(module, say)
await installCheckov(say)
