import t from 'tap'
import { REASONS } from '../../../src/core/reasons.ts'

t.test(
  'each reason defines whether it is written to the pod and whether it may deny the pod',
  async (t) => {
    const flags = Object.entries(REASONS).map(([word, { written, deniable }]) => {
      return [word, written ? 'told' : '', deniable ? 'deniable' : '']
    })
    t.strictSame(flags, [
      ['not-asked', '', ''],
      ['opted-out', '', ''],
      ['not-create', '', ''],
      ['already-injected', '', ''],
      ['observer-differs', '', ''],
      ['mirror-pod', '', ''],
      ['excluded-namespace', '', ''],
      ['invalid-pod', '', ''],
      ['host-pid', 'told', 'deniable'],
      ['windows', 'told', 'deniable'],
      ['operator-conflict', 'told', 'deniable'],
      ['unknown-metric', 'told', 'deniable'],
      ['invalid-option', 'told', 'deniable'],
      ['rank-not-selected', 'told', ''],
      ['rank-unknown', 'told', 'deniable'],
      ['unknown-target-container', 'told', 'deniable'],
      ['name-taken', 'told', 'deniable'],
      ['pod-security', 'told', 'deniable'],
      ['limit-range', 'told', 'deniable'],
      ['quota', 'told', 'deniable'],
      ['privilege', 'told', 'deniable'],
      ['tools-not-allowed', 'told', 'deniable'],
      ['variable-taken', 'told', 'deniable'],
      ['path-taken', 'told', 'deniable'],
      ['observer-unavailable', 'told', 'deniable'],
      ['too-large', '', 'deniable'],
      ['internal-error', '', ''],
    ])
  },
)

t.test('each reason has a word for metrics and a sentence for users', async (t) => {
  const sentences = Object.values(REASONS).map(({ sentence }) => sentence)
  for (const word of Object.keys(REASONS)) t.match(word, /^[a-z]+(-[a-z]+)*$/)
  for (const sentence of sentences) {
    t.match(sentence, /^[\x20-\x7e]{20,200}$/, sentence)
    t.match(sentence, / .* .* /, 'the sentence has several words')
    t.notMatch(sentence, /\.$/, 'the sentence has no full stop')
  }
  t.equal(new Set(sentences).size, sentences.length, 'all sentences differ')
})
