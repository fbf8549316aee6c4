import t from 'tap'
import { freePorts } from '../../../free-ports.ts'
import { mismatchesIn, noticesOf, rowsOf } from '../../../observers/json-rows.ts'
import { collectFiles } from '../../raw-files.ts'
import { program, torchTests } from '../torch-tool.ts'
import { tracedPod } from '../traced-pod.ts'

// The traces of PyTorch itself. `npm run test:torch` runs this file.

const options = torchTests()
const python = process.env.TORCH_PYTHON
const LOOP = ['300'] as const
const STEPS = { step: 200, steps: 4 }

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly ts: number
}

/** Runs two ranks, and returns what each has printed. */
async function train(start: Awaited<ReturnType<typeof tracedPod>>['start']) {
  const [port] = await freePorts(1)
  const variables = ['MASTER_ADDR=127.0.0.1', `MASTER_PORT=${port}`, 'WORLD_SIZE=2']
  const rank = (number: number) =>
    start('env', ...variables, `RANK=${number}`, String(python), program('steps.py'), ...LOOP)
  const ranks = await Promise.all([rank(0), rank(1)])
  return Promise.all(ranks.map(async ({ ended, log }) => [await ended, log()]))
}

t.test('both ranks of DDP record the same steps, and print the same', options, async (t) => {
  if (python === undefined) throw new Error('set TORCH_PYTHON to a Python that has PyTorch')
  const { watching, start, run } = await tracedPod(t, STEPS, {})
  const printed = await train(start)
  t.equal(await watching.ended, 0)
  const untraced = await train((...argv) => run('other', argv))
  const words = (list: typeof printed) =>
    list.map(([code, text]) => [code, String(text).replace(NO_GPU, '')])
  t.strictSame(words(printed), words(untraced), 'the output and the exit code are the same')
  t.match(untraced, [
    [3, /^loss [\d.]+\n$/],
    [3, /^loss [\d.]+\n$/],
  ])
  t.strictSame(mismatchesIn(watching, 'torch-trace'), [])
  t.strictSame(noticesOf(watching), [])
  const files = await collectFiles(t, watching.log(), 'torch-trace')
  t.match(files, { files: 2, problems: [] })
  const rows = rowsOf(watching, 'trace').toSorted(
    (a, b) => +(a.world_rank ?? 0) - +(b.world_rank ?? 0),
  )
  t.match(
    rows,
    [0, 1].map((world_rank) => ({ world_rank, trace: 'complete', program: 'steps.py' })),
  )
  const spans = rows.map(({ file }) => {
    const trace = JSON.parse(files.read(String(file)).toString())
    const events: readonly TraceEvent[] = trace.traceEvents
    t.equal(events.filter(({ name }) => name === 'Optimizer.step#SGD.step').length, STEPS.steps)
    const calls = events.filter(({ name, ph }) => name === 'gloo:all_reduce' && ph === 'X')
    t.ok(calls.length >= STEPS.steps, `${calls.length} calls of all_reduce`)
    const base = Number(trace.baseTimeNanoseconds) / 1000
    return calls.map(({ ts }) => base + ts)
  })
  const first = spans.map((times) => Math.min(...times))
  const apart = Math.abs((first[0] ?? 0) - (first[1] ?? 0)) / 1e6
  t.comment(`the first calls in both traces are ${apart} s apart`)
  t.ok(apart < 0.05, 'less than a step')
})

/** A line of versions of PyTorch for CUDA on a machine without a GPU, when a trace begins. */
const NO_GPU = /^ERROR:.* gpuGetDeviceCount failed with code \d+\n/gm
