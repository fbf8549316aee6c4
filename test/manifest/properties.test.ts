import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { answerPod } from '../../src/core/answer.ts'
import { readNamespace } from '../../src/core/namespace.ts'
import type { Review } from '../../src/core/review.ts'
import { annotate } from '../../src/manifest/annotate.ts'
import { inject } from '../../src/manifest/inject.ts'
import { readManifests } from '../../src/manifest/read.ts'
import { undo } from '../../src/manifest/undo.ts'
import { manifests } from './arbitrary-yaml.ts'

const catalog = await loadCatalog({})
const excludedNamespaces = new Set<string>()

/** What asks: the text itself, and what a command line says beside it. */
function injected(text: string, given: Readonly<Record<string, string>> = {}) {
  const namespace = {
    ...readNamespace('hpc', undefined),
    annotations: new Map(Object.entries(given)),
  }
  const answer = (review: Review) => answerPod(review, { catalog, namespace, excludedNamespaces })
  return readManifests('a.yaml', text).map((manifest) => inject(manifest, answer, 'hpc'))
}

function textOf(documents: readonly { readonly text: string }[]): string {
  return documents.map(({ text }) => text).join('')
}

function undone(text: string): string {
  return readManifests('a.yaml', text).map(undo).join('')
}

const ASKING = { 'ridealong.dev/inject': 'perf-sysstat' }

t.test('generated text is the object that it was written for', async () => {
  fc.assert(
    fc.property(manifests, ({ text, object }) => {
      assert.deepEqual(readManifests('a.yaml', text)[0]?.value, object)
    }),
  )
})

t.test('inject then undo gives the text, byte for byte', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const out = injected(text, ASKING)
      assert.equal(out[0]?.outcomes[0]?.decision.outcome, 'injected')
      assert.equal(undone(textOf(out)), text)
    }),
    { numRuns: 300 },
  )
})

t.test('inject twice is inject once', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const once = textOf(injected(text, ASKING))
      const twice = injected(once, ASKING)
      assert.equal(textOf(twice), once)
      const [decision] = twice.flatMap(({ outcomes }) => outcomes.map(({ decision }) => decision))
      assert.equal(
        decision !== undefined && 'reason' in decision && decision.reason,
        'already-injected',
      )
    }),
  )
})

t.test('two rounds that add a metric each are undone at once', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const first = textOf(injected(text, { 'ridealong.dev/inject': 'io-sysstat' }))
      const second = textOf(injected(first.replaceAll('perf-sysstat', 'perf-sysstat'), ASKING))
      assert.equal(undone(second), text)
    }),
  )
})

t.test('what does not ask comes out byte for byte', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const silent = text.replaceAll('ridealong.dev', 'example.com')
      assert.equal(textOf(injected(silent)), silent)
      assert.equal(undone(silent), silent)
    }),
  )
})

t.test('every line that was there is there in its order, but what gave way', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const lines = textOf(injected(text, ASKING)).split(/\r?\n/)
      const remarks = lines.filter((line) => /^\s*#/.test(line))
      assert.deepEqual(
        remarks,
        text.split(/\r?\n/).filter((line) => /^\s*#/.test(line)),
      )
      const breaks = new Set(textOf(injected(text, ASKING)).match(/\r?\n/g))
      const isCrLf = text.includes('\r\n')
      if (breaks.size > 0 && /\n/.test(text))
        assert.deepEqual([...breaks], [isCrLf ? '\r\n' : '\n'])
    }),
  )
})

t.test('annotations are written where they are read, whatever was there', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const [manifest] = readManifests('a.yaml', text)
      assert.ok(manifest !== undefined)
      const out = annotate(manifest, { 'ridealong.dev/inject': 'io-sysstat' }, false).text
      const again = annotate(
        readManifests('a.yaml', out)[0] ?? manifest,
        { 'ridealong.dev/inject': 'io-sysstat' },
        false,
      )
      assert.equal(again.text, out)
      const [decision] = injected(out).flatMap(({ outcomes }) =>
        outcomes.map(({ decision }) => decision),
      )
      assert.ok(decision?.outcome === 'injected')
      assert.deepEqual(
        decision.observers.map(({ metric }) => metric.name),
        ['io-sysstat'],
      )
    }),
  )
})
