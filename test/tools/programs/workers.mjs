// A worker thread that computes, a child, a signal, standard input, and an exit code.
import { spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'

const COMPUTE = `
const end = performance.now() + 900
let sum = 0
while (performance.now() < end) for (let i = 0; i < 1e5; i++) sum += Math.sqrt(i)
require('node:worker_threads').parentPort.postMessage(sum > 0)`

const worker = new Worker(COMPUTE, { eval: true })
const computed = await new Promise((resolve) => {
  worker.once('message', resolve)
})
const child = spawnSync('sh', ['-c', 'echo child; exit 8'], { encoding: 'utf8' })
process.once('SIGURG', () => {
  process.stderr.write('SIGURG\n')
  process.exitCode = 35
})
process.kill(process.pid, 'SIGURG')
const input = await text(process.stdin)
await new Promise((resolve) => {
  setTimeout(resolve, 300)
})
process.stdout.write(`${input}${computed} ${child.stdout}${child.status}\n`)
