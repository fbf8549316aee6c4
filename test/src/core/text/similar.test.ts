import t from 'tap'
import { didYouMean, findSimilar } from '../../../../src/core/text/similar.ts'

const WORDS = ['test', 'collect', 'report', 'job', 'jobset', 'minicluster', 'vitals', 'mpi-trace']

/** What was written, and the known word that was meant. */
const MEANT: readonly (readonly [string, string | undefined])[] = [
  ['minicluter', 'minicluster'],
  ['vital', 'vitals'],
  ['colelct', 'collect'],
  ['jbo', undefined],
  ['rport', 'report'],
  ['mpi', 'mpi-trace'],
  ['get', undefined],
  ['tst', 'test'],
  ['mp', undefined],
  ['', undefined],
  ['x'.repeat(300), undefined],
]

for (const [written, meant] of MEANT) {
  t.test(`"${written.slice(0, 20)}" means ${meant ?? 'no known word'}`, async (t) => {
    t.equal(findSimilar(written, WORDS), meant)
  })
}

t.test('no word is suggested if two are equally similar', async (t) => {
  t.equal(findSimilar('gpus', ['gpu', 'gpux']), undefined)
  t.equal(findSimilar('pyt', ['python', 'pytorch']), undefined)
})

t.test('the suggestion is a part of a sentence', async (t) => {
  t.equal(didYouMean('vital', WORDS), ' (did you mean vitals?)')
  t.equal(didYouMean('get', WORDS), '')
})
