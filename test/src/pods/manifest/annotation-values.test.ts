import t from 'tap'
import { checkAnnotationValues } from '../../../../src/pods/manifest/annotation-values.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'

/** Returns the message about the first value of a text that is not a string. */
function problemOf(text: string): string | undefined {
  try {
    for (const manifest of readManifests('a.yaml', text)) checkAnnotationValues(manifest)
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

const RULE = 'but values of annotations and labels must be strings'

const POD = (annotations: string) => `# a pod
apiVersion: v1
kind: Pod
metadata:
  name: a
  annotations:
${annotations.replace(/^/gm, '    ')}
`

t.test('a value that is not a string is an error with the line and the right text', async (t) => {
  const rows: [string, number, string][] = [
    ['ridealong.dev/inject: true', 7, 'true is a boolean'],
    ['ridealong.dev/inject: false', 7, 'false is a boolean'],
    ['ridealong.dev/inject: yes', 7, 'true is a boolean'],
    ['other: x\nridealong.dev/inject: On', 8, 'true is a boolean'],
    ['other: x\n"perf-sysstat.ridealong.dev/rate": 5', 8, '5 is a number'],
    ['perf-sysstat.ridealong.dev/rate: 0x10', 7, '16 is a number'],
    ['ridealong.dev/pods: 1_0', 7, '10 is a number'],
    ['ridealong.dev/inject: !!bool true', 7, 'true is a boolean'],
    ['a: &x true\nridealong.dev/inject: *x', 8, 'true is a boolean'],
    ['<<: {ridealong.dev/inject: true}', 7, 'true is a boolean'],
  ]
  for (const [annotations, line, what] of rows) {
    const [, key] = /"?([-.\w/]*ridealong[^": ]*)/.exec(annotations) ?? []
    const [value] = what.split(' ')
    t.equal(
      problemOf(POD(annotations)),
      `a.yaml: document 1, line ${line}: ${key}: ${what}, ${RULE}; write "${value}", with quotes`,
      annotations,
    )
  }
})

t.test('a list or a map is not a string either', async (t) => {
  t.equal(
    problemOf(POD('ridealong.dev/inject:\n- perf-sysstat\n- io-sysstat')),
    `a.yaml: document 1, line 7: ridealong.dev/inject: the value is a list, ${RULE};` +
      ' separate the items by commas',
  )
  t.match(problemOf(POD('ridealong.dev/inject: {a: b}')), /line 7: .*: the value is a map, /)
})

t.test('the keys are checked in every document and at every place', async (t) => {
  const second = `${POD('a: b')}---\n${POD('ridealong.dev/inject: true')}`
  t.match(problemOf(second), /^a\.yaml: document 2, line 15: ridealong\.dev\/inject: true /)
  t.match(
    problemOf('kind: MiniCluster\nspec: {pod: {annotations: {ridealong.dev/inject: true}}}\n'),
    /document 1, line 2: ridealong\.dev\/inject: true is a boolean/,
  )
  t.match(
    problemOf('kind: Namespace\nmetadata: {labels: {ridealong.dev/tools: true}}\n'),
    /ridealong\.dev\/tools: true is a boolean/,
  )
  const prefixed = 'spark.kubernetes.executor.annotation.ridealong.dev/inject'
  t.match(
    problemOf(`spec:\n  sparkConf:\n    ${prefixed}: true\n`),
    /line 3: spark\.k.*inject: true/,
  )
  const json = JSON.stringify({ kind: 'List', items: [{ x: { 'ridealong.dev/pods': 3 } }] })
  t.match(problemOf(json), /line 1: ridealong\.dev\/pods: 3 is a number/)
})

t.test('strings, nulls and the keys of others are not reported', async (t) => {
  for (const annotations of [
    'ridealong.dev/inject: "true"',
    "ridealong.dev/inject: 'true'",
    'ridealong.dev/inject: enabled',
    'ridealong.dev/inject: !!str true',
    'ridealong.dev/inject: |-\n  true',
    'ridealong.dev/inject: &x "true"\nperf-sysstat.ridealong.dev/threads: *x',
    'ridealong.dev/inject:',
    'ridealong.dev/inject: null',
    'example.com/inject: true',
    'notridealong.dev/inject: true',
    'ridealong.dev: true',
    'f:ridealong.dev/inject: {}',
  ])
    t.equal(problemOf(POD(annotations)), undefined, annotations)
})
