import { Writable } from 'node:stream'
import t from 'tap'
import { KEYS } from '../../src/core/keys.ts'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { reviewPod } from '../../src/core/review-pod.ts'
import { logPod, openLog } from '../../webhook/log.ts'
import { HOSTILE } from '../properties/hostile-text.ts'
import { CATALOG, podOf, reviewOf } from '../src/core/build.ts'

function opened() {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return { log: openLog('trace', stream), lines }
}

/**
 * Matches the characters that a line must not contain: control characters other than the line feed
 * at its end, line separators, and characters that are invisible or that reorder text.
 */
const HARMFUL = /(?!\n$)[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f]/u

t.test('a line of the log is printable, and parses to the same values', async (t) => {
  const { log, lines } = opened()
  log.warn({ trouble: HOSTILE, [HOSTILE]: HOSTILE, err: new Error(HOSTILE) }, HOSTILE)
  t.equal(lines.length, 1)
  t.notMatch(lines[0], HARMFUL)
  const { trouble, msg, err, [HOSTILE]: keyed } = JSON.parse(lines[0] ?? '')
  t.strictSame([trouble, msg, err.message, keyed], [HOSTILE, HOSTILE, HOSTILE, HOSTILE])
})

t.test('the log line of a decision is short even for a pod with long texts', async (t) => {
  const { log, lines } = opened()
  const long = HOSTILE.repeat(1000)
  const pod = podOf({ [KEYS.inject]: long }, {}, { name: long })
  const review = reviewOf(pod, { namespace: long, uid: long, name: long })
  const settings = {
    catalog: CATALOG,
    namespace: readNamespace('hpc', undefined),
    excludedNamespaces: new Set<string>(),
  }
  logPod(log, review, reviewPod(review, settings), 0.001)
  t.ok((lines[0]?.length ?? 0) < 1500)
  t.notMatch(lines[0], HARMFUL)
  t.match(JSON.parse(lines[0] ?? ''), { reason: 'unknown-metric' })
})
