import t from 'tap'
import { CASES, torchProcess } from '../../findings/cases.ts'
import { checkOptional } from '../../findings/optional-rule.ts'
import { findIn, podRows, type Sections } from '../../findings/rows.ts'

const RULE = 'late-in-torch-collectives'
const only = ['torch', 'group', 'collective'] as const

/** Returns the findings of two ranks with one process each. */
const findWith = (own: readonly [Sections, Sections], other = 'node-1') =>
  findIn(
    own.flatMap((one, at) => {
      return podRows(String(at), one, { only, step: 5, node: at === 0 ? 'node-1' : other })
    }),
  )

t.test('the finding names the late rank, and how late it is', async (t) => {
  const { findings } = findWith([torchProcess(0, 0), torchProcess(1, 2)])
  t.match(findings, [{ rule: RULE, lost: null, pods: [{ pod: '1' }] }])
  t.match(
    findings[0]?.sentence,
    /^Pod 1 called collective operations of PyTorch 2 s later than the other ranks \(median\), /,
  )
  t.match(
    findings[0]?.sentence,
    /in 100 % of 25 recorded calls: .*gloo:all_reduce.*default_pg with 2/,
  )
  t.match(findings[0]?.sentence, /is 40 % of their recorded time/)
})

t.test('ranks on several nodes are compared if their clocks can be', async (t) => {
  const find = (delay: number) =>
    findWith([torchProcess(0, 0), torchProcess(1, delay)], 'node-2').findings
  t.match(find(2)[0]?.sentence, /with 2 members, if the clocks of their nodes agree/)
  const fast = (rank: number, delay: number): Sections => ({
    ...torchProcess(rank, 0),
    collective: {
      ...torchProcess(rank, 0).collective,
      called: (seconds) => 1000 + seconds / 5 / 100 + delay,
    },
  })
  const short = findWith([fast(0, 0), fast(1, 0.009)], 'node-2')
  t.strictSame(short.findings, [])
})

t.test('a process group is compared only if all members have rows', async (t) => {
  const member = { ...torchProcess(1, 2), group: { world_rank: 1, size: 3, members: '0-2' } }
  const first = { ...torchProcess(0, 0), group: { world_rank: 0, size: 3, members: '0-2' } }
  const { findings, notChecked } = findWith([first, member])
  t.strictSame(findings, [])
  const own = notChecked.filter(({ rule }) => rule === RULE)
  t.match(own, [{ reason: /rows of only 2 of the 3 members of the process group 0/ }])
})

t.test('calls that only some members have are not compared', async (t) => {
  const [early, late] = [torchProcess(0, 0), torchProcess(1, 2)]
  const shifted = { ...late.collective, number: (seconds: number) => seconds / 5 + 10 }
  t.strictSame(findWith([early, { ...late, collective: shifted }]).findings, [])
})

t.test('without the metric, the rule is not listed; with it for some ranks, it is', async (t) => {
  checkOptional(t, RULE, 'torch-collectives')
  t.ok(CASES[RULE])
})
