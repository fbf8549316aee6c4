import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createControllerMemory } from '../../../../cli/archive/service/controller-memory.ts'
import type { Apiserver } from '../../../../src/cluster/apiserver.ts'
import { readPodFacts } from '../../../../src/runs/facts/pod-facts.ts'

const UID = '00000000-0000-4000-8000-000000000001'
const JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: UID, controller: true }

const SERVED = { name: 'jobs', kind: 'Job', namespaced: true, verbs: ['get', 'list', 'watch'] }

/** Returns a memory at an apiserver that has one Job, and the paths that it asks for. */
function start(status: object = {}) {
  const asked: string[] = []
  const ask = async ({ path }: { readonly path: string }) => {
    asked.push(path)
    await setImmediate()
    if (path.endsWith('/batch/v1')) return { resources: [SERVED] }
    return { metadata: { name: JOB.name, uid: UID }, spec: { completions: 64 }, status }
  }
  const api = { ask } as unknown as Apiserver
  return { asked, memory: createControllerMemory({ api, answerMs: 1000, onForbidden: () => {} }) }
}

t.test(
  'the controller of many new pods is read once, and again when they have ended',
  async (t) => {
    const { asked, memory } = start()
    const pods = podsOfJob(64)
    await Promise.all(pods.map(memory.resolve))
    t.equal(countReadings(asked), 1)
    await memory.refresh(pods)
    t.equal(countReadings(asked), 2)
  },
)

t.test('a Job that has finished is not read again', async (t) => {
  const { asked, memory } = start({ conditions: [{ type: 'Complete', status: 'True' }] })
  const pods = podsOfJob(2)
  await Promise.all(pods.map(memory.resolve))
  await memory.refresh(pods)
  t.equal(countReadings(asked), 1)
})

function podsOfJob(count: number) {
  return Array.from({ length: count }, (_, index) => {
    const name = `train-${index}`
    const metadata = { namespace: 'hpc', name, uid: name, ownerReferences: [JOB] }
    return readPodFacts({ metadata }, new Set())
  })
}

function countReadings(asked: readonly string[]): number {
  return asked.filter((path) => path.endsWith('/jobs/train')).length
}
