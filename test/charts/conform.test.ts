import { join } from 'node:path'
import t from 'tap'
import { kubernetesVersion } from '../cluster/machine/tools.ts'
import { PROGRAMS, render, run, skip } from './programs.ts'
import {
  downloadModule,
  SCHEMA_NAME,
  writeCustomSchemas,
  writeKubernetesSchemas,
} from './schemas.ts'
import { EVERYTHING, LITTLE, SELF } from './values.ts'

const CERT_MANAGER = ['github.com/cert-manager/cert-manager', 'v1.21.2'] as const
const PROMETHEUS_OPERATOR = [
  'github.com/prometheus-operator/prometheus-operator',
  'v0.85.0',
] as const

const MANIFESTS = skip ? [] : [render([]), render(EVERYTHING), render(LITTLE), render(SELF)]

function kindsOf(manifests: readonly string[]): ReadonlySet<string> {
  const lines = manifests.flatMap((manifest) => manifest.match(/^kind: .*$/gm) ?? [])
  return new Set(lines.map((line) => line.slice('kind: '.length)))
}

/** Runs kubeconform on manifests, with only the schemas of a folder. */
function conform(folder: string, manifest: string) {
  const words = ['-strict', '-summary', '-schema-location', join(folder, SCHEMA_NAME), '-']
  return run(PROGRAMS.kubeconform, words, manifest)
}

for (const minor of ['1.30', '1.36'] as const) {
  t.test(
    `every object matches the schemas of Kubernetes ${minor}`,
    {
      skip,
    },
    async (t) => {
      const folder = t.testdir()
      const version = await kubernetesVersion(`kubernetes-${minor}`)
      const kubernetes = await downloadModule('k8s.io/kubernetes', version)
      writeKubernetesSchemas(kubernetes, folder, kindsOf(MANIFESTS))
      writeCustomSchemas(join(await downloadModule(...CERT_MANAGER), 'deploy/crds'), folder)
      const prometheus = await downloadModule(...PROMETHEUS_OPERATOR)
      writeCustomSchemas(join(prometheus, 'example/prometheus-operator-crd'), folder)
      for (const manifest of MANIFESTS) {
        const { code, out, err } = conform(folder, manifest)
        t.equal(code, 0, out + err)
        t.match(out, /Valid: [1-9]\d*, Invalid: 0, Errors: 0, Skipped: 0/)
      }
      const wrong = MANIFESTS[0]?.replace('targetPort: https', 'targetport: https') ?? ''
      t.match(conform(folder, wrong).out, /additional properties 'targetport' not allowed/)
    },
  )
}
