import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { waitUntilEstablished } from '../established.ts'
import { kubectl } from '../machine/kubectl.ts'
import { definitionsFor } from '../operators/definitions.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// The custom resources of the tests must be valid for the definitions of their operators.

const WORKLOADS = fileURLToPath(new URL('../../workloads', import.meta.url))

/** Returns the custom resources in the manifests of the tests. */
function customResources() {
  return readdirSync(WORKLOADS).flatMap((name) => {
    const documents = parseAllDocuments(readFileSync(`${WORKLOADS}/${name}`, 'utf8'))
    return documents
      .map((document) => document.toJS())
      .filter((object) => /\..+\//.test(object?.apiVersion ?? '') && !isBuiltIn(object.apiVersion))
  })
}

function isBuiltIn(apiVersion: string): boolean {
  return apiVersion.split('/')[0]?.endsWith('.k8s.io') === true && !apiVersion.includes('x-k8s.io')
}

/** Reports whether kubectl printed that the apiserver does not serve a kind. */
function isUnserved(said: string): boolean {
  return /no matches for kind|could not find the requested resource/.test(said)
}

t.test('every custom resource is valid for the definition of its operator', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const definitions = await definitionsFor(cluster)
  await kubectl(cluster, ['apply', '--server-side', ...definitions])
  await waitUntilEstablished(cluster, definitions)
  await createNamespace(t, api, 'custom')
  const resources = customResources()
  t.ok(resources.length >= 5, `the manifests contain ${resources.length} custom resources`)
  for (const resource of resources) {
    const { kind, metadata } = resource
    const inCustom = { ...resource, metadata: { ...metadata, namespace: 'custom' } }
    const words = ['create', '--dry-run=server', '--validate=strict', '-f', '-']
    const create = () => kubectl(cluster, words, JSON.stringify(inCustom)).catch(String)
    // A kind is served a moment after its definition is established.
    await until(`${kind} is served`, async () => !isUnserved(await create()))
    const said = await create()
    t.match(said, /created \(server dry run\)/, `${kind} ${metadata.name} is valid`)
  }
  await kubectl(cluster, ['delete', ...definitions, '--wait=false'])
})
