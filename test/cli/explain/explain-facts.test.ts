import t from 'tap'
import { explain } from '../../../cli/explain/explain.ts'
import { shown } from '../../../src/pods/explain/show.ts'
import { createSession } from '../host.ts'

const POD = `apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {ridealong.dev/inject: perf-sysstat}}
spec: {containers: [{name: app}]}
`
const NAMESPACE = `apiVersion: v1
kind: Namespace
metadata:
  name: default
  labels: {pod-security.kubernetes.io/enforce: baseline}
`

/** The rules of the namespace and of the nodes. */
const RULES = ['Pod Security', 'LimitRange', 'ResourceQuota', 'image']

/** Returns the verdicts of the rules that need objects of a cluster. */
function verdictsIn(findings: readonly { readonly name: string; readonly verdict: string }[]) {
  return RULES.map((rule) => findings.find(({ name }) => name === rule)?.verdict)
}

t.test('without a cluster, rules that need its objects are unknown, also in JSON', async (t) => {
  const folder = t.testdir({ 'pod.yaml': POD })
  const { explanations } = await explain(
    undefined,
    {
      filename: [`${folder}/pod.yaml`],
      offline: true,
    },
    createSession(),
  )
  const [{ outcome, findings } = {}] = explanations
  t.equal(outcome, 'injected')
  t.strictSame(verdictsIn(findings ?? []), ['unknown', 'unknown', 'unknown', 'unknown'])
  const printed = shown(explanations, 'json')
  const [document] = JSON.parse('document' in printed ? printed.document : '')
  t.match(document.findings, findings)
  t.match(
    findings?.find(({ name }) => name === 'ResourceQuota')?.sentence,
    'the ResourceQuotas of the namespace are not known',
  )
})

t.test('a Namespace among the files says its Pod Security level, but no LimitRange', async (t) => {
  const folder = t.testdir({ 'all.yaml': `${NAMESPACE}---\n${POD}` })
  const { explanations } = await explain(
    undefined,
    {
      filename: [`${folder}/all.yaml`],
      offline: true,
    },
    createSession(),
  )
  t.strictSame(verdictsIn(explanations[0]?.findings ?? []), ['ok', 'unknown', 'unknown', 'unknown'])
})

t.test('the file of --namespaces has all rules of its namespaces', async (t) => {
  const folder = t.testdir({ 'pod.yaml': POD, 'namespaces.yaml': NAMESPACE })
  const { explanations } = await explain(
    undefined,
    {
      filename: [`${folder}/pod.yaml`],
      namespaces: `${folder}/namespaces.yaml`,
    },
    createSession(),
  )
  t.strictSame(verdictsIn(explanations[0]?.findings ?? []), ['ok', 'ok', 'ok', 'unknown'])
})
