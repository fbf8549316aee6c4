import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'

/** The expression of the chart: a test holds the two equal. */
export const POD_ASKS =
  "has(object.metadata.annotations) && 'ridealong.dev/inject' in object.metadata.annotations"

/** What the chart's matchConditions say of a pod that asks itself, and of one that does not. */
const KNOWN: ReadonlyMap<string, (asksItself: boolean) => boolean> = new Map([
  [POD_ASKS, (asksItself) => asksItself],
  [`!(${POD_ASKS})`, (asksItself) => !asksItself],
])

/** What a webhook's matchConditions say of a pod; all must hold. Another expression than the chart's is not evaluated. */
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
