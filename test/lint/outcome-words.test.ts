import t from 'tap'
import { findOutcomeWords } from './outcome-words.ts'

/** A text with another word for the outcome of a pod: a description, the path and the text. */
const REJECTED: readonly (readonly [string, string, string])[] = [
  ['a property of a reason', 'src/core/reasons.ts', "'host-pid': { deniable: true },"],
  ['a name in capitals', 'src/core/review-pod.ts', 'const UNDENIABLE = new Set()'],
  ['a class', 'src/cluster/api-error.ts', 'export class Refusal extends Error {'],
  ['a function of a decision', 'src/core/decision.ts', "return refuse(onError, 'host-pid')"],
  ['a function of the server', 'webhook/server.ts', 'countRefusal()'],
  ['a value of explain', 'src/pods/explain/conclusion.ts', "readonly outcome: 'left' | 'refused'"],
  ['an outcome in JSON', 'docs/examples/explain.json', '{"outcome": "skipped"}'],
  ['a list in a tally', 'test/cluster/release/steady-load.ts', '{ left: 0, refused: [] }'],
  ['a passive sentence', 'README.md', 'In these namespaces, a pod is refused if it is wrong.'],
  ['a sentence of two lines', 'docs/a.md', 'a pod that asks\nfor observers is skipped'],
  ['a comment of two lines', 'src/runs/log/a.ts', '/**\n * The pod is\n * refused.\n */'],
  ['a comment in Rust', 'observer/src/a.rs', '// The pods would be skipped.'],
  ['a comment of the chart', 'charts/ridealong/values.yaml', '# Ridealong refuses such a pod'],
  ['a sentence about the annotation', 'docs/a.md', '`ridealong.dev/on-error: deny` refuses pods'],
  ['a sentence about the webhook', 'docs/a.md', 'the webhook never skips a pod'],
  ['a docstring', 'src/core/decide.ts', '/** Returns the decision to skip a pod. */'],
  ['an adjective', 'src/core/status.ts', '/** Returns the status of a skipped pod. */'],
]

for (const [what, path, text] of REJECTED) {
  t.test(`another word for the outcome of a pod is a problem: ${what}`, async (t) => {
    const [problem, ...more] = findOutcomeWords({ path, text: `\n${text}` })
    t.match(problem, { path, message: /^a pod is injected, left, restored or denied; / })
    t.ok((problem?.line ?? 0) >= 2, 'the line is counted from the beginning of the file')
    t.strictSame(more, [])
  })
}

const ACCEPTED: readonly (readonly [string, string, string])[] = [
  ['the apiserver', 'docs/a.md', 'The apiserver refuses a pod with two volumes of the same name.'],
  ['a LimitRange', 'src/core/a.ts', '/** A LimitRange would refuse the pod. */'],
  ['a file', 'docs/a.md', 'If a file contains pods, files with other names are refused.'],
  ['a template', 'docs/a.md', '`inject` refuses the template, because all ranks share it.'],
  ['a call', 'docs/a.md', 'The webhook refuses the call. The pod is created without observers.'],
  ['a client', 'webhook/log.ts', "log.warn({ problem }, 'a client was refused')"],
  ['a test', 'README.md', 'Without a prerequisite, some tests are skipped.'],
  ['a recorded review', 'test/cases/pods/pod/review.json', '"a pod is refused"'],
]

for (const [what, path, text] of ACCEPTED) {
  t.test(`a text may say that something else is refused or skipped: ${what}`, async (t) => {
    t.strictSame(findOutcomeWords({ path, text }), [])
  })
}
