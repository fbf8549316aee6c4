import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { annotate } from '../../src/manifest/annotate.ts'
import { readManifests } from '../../src/manifest/read.ts'
import { injected, PERF, textOf, undone } from '../src/manifest/build.ts'
import { manifests } from './arbitrary-yaml.ts'

t.test('a generated manifest is parsed into its object', async () => {
  fc.assert(
    fc.property(manifests, ({ text, object }) => {
      assert.deepEqual(readManifests('a.yaml', text)[0]?.value, object)
    }),
  )
})

t.test('undo restores the text before inject, byte for byte', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const out = injected(text, PERF)
      assert.equal(out[0]?.outcomes[0]?.decision.outcome, 'injected')
      assert.equal(undone(textOf(out)), text)
    }),
    { numRuns: 150 },
  )
})

t.test('a second inject changes nothing', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const once = textOf(injected(text, PERF))
      const twice = injected(once, PERF)
      assert.equal(textOf(twice), once)
      const [decision] = twice.flatMap(({ outcomes }) => outcomes.map(({ decision }) => decision))
      assert.equal(
        decision !== undefined && 'reason' in decision && decision.reason,
        'already-injected',
      )
    }),
  )
})

t.test('one undo removes the observers of two injects', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const first = textOf(injected(text, { 'ridealong.dev/inject': 'io-sysstat' }))
      const second = textOf(injected(first, PERF))
      assert.equal(undone(second), text)
    }),
  )
})

t.test('inject and undo do not change a manifest that requests nothing', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const silent = text.replaceAll('ridealong.dev', 'example.com')
      assert.equal(textOf(injected(silent)), silent)
      assert.equal(undone(silent), silent)
    }),
  )
})

t.test('inject keeps comment lines, their order, and the kind of line breaks', async () => {
  fc.assert(
    fc.property(manifests, ({ text }) => {
      const lines = textOf(injected(text, PERF)).split(/\r?\n/)
      const remarks = lines.filter((line) => /^\s*#/.test(line))
      assert.deepEqual(
        remarks,
        text.split(/\r?\n/).filter((line) => /^\s*#/.test(line)),
      )
      const breaks = new Set(textOf(injected(text, PERF)).match(/\r?\n/g))
      const isCrLf = text.includes('\r\n')
      if (breaks.size > 0 && /\n/.test(text))
        assert.deepEqual([...breaks], [isCrLf ? '\r\n' : '\n'])
    }),
  )
})

t.test('a second annotate changes nothing, and inject reads the annotations', async () => {
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
