import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { applied } from '../../src/core/patch.ts'
import { reviewPod } from '../../src/core/review-pod.ts'
import { annotate } from '../../src/pods/manifest/annotate.ts'
import { readManifests } from '../../src/pods/manifest/read.ts'
import { findResources } from '../../src/pods/manifest/resources.ts'
import { buildReview } from '../../src/pods/manifest/static-pod.ts'
import { findTemplates } from '../../src/pods/manifest/templates.ts'
import {
  ALLOWED,
  injected,
  MOUNTED,
  ONE_IMAGE,
  PERF,
  TOOLS,
  textOf,
  undone,
} from '../src/pods/manifest/build.ts'
import { mapOf } from './arbitrary.ts'
import { manifests, manifestsWith } from './arbitrary-yaml.ts'

// Half of the default: reading and writing YAML takes most of the time.
fc.configureGlobal({ numRuns: 50 })

/** Manifests that request metrics with tools. */
const tooled = manifestsWith('cpu-profile', 'mpi-trace,cpu-profile', 'perf-sysstat,mpi-trace')

/** Annotations as from a command line: metrics with tools, and the target if it is not `main`. */
const commands = fc.constantFrom(
  { 'ridealong.dev/inject': 'cpu-profile' },
  { 'ridealong.dev/inject': 'mpi-trace,cpu-profile', 'ridealong.dev/target-container': 'main' },
  { 'ridealong.dev/inject': 'mpi-trace', 'ridealong.dev/target-container': 'init' },
)

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
    { numRuns: 75 },
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

t.test('undo removes tools and restores the text, byte for byte', async () => {
  const targets = new Set<string>()
  fc.assert(
    fc.property(tooled, commands, ({ text }, given) => {
      const out = injected(text, given, ALLOWED)
      assert.equal(undone(textOf(out)), text)
      const [decision] = out.flatMap(({ outcomes }) => outcomes.map((one) => one.decision))
      if (decision?.outcome === 'injected') targets.add(decision.target)
    }),
    { numRuns: 150 },
  )
  assert.deepEqual([...targets].sort(), ['init', 'main'], 'both containers were targets')
})

/** Annotations that request two tools, in both modes. */
const bothTools = fc.constantFrom('native', 'container').map((mode) => {
  const more = { 'ridealong.dev/target-container': 'main', 'ridealong.dev/mode': mode }
  return { 'ridealong.dev/inject': 'mpi-trace,cpu-profile', ...more }
})

t.test('undo removes tools of one image, and a second inject changes nothing', async () => {
  const silent = manifestsWith('cpu-profile').map(({ text }) => {
    return text.replaceAll('ridealong.dev/inject', 'example.com/inject')
  })
  let count = 0
  fc.assert(
    fc.property(silent, bothTools, (text, given) => {
      const once = textOf(injected(text, given, ONE_IMAGE))
      if (once.includes('mpi-trace-install') && !once.includes('cpu-profile-install')) count += 1
      assert.equal(textOf(injected(once, given, ONE_IMAGE)), once)
      assert.equal(undone(once), text)
    }),
    { numRuns: 100 },
  )
  assert.ok(count > 60, `${count} manifests have one installer for two tools`)
})

t.test('undo removes image volumes, and a second inject changes nothing', async () => {
  const silent = manifestsWith('cpu-profile').map(({ text }) => {
    return text.replaceAll('ridealong.dev/inject', 'example.com/inject')
  })
  let count = 0
  fc.assert(
    fc.property(silent, bothTools, (text, given) => {
      const once = textOf(injected(text, given, MOUNTED))
      const isMounted = once.includes('ridealong-lib-mpi-trace-')
      if (isMounted && !once.includes('mpi-trace-install')) count += 1
      assert.equal(textOf(injected(once, given, MOUNTED)), once)
      assert.equal(undone(once), text)
    }),
    { numRuns: 100 },
  )
  assert.ok(count > 60, `${count} manifests have a volume with the image of the tools`)
})

t.test('a manifest with the tools of another catalog stays, and undo restores it', async () => {
  const silent = manifestsWith('cpu-profile').map(({ text }) => {
    return text.replaceAll('ridealong.dev/inject', 'example.com/inject')
  })
  let count = 0
  fc.assert(
    fc.property(silent, bothTools, (text, given) => {
      const other = textOf(injected(text, given, ALLOWED))
      if (other.includes('mpi-trace-install') && other.includes('cpu-profile-install')) count += 1
      assert.equal(textOf(injected(other, given, ONE_IMAGE)), other)
      assert.equal(undone(other), text)
    }),
    { numRuns: 100 },
  )
  assert.ok(count > 60, `${count} manifests have two installers`)
})

t.test('inject adds the same tools to a template as the webhook to its pod', async () => {
  const annotations = (given: object) => ({ metadata: { name: 'hpc', annotations: given } })
  let count = 0
  fc.assert(
    fc.property(tooled, commands, ({ text }, given) => {
      const namespace = { ...readNamespace('hpc', annotations(given)), allowsTools: true }
      const settings = { catalog: TOOLS, excludedNamespaces: new Set<string>(), namespace }
      const review = reviewOf(text)
      const { decision, operations } = reviewPod(review, settings)
      if (decision.outcome !== 'injected') return
      count += 1
      const wanted = mapOf(applied(review.object, operations)).spec
      const own = reviewOf(textOf(injected(text, given, ALLOWED))).object
      assert.deepEqual(mapOf(own).spec, JSON.parse(JSON.stringify(wanted)))
    }),
    { numRuns: 150 },
  )
  assert.ok(count > 50, `${count} pods have tools`)
})

/** Returns the review of the first pod of the first template in a text. */
function reviewOf(text: string) {
  const [template] = readManifests('a.yaml', text).flatMap(findResources).flatMap(findTemplates)
  assert.ok(template !== undefined)
  return buildReview(template, 'hpc')
}

t.test('a second inject does not change a manifest with tools', async () => {
  fc.assert(
    fc.property(tooled, commands, ({ text }, given) => {
      const once = textOf(injected(text, given, ALLOWED))
      assert.equal(textOf(injected(once, given, ALLOWED)), once)
    }),
  )
})

t.test('one undo removes the tools of two injects', async () => {
  const silent = manifestsWith('cpu-profile').map(({ text }) => {
    return text.replaceAll('ridealong.dev/inject', 'example.com/inject')
  })
  const later = fc.constantFrom('main', 'init')
  let count = 0
  fc.assert(
    fc.property(silent, later, (text, target) => {
      const given = { 'ridealong.dev/target-container': target }
      const first = injected(text, { 'ridealong.dev/inject': 'cpu-profile' }, ALLOWED)
      const both = { 'ridealong.dev/inject': 'cpu-profile,mpi-trace', ...given }
      const second = textOf(injected(textOf(first), both, ALLOWED))
      if (second !== textOf(first)) count += 1
      assert.equal(undone(second), text)
    }),
    { numRuns: 100 },
  )
  assert.ok(count > 25, `${count} manifests were injected twice`)
})
