import t from 'tap'
import { nodeImageProblem } from '../../../../src/pods/attach/node-image.ts'

const IMAGE = 'registry.example/observer:1'
const SECRETS = [{ name: 'pull' }]
const POD = { metadata: { name: 'db-0' }, spec: { nodeName: 'n1', imagePullSecrets: SECRETS } }

/** Returns another pod on the node with a container of the image in this state. */
function other(state: object, spec: object = { imagePullSecrets: SECRETS }) {
  return {
    metadata: { namespace: 'hpc', name: 'other' },
    spec: { containers: [{ name: 'app', image: IMAGE }], ...spec },
    status: { containerStatuses: [{ name: 'app', state }] },
  }
}

const FAILED = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } }
const node = (...names: readonly string[]) => ({ status: { images: [{ names }] } })

t.test('a node that fails to pull the image for another pod has a problem', async (t) => {
  t.equal(
    nodeImageProblem(IMAGE, POD, { node: node(), pods: [other(FAILED)] }),
    `node n1 cannot pull ${IMAGE}: in pod hpc/other, ImagePullBackOff: Back-off pulling image`,
  )
})

t.test('a node has no problem if it has the image, or if nothing is known', async (t) => {
  const failing = other(FAILED)
  const rows: readonly (readonly [string, Parameters<typeof nodeImageProblem>[2]])[] = [
    ['nothing can be read', { node: undefined, pods: [] }],
    ['the Node lists the image', { node: node('a@sha256:1', IMAGE), pods: [failing] }],
    ['another pod runs the image', { node: node(), pods: [failing, other({ running: {} })] }],
    ['another pod has run it', { node: node(), pods: [failing, other({ terminated: {} })] }],
    ['a pod with other pull secrets fails', { node: node(), pods: [other(FAILED, {})] }],
    [
      'a pod is being created',
      { node: node(), pods: [other({ waiting: { reason: 'Creating' } })] },
    ],
  ]
  for (const [what, objects] of rows)
    t.equal(nodeImageProblem(IMAGE, POD, objects), undefined, what)
})

t.test(
  'a short name of an image is compared with the complete name that a Node lists',
  async (t) => {
    const rows = [
      ['observer', 'docker.io/library/observer:latest'],
      ['team/observer:2', 'docker.io/team/observer:2'],
      ['localhost/observer', 'localhost/observer:latest'],
      ['host:5000/observer@sha256:1', 'host:5000/observer@sha256:1'],
    ] as const
    for (const [short, complete] of rows) {
      const failing = { ...other(FAILED), spec: { containers: [{ name: 'app', image: short }] } }
      const pod = { spec: { nodeName: 'n1' } }
      const there = { node: node(complete), pods: [failing] }
      t.equal(nodeImageProblem(short, pod, there), undefined, short)
      t.ok(nodeImageProblem(short, pod, { ...there, node: node() }), `${short} is missing`)
    }
  },
)
