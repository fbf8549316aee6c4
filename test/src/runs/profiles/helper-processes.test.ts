import t from 'tap'
import type { RowSection } from '../../../../src/core/catalog.ts'
import { separateHelpers } from '../../../../src/runs/profiles/helper-processes.ts'
import { addProfileRow, type ProfileRun } from '../../../../src/runs/profiles/profile-run.ts'
import { profileRows } from '../metrics/python-profile/python-rows.ts'

const MAIN = '<module> (train.py:60)'
const FORKED = `${MAIN};BaseProcess._bootstrap (multiprocessing/process.py:314)`
const SPAWNED =
  '<module> (<string>:1);spawn_main (multiprocessing/spawn.py:122);' +
  'BaseProcess._bootstrap (multiprocessing/process.py:314)'
const SERVER = 'main (multiprocessing/forkserver.py:246)'
const POOL = 'worker (multiprocessing/pool.py:114)'
const SELECT = 'select (selectors.py:415)'
const SPAWN = 'torch/multiprocessing/spawn.py'
const GET = 'Queue.get (multiprocessing/queues.py:113)'
const REDUCES = 'all_reduce (torch/distributed/distributed_c10d.py:2810)'
const BACKWARD = '_engine_run_backward (torch/autograd/graph.py:829)'

/** Returns the kinds of the profiles of a process that is in these stacks, each for 10 s. */
function kindsOf(...stacks: readonly string[]): readonly string[] {
  const run: ProfileRun = new Map()
  for (const row of stacks.flatMap((stack) => profileRows({ index: '0', stack, wall: 10 })))
    addProfileRow(run, { of: row.kind } as RowSection, row)
  return separateHelpers(run).map(({ kind }) => kind)
}

const HELPERS: Readonly<Record<string, readonly string[]>> = {
  'a worker of a data loader': [
    FORKED,
    '_worker_loop (torch/utils/data/_utils/worker.py:330)',
    GET,
  ],
  'a worker of a pool': [FORKED, POOL, GET],
  'a worker of a spawned pool': [SPAWNED, POOL, GET],
  'a worker of an executor': [FORKED, '_process_worker (concurrent/futures/process.py:240)', GET],
  'a worker of a library with a copy of multiprocessing': [
    MAIN,
    'Process._bootstrap (multiprocess/process.py:315)',
    'worker (multiprocess/pool.py:114)',
  ],
  'a server of multiprocessing': [SERVER, SELECT],
  'a process that a server has forked': [SERVER, FORKED, 'work (data.py:10)'],
  'a worker that a rank has forked': [
    FORKED,
    `_wrap (${SPAWN}:90)`,
    'train (train.py:9)',
    FORKED,
    GET,
  ],
  'a worker that asks for its rank': [FORKED, 'get_rank (torch/distributed/distributed_c10d.py:9)'],
  'a process that waits for ranks': [MAIN, `ProcessContext.join (${SPAWN}:164)`, SELECT],
  torchrun: ['_invoke_run (torch/distributed/elastic/agent/server/api.py:894)'],
  'a worker of Ray without a task': ['main_loop (/ray/_private/worker.py:950)'],
}

const RANKS: Readonly<Record<string, readonly string[]>> = {
  'a program': [`${MAIN};${GET}`],
  'a rank that torch.multiprocessing.spawn has started': [
    `${SPAWNED};_wrap (${SPAWN}:90);train (train.py:9)`,
  ],
  'a process of multiprocessing that computes gradients': [
    `${FORKED};train (train.py:9);${BACKWARD}`,
    `${FORKED};train (train.py:9);load (data.py:9)`,
  ],
  'a process of multiprocessing that exchanges data': [
    `${FORKED};train (train.py:9);load (data.py:9)`,
    `${FORKED};train (train.py:9);${REDUCES}`,
  ],
  'a task of Ray': ['main_loop (/ray/_private/worker.py:950);train (train.py:9)'],
}

t.test('helpers have profiles of their own', async (t) => {
  for (const [name, frames] of Object.entries(HELPERS))
    t.strictSame(kindsOf(frames.join(';')), ['helpers-waiting'], name)
})

t.test('ranks are no helpers, however they were started', async (t) => {
  for (const [name, stacks] of Object.entries(RANKS))
    t.strictSame(kindsOf(...stacks), ['waiting'], name)
})

t.test('a worker of Ray waits in its task only', async (t) => {
  const loop = 'main_loop (/ray/_private/worker.py:950)'
  t.strictSame(kindsOf(loop, `${loop};train (train.py:9)`), ['waiting', 'helpers-waiting'])
})
