import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'

/**
 * The CEL expression with which the chart selects pods that have the annotation
 * `ridealong.dev/inject`. A test checks that the chart has the same text.
 */
export const POD_ASKS =
  "has(object.metadata.annotations) && 'ridealong.dev/inject' in object.metadata.annotations"

/**
 * The expressions in the chart's matchConditions, each with a function that returns its result. The
 * parameter is whether the pod itself has the annotation `ridealong.dev/inject`.
 */
const KNOWN: ReadonlyMap<string, (asksItself: boolean) => boolean> = new Map([
  [POD_ASKS, (asksItself) => asksItself],
  [`!(${POD_ASKS})`, (asksItself) => !asksItself],
])

/**
 * Evaluates a webhook's matchConditions for a pod. `holds` is true if all expressions are true, and
 * false if any expression is false. Otherwise an expression is unknown, and `holds` is undefined.
 */
export function readMatchConditions(
  webhook: Fields,
  asksItself: boolean,
): { readonly holds: boolean | undefined; readonly names: string } {
  const conditions = listOrNone(webhook.matchConditions).map(fieldsOrNone)
  const answers = conditions.map(({ expression }) => {
    const text = (asText(expression) ?? '').replace(/\s+/g, ' ').trim()
    return KNOWN.get(text)?.(asksItself)
  })
  const holds = answers.includes(false) ? false : answers.includes(undefined) ? undefined : true
  return { holds, names: conditions.map(({ name }) => String(name)).join(', ') }
}
