import t from 'tap'
import { REASONS } from '../../../src/core/reasons.ts'

t.test(
  'each reason defines whether it is written to the pod and whether it may deny the pod',
  async (t) => {
    const flags = Object.entries(REASONS).map(([word, { written, canDeny }]) => {
      return [word, written ? 'told' : '', canDeny ? 'canDeny' : '']
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
      ['host-pid', 'told', 'canDeny'],
      ['windows', 'told', 'canDeny'],
      ['operator-conflict', 'told', 'canDeny'],
      ['unknown-metric', 'told', 'canDeny'],
      ['invalid-option', 'told', 'canDeny'],
      ['rank-not-selected', 'told', ''],
      ['rank-unknown', 'told', 'canDeny'],
      ['unknown-target-container', 'told', 'canDeny'],
      ['name-taken', 'told', 'canDeny'],
      ['pod-security', 'told', 'canDeny'],
      ['limit-range', 'told', 'canDeny'],
      ['quota', 'told', 'canDeny'],
      ['privilege', 'told', 'canDeny'],
      ['tools-not-allowed', 'told', 'canDeny'],
      ['variable-taken', 'told', 'canDeny'],
      ['path-taken', 'told', 'canDeny'],
      ['observer-unavailable', 'told', 'canDeny'],
      ['too-large', '', 'canDeny'],
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
