import { readFile } from 'node:fs/promises'
import { loadCatalog } from '../../src/catalog/load.ts'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { reviewPod } from '../../src/core/review-pod.ts'
import { readBody } from '../../webhook/body.ts'

/**
 * The number of containers of a pod, and the numbers of variables, volumes and annotations that are
 * added to the recorded pod.
 */
interface Size {
  readonly containers: number
  readonly variables?: number
  readonly volumes?: number
  readonly annotations?: number
}

const SIZES: readonly Size[] = [
  { containers: 1 },
  { containers: 1, variables: 1500 },
  { containers: 10 },
  { containers: 10, variables: 1500 },
  { containers: 100 },
  { containers: 100, variables: 1500 },
  { containers: 1, volumes: 1500 },
  { containers: 1, annotations: 1500 },
]

const ROUNDS = 3000

/**
 * Prints the time of an answer without parsing, for a recorded pod in several sizes. The time is
 * the median of many answers to one parsed body, in microseconds. Each row also has the ratio to
 * the first row. No answer uses results of the previous answer. The body is parsed only once,
 * because parsing it before each answer would replace the data in the processor's caches.
 *
 * @param path a recorded AdmissionReview whose pod requests observers
 */
export async function benchHandler(path: string, print: (line: string) => void): Promise<void> {
  const recorded = await readFile(path, 'utf8')
  const catalog = await loadCatalog({})
  const namespace = readNamespace('flux', undefined)
  const settings = { catalog, namespace, excludedNamespaces: new Set<string>() }
  const measure = (text: string): number => {
    const review = readBody(text)
    const answer = () => {
      const start = performance.now()
      const { decision } = reviewPod(review, settings)
      if (decision.outcome !== 'injected') throw new Error(`not injected: ${decision.outcome}`)
      return (performance.now() - start) * 1000
    }
    return median(Array.from({ length: ROUNDS }, answer))
  }
  const texts = SIZES.map((size) => enlarge(recorded, size))
  for (const text of texts) measure(text)
  const medians = texts.map(measure)
  print('containers  variables  volumes  annotations  body kB  answer us  ratio')
  for (const [index, size] of SIZES.entries()) {
    const { containers, variables = 0, volumes = 0, annotations = 0 } = size
    const [first = 1, time = 0] = [medians[0], medians[index]]
    const kilobytes = (texts[index]?.length ?? 0) / 1000
    const cells = [containers, variables, volumes, annotations].map((n, i) =>
      `${n}`.padStart(WIDTHS[i] ?? 0),
    )
    const measured = [
      kilobytes.toFixed(0).padStart(7),
      time.toFixed(1).padStart(9),
      (time / first).toFixed(2).padStart(5),
    ]
    print([...cells, ...measured].join('  '))
  }
}

const WIDTHS = [10, 9, 7, 11]

/**
 * Returns the recorded review with a pod of this size. All containers are copies of the first
 * container, which also gets the variables.
 */
function enlarge(recorded: string, size: Size): string {
  const review = JSON.parse(recorded)
  const { metadata, spec } = review.request.object
  const [first] = spec.containers
  spec.containers = Array.from({ length: size.containers }, (_, i) => {
    return i === 0 ? first : { ...first, name: `${first.name}-${i}` }
  })
  const env = Array.from({ length: size.variables ?? 0 }, (_, i) => ({
    name: `V${i}`,
    value: `${i}`,
  }))
  spec.containers[0] = { ...first, env: [...(first.env ?? []), ...env] }
  for (let i = 0; i < (size.volumes ?? 0); i += 1)
    spec.volumes.push({ name: `v${i}`, emptyDir: {} })
  for (let i = 0; i < (size.annotations ?? 0); i += 1)
    metadata.annotations[`example.com/a${i}`] = `${i}`
  return JSON.stringify(review)
}

/** Returns the median of numbers; of an even count, the greater of the two middle numbers. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
