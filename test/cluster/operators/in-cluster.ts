import { join } from 'node:path'
import type { Test } from 'tap'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace } from '../running.ts'

/** A program of another project that runs in a pod, with all rights in the cluster. */
export interface Program {
  readonly name: string
  /** The folder on this machine, which is the node, that contains the program. */
  readonly folder: string
  readonly words: readonly string[]
  /** Files that the program finds in /etc/NAME, by name. */
  readonly files?: Readonly<Record<string, string>>
  /** The HTTP path and the port of the readiness probe. */
  readonly readiness?: { readonly path: string; readonly port: number }
}

const ROLE_BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'

/** Creates a namespace whose default service account has all rights, until the test ends. */
export async function createProgramNamespace(t: Test, api: Api, namespace: string): Promise<void> {
  await createNamespace(t, api, namespace)
  const subject = { kind: 'ServiceAccount', name: 'default', namespace }
  await api.post(ROLE_BINDINGS, {
    metadata: { name: namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [subject],
  })
  t.teardown(() => api.delete(`${ROLE_BINDINGS}/${namespace}`))
}

/**
 * Runs a program in a pod of a namespace that `createProgramNamespace` created, and waits until the
 * pod is ready.
 */
export async function startInCluster(
  cluster: Cluster,
  namespace: string,
  program: Program,
): Promise<void> {
  const { name } = program
  const objects = [secretOf(program), podOf(program)]
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
  await kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], list)
  const ready = ['wait', '--for=condition=Ready', `pod/${name}`, '-n', namespace]
  await kubectl(cluster, [...ready, '--timeout=120s'])
}

function secretOf({ name, files = {} }: Program): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: files }
}

function podOf({ name, folder, words, readiness }: Program): object {
  const container = {
    name,
    image: DEBIAN_IMAGE,
    command: [join('/program', name), ...words],
    volumeMounts: [
      { name: 'program', mountPath: '/program', readOnly: true },
      { name: 'files', mountPath: `/etc/${name}`, readOnly: true },
    ],
    ...(readiness && { readinessProbe: { httpGet: readiness, periodSeconds: 1 } }),
  }
  const volumes = [
    { name: 'program', hostPath: { path: folder, type: 'Directory' } },
    { name: 'files', secret: { secretName: name } },
  ]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { program: name } },
    spec: { containers: [container], volumes, terminationGracePeriodSeconds: 1 },
  }
}
