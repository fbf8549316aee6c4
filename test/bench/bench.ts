/**
 * Measures the time of an answer and the answers per second: `npm run bench`. Compare only the
 * ratios of one run, because absolute values depend on the machine and its load.
 */
import { cpus } from 'node:os'
import { CASE_NAMESPACES, reviewFile } from '../cases/read.ts'
import { benchHandler } from './handler.ts'
import { benchHostileServer, benchServer } from './server.ts'

const RECORDING = reviewFile('flux-minicluster-rank0')

const print = (line: string) => process.stdout.write(`${line}\n`)

print(`Node ${process.version}, ${cpus().length} cores, ${cpus()[0]?.model}\n`)
print('Median time of an answer without parsing:')
await benchHandler(RECORDING, print)
print('\nReviews over HTTPS on one core, compared with a bare node:https server:')
await benchServer(RECORDING, CASE_NAMESPACES, print)
print('\nHostile reviews over HTTPS, in a namespace with a LimitRange and quotas:')
const beyond = await benchHostileServer(RECORDING, print)
print(`${beyond} rows exceed a bound`)
if (beyond > 0) process.exitCode = 1
