import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { findObservers } from '../../../../src/runs/collect/observers.ts'
import { readPodFacts } from '../../../../src/runs/facts/pod-facts.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const MIB = 2 ** 20
const METRICS = new Set(['vitals'])

/** Parses a pod as it arrives, whose texts without a limit in Kubernetes have 1 MiB each. */
function hugePod(index: number) {
  const text = String(index % 10).repeat(MIB)
  return JSON.parse(
    JSON.stringify({
      metadata: { name: `pod-${index}`, ownerReferences: [{ controller: true, uid: text }] },
      spec: {
        nodeName: text,
        containers: [{ name: 'app', image: text }],
        ephemeralContainers: [{ name: 'vitals' }],
      },
    }),
  )
}

t.test('the facts about a pod do not keep its long texts in memory', async (t) => {
  const read = (index: number) => {
    const pod = hugePod(index)
    return [readPodFacts(pod, METRICS), findObservers(pod, METRICS, undefined)] as const
  }
  read(0)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const kept = Array.from({ length: 60 }, (_, index) => read(index))
  collectGarbage()
  const used = process.memoryUsage().heapUsed - before
  t.ok(used < 20 * MIB, `${kept.length} pods use ${Math.round(used / MIB)} MiB`)
  const [facts, { observers }] = read(1)
  const [image, node, owner] = [facts.containers[0]?.image, observers[0]?.node, observers[0]?.owner]
  const texts = [image, node, owner].map((text) =>
    text?.replace(/^1+/, ({ length }) => `${length}`),
  )
  t.strictSame(texts, ['1021...', '250...', '250...'])
})

t.test('an ordinary text is kept as it is', async (t) => {
  const image = `registry.example/${'a'.repeat(255)}@sha256:${'0'.repeat(64)}`
  const [container] = readPodFacts(
    { spec: { containers: [{ name: 'app', image }] } },
    METRICS,
  ).containers
  t.equal(container?.image, image)
})
