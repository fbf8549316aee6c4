import t, { type Test } from 'tap'
import { HARMFUL, HOSTILE } from '../../properties/hostile-text.ts'
import { pod } from '../../src/runs/collect/pod.ts'
import { answerOf } from '../../src/runs/stacks/answers.ts'
import type { ExecAnswer, ExecRequest } from '../../stand-ins/exec.ts'
import { standIn } from '../../stand-ins/pod-logs.ts'
import { run } from '../command.ts'

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const running = (index: number, metrics: readonly string[]) =>
  pod({ index, metrics, state: { running: {} }, phase: 'Running' })

/** Runs `stacks` on two pods whose observers give these answers. */
async function stacksOf(
  t: Test,
  exec: (request: ExecRequest) => ExecAnswer,
  words: readonly string[] = [],
  isAllowed = false,
  observers = ['vitals', 'cpu-profile'],
) {
  const pods = [running(0, observers), running(1, ['vitals'])]
  const others = { [REVIEWS]: { status: { allowed: isAllowed } } }
  const { kubeconfig } = await standIn(t, { pods: () => pods, logs: {}, exec, others })
  return run(['stacks', 'job/lammps', '--kubeconfig', kubeconfig, ...words])
}

function whole(stack: readonly string[], rank: number): ExecAnswer {
  return { exitCode: 0, stdout: answerOf([{ pid: 7, rank, threads: [{ stack }] }]) }
}

t.test('the stacks of all pods are merged', async (t) => {
  const asked: ExecRequest[] = []
  const { code, out, err } = await stacksOf(t, (request) => {
    asked.push(request)
    const isFirst = request.pod === 'lammps-0-abcde'
    return whole(['main', isFirst ? 'run' : 'read_input'], isFirst ? 0 : 1)
  })
  t.equal(err, '')
  t.equal(code, 0)
  t.equal(out, 'ranks 0-1: main\n├─ rank 0: run\n└─ rank 1: read_input\n')
  const containers = new Map(asked.map(({ pod, container }) => [pod, container]))
  t.equal(containers.get('lammps-0-abcde'), 'cpu-profile')
  t.equal(containers.get('lammps-1-abcde'), 'vitals')
  t.strictSame(asked[0]?.argv, ['ridealong-observer', 'stacks'])
})

t.test('the observer of a tool that makes stacks is asked', async (t) => {
  for (const [observers, chosen] of [
    [['vitals', 'python-profile'], 'python-profile'],
    [['python-profile', 'cpu-profile'], 'cpu-profile'],
  ] as const) {
    const asked: ExecRequest[] = []
    const ask = (request: ExecRequest) => {
      asked.push(request)
      return whole(['main'], 0)
    }
    await stacksOf(t, ask, [], false, [...observers])
    t.match(
      asked.filter(({ pod }) => pod === 'lammps-0-abcde'),
      [{ container: chosen }],
    )
  }
})

t.test('options reach the observer and the output', async (t) => {
  const asked: ExecRequest[] = []
  const { code, out } = await stacksOf(
    t,
    (request) => {
      asked.push(request)
      return whole(['main'], 0)
    },
    ['--threads', '-o', 'json'],
  )
  t.equal(code, 0)
  t.match(JSON.parse(out), [{ ranks: [0], stack: [{ function: 'main' }] }])
  t.equal(asked[0]?.argv.at(-1), '--threads')
})

/** One byte more than is read. */
const LONG = 'x'.repeat((32 << 20) + 1)

t.test('a pod that does not answer is named with its reason', async (t) => {
  for (const [answer, reason] of [
    [{ exitCode: 2, stderr: 'unknown command stacks' }, /is of an earlier release/],
    [{ exitCode: 3 }, /took too long/],
    [{ exitCode: 1, stderr: `x\n${HOSTILE}` }, /cannot make stacks: /],
    [{ exitCode: 0, stdout: 'hello' }, /is not valid/],
    [{ message: 'no such program' }, /cannot be asked: no such program/],
    ['breaks', /cannot be asked: the connection broke/],
    [{ exitCode: 0, stdout: LONG }, /cannot be asked: the output has more than 32 MiB/],
    [{ refused: 500 }, /cannot be asked: /],
  ] as const) {
    const { code, out } = await stacksOf(t, (request) =>
      request.pod === 'lammps-0-abcde' ? whole(['main'], 0) : answer,
    )
    t.equal(code, 1, out)
    t.match(out, /^rank 0: main\npod 1: the .*observer vitals /)
    t.match(out, reason)
    t.notMatch(out, HARMFUL)
  }
  const { code, out } = await stacksOf(t, () => 'breaks')
  t.equal(code, 2)
  t.match(out, /^pod 0: the observer cpu-profile cannot be asked/)
})

t.test('missing rights are named', async (t) => {
  const refused = await stacksOf(t, () => ({ refused: 403 }))
  t.equal(refused.code, 2)
  t.equal(refused.out, '')
  t.match(
    refused.err,
    /you lack the right to create pods\/exec and get pods\/exec in namespace hpc/,
  )
  const allowed = await stacksOf(t, () => ({ refused: 403 }), [], true)
  t.match(allowed.err, /refuses pods\/exec in namespace hpc, although your role allows it/)
})
