import { readFileSync } from 'node:fs'
import t from 'tap'
import { freePorts } from '../../../free-ports.ts'
import { noticesOf, rowsOf } from '../../../observers/json-rows.ts'
import type { Row } from '../../../observers/prerequisites.ts'
import { profiledPod } from '../../python/profiled-pod.ts'
import { program, pythonTests } from '../../python/sampler.ts'

// python-profile in a training job with PyTorch itself. `npm run test:torch` runs this file.

const PROGRAM = program('training.py')
const LINES = readFileSync(PROGRAM, 'utf8').split('\n')
/** The number of the line of training.py with a comment. */
const lineOf = (comment: string) => LINES.findIndex((line) => line.endsWith(`# ${comment}`)) + 1
const [SLEEP, BACKWARD] = [lineOf('the late rank'), lineOf('the other rank waits here')]
const python = process.env.TORCH_PYTHON

t.test('the line in which a rank of DDP sleeps is named', pythonTests(), async (t) => {
  if (python === undefined) throw new Error('set TORCH_PYTHON to a Python that has PyTorch')
  const { watching, start } = await profiledPod(t)
  const [port] = await freePorts(1)
  const variables = ['MASTER_ADDR=127.0.0.1', `MASTER_PORT=${port}`, 'WORLD_SIZE=2']
  const ranks = [0, 1].map((rank) =>
    start('env', ...variables, `RANK=${rank}`, python, PROGRAM, '10'),
  )
  const [first, second] = await Promise.all(ranks)
  t.strictSame(await Promise.all([first?.ended, second?.ended]), [0, 0])
  t.equal(await watching.ended, 0)
  t.strictSame(noticesOf(watching), [])
  const last = rowsOf(watching, 'process').filter(({ state }) => state === 'ended')
  t.match(last, Array(2).fill({ sampler: 'sampling', program: 'training.py' }))
  t.equal(last.length, 2, 'a process that takes long to exit has its profile once')
  const waiting = (row: Row) => Number(row.self_wall) - Number(row.self_running)
  const worst = last.map(({ pid }) => {
    const rows = rowsOf(watching, 'function').filter((row) => row.pid === pid)
    return rows.toSorted((one, other) => waiting(other) - waiting(one))[0]
  })
  const lines = worst.map((row) => String(row?.function).replace(/^(\S+) \(.*\/(.*)\)$/, '$1 $2'))
  t.match(lines.sort(), [/^_engine_run_backward graph\.py:\d+$/, `load_batch training.py:${SLEEP}`])
  for (const row of worst) t.ok(row !== undefined && waiting(row) > 5, `${row?.function}`)
  const stacks = rowsOf(watching, 'stack').map(({ stack }) => String(stack))
  t.ok(stacks.some((stack) => stack.includes(`training.py:${BACKWARD});`)))
})
