import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { FoundPod } from '../../../cli/shared/workload-pods.ts'
import { startTimeSoFar } from '../../../cli/top/time-so-far.ts'
import type { Fields } from '../../../src/core/kubernetes/json.ts'
import { findObservers } from '../../../src/runs/collect/observers.ts'
import { readPodFacts } from '../../../src/runs/facts/pod-facts.ts'
import { run } from '../command.ts'
import { recorded, startRecordedRuns } from '../runs/recorded-runs.ts'

const LOG = readFileSync(new URL('../../../docs/examples/vitals.log', import.meta.url), 'utf8')
const { items } = recorded('pods')
const LOGS = Object.fromEntries(items.map(({ metadata }) => [`${metadata.name}/vitals`, LOG]))

/** Runs `top --once` on recorded pods, without a right to more than the pods and their logs. */
async function once(t: Test, ...words: readonly string[]) {
  const denied = { code: 403, message: 'forbidden' }
  const paths = ['/apis/batch/v1/namespaces/runs/jobs', '/apis/batch/v1']
  const others = Object.fromEntries(paths.map((path) => [path, denied]))
  const { kubeconfig, asked } = await startRecordedRuns(t, items, LOGS, others)
  const place = ['-n', 'runs', '--kubeconfig', kubeconfig]
  return { ...(await run(['top', ...words, '--once', ...place])), asked }
}

const RETRIED =
  '16 s since its first pod was created, mean of 2 pods: 5.5 s after its application ended, ' +
  '4.5 s lost to 1 restart, 4 s running, 2 s for volumes, the network and the first image.'

t.test('top says where the time went, from the status of the pods alone', async (t) => {
  const { code, out, asked } = await once(t, 'job/retried')
  t.equal(code, 0)
  t.ok(out.split('\n').includes(RETRIED), out)
  t.notOk(
    asked.some((path) => path.includes('/batch/')),
    'no controller is read',
  )
  const document = JSON.parse((await once(t, 'job/retried', '-o', 'json')).out)
  t.match(document.time, { sentence: RETRIED, isOver: true, places: 2, seconds: { lost: 9 } })
})

t.test('pods that may be of several runs have no common time', async (t) => {
  const { out } = await once(t, '--selector', 'batch.kubernetes.io/job-name=retried', '-o', 'json')
  t.equal(JSON.parse(out).time, null)
})

/** Returns recorded pods as `findWorkloadPods` does. */
function podsOf(name: string, status = {}): readonly FoundPod[] {
  const own = items.filter(({ metadata }) => metadata.name.startsWith(name))
  return own.map((whole): FoundPod => {
    const pod: Fields = { ...whole, status: { ...whole.status, ...status } }
    const metrics = new Set(['vitals'])
    return { ...findObservers(pod, metrics, undefined), facts: readPodFacts(pod, metrics) }
  })
}

t.test('a pod that is deleted keeps its time', async (t) => {
  const time = startTimeSoFar('job/retried')
  const all = podsOf('retried')
  time.take(all)
  t.equal(time.read()?.sentence, RETRIED)
  time.take(all.filter(({ facts }) => facts.phase === 'Succeeded'))
  t.equal(time.read()?.sentence, RETRIED)
})

t.test('a run that goes on has its time so far, and a revision has none', async (t) => {
  const time = startTimeSoFar('job/plain')
  t.equal(time.read()?.sentence, undefined)
  const state = { running: { startedAt: new Date().toISOString() } }
  time.take(podsOf('plain', { phase: 'Running', containerStatuses: [{ name: 'app', state }] }))
  t.match(time.read()?.sentence, / so far since its first pod was created: /)
  const [pod] = podsOf('plain')
  if (pod === undefined) throw new Error('there is a pod')
  const revised = startTimeSoFar('deployment/web')
  revised.take([{ ...pod, facts: { ...pod.facts, revision: '7' } }])
  t.equal(revised.read(), undefined)
})
