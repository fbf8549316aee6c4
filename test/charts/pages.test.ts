import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { textOf } from '../docs/pages.ts'
import type { Json } from '../src/core/build.ts'
import { admitBy, STANDARD } from '../src/core/rules/constraints.ts'
import { render, skip } from './programs.ts'

// docs/administer/openshift.md and docs/administer/offline.md describe the objects of the chart.

const VALUES = ['tools.metrics={cpu-profile,mpi-trace}']

/** Returns the pods of the chart: those of workloads, and those of `helm test`. */
function podsOf(manifests: string): readonly Json[] {
  return parseAllDocuments(manifests).flatMap((document) => {
    const object = fieldsOrNone(document.toJS())
    if (object.kind === 'Pod') return [object]
    const { spec, metadata = {} } = fieldsOrNone(fieldsOrNone(object.spec).template)
    return spec === undefined ? [] : [{ metadata, spec }]
  })
}

t.test('the SCC nonroot-v2 of OpenShift admits all pods of the chart', { skip }, async (t) => {
  const pods = podsOf(render(VALUES))
  t.ok(pods.length >= 4, 'the webhook, the image holders, the test and the removal')
  for (const name of ['nonroot-v2', 'restricted-v2']) {
    const constraints = STANDARD.find((scc) => scc.name === name)
    if (constraints === undefined) throw new Error(name)
    const admitted = pods.filter((pod) => 'pod' in admitBy(constraints, pod))
    t.equal(admitted.length, name === 'nonroot-v2' ? pods.length : 0, name)
  }
  for (const pod of pods)
    t.equal(fieldsOrNone(fieldsOrNone(pod.spec).securityContext).fsGroup, 65532)
})

t.test('docs/administer/offline.md lists all images of the chart', { skip }, async (t) => {
  const manifests = render(VALUES)
  const used = [...manifests.matchAll(/^ *(?:- )?image: *"?ghcr\.io\/([\w/-]+):/gm)]
  const rows = [...textOf('docs/administer/offline.md').matchAll(/^\| `(ridealong\/[\w-]+)` \|/gm)]
  const namesOf = (found: readonly RegExpMatchArray[]) => [...new Set(found.map(([, it]) => it))]
  t.strictSame(namesOf(rows).sort(), namesOf(used).sort())
  const images = podsOf(manifests).flatMap(({ spec }) =>
    listOrNone(fieldsOrNone(spec).containers).map((one) => String(fieldsOrNone(one).image)),
  )
  t.strictSame(
    images.filter((image) => !image.startsWith('ghcr.io/ridealong/')),
    [],
    'the pods of the chart use no other image',
  )
})
