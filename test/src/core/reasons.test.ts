import t from 'tap'
import { REASONS } from '../../../src/core/reasons.ts'

t.test('a reason that can deny a pod warns about the pods that it does not deny', async (t) => {
  for (const [reason, { canDeny, warns }] of Object.entries(REASONS))
    t.ok(warns || !canDeny, reason)
})

t.test('an error of Ridealong and a changed observer never deny a pod', async (t) => {
  t.match(REASONS['internal-error'], { canDeny: false, warns: true })
  t.match(REASONS['observer-differs'], { canDeny: false, warns: true })
})

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
