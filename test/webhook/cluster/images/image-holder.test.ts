import t from 'tap'
import { holderItem, isHeld, listImages } from '../../../../webhook/cluster/images/image-holder.ts'

const METADATA = { name: 'images-1', namespace: 'ridealong-system', resourceVersion: '7' }

type Json = Readonly<Record<string, unknown>>

/** Returns a DaemonSet with this generation and status. `counted` builds a status from counts. */
function holder(generation: number, status: Json, containers: unknown = [{ image: 'a' }]) {
  const metadata = { ...METADATA, generation, managedFields: [{}] }
  return holderItem({ metadata, spec: { template: { spec: { containers } } }, status })
}

function counted(pods: number, updated: number, ready: number, observedGeneration = 1): Json {
  return {
    observedGeneration,
    desiredNumberScheduled: 4,
    currentNumberScheduled: pods,
    updatedNumberScheduled: updated,
    numberReady: ready,
  }
}

t.test('a DaemonSet holds its image if a ready pod runs it', async (t) => {
  const rows: [boolean, string, Json][] = [
    [true, 'all its pods are ready', counted(4, 4, 4)],
    [true, 'one pod is ready', counted(4, 4, 1)],
    [true, 'the only pod is ready', counted(1, 1, 1)],
    [false, 'no pod is ready', counted(4, 4, 0)],
    [false, 'the only pod is not ready', counted(1, 1, 0)],
    [false, 'no node is selected', counted(0, 0, 0)],
    [false, 'the status is empty', {}],
    [false, 'a count is not a number', { ...counted(4, 4, 4), numberReady: '4' }],
  ]
  for (const [held, name, status] of rows) t.equal(isHeld(holder(1, status)), held, name)
})

t.test('during a rollout, pods of the old template do not hold the new image', async (t) => {
  const rows: [boolean, string, Json][] = [
    [false, 'the controller has not observed the new template', counted(4, 4, 4, 1)],
    [false, 'no pod has the new template', counted(4, 0, 4, 2)],
    [false, 'one pod has the new template, and is not ready', counted(4, 1, 3, 2)],
    [false, 'one of two pods has the new template, and only one is ready', counted(2, 1, 1, 2)],
    [false, 'the old pod is deleted, and the new pod does not exist', counted(3, 0, 3, 2)],
    [true, 'one pod has the new template, and all pods are ready', counted(4, 1, 4, 2)],
    [true, 'three of four pods have the new template, and two are ready', counted(4, 3, 2, 2)],
    [true, 'all pods have the new template, and one is ready', counted(4, 4, 1, 2)],
  ]
  for (const [held, name, status] of rows) t.equal(isHeld(holder(2, status)), held, name)
})

t.test('only the generation, images and status of a DaemonSet are kept', async (t) => {
  const item = holder(1, counted(1, 1, 1), [{ image: 'a', env: [{}] }, { image: 'b' }, {}, null])
  t.strictSame(listImages(item), ['a', 'b'])
  t.strictSame(Object.keys(item.object), ['generation', 'images', 'status'])
  const { name, namespace, resourceVersion } = item
  t.strictSame({ name, namespace, resourceVersion }, METADATA)
  for (const containers of [null, 'a', {}, []]) {
    t.strictSame(listImages(holder(1, {}, containers)), [])
  }
})
