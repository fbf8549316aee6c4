import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createControllerMemory } from '../../../../cli/archive/service/controller-memory.ts'
import type { Apiserver } from '../../../../src/cluster/apiserver.ts'
import { readPodFacts } from '../../../../src/runs/card/pod-facts.ts'

const UID = '00000000-0000-4000-8000-000000000001'
const JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: UID, controller: true }

const SERVED = { name: 'jobs', kind: 'Job', namespaced: true, verbs: ['get', 'list', 'watch'] }

/** Returns a memory at an apiserver that has one Job, and the paths that it asks for. */
function start() {
  const asked: string[] = []
  const ask = async ({ path }: { readonly path: string }) => {
    asked.push(path)
    await setImmediate()
    if (path.endsWith('/batch/v1')) return { resources: [SERVED] }
    return { metadata: { name: JOB.name, uid: UID }, spec: { completions: 64 } }
  }
  const api = { ask } as unknown as Apiserver
  return { asked, memory: createControllerMemory({ api, answerMs: 1000, onForbidden: () => {} }) }
}

t.test(
  'the controller of many new pods is read once, and again when they have ended',
  async (t) => {
    const { asked, memory } = start()
    const pods = Array.from({ length: 64 }, (_, index) => {
      const name = `train-${index}`
      const metadata = { namespace: 'hpc', name, uid: name, ownerReferences: [JOB] }
      return readPodFacts({ metadata }, new Set())
    })
    const readings = () => asked.filter((path) => path.endsWith('/jobs/train')).length
    await Promise.all(pods.map(memory.resolve))
    t.equal(readings(), 1)
    await memory.refresh(pods)
    t.equal(readings(), 2)
  },
)
