import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { run as runCommand } from '../../cli/command.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { run, tools } from '../machine/tools.ts'
import { until } from '../until.ts'
import { CHART, configurationName, OWN_IMAGES, type Release } from './helm.ts'

/** The checks that become unknown if the service account of `helm test` loses one right. */
const UNKNOWN_WITHOUT: Readonly<Record<string, readonly string[]>> = {
  'get mutatingwebhookconfigurations': ['webhook configuration'],
  'list mutatingwebhookconfigurations': ['order of webhooks', 'revisions'],
  'get validatingadmissionpolicybindings': ['guard'],
  'list namespaces': ['revisions', 'namespaces'],
  'create namespaces': ['dry run: namespace'],
  'get services': ['Service'],
  'list endpointslices': ['Service'],
  'get deployments': ['Deployment', 'catalog'],
  'get configmaps': ['catalog'],
  'list daemonsets': ['images'],
  'create pods': ['dry run: pod'],
}

interface Rule {
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Rule[]
}

/**
 * Gives a service account the rights of `helm test`'s service account, and removes each right in
 * turn. Verifies which checks of the doctor are unknown without the right, and that the account can
 * create objects only in a dry run.
 */
export async function checkDoctorRights(t: Test, release: Release): Promise<void> {
  const { cluster, name } = release
  const manifests = await renderTest(release)
  await apply(cluster, manifests)
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], JSON.stringify(listOf(manifests))))
  const doctor = await doctorAs(t, release, `${name}-doctor`)

  await until('no check is unknown', async () => (await doctor()).length === 0)
  const roles = manifests.filter(({ rules }) => rules !== undefined)
  const rights = roles.flatMap(({ rules = [] }) => rules.flatMap(rightsOf))
  t.strictSame(rights.toSorted(), Object.keys(UNKNOWN_WITHOUT).sort())
  for (const right of rights) {
    await apply(
      cluster,
      roles.map((role) => without(right, role)),
    )
    const expected = JSON.stringify(UNKNOWN_WITHOUT[right])
    await until(`${expected} are unknown without ${right}`, async () => {
      return JSON.stringify(await doctor()) === expected
    })
  }
  await apply(cluster, roles)
  await until('no check is unknown with all rights', async () => (await doctor()).length === 0)

  const as = `--as=system:serviceaccount:${name}:${name}-doctor`
  const create = ['create', 'namespace', 'doctor-created', as]
  await kubectl(cluster, [...create, '--dry-run=server'])
  await t.rejects(kubectl(cluster, create), /helm test may create objects only in a dry run/)
}

function rightsOf({ resources, verbs }: Rule): readonly string[] {
  return resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`))
}

/** Returns a role without one of its rights. */
function without(right: string, role: Manifest): Manifest {
  const rules = (role.rules ?? []).map((rule) => ({
    ...rule,
    verbs: rule.verbs.filter((verb) => !rightsOf({ ...rule, verbs: [verb] }).includes(right)),
  }))
  return { ...role, rules: rules.filter(({ verbs }) => verbs.length > 0) }
}

/** Returns the objects of the chart's test, without its pod. */
async function renderTest({ name }: Release): Promise<readonly Manifest[]> {
  const program = join(await tools('helm-4', () => {}), 'helm')
  const where = ['-n', name, '--show-only', 'templates/tests/doctor.yaml']
  const rendered = await run(program, ['template', name, CHART, ...where, ...OWN_IMAGES])
  const manifests = parseAllDocuments(rendered).map((document) => document.toJS() as Manifest)
  return manifests.filter(({ kind }) => kind !== 'Pod')
}

function apply(cluster: Cluster, manifests: readonly Manifest[]): Promise<string> {
  return kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(listOf(manifests)))
}

function listOf(items: readonly Manifest[]) {
  return { apiVersion: 'v1', kind: 'List', items }
}

/** @returns a function that runs the doctor as a service account and returns the unknown checks */
async function doctorAs(
  t: Test,
  { cluster, name }: Release,
  account: string,
): Promise<() => Promise<readonly string[]>> {
  const folder = t.testdir({})
  const kubeconfig = join(folder, 'kubeconfig')
  const certificate = join(folder, 'tls.crt')
  await writeFile(kubeconfig, await kubeconfigOf(cluster, name, account))
  const path = ['get', 'secret', `${name}-tls`, '-n', name, '-o', 'jsonpath={.data.tls\\.crt}']
  await writeFile(certificate, Buffer.from(await kubectl(cluster, path), 'base64'))
  const which = ['--webhook-configuration', configurationName(name)]
  const words = ['doctor', '--kubeconfig', kubeconfig, ...which]
  return async () => {
    const { out, err } = await runCommand([
      ...[...words, '--certificate', certificate, '-n', 'default', '-o', 'json'],
    ])
    if (out === '') throw new Error(err)
    const checks: readonly { name: string; verdict: string }[] = JSON.parse(out).checks
    return checks.filter(({ verdict }) => verdict === 'unknown').map((check) => check.name)
  }
}

/**
 * Returns a kubeconfig, as JSON, with the token of a service account instead of the administrator's
 * certificate.
 */
export async function kubeconfigOf(
  cluster: Cluster,
  namespace: string,
  account: string,
): Promise<string> {
  const view = ['config', 'view', '--raw', '--flatten', '-o', 'json']
  const config = JSON.parse(await kubectl(cluster, view))
  // By default, a token expires after an hour.
  const words = ['create', 'token', account, '-n', namespace, '--duration=12h']
  const token = await kubectl(cluster, words)
  config.users[0].user = { token: token.trim() }
  return JSON.stringify(config)
}
