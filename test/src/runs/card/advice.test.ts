import fc from 'fast-check'
import t from 'tap'
import { adviseRuns, type RoleAdvice } from '../../../../src/runs/card/advice.ts'
import { cpuQuantity, memoryQuantity } from '../../../../src/runs/card/card-numbers.ts'
import type { RunPod } from '../../../../src/runs/facts/pod-facts.ts'
import type { Run } from '../../../../src/runs/facts/run.ts'
import { RUN } from '../facts/generated-runs.ts'

const RUNS = fc.array(RUN, { minLength: 1, maxLength: 3 })

const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), 0)

/** Throws if advice about a role is less than the use of one of its pods. */
function isEnough(pods: readonly RunPod[], { refusals, containers }: RoleAdvice): void {
  if (refusals.length > 0) throw new Error(refusals.join())
  for (const { name, requests, limits } of containers) {
    const uses = pods.flatMap((pod) => pod.containers.filter((one) => one.name === name))
    const cpu = most(uses.map(({ use }) => (use?.cpu ?? 0) / (use?.seconds ?? 1)))
    const memory = most(uses.map(({ use }) => use?.memoryPeak ?? 0))
    const [cores, bytes] = [Number(requests.cpu), Number(requests.memory)]
    const written = Number.parseInt(memoryQuantity(bytes), 10) * 1024 ** 2
    const least = [cores - cpu, coresOf(cpuQuantity(cores)) - cpu, bytes - memory, written - memory]
    if (least.some((one) => !(one >= 0)) || Number(limits.memory) < memory)
      throw new Error(`${name}: ${cores} of ${cpu} processors, ${bytes} of ${memory} bytes`)
  }
}

t.test('advice is never less than the use that was seen', async (t) => {
  const check = (runs: readonly Run[]) => {
    for (const advice of adviseRuns(runs)) {
      const pods = runs.flatMap((run) => run.pods)
      isEnough(
        pods.filter((pod) => pod.role === advice.role),
        advice,
      )
    }
  }
  fc.assert(fc.property(RUNS, check), { numRuns: 10_000 })
  t.pass()
})

function coresOf(quantity: string): number {
  return quantity.endsWith('m') ? Number(quantity.slice(0, -1)) / 1000 : Number(quantity)
}

const [RUN_ONE] = fc.sample(RUN, { numRuns: 1, seed: 7 })

/** A run of which the first pod, or its first container, is changed. */
function changed(pod: Partial<RunPod>, run: Partial<Run> = {}): Run {
  if (RUN_ONE === undefined) throw new Error('no run was generated')
  const [first, ...others] = RUN_ONE.pods
  if (first === undefined) throw new Error('the run has no pod')
  return { ...RUN_ONE, ...run, pods: [{ ...first, ...pod }, ...others] }
}

function withUse(use: object, ended: readonly object[] = []): Partial<RunPod> {
  const containers = RUN_ONE?.pods[0]?.containers ?? []
  return {
    containers: containers.map((one, index) => {
      return index > 0 || one.use === null ? one : { ...one, ended, use: { ...one.use, ...use } }
    }) as RunPod['containers'],
  }
}

const KILLED = { container: 'c0', reason: 'OOMKilled', exitCode: 137, signal: null }
const FAILED = { container: 'c0', reason: 'Error', exitCode: 3, signal: null }

t.test('advice is refused if the need may be greater than the use', async (t) => {
  const cases: readonly (readonly [RegExp, Run])[] = [
    [/^jobset\/train has not ended$/, changed({}, { phase: 'Running' })],
    [
      /^w: the message of observer vitals is cut/,
      changed({ missing: ['w: the message of observer vitals is cut'] }),
    ],
    [/killed: memory ran out.*may need more than it used$/, changed(withUse({}, [KILLED]))],
    [/killed: memory ran out/, changed(withUse({ oomKills: 1 }))],
    [/ended with exit code 3.*; it may need more/, changed(withUse({}, [FAILED]))],
    [/failed: Evicted/, changed({ phase: 'Failed', reason: 'Evicted' })],
    [
      /used up its CPU limit in 25 % of the periods.*needs more than/,
      changed(withUse({ throttledPeriods: 250 })),
    ],
    [/^the use of .* is not known$/, changed(withUse({ memoryPeak: null }))],
  ]
  for (const [expected, run] of cases) {
    const [role] = adviseRuns([run])
    t.ok(
      role?.refusals.some((refusal) => expected.test(refusal)),
      `${expected}: ${role?.refusals}`,
    )
    t.ok(
      role?.containers.every(
        ({ requests, limits }) => requests.cpu === null && limits.memory === null,
      ),
    )
    t.ok(
      role?.containers.some(({ seen }) => seen.memory !== null),
      'the lower bound is given',
    )
  }
  t.strictSame(adviseRuns([changed({})])[0]?.refusals, [])
})

t.test('a CPU limit is only raised', async (t) => {
  const limited = (cpu: number) => {
    const { containers = [] } = withUse({ cpu: 10, seconds: 10 })
    return changed({
      containers: containers.map((one) => ({ ...one, limits: { cpu, memory: null } })),
    })
  }
  const limitOf = (run: Run) =>
    adviseRuns([run])[0]?.containers.find(({ name }) => name === 'c0')?.limits.cpu
  t.equal(limitOf({ ...limited(1), pods: limited(1).pods.slice(0, 1) }), 1.15)
  t.equal(limitOf({ ...limited(4), pods: limited(4).pods.slice(0, 1) }), null)
})
