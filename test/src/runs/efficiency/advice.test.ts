import t from 'tap'
import { firstAdvice, stacksAdvice } from '../../../../src/runs/efficiency/advice.ts'
import { factor, missingFactor } from '../../../../src/runs/efficiency/factor.ts'
import { CASES, findWith } from '../findings/cases.ts'

/** The finding that the case of a rule makes. */
const found = (rule: keyof typeof CASES) => {
  const { changes, options } = CASES[rule]
  return findWith(changes, options).findings
}

const EVEN = factor('efficiency', 0.95, { parts: [factor('load-balance', 0.95)] })
const UNEVEN = factor('efficiency', 0.5, {
  parts: [
    factor('load-balance', 0.55),
    factor('communication-and-platform', 0.9, {
      parts: [factor('communication', 0.95), factor('platform', 0.94)],
    }),
  ],
})

t.test('the advice is that of the worst finding that cost time', async (t) => {
  const [throttled] = found('throttled')
  t.match(firstAdvice(found('throttled'), EVEN), /^Raise or remove the CPU limit/)
  t.equal(firstAdvice(found('throttled'), UNEVEN), throttled?.advice)
})

t.test(
  'without such a finding it is about the least factor, if the run is not efficient',
  async (t) => {
    t.match(firstAdvice([], UNEVEN), /^Divide the work more evenly/)
    t.equal(firstAdvice([], EVEN), null)
    t.equal(firstAdvice([], missingFactor('efficiency', 'no rows')), null)
    const missing = [missingFactor('communication', 'x'), missingFactor('platform', 'x')]
    const both = factor('communication-and-platform', 0.5, { parts: missing })
    t.match(
      firstAdvice([], factor('efficiency', 0.5, { parts: [factor('load-balance', 1), both] })),
      /^Collect the metric vitals too/,
    )
  },
)

t.test('a risk is the last reason for advice', async (t) => {
  const risks = found('close-to-memory-limit')
  t.strictSame(
    risks.map(({ severity }) => severity),
    ['risk'],
  )
  t.equal(firstAdvice(risks, EVEN), risks[0]?.advice)
  t.match(firstAdvice(risks, UNEVEN), /^Divide the work more evenly/)
})

t.test('the command that shows where processes wait can be typed as it is', async (t) => {
  t.match(
    stacksAdvice({ owner: 'MiniCluster/lammps', namespace: 'hpc' }),
    'ridealong stacks minicluster/lammps -n hpc shows',
  )
  t.match(
    stacksAdvice({ owner: null, namespace: null }),
    'ridealong stacks KIND/NAME -n NAMESPACE shows',
  )
})
